//! Tools that ask with what they were called with, and forms with every kind of field: written as rounds, and the
//! same for every client, whichever way it is asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use switchboard_protocol::model::elicitation::{ElicitAction, ElicitSchema};
use switchboard_server::{Args, Builder, Elicitation, MultiRoundTrip, Outcome, Questions, Tool, ToolError};

use super::rounds::{ask_model, said};

pub(super) fn expose(builder: Builder<()>) -> Builder<()> {
    builder
        .tool(Tool::new("test_sampling", sampling).describe("Asks the client's model"))
        .tool(
            Tool::new("test_elicitation", elicitation).describe("Asks the person for a name and an address"),
        )
        .tool(
            Tool::new("test_elicitation_sep1034_defaults", defaults)
                .describe("Asks with a form that is filled in beforehand"),
        )
        .tool(
            Tool::new("test_elicitation_sep1330_enums", enums)
                .describe("Asks with a form that has every kind of choice"),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    /// The prompt to send to the LLM
    prompt: String,
}

async fn sampling(Args(Prompt { prompt }): Args<Prompt>, trip: MultiRoundTrip<()>) -> Outcome<(), String> {
    match trip.sampled("sampling") {
        None => Outcome::InputRequired((), ask_model(&prompt, 100)),
        Some(answer) => Outcome::Complete(format!("LLM response: {}", said(&answer))),
    }
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// The message to show the user
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Contact {
    /// User's response
    #[expect(dead_code, reason = "only its field in the form is used")]
    username: String,
    /// User's email address
    #[expect(dead_code, reason = "only its field in the form is used")]
    email: String,
}

async fn elicitation(
    Args(Message { message }): Args<Message>,
    trip: MultiRoundTrip<()>,
) -> Result<Outcome<(), String>, ToolError> {
    asked(&trip, "User response: ", || Elicitation::form::<Contact>(message))
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
    Pending,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(default)]
struct Filled {
    /// User name
    name: String,
    /// User age
    age: i64,
    /// User score
    score: f64,
    /// User status
    status: Status,
    /// Verification status
    verified: bool,
}

impl Default for Filled {
    fn default() -> Self {
        Self { name: "John Doe".into(), age: 30, score: 95.5, status: Status::Active, verified: true }
    }
}

async fn defaults(trip: MultiRoundTrip<()>) -> Result<Outcome<(), String>, ToolError> {
    asked(&trip, "Elicitation completed: ", || {
        Elicitation::form::<Filled>("Please review and update the form fields with defaults")
    })
}

async fn enums(trip: MultiRoundTrip<()>) -> Result<Outcome<(), String>, ToolError> {
    let form: ElicitSchema = serde_json::from_value(choices())?;
    asked(&trip, "Elicitation completed: ", || {
        Elicitation::form_of(ANSWER, "Please select options from the enum fields", form)
    })
}

/// The scenario wants five ways to write a choice, two of which have no type in Rust.
fn choices() -> Value {
    let titled = |titles: [&str; 3]| {
        let values = ["value1", "value2", "value3"];
        Value::from_iter(
            values.iter().zip(titles).map(|(value, title)| json!({"const": value, "title": title})),
        )
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {
                "type": "string",
                "oneOf": titled(["First Option", "Second Option", "Third Option"])
            },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {
                "type": "array",
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]}
            },
            "titledMulti": {
                "type": "array",
                "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}
            }
        },
        "required": []
    })
}

/// The key of the one question.
const ANSWER: &str = "answer";

/// Asks in the first round, and tells what was answered in the second.
fn asked(
    trip: &MultiRoundTrip<()>,
    introduction: &str,
    question: impl FnOnce() -> Questions,
) -> Result<Outcome<(), String>, ToolError> {
    let Some(action) = trip.action(ANSWER) else {
        return Ok(Outcome::InputRequired((), question().key(ANSWER)));
    };
    let action = match action {
        ElicitAction::Accept => "accept",
        ElicitAction::Decline => "decline",
        ElicitAction::Cancel => "cancel",
    };
    let content: Map<String, Value> = trip.answer_at(ANSWER)?.unwrap_or_default();
    Ok(Outcome::Complete(format!("{introduction}action={action}, content={}", Value::Object(content))))
}
