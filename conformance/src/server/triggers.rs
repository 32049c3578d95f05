//! Tools that change the catalog of the server that they belong to, so that whoever listens hears of it.

use switchboard_server::{BuildError, Catalog, Items, Prompt, State, Tool, ToolError};

/// What comes and goes.
const DYNAMIC: &str = "test_dynamic";

/// They need the catalog of the finished server, so they are the last to go in.
pub(super) fn expose(catalog: &Catalog) -> Result<(), BuildError> {
    let items = Items::new()
        .with(Tool::new("test_trigger_tool_change", change_tools).describe("Adds a tool, or removes it"))
        .with(
            Tool::new("test_trigger_prompt_change", change_prompts).describe("Adds a prompt, or removes it"),
        );
    catalog.insert_all(items.with_state(catalog.clone()))
}

async fn change_tools(State(catalog): State<Catalog>) -> Result<&'static str, ToolError> {
    if !catalog.remove_tool(DYNAMIC) {
        catalog.insert(Tool::new(DYNAMIC, async || "Here for a while").describe("Comes and goes"))?;
    }
    Ok("The list of tools has changed")
}

async fn change_prompts(State(catalog): State<Catalog>) -> Result<&'static str, ToolError> {
    if !catalog.remove_prompt(DYNAMIC) {
        catalog.insert(Prompt::new(DYNAMIC, async || "Here for a while").describe("Comes and goes"))?;
    }
    Ok("The list of prompts has changed")
}
