//! What goes to stdout: the result and nothing else.
//!
//! Known secrets are masked in it, whoever repeated them, here and nowhere else. Only where the result is what a server
//! answered to this very command, or a file of the person, it is passed on as it is.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use switchboard_agent::journal::Masker;
use switchboard_agent::visible;

use crate::failure::{Exit, Failure};

/// What must not be shown. There is one stdout.
static KNOWN: Mutex<Option<Masker>> = Mutex::new(None);

/// Shows this text nowhere from now on.
pub(crate) fn mask(secret: &str) {
    known().get_or_insert_default().add(secret);
}

fn known() -> MutexGuard<'static, Option<Masker>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a person reads the result as it comes.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes a result for people, with a line end. On a terminal, invisible characters become visible: a tool's
/// answer must not be able to rewrite the screen. In a pipe the text is passed on as it is.
pub(crate) fn text(result: &str) -> Result<(), Failure> {
    let masked = known().as_ref().map(|masker| masker.known(result.to_owned()));
    whole_text(masked.as_deref().unwrap_or(result))
}

/// As [`text`], secrets included.
pub(crate) fn whole_text(result: &str) -> Result<(), Failure> {
    let shown = if is_terminal() { visible::text(result) } else { result.to_owned() };
    write(&shown)
}

/// Writes a result as one line of JSON. On a terminal, invisible characters are escaped in it, which changes nothing of
/// what it says.
pub(crate) fn json(result: &impl Serialize) -> Result<(), Failure> {
    let line = line(result)?;
    let masked = known().as_ref().map(|masker| masker.shown_json(line.clone()));
    json_line(masked.unwrap_or(line))
}

/// As [`json`], secrets included.
pub(crate) fn whole_json(result: &impl Serialize) -> Result<(), Failure> {
    json_line(line(result)?)
}

fn line(result: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(result).map_err(|error| {
        Failure::new(Exit::Tool, format!("the result cannot be written as JSON: {error}"), "leave out --json")
    })
}

fn json_line(line: String) -> Result<(), Failure> {
    let shown = if is_terminal() { visible::json_line(&line) } else { line };
    write(&shown)
}

/// Stdout for what is long. Whoever closed it has seen enough: the rest goes nowhere.
pub(crate) fn stdout() -> impl io::Write {
    io::BufWriter::new(Stdout(io::stdout().lock()))
}

struct Stdout(io::StdoutLock<'static>);

impl io::Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        quiet(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        quiet(self.0.flush(), ())
    }
}

fn quiet<T>(written: io::Result<T>, all: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(all),
        other => other,
    }
}

fn write(result: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let end = if result.ends_with('\n') { "" } else { "\n" };
    // Whoever read it has seen enough.
    quiet(write!(stdout, "{result}{end}").and_then(|()| stdout.flush()), ()).map_err(|error| {
        Failure::usage(format!("the result cannot be written to stdout: {error}"), "check where stdout goes")
    })
}
