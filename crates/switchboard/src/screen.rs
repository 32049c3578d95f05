//! What a person sees on stderr: errors, notes, warnings, log lines and progress bars, never over each other.
//!
//! Nothing here writes to stdout; that is `output`. Whatever comes from a peer is made visible before it gets
//! here; what is in an error or a note all the same cannot move the cursor.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::builder::styling::{AnsiColor, Color, Style};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use switchboard_agent::visible;
use tracing_subscriber::fmt::MakeWriter;

use crate::stdin;

/// Stderr, shared by everything that writes to it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    bars: MultiProgress,
    look: Arc<Look>,
}

#[derive(Debug)]
struct Look {
    terminal: bool,
    colours: bool,
    /// Whether the cursor stands behind a question.
    asking: AtomicBool,
    /// What must not be shown, the longest first.
    secrets: Mutex<Vec<String>>,
}

/// What stands in the place of a secret.
const MASK: &str = "***";

/// A secret shorter than this, in bytes, is not searched for: it would tear holes into everything else.
const SHORTEST_SECRET: usize = 6;

const RED: Style = colour(AnsiColor::Red).bold();
const YELLOW: Style = colour(AnsiColor::Yellow).bold();
const CYAN: Style = colour(AnsiColor::Cyan).bold();
const DIM: Style = Style::new().dimmed();

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

impl Screen {
    /// The process's stderr. Colours only on a terminal that is not dumb, and never with `NO_COLOR`.
    pub(crate) fn stderr() -> Self {
        let terminal = io::stderr().is_terminal();
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = terminal && !dumb && !set("NO_COLOR");
        Self {
            bars: MultiProgress::new(),
            look: Arc::new(Look {
                terminal,
                colours,
                asking: AtomicBool::new(false),
                secrets: Mutex::default(),
            }),
        }
    }

    /// Whether stderr is a terminal, so that something that moves can be shown.
    pub(crate) fn is_terminal(&self) -> bool {
        self.look.terminal
    }

    /// Whether colours are wanted.
    pub(crate) fn has_colours(&self) -> bool {
        self.look.colours
    }

    /// Shows this text nowhere from now on.
    pub(crate) fn mask(&self, secret: &str) {
        let mut secrets = self.look.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.len() >= SHORTEST_SECRET && !secrets.iter().any(|known| known == secret) {
            secrets.push(secret.to_owned());
            secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    fn masked(&self, text: &str) -> String {
        let secrets = self.look.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK))
    }

    /// A line as it is, without secrets.
    pub(crate) fn line(&self, text: &str) {
        let text = self.masked(text);
        let start = if self.look.asking.swap(false, Ordering::Relaxed) { "\n" } else { "" };
        // There is nowhere left to report that stderr is gone.
        let _ = self.bars.suspend(|| writeln!(io::stderr().lock(), "{start}{text}"));
    }

    /// Something that the person should know.
    pub(crate) fn note(&self, text: &str) {
        self.line(&self.paint(DIM, &visible::text(text)));
    }

    /// Something that the person should look at.
    pub(crate) fn warning(&self, text: &str) {
        self.line(&format!("{} {}", self.paint(YELLOW, "warning:"), visible::text(text)));
    }

    /// Why the program ends.
    pub(crate) fn error(&self, text: &str) {
        self.line(&format!("{} {}", self.paint(RED, "error:"), visible::text(text)));
    }

    /// What to do about it.
    pub(crate) fn hint(&self, text: &str) {
        self.line(&format!("{} {}", self.paint(CYAN, "hint:"), visible::text(text)));
    }

    /// A line with a label in front, such as a stage or a direction.
    pub(crate) fn labelled(&self, label: &str, text: &str) {
        self.line(&format!("{} {}", self.paint(CYAN, label), visible::text(text)));
    }

    /// Bold, where that can be shown.
    pub(crate) fn strong(&self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Writes without a line end, for a question that is answered on the same line.
    /// [`Screen::answered`] ends it. What was typed before it stands there is no answer to it.
    pub(crate) fn ask(&self, text: &str) {
        let text = self.masked(text);
        self.look.asking.store(true, Ordering::Relaxed);
        stdin::forget_typed();
        let _ = self.bars.suspend(|| {
            let mut stderr = io::stderr().lock();
            write!(stderr, "{text}").and_then(|()| stderr.flush())
        });
    }

    /// The person has ended the line of a question.
    pub(crate) fn answered(&self) {
        self.look.asking.store(false, Ordering::Relaxed);
    }

    /// Shows a bar until it is finished or dropped. Invisible where stderr is no terminal.
    pub(crate) fn bar(&self, bar: ProgressBar) -> ProgressBar {
        self.bars.add(bar)
    }

    /// Takes everything that moves off the screen while a person is being asked.
    pub(crate) fn still(&self) -> Still<'_> {
        let _ = self.bars.clear();
        self.bars.set_draw_target(ProgressDrawTarget::hidden());
        Still(self)
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.look.colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// While it lives, nothing moves on the screen.
#[derive(Debug)]
pub(crate) struct Still<'a>(&'a Screen);

impl Drop for Still<'_> {
    fn drop(&mut self) {
        self.0.bars.set_draw_target(ProgressDrawTarget::stderr());
    }
}

/// Log lines go between the bars, whole.
impl<'a> MakeWriter<'a> for Screen {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        LogLine(self)
    }
}

/// One log line.
#[derive(Debug)]
pub(crate) struct LogLine<'a>(&'a Screen);

impl Write for LogLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = self.0.masked(&String::from_utf8_lossy(bytes));
        self.0.bars.suspend(|| io::stderr().lock().write_all(text.as_bytes())).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}
