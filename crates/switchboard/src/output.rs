//! What goes to stdout: the result and nothing else.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::failure::{Exit, Failure};

/// Whether a person reads the result as it comes.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes a result for people, with a line end. On a terminal, control characters become visible: a tool's
/// answer must not be able to rewrite the screen. In a pipe the text is passed on as it is.
pub(crate) fn text(result: &str) -> Result<(), Failure> {
    let shown = if is_terminal() { printable(result) } else { result.to_owned() };
    write(&shown)
}

/// Writes a result as one line of JSON.
pub(crate) fn json(result: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(result).map_err(|error| {
        Failure::new(Exit::Tool, format!("the result cannot be written as JSON: {error}"), "leave out --json")
    })?;
    write(&line)
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

/// A text of several lines in which nothing else moves the cursor.
pub(crate) fn printable(text: &str) -> String {
    text.split('\n')
        .map(|line| line.split('\t').map(visible).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Escapes what a terminal would act upon; everything else, other scripts and emoji among it, stays.
fn visible(text: &str) -> String {
    let acts = |character: char| {
        character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if acts(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn a_result_cannot_rewrite_the_terminal() {
        assert_eq!(printable("21.2 °C\tü\nok"), "21.2 °C\tü\nok");
        assert_eq!(printable("\u{1b}[2Jgone"), "\\u{1b}[2Jgone");
        assert_eq!(printable("a\u{202e}b\r"), "a\\u{202e}b\\u{d}");
    }
}
