//! The journal as lines for a terminal, one event a line: the nine stages as they happen.

use std::fmt::Write as _;

use serde_json::Value;
use switchboard_protocol::model::elicitation::ElicitAction;

use super::Entry;
use super::authorization::Authorization;
use super::declaration::{Declaration, Exposed};
use super::event::{
    Discovery, Event, Execution, Integration, Invocation, ResultEvent, RunEvent, Selection, WireDirection,
};
use crate::desk::Question;
use crate::identity::in_a_session;
use crate::visible;

/// The most characters of one text in a line.
const TEXT_CHARS: usize = 160;

/// The event as one line without a newline, for `-v`. Pieces of an answer and messages of the wire give none:
/// they have views of their own.
///
/// ```
/// use switchboard_agent::journal::{self, Entry, Event, Selection};
///
/// let event = Event::from(Selection::Question { text: "How warm is it?".to_owned() });
/// let entry = Entry { seq: 1, unix_ms: 0, elapsed_ms: 12, run: None, event };
/// assert_eq!(journal::line(&entry).as_deref(), Some("    12 ms  selection      question: How warm is it?"));
/// ```
#[must_use]
pub fn line(entry: &Entry) -> Option<String> {
    if entry.event.is_piece() || matches!(entry.event, Event::Execution(Execution::Wire { .. })) {
        return None;
    }
    let mut out = format!("{:>6} ms  {:<13}  ", entry.elapsed_ms, entry.event.stage());
    // Writing to a String cannot fail.
    let _ = body(&entry.event, &mut out);
    Some(out)
}

fn body(event: &Event, out: &mut String) -> std::fmt::Result {
    match event {
        Event::Declaration(Declaration::Tool { server, tool, title, .. }) => {
            write!(out, "{server}/{}", short(tool))?;
            title.as_ref().map_or(Ok(()), |title| write!(out, ": {}", short(title)))
        }
        Event::Declaration(Declaration::Listed { server, tools, .. }) => {
            write!(out, "{server}: {}: {}", count(tools.len(), "tool"), short(&tools.join(", ")))
        }
        Event::Discovery(event) => discovery(event, out),
        Event::Exposure(exposed) => exposure(exposed, out),
        Event::Selection(event) => selection(event, out),
        Event::Authorization(event) => authorization(event, out),
        Event::Invocation(Invocation::Started { call, server, tool, arguments }) => {
            write!(out, "{call} {server}/{} {}", short(tool), json(arguments))
        }
        Event::Execution(Execution::Progress { call, done, total, message }) => {
            write!(out, "{call} {done}")?;
            total.map_or(Ok(()), |total| write!(out, " of {total}"))?;
            message.as_ref().map_or(Ok(()), |message| write!(out, " {}", short(message)))
        }
        Event::Execution(Execution::Cancelled { call }) => {
            write!(out, "{call} cancel sent, the server may still work on it")
        }
        Event::Execution(Execution::Wire { server, direction, message, .. }) => {
            let arrow = if *direction == WireDirection::Sent { "→" } else { "←" };
            write!(out, "{arrow} {server} {}", json(message))
        }
        Event::Execution(Execution::WireLeftOut { server, messages }) => {
            write!(out, "{messages} more messages of {server} are not recorded")
        }
        Event::Result { call, took_ms, outcome } => match outcome {
            ResultEvent::Returned { is_error, result } => {
                let how = if *is_error { "tool error" } else { "result" };
                write!(out, "{call} {how} in {took_ms} ms: {}", json(result))
            }
            ResultEvent::Failed { kind, message, maybe_executed } => {
                let maybe = if *maybe_executed { " (may have been executed)" } else { "" };
                write!(out, "{call} {kind}, {took_ms} ms{maybe}: {}", short(message))
            }
        },
        Event::Integration(event) => integration(event, out),
        Event::Run(RunEvent::Begun { question }) => write!(out, "begins: {}", short(question)),
        Event::Run(RunEvent::Resumed) => write!(out, "goes on after a restart"),
        Event::Run(RunEvent::Ended { status, error, .. }) => {
            write!(out, "ended: {status}")?;
            error.as_ref().map_or(Ok(()), |error| write!(out, ", {}", short(error)))
        }
    }
}

fn discovery(event: &Discovery, out: &mut String) -> std::fmt::Result {
    match event {
        Discovery::Connecting { server } => write!(out, "connecting to {server}"),
        Discovery::Opened { server, revision, session, took_ms } => {
            let (revision, session) = (short(revision), in_a_session(*session));
            write!(out, "{server} speaks revision {revision}{session}, found out in {took_ms} ms")
        }
        Discovery::Connected { server, implementation, revision, session, tools, took_ms } => {
            let itself =
                implementation.as_deref().map(|name| format!(" ({})", short(name))).unwrap_or_default();
            let (revision, session) = (short(revision), in_a_session(*session));
            let tools = count(*tools, "tool");
            write!(out, "{server}{itself} answers in {took_ms} ms, revision {revision}{session}, {tools}")
        }
        Discovery::Failed { server, error, took_ms } => {
            write!(out, "{server} failed after {took_ms} ms: {}", short(error))
        }
        Discovery::State { server, state, error } => {
            write!(out, "{server} is {}", short(state))?;
            error.as_ref().map_or(Ok(()), |error| write!(out, ": {}", short(error)))
        }
    }
}

fn exposure(event: &Exposed, out: &mut String) -> std::fmt::Result {
    match event {
        Exposed::Offered { tools } => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            write!(out, "{}: {}", count(names.len(), "tool"), short(&names.join(", ")))
        }
        Exposed::Listed { tools, .. } => write!(out, "{}", count(*tools, "tool")),
        Exposed::LeftOut { server, tool, reason, .. } => {
            write!(out, "left out {server}/{}: {}", short(tool), short(reason))
        }
        Exposed::Unchecked { server, tool, reason } => {
            write!(out, "unchecked {server}/{}: {}", short(tool), short(reason))
        }
    }
}

fn selection(event: &Selection, out: &mut String) -> std::fmt::Result {
    match event {
        Selection::Question { text } => write!(out, "question: {}", short(text)),
        Selection::Asked { step, selector, messages, tools } => {
            let (messages, tools) = (count(*messages, "message"), count(*tools, "tool"));
            write!(out, "step {step}: asking {} ({messages}, {tools})", short(selector))
        }
        Selection::FirstToken { step } => write!(out, "step {step}: the answer begins"),
        Selection::Answered { step, text, calls, .. } => {
            write!(out, "step {step}:")?;
            for call in calls {
                write!(out, " {} {} {}", call.call, short(&call.name), json(&call.arguments))?;
            }
            if text.is_empty() { Ok(()) } else { write!(out, " {}", short(text)) }
        }
        Selection::Corrected { call, name, problem, round } => {
            write!(out, "{call} {} cannot be called, correction {round}: {}", short(name), short(problem))
        }
        Selection::Empty { step } => write!(out, "step {step}: the model returned nothing; asking once more"),
        Selection::Repeated { call, name } => {
            write!(out, "{call} {} repeats itself; not called", short(name))
        }
        Selection::Note { text } => write!(out, "{}", short(text)),
        Selection::TextDelta { text } | Selection::ThinkingDelta { text } => write!(out, "{}", short(text)),
        Selection::CallStarted { name } => write!(out, "{}", short(name)),
    }
}

fn authorization(event: &Authorization, out: &mut String) -> std::fmt::Result {
    match event {
        Authorization::Asked { call, server, tool, rule, .. } => {
            write!(out, "{call} {server}/{} asks the person: {}", short(tool), short(rule))
        }
        Authorization::Granted { call, server, tool, by, .. } => {
            write!(out, "{call} {server}/{} allowed by {}", short(tool), short(by))
        }
        Authorization::Denied { call, reason, .. } => write!(out, "{call} denied: {}", short(reason)),
        Authorization::Requested { request, question, .. } => {
            write!(out, "question {} waits", short(request))?;
            asked(question, out)
        }
        Authorization::Answered { request, answer } => {
            write!(out, "question {} answered: {}", short(request), short(answer))
        }
        Authorization::Withdrawn { request, reason } => {
            write!(out, "question {} withdrawn: {}", short(request), short(reason))
        }
        Authorization::Elicited { server, message, fields, host } => {
            write!(out, "{server} asks the person")?;
            host.as_ref().map_or(Ok(()), |host| write!(out, " to open an address at {}", short(host)))?;
            if !fields.is_empty() {
                write!(out, " for {}", short(&fields.join(", ")))?;
            }
            write!(out, ": {}", short(message))
        }
        Authorization::Replied { server, action } => {
            let said = match action {
                ElicitAction::Accept => "accepted",
                ElicitAction::Decline => "declined",
                ElicitAction::Cancel => "closed it without a choice",
            };
            write!(out, "{server} is told that the person {said}")
        }
    }
}

/// What a tool wants to know of the person. An approval has a line of its own.
fn asked(question: &Question, out: &mut String) -> std::fmt::Result {
    match question {
        Question::Form { server, message, schema, .. } => {
            let fields: Vec<_> = schema.properties.0.iter().map(|(name, _)| name.as_str()).collect();
            write!(out, ": {server} asks the person for {}: {}", short(&fields.join(", ")), short(message))
        }
        Question::Url { server, message, host, .. } => {
            write!(
                out,
                ": {server} asks the person to open an address at {}: {}",
                short(host),
                short(message)
            )
        }
        _ => Ok(()),
    }
}

fn integration(event: &Integration, out: &mut String) -> std::fmt::Result {
    match event {
        Integration::Added { call, text, left_out_bytes } => {
            write!(out, "{call} {} bytes for the model", text.len())?;
            left_out_bytes.map_or(Ok(()), |bytes| write!(out, ", {bytes} bytes left out"))
        }
        Integration::Finished { steps, calls, .. } => {
            let (steps, calls) = (count(*steps as usize, "step"), count(*calls as usize, "call"));
            write!(out, "finished after {steps} and {calls}")
        }
        Integration::Stopped { reason } => write!(out, "stopped: {}", short(reason)),
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn short(text: &str) -> String {
    cut(&visible::line(text))
}

/// Control characters are escaped in JSON already; the rest of what is invisible is not.
fn json(value: &Value) -> String {
    let text: String = value
        .to_string()
        .chars()
        .map(|character| if visible::is_invisible(character) { '�' } else { character })
        .collect();
    cut(&text)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
