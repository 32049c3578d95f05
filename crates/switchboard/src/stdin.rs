//! What the person says: the question from stdin, and answers on a terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use crate::failure::Failure;
use crate::interrupt::unless_interrupted;

/// The longest text that is read from stdin, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// Whether a person can be asked: both what they type and what they see must be a terminal.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The question: the words given, or stdin to its end for `-`.
pub(crate) async fn question(words: &str) -> Result<String, Failure> {
    let text = text(words, "the question").await?;
    if text.trim().is_empty() {
        let hint = "write the question in quotation marks, or '-' to read it from stdin";
        return Err(Failure::usage("the question is empty", hint));
    }
    Ok(text.trim().to_owned())
}

/// The words given, or stdin to its end for `-`. `what` says in errors what it is. Ctrl-c ends it.
pub(crate) async fn text(words: &str, what: &'static str) -> Result<String, Failure> {
    if words != "-" {
        return Ok(words.to_owned());
    }
    unless_interrupted(async {
        let read = tokio::task::spawn_blocking(move || to_its_end(what)).await;
        read.unwrap_or_else(|error| Err(Failure::usage(format!("{what} was not read: {error}"), "try again")))
    })
    .await
}

fn to_its_end(what: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let refused = |error: io::Error| {
        Failure::usage(format!("{what} cannot be read from stdin: {error}"), "write it as UTF-8 text")
    };
    io::stdin().lock().take(MAX_TEXT + 1).read_to_string(&mut text).map_err(refused)?;
    if text.len() as u64 > MAX_TEXT {
        return Err(Failure::usage(format!("{what} is longer than {MAX_TEXT} bytes"), "shorten it"));
    }
    Ok(text)
}

/// Forgets what was typed but not read yet. Who typed it has not seen the question that comes now.
pub(crate) fn forget_typed() {
    // Where stdin is no terminal, nobody is asked.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// One line of a person, without its end; nothing once stdin has ended.
///
/// Dropping the future leaves the read behind on a thread of its own: a terminal cannot be taken back from it.
/// The program ends without waiting for that thread.
pub(crate) async fn line() -> Option<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end_matches(['\n', '\r']).to_owned()),
        }
    });
    read.await.ok().flatten()
}
