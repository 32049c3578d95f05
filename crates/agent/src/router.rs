//! The router: answers questions with one tool call and without a language model.
//!
//! It matches words. It ranks the tools against the question, takes none below a threshold and says why, reads
//! the arguments that the question holds, asks for the rest, and lays out the result. It goes through the same
//! turn, policy and journal as a language model, and says that it is none. Where to look next: `router/rank.rs`
//! for the choice, `router/fill.rs` for the arguments, `render` for the result.

mod expression;
mod fill;
mod question;
mod rank;
mod schema;
pub(crate) mod words;

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use serde_json::{Map, Value};
use switchboard_llm::{Finish, Message, ModelEvent, ToolCallRequest};

use self::question::Question;
use self::rank::{Candidate, THRESHOLD, rank};
use self::schema::{Kind, Parameter};
use crate::answer::{CallRecord, CallStatus};
use crate::error::{AgentError, ErrorKind};
use crate::name::ServerName;
use crate::render;
use crate::selector::{Selected, Selector};
use crate::turn::Step;
use crate::visible;

/// Tools named when none fits.
const NAMED: usize = 3;

/// Times that a person is asked for one value.
const ATTEMPTS: usize = 3;

/// A value that a tool must have and the question does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// Whose tool.
    pub server: ServerName,
    /// The tool's own name.
    pub tool: String,
    /// The parameter.
    pub parameter: String,
    /// What it is, as the server says.
    pub description: Option<String>,
    /// The values that it may have, if they are listed.
    pub allowed: Vec<String>,
    /// What was wrong with the value given before.
    pub problem: Option<String>,
}

impl Missing {
    /// The question to a person, without a newline at its end.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::new();
        if let Some(problem) = &self.problem {
            out.push_str(&visible::line(problem));
            out.push('\n');
        }
        let (tool, parameter) = (visible::line(&self.tool), visible::line(&self.parameter));
        out.push_str(&format!("{}/{tool} needs {parameter}", self.server));
        if let Some(description) = &self.description {
            out.push_str(&format!(" ({})", visible::line(description)));
        }
        if !self.allowed.is_empty() {
            let allowed: Vec<String> = self.allowed.iter().map(|value| visible::line(value)).collect();
            out.push_str(&format!(", one of {}", allowed.join(", ")));
        }
        out.push(':');
        out
    }
}

/// Whoever asks a person for a value that the question does not hold.
pub trait Ask: Send + Sync {
    /// Asks; `None` if there is no answer.
    fn ask<'a>(&'a self, missing: &'a Missing) -> BoxFuture<'a, Option<String>>;
}

/// Selects a tool by the words of the question. It is no language model.
///
/// ```
/// use switchboard_agent::{Router, Selector};
///
/// let router = Router::new();
/// assert_eq!(router.name(), "router (matches words; no language model)");
/// ```
#[derive(Clone, Default)]
pub struct Router {
    ask: Option<Arc<dyn Ask>>,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").field("asks", &self.ask.is_some()).finish()
    }
}

impl Selector for Router {
    fn name(&self) -> &str {
        "router (matches words; no language model)"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let said = async move {
            match step.calls.last() {
                None => self.choose(&step).await,
                Some(call) => conclude(&step, call),
            }
        };
        let said = stream::once(said).flat_map(|said| {
            stream::iter(match said {
                Ok(parts) => parts.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            })
        });
        said.boxed()
    }
}

impl Router {
    /// A router that asks nobody: a question must hold everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks a person for what the question does not hold.
    #[must_use]
    pub fn ask(mut self, ask: impl Ask + 'static) -> Self {
        self.ask = Some(Arc::new(ask));
        self
    }

    async fn choose(&self, step: &Step) -> Result<Vec<Selected>, AgentError> {
        let question = Question::read(&step.question);
        let mut candidates = rank(&question, step.exposure.tools());
        let Some(at) = candidates.iter().position(|candidate| candidate.share >= THRESHOLD) else {
            return Err(no_tool_fits(&candidates));
        };
        let candidate = candidates.swap_remove(at);
        let arguments = self.complete(&candidate).await?;
        let (name, text) = (candidate.tool.name().to_owned(), Value::Object(arguments).to_string());
        let request = ToolCallRequest::new("router", name.as_str(), text);
        Ok(vec![
            Selected::Note(why(&candidate)),
            Selected::Event(ModelEvent::CallStart { call: 0, name }),
            Selected::Event(ModelEvent::CallEnd { call: 0, request }),
            Selected::Event(ModelEvent::Finish(Finish::ToolCalls)),
        ])
    }

    /// The arguments, after asking for those that the question does not hold.
    async fn complete(&self, candidate: &Candidate<'_>) -> Result<Map<String, Value>, AgentError> {
        let mut arguments = candidate.filled.arguments.clone();
        for parameter in &candidate.filled.missing {
            let Some(value) = self.ask_for(candidate, parameter).await else {
                return Err(missing_arguments(candidate));
            };
            arguments.insert(parameter.name.clone(), value);
        }
        Ok(arguments)
    }

    async fn ask_for(&self, candidate: &Candidate<'_>, parameter: &Parameter) -> Option<Value> {
        let ask = self.ask.as_ref()?;
        let mut missing = Missing {
            server: candidate.tool.server().clone(),
            tool: candidate.tool.tool().name.clone(),
            parameter: parameter.name.clone(),
            description: parameter.description.clone(),
            allowed: match &parameter.kind {
                Kind::OneOf(values) => values.iter().map(plain).collect(),
                _ => Vec::new(),
            },
            problem: None,
        };
        for _ in 0..ATTEMPTS {
            let reply = ask.ask(&missing).await?;
            match value_of(&parameter.kind, reply.trim()) {
                Ok(value) => return Some(value),
                Err(problem) => missing.problem = Some(problem),
            }
        }
        None
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a person typed, as the schema wants it.
fn value_of(kind: &Kind, reply: &str) -> Result<Value, String> {
    let shown = visible::quoted(reply, 60);
    if reply.is_empty() {
        return Err("Nothing was given.".to_owned());
    }
    match kind {
        Kind::Text => Ok(Value::String(reply.to_owned())),
        Kind::OneOf(values) => values
            .iter()
            .find(|value| plain(value).eq_ignore_ascii_case(reply))
            .cloned()
            .ok_or_else(|| format!("{shown} is none of them.")),
        Kind::Number => reply
            .parse::<f64>()
            .ok()
            .and_then(|_| serde_json::from_str(reply).ok())
            .ok_or_else(|| format!("{shown} is no number.")),
        Kind::Integer => {
            reply.parse::<i64>().map(Value::from).map_err(|_| format!("{shown} is no whole number."))
        }
        Kind::Flag => match reply.to_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(Value::Bool(true)),
            "n" | "no" | "false" => Ok(Value::Bool(false)),
            _ => Err(format!("{shown} is neither yes nor no.")),
        },
        Kind::Other => serde_json::from_str(reply).map_err(|_| format!("{shown} is no JSON.")),
    }
}

/// Why this tool, for the person.
fn why(candidate: &Candidate<'_>) -> String {
    let (server, tool) = (candidate.tool.server(), visible::line(&candidate.tool.tool().name));
    let mut reasons: Vec<String> = candidate.matched.iter().map(|(word, term)| because(word, term)).collect();
    if candidate.filled.used_expression {
        reasons.push("the arithmetic expression".to_owned());
    }
    reasons.dedup();
    format!("the router picked {server}/{tool} by {} ({})", reasons.join(", "), numbers(candidate))
}

fn because(word: &str, term: &str) -> String {
    let shown = visible::line(word);
    if word.to_lowercase().starts_with(term) {
        format!("\"{shown}\"")
    } else {
        format!("\"{shown}\" → {term}")
    }
}

fn numbers(candidate: &Candidate<'_>) -> String {
    format!("score {:.2}, match {:.2}", candidate.score, candidate.share)
}

fn no_tool_fits(candidates: &[Candidate<'_>]) -> AgentError {
    let mut message =
        "no tool fits the words of the question, and the router is no language model".to_owned();
    let speaking: Vec<&Candidate<'_>> =
        candidates.iter().filter(|candidate| candidate.score > 0.0).take(NAMED).collect();
    if candidates.is_empty() {
        message.push_str("; there are no tools");
    } else if speaking.is_empty() {
        message.push_str(&match candidates.len() {
            1 => "; the only tool speaks of none of them".to_owned(),
            tools => format!("; none of the {tools} tools speaks of any of them"),
        });
    } else {
        let closest = speaking.into_iter().map(|candidate| {
            let (server, tool) = (candidate.tool.server(), visible::line(&candidate.tool.tool().name));
            format!("{server}/{tool} ({})", numbers(candidate))
        });
        let closest = closest.collect::<Vec<_>>().join(", ");
        message.push_str(&format!("; the closest, where a match of {THRESHOLD:.2} is needed: {closest}"));
    }
    AgentError::new(ErrorKind::NoToolFits, message).hint(
        "use the words of a tool's description, or start it with a language model: `switchboard run --help` says how",
    )
}

fn missing_arguments(candidate: &Candidate<'_>) -> AgentError {
    let (server, tool) = (candidate.tool.server(), visible::line(&candidate.tool.tool().name));
    let describe = |parameter: &Parameter| {
        let name = visible::line(&parameter.name);
        match &parameter.description {
            Some(description) => format!("{name} ({})", visible::line(description)),
            None => name,
        }
    };
    let missing: Vec<String> = candidate.filled.missing.iter().map(describe).collect();
    let message = format!("the question does not say what {server}/{tool} must know: {}", missing.join(", "));
    AgentError::new(ErrorKind::MissingArguments, message)
        .at(server)
        .hint("say it in the question, in quotation marks if need be")
}

/// The answer, once the call is over.
fn conclude(step: &Step, call: &CallRecord) -> Result<Vec<Selected>, AgentError> {
    let text = match (&call.status, &call.tool) {
        (CallStatus::Made(outcome), Some((server, tool))) => {
            let result = AgentError::unless_result((server, tool), outcome)?;
            let exposed = step.exposure.by_origin(server, tool);
            let schema = exposed.and_then(|exposed| exposed.tool().output_schema.as_deref());
            render::answer(result, &step.question, schema)
        }
        (CallStatus::Denied(denial), _) => return Err(denial.clone().into()),
        _ => {
            let message =
                format!("the arguments read from the question do not fit {}{}", call.name, told(step));
            return Err(AgentError::new(ErrorKind::MissingArguments, message)
                .hint("say it in other words, with values in quotation marks"));
        }
    };
    Ok(vec![Selected::Event(ModelEvent::TextDelta(text)), Selected::Event(ModelEvent::Finish(Finish::Stop))])
}

/// What a model would have been told about its last call, without the instructions to a model.
fn told(step: &Step) -> String {
    let Some(Message::Tool { text, .. }) = step.request.messages.last() else { return String::new() };
    let problems: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    if problems.is_empty() { String::new() } else { format!(": {}", problems.join("; ")) }
}

#[cfg(test)]
mod tests;
