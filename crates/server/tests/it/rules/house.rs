//! A server with one of everything that rules are about.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_server::{
    Args, Cache, Call, CallerId, Completing, Ctx, Elicitation, Elicited, Json, Limits, MultiRoundTrip, Need,
    Outcome, Principal, Prompt, Question, Resource, Server, Suggestions, Tool, ToolError, Vars,
};

#[derive(Clone)]
pub(super) struct User;

/// What a caller is known by.
pub(super) fn caller(name: &str) -> http::Extensions {
    let mut extensions = http::Extensions::new();
    extensions.insert(Principal(User));
    extensions.insert(CallerId(name.into()));
    extensions
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Given {
    value: Value,
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

#[derive(Deserialize, JsonSchema)]
struct Trip {
    city: String,
    country: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Below {
    path: String,
}

const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

async fn steps(ctx: Ctx) -> &'static str {
    for done in [1.0, 1.0, 0.5, -3.0, f64::NAN, f64::INFINITY, 2.0, 2.0] {
        ctx.progress(done, 2.0).await;
    }
    "done"
}

async fn logs(ctx: Ctx) -> &'static str {
    for level in LEVELS {
        ctx.log(level, "words").await;
    }
    "done"
}

async fn ask(Elicited(confirm): Elicited<Option<Confirm>>) -> String {
    format!("{:?}", confirm.map(|confirm| confirm.ok))
}

async fn visit() -> Outcome<(), String> {
    Outcome::InputRequired((), Elicitation::url("Log in", "https://example.com/login"))
}

async fn rounds(round: MultiRoundTrip<u32>) -> Outcome<u32, String> {
    match round.state.unwrap_or(0) {
        3 => Outcome::Complete("after 3 rounds".into()),
        count => Outcome::InputRequired(count + 1, switchboard_server::Questions::none()),
    }
}

async fn file(Vars(Named { name }): Vars<Named>) -> String {
    format!("the file {name}")
}

async fn tree(Vars(Below { path }): Vars<Below>) -> String {
    format!("below {path}")
}

async fn cities(typed: Completing) -> Vec<String> {
    let country = typed.context.arguments.and_then(|given| given.get("country").cloned());
    let country = country.unwrap_or_else(|| "nowhere".into());
    (0..250).map(|number| format!("{}{number} in {country}", typed.value)).collect()
}

pub(super) fn house(limits: Limits) -> Server {
    Server::builder("house", "2.1")
        .limits(limits)
        .tool(Tool::new("echo", async |Args(Text { text }): Args<Text>| text))
        .tool(Tool::new("value", async |Args(Given { value }): Args<Given>| Json(value)))
        .tool(Tool::new("nothing", async || ()))
        .tool(Tool::new("fails", async || Err::<String, _>(ToolError::say("no money"))))
        .tool(Tool::new("panics", async || -> String { panic!("a bug") }))
        .tool(Tool::new("steps", steps))
        .tool(Tool::new("logs", logs))
        .tool(Tool::new("ask", ask))
        .tool(Tool::new("ask_too", ask))
        .tool(Tool::new("visit", visit))
        .tool(Tool::new("rounds", rounds))
        .tool(
            Tool::new("mirrored", async || "mirrored")
                .input_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
                .param_header("n", "N"),
        )
        .prompt(
            Prompt::new("trip", async |Args(Trip { city, country }): Args<Trip>| {
                format!("{city} {country:?}")
            })
            .complete("city", cities)
            .complete("country", async || Suggestions { values: vec!["CH".into()], total: Some(9) }),
        )
        .prompt(Prompt::new("ask", ask))
        .resource(Resource::new("note://1", async || "one").cache(Cache::Public(Duration::from_secs(60))))
        .resource(Resource::new("note://image", async || vec![0_u8, 255, 16]).mime("image/png"))
        .resource(Resource::new("note://ask", ask))
        .resource(
            Resource::template("file:///data/{name}", file).name("file").complete("name", async || vec!["a"]),
        )
        .resource(Resource::template("tree:///{+path}", tree).name("tree"))
        .authenticated::<User>()
        .build(())
        .unwrap()
}
