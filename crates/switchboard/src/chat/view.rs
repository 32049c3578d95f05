//! What is shown of a run: the answer as it is written, the calls between, and how it ended.

use std::collections::HashMap;

use switchboard_agent::journal::{
    Authorization, Entry, Event, Execution, Integration, Invocation, ResultEvent, RunEvent, Selection,
    Sink as _,
};
use switchboard_agent::store::RunStatus;
use switchboard_agent::{CallId, RunView, visible};

use super::markdown::Streaming;
use crate::fold::{cut, folded};
use crate::progress::Bars;
use crate::screen::Screen;

/// Columns of a call's arguments on its line.
const ARGUMENTS: usize = 80;

/// Shows the entries of a journal, in their order.
pub(super) struct View {
    screen: Screen,
    text: Streaming,
    /// What takes long. It moves with what is written, so it is told of each entry by this view alone.
    bars: Bars,
    calls: HashMap<CallId, String>,
    /// How many calls of the run were made. One that nobody allowed is none.
    made: usize,
    /// Whether the answer was written piece by piece.
    written: bool,
    /// Whether what happened before is shown: nothing moves, and answers come whole.
    past: bool,
    /// Whether a line of ours stands right above: an empty one comes between it and an answer.
    below_ours: bool,
    /// What was noted last; nobody wants to read it at each question.
    noted: String,
}

impl View {
    pub(super) fn new(screen: &Screen) -> Self {
        Self {
            screen: screen.clone(),
            text: Streaming::new(screen.clone()),
            bars: Bars::new(screen.clone()),
            calls: HashMap::new(),
            made: 0,
            written: false,
            past: false,
            below_ours: false,
            noted: String::new(),
        }
    }

    /// Whether what comes now happened before.
    pub(super) fn past(&mut self, past: bool) {
        self.past = past;
        self.written = false;
    }

    pub(super) fn show(&mut self, entry: &Entry) {
        if !self.past {
            self.bars.write(entry);
        }
        match &entry.event {
            Event::Run(RunEvent::Begun { question }) if self.past => {
                self.made = 0;
                self.screen.line(&format!("\n{} {}", self.screen.strong("›"), visible::text(question)));
            }
            Event::Selection(selection) => self.selection(selection),
            Event::Authorization(Authorization::Denied { reason, .. }) => self.aside(&format!("✗ {reason}")),
            Event::Invocation(Invocation::Started { call, server, tool, arguments }) => {
                let name = format!("{server}/{}", visible::name(tool));
                let arguments = match arguments.to_string() {
                    empty if empty == "{}" => String::new(),
                    arguments => format!(" {}", cut(&visible::json_line(&arguments), ARGUMENTS)),
                };
                self.aside(&format!("● {name}{arguments}"));
                self.calls.insert(*call, name);
                self.made += 1;
            }
            Event::Execution(Execution::Cancelled { .. }) => {
                self.aside("cancel sent; the server may still be working on it");
            }
            Event::Result { call, took_ms, outcome } => self.result(*call, *took_ms, outcome),
            Event::Integration(Integration::Finished { text, .. }) if !self.written => self.whole(text),
            _ => {}
        }
    }

    fn selection(&mut self, selection: &Selection) {
        match selection {
            Selection::Asked { .. } => self.written = false,
            Selection::TextDelta { text } => {
                self.write(text);
            }
            Selection::Answered { text, calls, .. } => {
                self.text.end();
                // What is said beside calls is part of the talk, too.
                if !self.written && !calls.is_empty() && !text.is_empty() {
                    self.whole(text);
                }
            }
            Selection::Corrected { problem, .. } => {
                self.aside(&format!("the model's call cannot be made, and it is told: {problem}"));
            }
            Selection::Note { text } if *text != self.noted => {
                self.aside(text);
                self.noted.clone_from(text);
            }
            _ => {}
        }
    }

    fn result(&mut self, call: CallId, took_ms: u64, outcome: &ResultEvent) {
        let name = self.calls.remove(&call).unwrap_or_else(|| call.to_string());
        let took = seconds(took_ms);
        match outcome {
            ResultEvent::Returned { is_error: false, .. } => self.aside(&format!("✓ {name} {took}")),
            ResultEvent::Returned { is_error: true, .. } => {
                self.aside(&format!("✗ {name} {took}: the tool says that it failed"));
            }
            ResultEvent::Failed { message, maybe_executed, .. } => {
                let perhaps = if *maybe_executed { "; it may have been done all the same" } else { "" };
                self.aside(&format!("✗ {name} {took}: {}{perhaps}", visible::short(message, 200)));
            }
        }
    }

    fn whole(&mut self, text: &str) {
        self.write(text);
        self.text.end();
    }

    fn write(&mut self, text: &str) {
        self.written = true;
        if std::mem::take(&mut self.below_ours) {
            self.screen.line("");
        }
        self.text.push(text);
    }

    fn aside(&mut self, text: &str) {
        self.text.end();
        self.screen.note(&folded(&format!("  {text}"), self.screen.columns()));
        self.below_ours = true;
    }

    /// How it ended.
    pub(super) fn end(&mut self, view: Option<&RunView>) {
        self.text.end();
        self.bars = Bars::new(self.screen.clone());
        self.calls.clear();
        let made = std::mem::take(&mut self.made);
        self.below_ours = false;
        let Some(view) = view else { return };
        if let Some(error) = &view.outcome.error {
            if view.status == RunStatus::Cancelled {
                self.screen.note("stopped");
            } else {
                self.screen.error(&error.message);
                error.hint.iter().for_each(|hint| self.screen.hint(hint));
            }
        }
        let usage = view.outcome.usage;
        let tokens = usage.input_tokens + usage.output_tokens;
        let mut facts = Vec::new();
        match made {
            0 => {}
            1 => facts.push("1 call".to_owned()),
            calls => facts.push(format!("{calls} calls")),
        }
        if tokens > 0 {
            let cached = match usage.cached_input_tokens {
                0 => String::new(),
                cached => format!(", {cached} of them from the cache"),
            };
            facts.push(format!("{tokens} tokens{cached}"));
        }
        if !facts.is_empty() {
            self.screen.note(&format!("  {}", facts.join(" · ")));
        }
    }
}

fn seconds(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}
