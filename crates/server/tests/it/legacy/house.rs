//! A server with one of everything that differs between revisions.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_protocol::ProtocolError;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::model::sampling::{CreateMessage, IncludeContext};
use switchboard_server::{
    Args, Call, Ctx, Elicitation, Elicited, Eras, Json, Limits, MultiRoundTrip, Need, Outcome, Prompt,
    Question, Questions, Resource, Server, State, Tool, ToolError, Vars,
};
use tokio::sync::{Semaphore, mpsc};

/// What handlers and the test tell each other.
pub(super) struct Desk {
    pub(super) gate: Semaphore,
    events: mpsc::UnboundedSender<String>,
}

impl Desk {
    pub(super) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<String>) {
        let (events, seen) = mpsc::unbounded_channel();
        (Arc::new(Self { gate: Semaphore::new(0), events }), seen)
    }

    fn say(&self, what: impl Into<String>) {
        let _ = self.events.send(what.into());
    }
}

struct Held(Arc<Desk>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.say("left");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
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

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    degrees: i32,
}

#[derive(Serialize, Deserialize)]
enum Trip {
    Confirmed,
    Sampled(bool),
    Listed(bool, String),
}

async fn wait(State(desk): State<Arc<Desk>>) -> &'static str {
    let _held = Held(Arc::clone(&desk));
    desk.say("entered");
    desk.gate.acquire().await.unwrap().forget();
    "waited"
}

async fn steps(ctx: Ctx) -> &'static str {
    ctx.progress_message(1.0, Some(2.0), "half of it").await;
    ctx.log(LoggingLevel::Debug, "small").await;
    ctx.log_as(Some("desk"), LoggingLevel::Warning, &json!({"much": true})).await;
    ctx.progress(2.0, 2.0).await;
    "done"
}

async fn confirm(Elicited(confirm): Elicited<Confirm>) -> String {
    format!("confirmed {}", confirm.ok)
}

async fn maybe(Elicited(confirm): Elicited<Option<Confirm>>) -> String {
    format!("{:?}", confirm.map(|confirm| confirm.ok))
}

fn sampling() -> CreateMessage {
    CreateMessage { max_tokens: 10, ..CreateMessage::default() }
}

/// Three rounds, each of another kind; what was asked before is remembered.
async fn trip(round: MultiRoundTrip<Trip>, ctx: Ctx) -> Outcome<Trip, String> {
    ctx.progress(f64::from(u8::from(round.state.is_some())), 9.0).await;
    match &round.state {
        None => Outcome::InputRequired(Trip::Confirmed, Elicitation::form::<Confirm>("Go?")),
        Some(Trip::Confirmed) => {
            let ok = round.answer::<Confirm>().unwrap().is_some_and(|answer| answer.ok);
            ctx.progress(2.0, 9.0).await;
            Outcome::InputRequired(Trip::Sampled(ok), Questions::sampling(sampling()))
        }
        Some(Trip::Sampled(ok)) => {
            let model = round.sampled("sampling").unwrap().model;
            Outcome::InputRequired(Trip::Listed(*ok, model), Questions::roots())
        }
        Some(Trip::Listed(ok, model)) => {
            let roots = round.roots("roots").unwrap().len();
            Outcome::Complete(format!("{ok} {model} {roots}"))
        }
    }
}

async fn both(round: MultiRoundTrip<()>) -> Outcome<(), String> {
    match round.state {
        None => {
            let questions = Elicitation::form::<Confirm>("Go?").and(Questions::roots());
            Outcome::InputRequired((), questions)
        }
        Some(()) => {
            let action = round.action("Confirm");
            Outcome::Complete(format!("{action:?} {}", round.roots("roots").unwrap().len()))
        }
    }
}

async fn context(round: MultiRoundTrip<()>) -> Outcome<(), String> {
    match round.state {
        None => {
            let include_context = Some(IncludeContext::ThisServer);
            let asked = CreateMessage { include_context, ..sampling() };
            Outcome::InputRequired((), Questions::sampling(asked))
        }
        Some(()) => Outcome::Complete(round.sampled("sampling").unwrap().model),
    }
}

async fn visit(round: MultiRoundTrip<()>) -> Outcome<(), String> {
    match round.state {
        None => Outcome::InputRequired((), Elicitation::url("Log in", "https://example.com/login")),
        Some(()) => Outcome::Complete(format!("{:?}", round.action("url"))),
    }
}

async fn turns(round: MultiRoundTrip<u32>) -> Outcome<u32, String> {
    match round.state.unwrap_or(0) {
        5 => Outcome::Complete("after 5 turns".into()),
        count => Outcome::InputRequired(count + 1, Questions::none()),
    }
}

async fn endless() -> Outcome<(), String> {
    Outcome::InputRequired((), Questions::none())
}

async fn rich() -> Vec<ContentBlock> {
    vec![ContentBlock::text("words"), ContentBlock::audio("YmVlcA==", "audio/wav")]
}

async fn client(ctx: Ctx) -> String {
    let info = ctx.client_info().unwrap();
    format!("{} {} {}", info.name, info.version, ctx.meta().revision)
}

fn tools() -> Vec<Tool<Arc<Desk>>> {
    vec![
        Tool::new("echo", async |Args(Text { text }): Args<Text>| text).title("Echo").read_only(),
        Tool::new("weather", async || Json(Weather { degrees: 20 })),
        Tool::new("number", async || Json(7)),
        Tool::new("rich", rich),
        Tool::new("client", client),
        Tool::new("fails", async || Err::<String, _>(ToolError::say("no money"))),
        Tool::new("refuses", async || Err::<String, _>(ProtocolError::new(-32_050, "reserved"))),
        Tool::new("panics", async || -> String { panic!("a bug") }),
        Tool::new("wait", wait),
        Tool::new("slow", async || std::future::pending::<String>().await).timeout(Duration::from_millis(20)),
        Tool::new("steps", steps),
        Tool::new("confirm", confirm),
        Tool::new("maybe", maybe),
        Tool::new("trip", trip),
        Tool::new("both", both),
        Tool::new("context", context),
        Tool::new("visit", visit),
        Tool::new("turns", turns),
        Tool::new("endless", endless),
    ]
}

pub(super) fn house(desk: Arc<Desk>, (eras, limits): (Eras, Limits)) -> Server {
    let builder = Server::builder("house", "2.1").title("The house").instructions("Knock first.");
    let builder = tools().into_iter().fold(builder.eras(eras).limits(limits), |b, tool| b.tool(tool));
    builder
        .resource(Resource::new("note://1", async || "one").name("one").title("One"))
        .resource(Resource::new("note://hidden", async || "none").visible(|_, _| false))
        .resource(Resource::new("note://ask", confirm))
        .resource(Resource::template("file:///{name}", async |Vars(Named { name }): Vars<Named>| {
            format!("the file {name}")
        }))
        .prompt(
            Prompt::new("ask", async |Args(Text { text }): Args<Text>| text)
                .complete("text", async || vec!["a".to_owned(), "b".to_owned()]),
        )
        .prompt(Prompt::new("confirm", confirm))
        .build(desk)
        .unwrap()
}

/// A server that has only a tool.
pub(super) fn shed(eras: Eras) -> Server {
    Server::builder("shed", "1").eras(eras).tool(Tool::new("ping", async || "pong")).build(()).unwrap()
}

/// The usual answer to a question of this kind.
pub(super) fn usual_capabilities() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {"listChanged": true}})
}
