//! The server of the browser tests, over its standard streams: a tool for everything that a page can show.
//!
//! ```text
//! playground [FILE]
//! ```
//!
//! The tool `reworded` is described by what stands in `FILE`, read at the start.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::elicitation::ElicitSchema;
use switchboard_protocol::model::resource::ResourceContents;
use switchboard_server::{
    Args, Builder, Completing, Ctx, Elicitation, Json, MultiRoundTrip, Outcome, Prompt, Resource, Server,
    Tool, ToolError,
};

/// A blue square.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGNgqPlPEhrVMKphVAN1NAAAbSU1zzA\
                   fnj4AAAAASUVORK5CYII=";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words = std::env::args().nth(1).and_then(|file| std::fs::read_to_string(file).ok());
    let builder = Server::builder("playground", "1.0").title("Playground");
    let server = asking(given(tools(builder, words.unwrap_or_default().trim()))).build(())?;
    eprintln!("the playground is open");
    server.serve_stdio().await?;
    Ok(())
}

fn tools(builder: Builder<()>, words: &str) -> Builder<()> {
    builder
        .tool(Tool::new("climate", climate).describe("The climate at a place").read_only())
        .tool(Tool::new("note", note).describe("Writes a note into a folder"))
        .tool(Tool::new("reworded", async || "As always.").describe(words.to_owned()))
        .tool(Tool::new("slow", slow).describe("Takes as long as it is let"))
        .tool(Tool::new("picture", picture).describe("A picture, a text and a resource").read_only())
        .tool(Tool::new("long", async || "All work and no play. ".repeat(20_000)).describe("A long text"))
        .tool(Tool::new("broken", broken).describe("Fails, always"))
}

fn given(builder: Builder<()>) -> Builder<()> {
    let notes = async || "Tea is drunk at five.";
    builder
        .prompt(Prompt::new("sum_up", sum_up).describe("Sums a topic up").complete("topic", topics))
        .resource(Resource::new("note://tea", notes).name("tea").title("On tea").mime("text/plain"))
        .resource(Resource::new("note://cups", async || "There are two.").name("cups").mime("text/plain"))
}

fn asking(builder: Builder<()>) -> Builder<()> {
    builder
        .tool(Tool::new("survey", survey).describe("Asks with every kind of field"))
        .tool(Tool::new("pay", pay).describe("Asks to visit an address"))
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// A city or a room.
    place: String,
}

#[derive(Serialize, JsonSchema)]
struct Climate {
    temperature: f64,
    unit: String,
}

async fn climate(Args(Place { place }): Args<Place>) -> Json<Climate> {
    let unit = format!("degrees Celsius in {place}");
    Json(Climate { temperature: 21.5, unit })
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    /// Where it is written.
    path: String,
    /// What is written.
    text: String,
}

async fn note(Args(Note { path, text }): Args<Note>) -> String {
    format!("{} characters would stand in {path}.", text.chars().count())
}

async fn slow(ctx: Ctx) -> &'static str {
    for done in 1..10_000 {
        ctx.progress_message(f64::from(done.min(60)), Some(100.0), "stirring").await;
        tokio::select! {
            () = ctx.cancelled() => return "It was stopped.",
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
    "It is done."
}

async fn picture() -> Vec<ContentBlock> {
    let resource = ResourceContents::text("note://cups", "There are two.").with_mime_type("text/plain");
    vec![
        ContentBlock::text("A square, and a note."),
        ContentBlock::image(PNG, "image/png"),
        ContentBlock::resource(resource),
    ]
}

async fn broken() -> Result<(), ToolError> {
    Err(ToolError::say("The kettle is broken."))
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    /// What is summed up.
    topic: String,
}

async fn sum_up(Args(Topic { topic }): Args<Topic>) -> String {
    format!("Sum up {topic} in one line.")
}

async fn topics(typed: Completing) -> Vec<&'static str> {
    ["tea", "teapots", "cups"].into_iter().filter(|word| word.starts_with(&typed.value)).collect()
}

/// As text, because the order of the fields is that of the form.
const FORM: &str = r#"{
    "type": "object",
    "properties": {
        "name": { "type": "string", "title": "Name", "minLength": 2, "maxLength": 20 },
        "mail": { "type": "string", "title": "Mail", "format": "email" },
        "site": { "type": "string", "title": "Site", "format": "uri" },
        "day": { "type": "string", "title": "Day", "format": "date" },
        "moment": { "type": "string", "title": "Moment", "format": "date-time" },
        "cups": { "type": "integer", "title": "Cups", "minimum": 1, "maximum": 9 },
        "strength": { "type": "number", "title": "Strength", "default": 0.5 },
        "milk": { "type": "boolean", "title": "Milk", "default": true },
        "size": { "type": "string", "title": "Size", "enum": ["small", "large"] },
        "kind": {
            "type": "string",
            "title": "Kind",
            "oneOf": [{ "const": "g", "title": "Green" }, { "const": "b", "title": "Black" }]
        },
        "extras": {
            "type": "array",
            "title": "Extras",
            "items": { "type": "string", "enum": ["lemon", "honey", "mint"] },
            "maxItems": 2
        }
    },
    "required": ["name", "cups"]
}"#;

async fn survey(trip: MultiRoundTrip<()>) -> Result<Outcome<(), String>, ToolError> {
    if trip.action("answer").is_none() {
        let form: ElicitSchema = serde_json::from_str(FORM)?;
        let questions = Elicitation::form_of("answer", "How do you take your tea?", form);
        return Ok(Outcome::InputRequired((), questions));
    }
    let content: Map<String, Value> = trip.answer_at("answer")?.unwrap_or_default();
    Ok(Outcome::Complete(format!("You said {}.", Value::Object(content))))
}

async fn pay(trip: MultiRoundTrip<()>) -> Outcome<(), String> {
    match trip.action("url") {
        None => {
            let url = "https://tea.example/pay?cup=1";
            Outcome::InputRequired((), Elicitation::url("Please pay for the tea.", url))
        }
        Some(action) => Outcome::Complete(format!("You said {action:?}.")),
    }
}
