//! What goes to stdout: the result and nothing else.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use serde::Serialize;
use switchboard_agent::visible;

use crate::failure::{Exit, Failure};

/// Whether a person reads the result as it comes.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes a result for people, with a line end. On a terminal, invisible characters become visible: a tool's
/// answer must not be able to rewrite the screen. In a pipe the text is passed on as it is.
pub(crate) fn text(result: &str) -> Result<(), Failure> {
    let shown = if is_terminal() { visible::text(result) } else { result.to_owned() };
    write(&shown)
}

/// Writes a result as one line of JSON. On a terminal, invisible characters are escaped in it, which changes nothing of
/// what it says.
pub(crate) fn json(result: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(result).map_err(|error| {
        Failure::new(Exit::Tool, format!("the result cannot be written as JSON: {error}"), "leave out --json")
    })?;
    let shown = if is_terminal() { visible::json_line(&line) } else { line };
    write(&shown)
}

fn write(result: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let end = if result.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{result}{end}").and_then(|()| stdout.flush()) {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::usage(
            format!("the result cannot be written to stdout: {error}"),
            "check where stdout goes",
        )),
        Ok(()) => Ok(()),
    }
}
