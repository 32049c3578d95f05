//! Tools that ask before they answer: the person, twice; the client's model and its roots, at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_protocol::model::content::Role;
use switchboard_protocol::model::elicitation::{ElicitAction, ElicitSchema};
use switchboard_protocol::model::sampling::{
    CreateMessage, CreateMessageResult, OneOrMany, SamplingContent, SamplingMessage,
};
use switchboard_server::{Args, Builder, Elicitation, MultiRoundTrip, Outcome, Questions, Tool, ToolError};

use super::tools::Watch;

pub(super) fn expose(builder: Builder<Watch>) -> Builder<Watch> {
    builder
        .tool(
            Tool::new("interview", interview)
                .describe("Asks twice, the second time for what depends on the first"),
        )
        .tool(Tool::new("advise", advise).describe("Asks the client's model, and for its folders"))
        .tool(Tool::new("visit", visit).describe("Sends the person to an address"))
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    /// What the interview is about
    topic: String,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mood {
    Happy,
    Sad,
}

/// A field of every kind.
#[derive(Deserialize, JsonSchema)]
struct Person {
    /// What do people call you?
    #[schemars(length(min = 1, max = 40))]
    name: String,
    #[schemars(range(min = 0, max = 150))]
    age: i64,
    #[serde(default)]
    height: Option<f64>,
    mood: Mood,
    #[serde(default = "yes")]
    public: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Reason {
    reason: String,
    depth: String,
}

/// What only newer revisions can ask: a text that is filled in already, a choice whose values have titles.
fn about(question: String) -> Result<Questions, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "reason": {"type": "string", "default": "None"},
            "depth": {
                "type": "string",
                "oneOf": [{"const": "short", "title": "In a word"}, {"const": "long", "title": "At length"}]
            }
        },
        "required": ["depth"]
    });
    let schema: ElicitSchema = serde_json::from_value(schema)?;
    Ok(Elicitation::form_of("reason", question, schema))
}

#[derive(Serialize, Deserialize)]
struct Known {
    name: String,
    topic: String,
}

async fn interview(
    Args(Topic { topic }): Args<Topic>,
    trip: MultiRoundTrip<Option<Known>>,
) -> Result<Outcome<Option<Known>, String>, ToolError> {
    let declined = || ToolError::say("The person declined");
    Ok(match &trip.state {
        None => Outcome::InputRequired(None, Elicitation::form::<Person>("Who are you?").key("person")),
        Some(None) => {
            let Person { name, age, height, mood, public } =
                trip.answer_at("person")?.ok_or_else(declined)?;
            let mood = if matches!(mood, Mood::Happy) { "happy" } else { "sad" };
            let question = format!("Why are you {mood} with {age} years, {height:?} and {public}?");
            let known = Known { name, topic };
            Outcome::InputRequired(Some(known), about(question)?)
        }
        Some(Some(Known { name, topic })) => {
            let Reason { reason, depth } = trip.answer_at("reason")?.ok_or_else(declined)?;
            Outcome::Complete(format!("{name} on {topic}, {depth}: {reason}"))
        }
    })
}

async fn visit(trip: MultiRoundTrip<()>) -> Outcome<(), &'static str> {
    match trip.action("url") {
        None => Outcome::InputRequired((), Elicitation::url("Read the rest", "https://example.com/rest")),
        Some(ElicitAction::Accept) => Outcome::Complete("They went there"),
        Some(_) => Outcome::Complete("They did not go there"),
    }
}

async fn advise(trip: MultiRoundTrip<()>) -> Result<Outcome<(), String>, ToolError> {
    let (Some(advice), Some(roots)) = (trip.sampled("advice"), trip.roots("folders")) else {
        let content = OneOrMany::One(SamplingContent::text("What should I read?"));
        let message = SamplingMessage { role: Role::User, content, meta: None };
        let request = CreateMessage {
            messages: vec![message],
            system_prompt: Some("Be brief".into()),
            temperature: Some(0.5),
            max_tokens: 100,
            ..CreateMessage::default()
        };
        let questions = Questions::sampling(request).key("advice").and(Questions::roots().key("folders"));
        return Ok(Outcome::InputRequired((), questions));
    };
    let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(Outcome::Complete(format!("{} in {}", said(&advice)?, uris.join(", "))))
}

fn said(advice: &CreateMessageResult) -> Result<&str, ToolError> {
    let block = match &advice.content {
        OneOrMany::One(block) => Some(block),
        OneOrMany::Many(blocks) => blocks.first(),
    };
    match block {
        Some(SamplingContent::Text(text)) => Ok(&text.text),
        _ => Err(ToolError::say("The model said nothing")),
    }
}
