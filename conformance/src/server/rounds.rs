//! Tools and a prompt that ask before they answer, in both forms: `Elicited` where one question comes before the
//! handler, `MultiRoundTrip` where the handler decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_protocol::model::capability::ElicitationCapability;
use switchboard_protocol::model::content::Role;
use switchboard_protocol::model::sampling::{
    CreateMessage, CreateMessageResult, OneOrMany, SamplingContent, SamplingMessage,
};
use switchboard_server::{
    Builder, Call, Ctx, Elicitation, Elicited, MultiRoundTrip, Need, Outcome, Prompt, Question, Questions,
    Tool, ToolError,
};

pub(super) fn expose(builder: Builder<()>) -> Builder<()> {
    let prefixed = |name: &str| format!("test_input_required_result_{name}");
    builder
        .tool(Tool::new(prefixed("elicitation"), elicitation).describe("Asks for a name, and greets"))
        .tool(Tool::new(prefixed("sampling"), sampling).describe("Asks the client's model"))
        .tool(Tool::new(prefixed("list_roots"), list_roots).describe("Asks for the client's roots"))
        .tool(Tool::new(prefixed("request_state"), confirmed).describe("Asks, and checks its own state"))
        .tool(Tool::new(prefixed("tampered_state"), confirmed).describe("Asks, and seals its state"))
        .tool(Tool::new(prefixed("multiple_inputs"), multiple).describe("Asks three things at once"))
        .tool(Tool::new(prefixed("multi_round"), multi_round).describe("Asks twice, one after the other"))
        .tool(Tool::new(prefixed("capabilities"), capable).describe("Asks only what the client can answer"))
        .tool(Tool::new("test_missing_capability", sampling).describe("Needs a client that has a model"))
        .tool(Tool::new("test_streaming_elicitation", elicitation).describe("Asks for a name, and greets"))
        .prompt(Prompt::new(prefixed("prompt"), prompt).describe("Asks for a context, and uses it"))
}

#[derive(Deserialize, JsonSchema)]
struct UserName {
    name: String,
}

impl Question<()> for UserName {
    async fn need(_call: &Call, _state: &()) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("What is your name?".into()))
    }

    fn key() -> String {
        "user_name".into()
    }
}

async fn elicitation(Elicited(UserName { name }): Elicited<UserName>) -> String {
    format!("Hello, {name}!")
}

#[derive(Deserialize, JsonSchema)]
struct UserContext {
    context: String,
}

impl Question<()> for UserContext {
    async fn need(_call: &Call, _state: &()) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("What context should the prompt use?".into()))
    }

    fn key() -> String {
        "user_context".into()
    }
}

async fn prompt(Elicited(UserContext { context }): Elicited<UserContext>) -> String {
    format!("Use the following context: {context}")
}

pub(super) fn ask_model(text: &str, max_tokens: u64) -> Questions {
    let content = OneOrMany::One(SamplingContent::text(text));
    let message = SamplingMessage { role: Role::User, content, meta: None };
    Questions::sampling(CreateMessage { messages: vec![message], max_tokens, ..CreateMessage::default() })
}

pub(super) fn said(answer: &CreateMessageResult) -> String {
    let blocks = match &answer.content {
        OneOrMany::One(block) => std::slice::from_ref(block),
        OneOrMany::Many(blocks) => blocks,
    };
    let texts = blocks.iter().filter_map(|block| match block {
        SamplingContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

async fn sampling(trip: MultiRoundTrip<()>) -> Outcome<(), String> {
    match trip.sampled("capital_question") {
        None => {
            let question = ask_model("What is the capital of France?", 100).key("capital_question");
            Outcome::InputRequired((), question)
        }
        Some(answer) => Outcome::Complete(format!("LLM response: {}", said(&answer))),
    }
}

async fn list_roots(trip: MultiRoundTrip<()>) -> Outcome<(), String> {
    match trip.roots("client_roots") {
        None => Outcome::InputRequired((), Questions::roots().key("client_roots")),
        Some(roots) => {
            let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
            Outcome::Complete(format!("Roots: {}", uris.join(", ")))
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    ok: bool,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    nonce: u32,
}

/// Arrives only with a state that was sealed here.
async fn confirmed(trip: MultiRoundTrip<Remembered>) -> Result<Outcome<Remembered, String>, ToolError> {
    let Some(Remembered { nonce: 7 }) = trip.state else {
        let question = Elicitation::form::<Confirm>("Please confirm").key("confirm");
        return Ok(Outcome::InputRequired(Remembered { nonce: 7 }, question));
    };
    let confirmed = trip.answer_at::<Confirm>("confirm")?.is_some_and(|confirm| confirm.ok);
    Ok(Outcome::Complete(format!("state-ok, confirmed: {confirmed}")))
}

async fn multiple(trip: MultiRoundTrip<()>) -> Result<Outcome<(), String>, ToolError> {
    let name = trip.answer_at::<UserName>("user_name")?;
    let (Some(UserName { name }), Some(greeting), Some(roots)) =
        (name, trip.sampled("greeting"), trip.roots("client_roots"))
    else {
        let questions = Elicitation::form::<UserName>("What is your name?").key("user_name");
        let questions = questions
            .and(ask_model("Generate a greeting", 50).key("greeting"))
            .and(Questions::roots().key("client_roots"));
        return Ok(Outcome::InputRequired((), questions));
    };
    Ok(Outcome::Complete(format!("{name}: {} ({} roots)", said(&greeting), roots.len())))
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Serialize, Deserialize)]
enum Step {
    Name,
    Color { name: String },
}

async fn multi_round(trip: MultiRoundTrip<Step>) -> Result<Outcome<Step, String>, ToolError> {
    let declined = || ToolError::say("The user declined");
    Ok(match trip.state {
        None => {
            let question = Elicitation::form::<UserName>("Step 1: What is your name?").key("step1");
            Outcome::InputRequired(Step::Name, question)
        }
        Some(Step::Name) => {
            let UserName { name } = trip.answer_at("step1")?.ok_or_else(declined)?;
            let question = Elicitation::form::<Color>("Step 2: What is your favorite color?").key("step2");
            Outcome::InputRequired(Step::Color { name }, question)
        }
        Some(Step::Color { ref name }) => {
            let Color { color } = trip.answer_at("step2")?.ok_or_else(declined)?;
            Outcome::Complete(format!("{name} likes {color}"))
        }
    })
}

async fn capable(ctx: Ctx, trip: MultiRoundTrip<()>) -> Outcome<(), &'static str> {
    if trip.state.is_some() {
        return Outcome::Complete("Only what the client can answer was asked");
    }
    let client = ctx.client_capabilities();
    let mut questions = Questions::none();
    if client.elicitation.as_ref().is_some_and(ElicitationCapability::allows_form) {
        questions = questions.and(Elicitation::form::<UserName>("What is your name?").key("user_name"));
    }
    if client.sampling.is_some() {
        questions = questions.and(ask_model("Generate a greeting", 50).key("greeting"));
    }
    if client.roots.is_some() {
        questions = questions.and(Questions::roots().key("client_roots"));
    }
    Outcome::InputRequired((), questions)
}
