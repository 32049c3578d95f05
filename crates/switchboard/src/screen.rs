//! What a person sees on stderr: errors, notes, warnings, log lines and progress bars, never over each other.
//!
//! Nothing here writes to stdout; that is `output`. Whatever comes from a peer is made visible before it gets
//! here; what is in an error or a note all the same cannot move the cursor.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::builder::styling::{AnsiColor, Color, Style};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use switchboard_agent::journal::Masker;
use switchboard_agent::visible;
use tracing_subscriber::fmt::MakeWriter;

use crate::output;
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
    /// Whether what was written can be written over.
    moves: bool,
    colours: bool,
    /// Whether the cursor stands behind a question.
    asking: AtomicBool,
    /// The text that is being written piece by piece.
    writing: Mutex<Writing>,
    /// What must not be shown.
    masker: Mutex<Masker>,
}

/// How it stands with a text that is being written piece by piece.
#[derive(Clone, Copy, Debug, Default)]
struct Writing {
    /// Whether its last line is not ended.
    mid_line: bool,
    /// Whether something else was written since it began.
    disturbed: bool,
}

impl Writing {
    /// Something else is written now. What must come first.
    fn disturb(&mut self) -> &'static str {
        self.disturbed = true;
        if std::mem::take(&mut self.mid_line) { "\n" } else { "" }
    }
}

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
        let moves = terminal && !dumb;
        let look = Look {
            terminal,
            moves,
            colours: moves && !set("NO_COLOR"),
            asking: AtomicBool::new(false),
            writing: Mutex::default(),
            masker: Mutex::default(),
        };
        Self { bars: MultiProgress::with_draw_target(target(moves)), look: Arc::new(look) }
    }

    /// Whether what was written can be written over: not on a dumb terminal.
    pub(crate) fn moves(&self) -> bool {
        self.look.moves
    }

    /// Rows and columns.
    pub(crate) fn size(&self) -> (usize, usize) {
        let (rows, columns) = console::Term::stderr().size();
        (usize::from(rows).max(1), usize::from(columns).max(1))
    }

    /// The columns that texts are broken for; 0 if nothing is known of them, or nobody reads them there.
    pub(crate) fn columns(&self) -> usize {
        let known = console::Term::stderr().size_checked().filter(|_| self.look.moves);
        known.map_or(0, |(_, columns)| usize::from(columns))
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.look.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether stderr is a terminal, so that something that moves can be shown.
    pub(crate) fn is_terminal(&self) -> bool {
        self.look.terminal
    }

    /// Whether colours are wanted.
    pub(crate) fn has_colours(&self) -> bool {
        self.look.colours
    }

    /// Shows this text nowhere from now on, stdout included.
    pub(crate) fn mask(&self, secret: &str) {
        output::mask(secret);
        self.look.masker.lock().unwrap_or_else(PoisonError::into_inner).add(secret);
    }

    fn masked(&self, text: &str) -> String {
        self.look.masker.lock().unwrap_or_else(PoisonError::into_inner).known(text.to_owned())
    }

    /// A line as it is, without secrets.
    pub(crate) fn line(&self, text: &str) {
        let text = self.masked(text);
        let mut writing = self.writing();
        let first = writing.disturb();
        let start = if self.look.asking.swap(false, Ordering::Relaxed) { "\n" } else { first };
        // There is nowhere left to report that stderr is gone.
        let _ = self.bars.suspend(|| writeln!(io::stderr().lock(), "{start}{text}"));
    }

    /// Something that the person should know.
    pub(crate) fn note(&self, text: &str) {
        self.line(&self.dim(text));
    }

    /// Something that the person should look at.
    pub(crate) fn warning(&self, text: &str) {
        self.line(&self.warned(text));
    }

    /// Why the program ends.
    pub(crate) fn error(&self, text: &str) {
        self.line(&format!("{} {}", self.paint(RED, "error:"), visible::text(text)));
    }

    /// What to do about it.
    pub(crate) fn hint(&self, text: &str) {
        self.line(&self.hinted(text));
    }

    /// A line with a label in front, such as a stage or a direction.
    pub(crate) fn labelled(&self, label: &str, text: &str) {
        self.line(&format!("{} {}", self.paint(CYAN, label), visible::text(text)));
    }

    /// How a note looks.
    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint(DIM, &visible::text(text))
    }

    /// How a warning looks.
    pub(crate) fn warned(&self, text: &str) -> String {
        format!("{} {}", self.paint(YELLOW, "warning:"), visible::text(text))
    }

    /// How a hint looks.
    pub(crate) fn hinted(&self, text: &str) -> String {
        format!("{} {}", self.paint(CYAN, "hint:"), visible::text(text))
    }

    /// Bold, where that can be shown.
    pub(crate) fn strong(&self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Writes without a line end, for a question that is answered on the same line.
    /// [`Screen::answered`] ends it. What was typed before it stands there is no answer to it.
    pub(crate) fn ask(&self, text: &str) {
        let text = self.masked(text);
        stdin::forget_typed();
        if stdin::leave_prompt(&text) {
            return;
        }
        self.look.asking.store(true, Ordering::Relaxed);
        let _ = self.bars.suspend(|| {
            let mut stderr = io::stderr().lock();
            write!(stderr, "{text}").and_then(|()| stderr.flush())
        });
    }

    /// A piece of a text that is being written.
    pub(crate) fn piece(&self, text: &str) {
        let text = self.masked(text);
        let mut writing = self.writing();
        let _ = self.bars.suspend(|| {
            let mut stderr = io::stderr().lock();
            write!(stderr, "{text}").and_then(|()| stderr.flush())
        });
        writing.mid_line = !text.ends_with('\n');
    }

    /// Ends a text that was written with [`Screen::piece`], and writes it anew as `text` if all of it is still on the
    /// screen, with nothing between.
    pub(crate) fn replace_piece(&self, written: &str, text: &str) {
        let text = self.masked(text);
        let (rows, columns) = self.size();
        let above = rows_above(written, columns);
        let mut writing = self.writing();
        let Writing { mid_line, disturbed } = std::mem::take(&mut *writing);
        let _ = self.bars.suspend(|| {
            let mut stderr = io::stderr().lock();
            if self.look.moves && !disturbed && above + 2 < rows {
                let up = if above > 0 { format!("\u{1b}[{above}A") } else { String::new() };
                write!(stderr, "\r{up}\u{1b}[J{text}").and_then(|()| stderr.flush())
            } else if written.is_empty() {
                write!(stderr, "{text}").and_then(|()| stderr.flush())
            } else {
                let end = if mid_line { "\n" } else { "" };
                writeln!(stderr, "{end}").and_then(|()| stderr.flush())
            }
        });
    }

    /// Begins a text that is to be written with [`Screen::piece`].
    pub(crate) fn begin_pieces(&self) {
        *self.writing() = Writing::default();
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

/// Where bars are drawn.
fn target(moves: bool) -> ProgressDrawTarget {
    if moves { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// Rows between the first of a text and the cursor behind it.
pub(crate) fn rows_above(text: &str, columns: usize) -> usize {
    let (mut row, mut column) = (0, 0);
    for character in text.chars() {
        if character == '\n' {
            (row, column) = (row + 1, 0);
            continue;
        }
        let width = console::measure_text_width(character.encode_utf8(&mut [0; 4]));
        // The cursor waits behind the last cell of a full row, and a wide character does not stand astride.
        if column + width > columns {
            (row, column) = (row + 1, 0);
        }
        column += width;
    }
    row
}

/// While it lives, nothing moves on the screen.
#[derive(Debug)]
pub(crate) struct Still<'a>(&'a Screen);

impl Drop for Still<'_> {
    fn drop(&mut self) {
        self.0.bars.set_draw_target(target(self.0.look.moves));
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
        let mut writing = self.0.writing();
        let text = format!("{}{text}", writing.disturb());
        self.0.bars.suspend(|| io::stderr().lock().write_all(text.as_bytes())).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::rows_above;

    #[test]
    fn rows_are_counted_as_a_terminal_breaks_them() {
        for (text, columns, rows) in [
            ("", 10, 0),
            ("one", 3, 0),
            ("four", 3, 1),
            ("a\nb\n", 10, 2),
            ("日本語", 6, 0),
            ("a日本語", 6, 1),
            ("日本語", 3, 2),
            ("日", 1, 1),
            ("e\u{301}e\u{301}", 2, 0),
        ] {
            assert_eq!(rows_above(text, columns), rows, "{text:?} in {columns}");
        }
    }
}
