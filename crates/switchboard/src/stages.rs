//! Views of the journal: approvals, the nine stages as they happen (`-v`), and a file (`--trace`).

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use switchboard_agent::journal::{
    self, Authorization, Discovery, Entry, Event, Execution, Exposed, JsonLines, ResultEvent, Selection,
    Sink, WireDirection,
};
use switchboard_agent::{FailureKind, Identity, ServerName, visible};
use switchboard_protocol::model::elicitation::ElicitAction;

use crate::failure::Failure;
use crate::private_file;
use crate::screen::Screen;

/// Shows who allowed which call.
#[derive(Debug)]
pub(crate) struct Approvals {
    screen: Screen,
    /// Calls that were not made. If the run ends because of one, the error says so; it is not said twice.
    denied: Vec<String>,
    /// How each server is spoken to.
    spoken: HashMap<ServerName, String>,
}

impl Approvals {
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen, denied: Vec::new(), spoken: HashMap::new() }
    }
}

impl Sink for Approvals {
    fn write(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Discovery(Discovery::Opened { server, revision, session, .. }) => {
                let identity =
                    Identity { implementation: None, revision: revision.clone(), session: *session };
                self.spoken.insert(server.clone(), identity.to_string());
            }
            Event::Authorization(Authorization::Granted { server, tool, by, .. }) => {
                let spoken = self.spoken.get(server).map(|spoken| format!(" ({spoken})")).unwrap_or_default();
                self.screen.note(&format!(
                    "calling {server}/{}{spoken}, allowed by {}",
                    visible::line(tool),
                    visible::line(by)
                ));
            }
            Event::Result {
                outcome: ResultEvent::Failed { kind: FailureKind::Changed, message, .. },
                ..
            } => {
                self.screen.note(&format!("not called after all: {}", visible::line(message)));
            }
            Event::Authorization(Authorization::Denied { reason, .. }) => {
                self.denied.push(visible::line(reason));
            }
            // The run went on.
            Event::Selection(
                Selection::TextDelta { .. } | Selection::CallStarted { .. } | Selection::Answered { .. },
            ) => {
                for reason in self.denied.drain(..) {
                    self.screen.note(&format!("not called: {reason}"));
                }
            }
            _ => {}
        }
    }
}

/// Whether the person did not answer what was asked of them during the latest call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declined(Arc<AtomicBool>);

impl Declined {
    pub(crate) fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Sink for Declined {
    fn write(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Authorization(Authorization::Granted { .. }) => self.0.store(false, Ordering::Relaxed),
            Event::Authorization(Authorization::Replied { action, .. }) => {
                self.0.store(*action != ElicitAction::Accept, Ordering::Relaxed);
            }
            // In a session, of a form or an address. An approval is answered in other words.
            Event::Authorization(Authorization::Answered { answer, .. })
                if matches!(answer.as_str(), "accept" | "decline" | "cancel") =>
            {
                self.0.store(answer != "accept", Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// Warns of servers of which not all tools can be used, one line for each.
#[derive(Debug)]
pub(crate) struct LeftOut {
    screen: Screen,
    counts: BTreeMap<ServerName, usize>,
    /// What was said last.
    said: BTreeMap<ServerName, usize>,
}

impl LeftOut {
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen, counts: BTreeMap::new(), said: BTreeMap::new() }
    }
}

impl Sink for LeftOut {
    fn write(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Exposure(Exposed::LeftOut { server, fault: true, .. }) => {
                *self.counts.entry(server.clone()).or_insert(0) += 1;
            }
            // All that is left out was written before.
            Event::Selection(_) => {
                for (server, count) in std::mem::take(&mut self.counts) {
                    if self.said.insert(server.clone(), count) == Some(count) {
                        continue;
                    }
                    let tools = if count == 1 { "1 tool is" } else { &format!("{count} tools are") };
                    self.screen
                        .warning(&format!("{tools} left out of {server}; switchboard tools list says why"));
                }
            }
            _ => {}
        }
    }
}

/// Shows each event as one line on stderr.
#[derive(Debug)]
pub(crate) struct Stages(Screen);

impl Stages {
    pub(crate) fn new(screen: Screen) -> Self {
        Self(screen)
    }
}

impl Sink for Stages {
    fn write(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Execution(Execution::Wire { server, direction: WireDirection::Sent, message, .. })
                if message.get("method").and_then(Value::as_str) == Some("tools/call") =>
            {
                let id = message.get("id").map(Value::to_string).unwrap_or_default();
                self.0.note(&format!(
                    "{:>6} ms  {:<13}  tools/call with id {id} is on its way to {server}",
                    entry.elapsed_ms, "execution"
                ));
            }
            Event::Execution(Execution::Wire { server, direction, message, .. }) => {
                if let Some(said) = asked_by_the_server(*direction, message) {
                    self.0.note(&format!("{:>6} ms  {:<13}  {server} {said}", entry.elapsed_ms, "execution"));
                }
            }
            _ => {
                if let Some(line) = journal::line(entry) {
                    self.0.note(&line);
                }
            }
        }
    }
}

/// What a server asks of this program in a session, and that it is refused. A ping is nobody's concern.
fn asked_by_the_server(direction: WireDirection, message: &Value) -> Option<String> {
    let id = message.get("id")?;
    match (direction, message.get("method").and_then(Value::as_str)) {
        (WireDirection::Received, Some(method)) if method != "ping" => {
            Some(format!("asks {} with id {id}", visible::quoted(method, 60)))
        }
        (WireDirection::Sent, None) => {
            let why = message.get("error")?.get("message").and_then(Value::as_str).unwrap_or_default();
            Some(format!("is refused an answer to id {id}: {}", visible::line(why)))
        }
        _ => None,
    }
}

/// The journal as JSON lines in a new file, or in place of an old one.
pub(crate) fn trace(path: &Path) -> Result<JsonLines<BufWriter<File>>, Failure> {
    let file = private_file::create(path).map_err(|error| {
        Failure::usage(
            format!("the trace {} cannot be written: {error}", path.display()),
            "name a file in a folder that exists and may be written to",
        )
    })?;
    Ok(JsonLines::new(BufWriter::new(file)))
}
