//! Bars for what takes long: a view of the journal.
//!
//! A call that ends within [`PATIENCE`] shows nothing. Where stderr is no terminal nothing is shown at all.

use std::collections::HashMap;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use switchboard_agent::journal::{
    Discovery, Entry, Event, Execution, Integration, Invocation, Selection, Sink,
};
use switchboard_agent::{CallId, ServerName, visible};
use tokio::task::JoinHandle;

use crate::screen::Screen;

/// How long something may take before it is shown.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often what is shown moves.
const TICK: Duration = Duration::from_millis(100);
/// The most characters of a server's own words on one line.
const MAX_WORDS: usize = 60;

/// What is running.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Work {
    Server(ServerName),
    Model,
    Call(CallId),
}

impl Running {
    fn new(screen: &Screen, name: String) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style("{spinner} {msg} {elapsed}"));
        bar.set_message(name.clone());
        let (screen, shown) = (screen.clone(), bar.clone());
        let reveal = tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            screen.bar(shown).enable_steady_tick(TICK);
        });
        Self { bar, name, reveal }
    }

    /// Says what is waited for now.
    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(fit(what));
    }
}

/// Shows what is waited for until it is dropped. Must be called within a tokio runtime.
pub(crate) fn waiting(screen: &Screen, what: &str) -> Running {
    Running::new(screen, fit(what))
}

/// Shows a bar for each call and for each wait, for a server or for the model.
#[derive(Debug)]
pub(crate) struct Bars {
    screen: Screen,
    running: HashMap<Work, Running>,
}

/// Something that is waited for, and shown if it takes long.
#[derive(Debug)]
pub(crate) struct Running {
    bar: ProgressBar,
    name: String,
    reveal: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.reveal.abort();
        self.bar.finish_and_clear();
    }
}

impl Bars {
    /// Must be made, and written to, within a tokio runtime.
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen, running: HashMap::new() }
    }

    fn start(&mut self, work: Work, name: String) {
        self.running.insert(work, Running::new(&self.screen, name));
    }

    fn advance(&self, call: CallId, (done, total): (f64, Option<f64>), words: Option<&str>) {
        let Some(Running { bar, name, .. }) = self.running.get(&Work::Call(call)) else { return };
        let words = words.map(|words| format!(": {}", fit(words))).unwrap_or_default();
        bar.set_message(format!("{name}{words}"));
        match total.filter(|total| *total > 0.0) {
            Some(total) => {
                bar.set_style(style("{spinner} {msg} [{bar:24}] {percent} % {elapsed}"));
                bar.set_length(1000);
                bar.set_position(permille(done / total));
            }
            None => bar.set_position(permille(done / 1000.0)),
        }
    }
}

impl Sink for Bars {
    fn write(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Discovery(Discovery::Connecting { server }) => {
                self.start(Work::Server(server.clone()), fit(&format!("connecting to {server}")));
            }
            Event::Discovery(Discovery::Opened { server, .. } | Discovery::Failed { server, .. }) => {
                drop(self.running.remove(&Work::Server(server.clone())));
            }
            Event::Selection(Selection::Asked { selector, .. }) => self.start(Work::Model, fit(selector)),
            Event::Selection(
                Selection::Answered { .. } | Selection::TextDelta { .. } | Selection::Empty { .. },
            ) => drop(self.running.remove(&Work::Model)),
            Event::Invocation(Invocation::Started { call, server, tool, .. }) => {
                self.start(Work::Call(*call), fit(&format!("{server}/{tool}")));
            }
            Event::Execution(Execution::Progress { call, done, total, message }) => {
                self.advance(*call, (*done, *total), message.as_deref());
            }
            Event::Result { call, .. } => drop(self.running.remove(&Work::Call(*call))),
            Event::Integration(Integration::Finished { .. } | Integration::Stopped { .. }) => {
                self.running.clear();
            }
            _ => {}
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are the constants above, so the fallback is never used.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// A server's words on one line that cannot move the cursor or hide themselves.
fn fit(words: &str) -> String {
    let calm = |character: char| if visible::is_invisible(character) { ' ' } else { character };
    words.chars().map(calm).take(MAX_WORDS).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=1000 first")]
fn permille(part: f64) -> u64 {
    (part * 1000.0).clamp(0.0, 1000.0) as u64
}

#[cfg(test)]
mod tests {
    use super::{fit, permille};

    #[test]
    fn progress_of_any_size_fits_the_bar() {
        for (part, expected) in [(0.5, 500), (2.0, 1000), (-1.0, 0), (f64::NAN, 0), (f64::INFINITY, 1000)] {
            assert_eq!(permille(part), expected, "{part}");
        }
    }

    #[test]
    fn a_servers_words_stay_on_their_line() {
        assert_eq!(fit("half\r\ndone\u{1b}[2J"), "half  done [2J");
        assert_eq!(fit("a\u{202e}\u{200b}\u{e0041}\u{61c}\u{9b}b"), "a     b");
        assert_eq!(fit(&"x".repeat(1000)).len(), 60);
    }
}
