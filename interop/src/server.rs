//! What the story's server exposes: four tools on two pages, a resource and a prompt.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_server::{
    Args, BuildError, Builder, Call, Ctx, Elicited, Limits, Need, Prompt, Question, Resource, Server, Tool,
    ToolError,
};

/// Three of the four tools.
const PAGE: usize = 3;

/// Between two words of progress: some clients forget progress that arrives together with the result.
const PAUSE: Duration = Duration::from_millis(50);

/// Makes the server; with `newest` it knows no later revision, and none that a handshake cannot agree on.
///
/// # Errors
/// If `newest` is no date of a revision, or what is wrong with the things that it exposes.
pub fn server(newest: Option<&str>) -> Result<Server, Box<dyn std::error::Error>> {
    let mut builder = story();
    if let Some(date) = newest {
        builder = up_to(builder, date)?;
    }
    build(builder).map_err(Into::into)
}

fn build(builder: Builder<()>) -> Result<Server, BuildError> {
    builder.build(())
}

#[cfg(feature = "legacy")]
fn up_to(builder: Builder<()>, date: &str) -> Result<Builder<()>, String> {
    let newest = switchboard_protocol::Revision::from_date(date);
    let newest = newest.ok_or_else(|| format!("{date} is the date of no revision"))?;
    Ok(builder.eras(switchboard_server::Eras::up_to(newest)))
}

#[cfg(not(feature = "legacy"))]
fn up_to(_builder: Builder<()>, date: &str) -> Result<Builder<()>, String> {
    Err(format!("built without the feature legacy, so {date} cannot be the newest"))
}

fn story() -> Builder<()> {
    Server::builder("interop", env!("CARGO_PKG_VERSION"))
        .limits(Limits { page_size: PAGE, ..Limits::default() })
        .tool(Tool::new("echo", echo).describe("Says it again").read_only())
        .tool(Tool::new("count", count).describe("Counts, and says how far it is").read_only())
        .tool(Tool::new("greet", greet).describe("Asks for a name"))
        .tool(Tool::new("fail", fail).describe("Fails, always"))
        .resource(
            Resource::new("story://greeting", async || "Hello from the story")
                .name("greeting")
                .describe("A greeting")
                .mime("text/plain"),
        )
        .prompt(Prompt::new("summarise", summarise).describe("Asks for a summary"))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Text {
    text: String,
}

async fn echo(Args(Text { text }): Args<Text>) -> String {
    text
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct To {
    to: u32,
}

async fn count(Args(To { to }): Args<To>, ctx: Ctx) -> String {
    for done in 1..=to {
        ctx.progress(f64::from(done), f64::from(to)).await;
        tokio::time::sleep(PAUSE).await;
    }
    format!("counted to {to}")
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

impl Question<()> for Name {
    async fn need(_call: &Call, _state: &()) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("What is your name?".into()))
    }

    fn key() -> String {
        "name".into()
    }
}

async fn greet(Elicited(Name { name }): Elicited<Name>) -> String {
    format!("Hello, {name}!")
}

async fn fail() -> Result<(), ToolError> {
    Err(ToolError::say("It failed on purpose"))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

async fn summarise(Args(Topic { topic }): Args<Topic>) -> String {
    format!("Summarise {topic}")
}
