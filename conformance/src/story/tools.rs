//! Tools that answer by themselves, and tools that make something happen.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_server::{
    Args, BuildError, Builder, Catalog, Ctx, Items, Json, Notifier, State, Tool, ToolError,
};
use tokio::sync::watch;

use super::{content, icon, meta};

/// What comes and goes.
const SEQUEL: &str = "sequel";

/// Counts the calls of `wait` that were cancelled.
#[derive(Clone, Default)]
pub(super) struct Watch(Arc<watch::Sender<u32>>);

/// Counts when the handler that holds it is dropped.
struct Cancelled(Watch);

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count += 1);
    }
}

pub(super) fn expose(builder: Builder<Watch>) -> Builder<Watch> {
    builder
        .tool(
            Tool::new("repeat", repeat)
                .title("Repeats")
                .describe("Returns its text, several times")
                .icons(vec![icon()])
                .meta(meta())
                .read_only()
                .idempotent(),
        )
        .tool(Tool::new("content", async || content::every_kind()).describe("Returns every kind of content"))
        .tool(Tool::new("count", count).describe("Counts to three, and says so"))
        .tool(Tool::new("speak", speak).describe("Logs at three levels"))
        .tool(Tool::new("fail", fail).describe("Fails"))
        .tool(Tool::new("wait", wait).describe("Never ends by itself"))
        .tool(Tool::new("cancellations", cancellations).describe("Waits until a call of wait was cancelled"))
        .tool(Tool::new("touch", touch).describe("Says that a resource has changed"))
}

pub(super) fn expose_changes(catalog: &Catalog) -> Result<(), BuildError> {
    let items = Items::new().with(Tool::new("change", change).describe("Adds a tool, or removes it"));
    catalog.insert_all(items.with_state(catalog.clone()))
}

#[derive(Deserialize, JsonSchema)]
struct Repeat {
    /// What is repeated
    text: String,
    /// How often
    times: u8,
}

#[derive(Serialize, JsonSchema)]
struct Repeated {
    /// The text, so many times
    text: String,
    times: u8,
}

async fn repeat(Args(Repeat { text, times }): Args<Repeat>) -> Json<Repeated> {
    Json(Repeated { text: text.repeat(times.into()), times })
}

async fn count(ctx: Ctx) -> &'static str {
    for (done, message) in [(1.0, "one"), (2.0, "two"), (3.0, "three")] {
        ctx.progress_message(done, Some(3.0), message).await;
    }
    "Three"
}

async fn speak(ctx: Ctx) -> &'static str {
    for level in [LoggingLevel::Debug, LoggingLevel::Warning, LoggingLevel::Error] {
        ctx.log_as(Some("narrator"), level, &json!({"chapter": 1})).await;
    }
    "Said"
}

async fn fail() -> Result<(), ToolError> {
    Err(ToolError::say("The story ends badly"))
}

/// Says that it has begun, so that a caller knows when there is something to cancel.
async fn wait(State(watch): State<Watch>, ctx: Ctx) -> &'static str {
    let _cancelled = Cancelled(watch);
    ctx.progress(1.0, 2.0).await;
    std::future::pending().await
}

async fn cancellations(State(watch): State<Watch>) -> Result<String, ToolError> {
    let mut counts = watch.0.subscribe();
    let count = *counts.wait_for(|count| *count > 0).await?;
    Ok(count.to_string())
}

#[derive(Deserialize, JsonSchema)]
struct Touch {
    /// Which
    uri: String,
}

async fn touch(Args(Touch { uri }): Args<Touch>, notifier: Notifier) -> &'static str {
    notifier.resource_updated(&uri);
    "Touched"
}

async fn change(State(catalog): State<Catalog>) -> Result<&'static str, ToolError> {
    if !catalog.remove_tool(SEQUEL) {
        catalog.insert(
            Tool::new(SEQUEL, async || vec![ContentBlock::text("More")]).describe("Comes and goes"),
        )?;
    }
    Ok("The list of tools has changed")
}
