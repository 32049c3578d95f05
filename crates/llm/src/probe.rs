//! Asks a model live what it can do: a few small questions with one harmless tool, which nobody executes.
//!
//! What it costs is a few hundred tokens. The table in `capabilities` says what is expected of a model; this says
//! what its endpoint really does.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::ModelAnswer;
use crate::capabilities::Capabilities;
use crate::config::{ModelConfig, Provider, connect};
use crate::error::ModelError;
use crate::message::{Image, Message};
use crate::model::{ChatModel, ChatRequest, ModelEvent, ToolDefinition, Usage, Warning};

const TOOL: &str = "note_word";
const SCHEMA: &str = r#"{"type":"object","properties":{"word":{"type":"string","description":"The word."}},"required":["word"],"additionalProperties":false}"#;
/// What the tool would return; the model can only know it from there.
const RESULT: &str = "The word is noted under number 4711.";
const NUMBER: &str = "4711";

/// A red square of 32 by 32 points.
const RED_PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC";

/// Room for thinking and a short answer.
const MAX_TOKENS: u32 = 4_096;

/// How much of what was said is passed on, in characters.
const MAX_SAID: usize = 200;

/// What a model really does.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeReport {
    /// The model.
    pub model: String,
    /// Its endpoint, without a path that may hold a key.
    pub endpoint: String,
    /// The wire.
    pub provider: Provider,
    /// What was tried, in order.
    pub steps: Vec<ProbeStep>,
    /// What is known of it now: what the configuration says, corrected by what was seen.
    pub capabilities: Capabilities,
    /// What all of it cost.
    pub usage: Usage,
}

impl ProbeReport {
    /// Whether the model can be used: it answers and calls tools.
    pub fn is_usable(&self) -> bool {
        let passed =
            |wanted: &str| self.steps.iter().any(|step| step.step == wanted && step.outcome == Outcome::Pass);
        passed("answer") && passed("call")
    }
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeStep {
    /// `answer`, `stream`, `call`, `result`, `parallel`, `strict`, `image` or `usage`.
    pub step: &'static str,
    /// How it went.
    pub outcome: Outcome,
    /// What the endpoint or the model said, for people.
    pub said: String,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Outcome {
    /// As wanted.
    Pass,
    /// Not as wanted, though nothing says that it cannot be.
    Fail,
    /// The endpoint or the model does not do this.
    Unsupported,
    /// Not tried: something before it failed.
    Skipped,
}

/// Tries what the model of `config` does.
pub async fn probe(config: &ModelConfig) -> ProbeReport {
    let mut probe = Probe {
        report: ProbeReport {
            model: config.model.clone(),
            endpoint: config.endpoint(),
            provider: config.provider,
            steps: Vec::new(),
            capabilities: config.capabilities.clone(),
            usage: Usage::default(),
        },
        figures: false,
    };
    let mut config = config.clone();
    // Whether it takes pictures is found out, not believed.
    config.capabilities.vision = true;
    match connect(config) {
        Ok(model) => probe.run(&*model).await,
        Err(error) => probe.step("answer", Outcome::Fail, error.to_string()),
    }
    for step in ["stream", "call", "result", "parallel", "strict", "image", "usage"] {
        if !probe.report.steps.iter().any(|done| done.step == step) {
            probe.step(step, Outcome::Skipped, String::new());
        }
    }
    probe.report
}

struct Probe {
    report: ProbeReport,
    /// An answer said what it cost.
    figures: bool,
}

/// An answer and how many pieces of text it came in.
struct Heard {
    answer: ModelAnswer,
    pieces: usize,
}

impl Heard {
    /// Whether the endpoint refused `option`.
    fn dropped(&self, option: &str) -> bool {
        self.answer.warnings.iter().any(
            |warning| matches!(warning, Warning::OptionDropped { option: dropped } if *dropped == option),
        )
    }

    /// What it said, or what is odd about it.
    fn said(&self) -> String {
        let warnings = self.answer.warnings.iter().map(ToString::to_string);
        let calls = self.answer.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments));
        let text = Some(self.answer.text.trim().to_owned()).filter(|text| !text.is_empty());
        shorten(&text.into_iter().chain(calls).chain(warnings).collect::<Vec<_>>().join("; "))
    }
}

impl Probe {
    fn step(&mut self, step: &'static str, outcome: Outcome, said: impl Into<String>) {
        self.report.steps.push(ProbeStep { step, outcome, said: said.into() });
    }

    async fn run(&mut self, model: &dyn ChatModel) {
        if !self.answers(model).await {
            return;
        }
        self.calls(model).await;
        self.calls_at_once(model).await;
        self.keeps_to_schemas(model).await;
        self.sees(model).await;
        let usage = self.report.usage;
        let said = format!("{} tokens read, {} written", usage.input_tokens, usage.output_tokens);
        match self.figures {
            true => self.step("usage", Outcome::Pass, said),
            false => self.step("usage", Outcome::Unsupported, "no answer said what it cost"),
        }
    }

    /// Asks once, and counts what it cost.
    async fn ask(&mut self, model: &dyn ChatModel, request: ChatRequest) -> Result<Heard, ModelError> {
        use futures_util::StreamExt as _;

        let mut events = model.chat(ChatRequest { max_tokens: Some(MAX_TOKENS), ..request });
        let mut heard = Heard { answer: ModelAnswer::default(), pieces: 0 };
        while let Some(event) = events.next().await {
            let event = event?;
            heard.pieces += usize::from(matches!(event, ModelEvent::TextDelta(_)));
            heard.answer.apply(event);
        }
        if let Some(usage) = heard.answer.usage {
            self.figures = true;
            let total = &mut self.report.usage;
            total.input_tokens += usage.input_tokens;
            total.output_tokens += usage.output_tokens;
            total.cached_input_tokens += usage.cached_input_tokens;
            total.cache_write_tokens += usage.cache_write_tokens;
        }
        self.report.capabilities.reasoning |= !heard.answer.thinking.is_empty();
        Ok(heard)
    }

    async fn answers(&mut self, model: &dyn ChatModel) -> bool {
        let question = "Count from one to twelve in words, and say nothing else.";
        let heard = match self.ask(model, asking(question, Vec::new())).await {
            Ok(heard) => heard,
            Err(error) => {
                self.step("answer", Outcome::Fail, error.to_string());
                return false;
            }
        };
        let answered = !heard.answer.text.trim().is_empty();
        self.step("answer", if answered { Outcome::Pass } else { Outcome::Fail }, heard.said());
        match heard.pieces {
            0 => self.step("stream", Outcome::Skipped, "there was no text"),
            1 => self.step("stream", Outcome::Unsupported, "the answer came in one piece"),
            pieces => self.step("stream", Outcome::Pass, format!("the answer came in {pieces} pieces")),
        }
        true
    }

    /// One call, and what it makes of its result.
    async fn calls(&mut self, model: &dyn ChatModel) {
        let question = "Use the tool note_word to note the word switchboard, then tell me the number that the tool says.";
        let mut request = asking(question, vec![tool(false)]);
        let heard = match self.ask(model, request.clone()).await {
            Ok(heard) => heard,
            Err(error) => return self.step("call", Outcome::Fail, error.to_string()),
        };
        let right = heard.answer.tool_calls.iter().any(|call| {
            call.is_executable() && call.name == TOOL && call.arguments.to_lowercase().contains("switchboard")
        });
        if !right {
            return self.step("call", Outcome::Fail, heard.said());
        }
        self.step("call", Outcome::Pass, heard.said());
        let ids: Vec<String> = heard.answer.tool_calls.iter().map(|call| call.id.clone()).collect();
        request.messages.push(heard.answer.into_message());
        request.messages.extend(ids.into_iter().map(|id| Message::tool(id, RESULT)));
        match self.ask(model, request).await {
            Ok(heard) if heard.answer.text.contains(NUMBER) => {
                self.step("result", Outcome::Pass, heard.said())
            }
            Ok(heard) => self.step("result", Outcome::Fail, heard.said()),
            Err(error) => self.step("result", Outcome::Fail, error.to_string()),
        }
    }

    async fn calls_at_once(&mut self, model: &dyn ChatModel) {
        let question =
            "Use the tool note_word twice at the same time: for the word left and for the word right.";
        let request = ChatRequest { parallel_tool_calls: Some(true), ..asking(question, vec![tool(false)]) };
        let (outcome, said) = match self.ask(model, request).await {
            Ok(heard) => match heard.answer.tool_calls.iter().filter(|call| call.is_executable()).count() {
                0 => (Outcome::Fail, heard.said()),
                1 => (Outcome::Unsupported, "it made one call at a time".to_owned()),
                _ => (Outcome::Pass, heard.said()),
            },
            Err(error) => (Outcome::Fail, error.to_string()),
        };
        if outcome != Outcome::Fail {
            self.report.capabilities.parallel_tool_calls = outcome == Outcome::Pass;
        }
        self.step("parallel", outcome, said);
    }

    async fn keeps_to_schemas(&mut self, model: &dyn ChatModel) {
        let request = asking("Use the tool note_word to note the word strict.", vec![tool(true)]);
        let (outcome, said) = match self.ask(model, request).await {
            Ok(heard) if heard.dropped("strict") => (Outcome::Unsupported, heard.said()),
            Ok(heard) if heard.answer.tool_calls.is_empty() => (Outcome::Fail, heard.said()),
            Ok(heard) => (Outcome::Pass, heard.said()),
            Err(error) if error.status() == Some(400) => (Outcome::Unsupported, error.to_string()),
            Err(error) => (Outcome::Fail, error.to_string()),
        };
        self.step("strict", outcome, said);
    }

    async fn sees(&mut self, model: &dyn ChatModel) {
        let mut request = asking("Which colour is this picture? Answer with one word.", Vec::new());
        if let Some(Message::User { images, .. }) = request.messages.first_mut() {
            images.push(Image::new("image/png", RED_PNG));
        }
        let (outcome, said) = match self.ask(model, request).await {
            Ok(heard) if heard.dropped("image") => (Outcome::Unsupported, heard.said()),
            Ok(heard) if heard.answer.text.to_lowercase().contains("red") => (Outcome::Pass, heard.said()),
            // Some endpoints take pictures and throw them away.
            Ok(heard) => (Outcome::Fail, heard.said()),
            Err(error) if error.status().is_some_and(|status| status < 500 && status != 429) => {
                (Outcome::Unsupported, error.to_string())
            }
            Err(error) => (Outcome::Fail, error.to_string()),
        };
        if outcome != Outcome::Fail {
            self.report.capabilities.vision = outcome == Outcome::Pass;
        }
        self.step("image", outcome, said);
    }
}

fn asking(question: &str, tools: Vec<ToolDefinition>) -> ChatRequest {
    ChatRequest { messages: vec![Message::user(question)], tools, ..ChatRequest::default() }
}

fn tool(strict: bool) -> ToolDefinition {
    let schema = RawValue::from_string(SCHEMA.to_owned()).unwrap_or_default();
    ToolDefinition {
        strict,
        ..ToolDefinition::new(TOOL, "Notes a word and says under which number.", schema)
    }
}

fn shorten(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(MAX_SAID) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
