//! A server whose handlers say when they are entered and when they are dropped.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_server::{
    Args, Call, CallerId, Ctx, Elicited, Eras, Extension, Keys, Limits, Need, Question, Resource, Server,
    State, Tool, ToolError,
};
use tokio::sync::{Semaphore, mpsc};

/// What handlers and the test tell each other.
pub(super) struct Desk {
    pub(super) gate: Semaphore,
    events: mpsc::UnboundedSender<&'static str>,
}

struct Held(Arc<Desk>);

impl Held {
    fn new(desk: &Arc<Desk>) -> Self {
        let _ = desk.events.send("entered");
        Self(Arc::clone(desk))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.events.send("left");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    ok: bool,
}

impl<S: Sync> Question<S> for Confirm {
    async fn need(_call: &Call, _state: &S) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("Sure?".into()))
    }
}

async fn wait(State(desk): State<Arc<Desk>>) -> &'static str {
    let _held = Held::new(&desk);
    desk.gate.acquire().await.unwrap().forget();
    "waited"
}

/// Says three things, each when it is let.
async fn report(ctx: Ctx, State(desk): State<Arc<Desk>>) -> &'static str {
    let _held = Held::new(&desk);
    for word in ["one", "two", "three"] {
        ctx.log(LoggingLevel::Warning, word).await;
        desk.gate.acquire().await.unwrap().forget();
    }
    "reported"
}

async fn shout(ctx: Ctx) -> &'static str {
    ctx.log(LoggingLevel::Debug, "small").await;
    ctx.log(LoggingLevel::Warning, "large").await;
    "shouted"
}

async fn confirm(Elicited(confirm): Elicited<Confirm>) -> String {
    format!("confirmed {}", confirm.ok)
}

async fn whoami(Extension(parts): Extension<http::request::Parts>) -> String {
    parts.headers["x-name"].to_str().unwrap().to_owned()
}

#[derive(Deserialize, JsonSchema)]
struct Limited {
    limit: Option<i64>,
}

async fn mirrored(Args(limited): Args<Limited>) -> String {
    format!("{:?}", limited.limit)
}

pub(super) type Seen = mpsc::UnboundedReceiver<&'static str>;

/// All replicas have the same keys.
pub(super) fn server(eras: Eras, limits: Limits) -> (Server, Arc<Desk>, Seen) {
    let (events, seen) = mpsc::unbounded_channel();
    let desk = Arc::new(Desk { gate: Semaphore::new(0), events });
    let server = Server::builder("desk", "1.0.0")
        .eras(eras)
        .limits(limits)
        .state_keys(Keys::new([[7; 32]]).unwrap())
        .tool(Tool::new("fast", async || "quick"))
        .tool(Tool::new("wait", wait))
        .tool(Tool::new("report", report))
        .tool(Tool::new("shout", shout))
        .tool(Tool::new("confirm", confirm))
        .tool(Tool::new("whoami", whoami))
        .tool(Tool::new("mirrored", mirrored).param_header("limit", "Limit"))
        .resource(Resource::new("note://1", async || "one"))
        .build(Arc::clone(&desk))
        .unwrap();
    (server, desk, seen)
}

/// What a request of this caller has in its extensions.
pub(super) fn caller(name: &str) -> CallerId {
    CallerId(name.to_owned())
}
