//! What the person says: the question from stdin, and answers on a terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::BoxFuture;

use crate::failure::Failure;
use crate::interrupt::Stop;
use crate::time_limit::{self, TimeLimit};

/// The longest text that is read from stdin, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// Reads the lines of a person in place of plain stdin, such as an editor of lines.
pub(crate) trait Lines: Send + Sync {
    /// A line; nothing if the person leaves.
    fn line<'a>(&'a self, prompt: &'a str) -> BoxFuture<'a, Option<String>>;
}

/// The one that reads, if plain stdin does not.
static LINES: OnceLock<Arc<dyn Lines>> = OnceLock::new();
/// The question that an editor of lines shows itself.
static PROMPT: Mutex<String> = Mutex::new(String::new());

/// Whether nobody waits for an answer any more. Held while the modes of the terminal are set: who is left behind at a
/// question must not change anything once the terminal is as it was before.
static STOPPED: Mutex<bool> = Mutex::new(false);

/// Lets these read from now on. Who reads a terminal raw must be the only one.
pub(crate) fn read_with(lines: Arc<dyn Lines>) {
    // Only one command runs in a process.
    let _ = LINES.set(lines);
}

/// Leaves the question to whoever reads the line. `false` if plain stdin does.
pub(crate) fn leave_prompt(prompt: &str) -> bool {
    if LINES.get().is_some() {
        prompt.clone_into(&mut PROMPT.lock().unwrap_or_else(PoisonError::into_inner));
    }
    LINES.get().is_some()
}

/// Whether a person can be asked: both what they type and what they see must be a terminal.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The question: the words given, or stdin to its end for `-`.
pub(crate) async fn question(words: &str, limit: Option<TimeLimit>) -> Result<String, Failure> {
    let text = text(words, ("the question", limit)).await?;
    if text.trim().is_empty() {
        let hint = "write the question in quotation marks, or '-' to read it from stdin";
        return Err(Failure::usage("the question is empty", hint));
    }
    Ok(text.trim().to_owned())
}

/// The words given, or stdin to its end for `-`. `what` says in errors what it is.
pub(crate) async fn text(
    words: &str,
    (what, limit): (&'static str, Option<TimeLimit>),
) -> Result<String, Failure> {
    if words != "-" {
        return Ok(words.to_owned());
    }
    reading(move || to_its_end(what), limit).await
}

/// Reads stdin, or asks a person there, on a thread of its own: ctrl-c, SIGTERM and the time limit end the wait at
/// once. The thread is left behind then, as a terminal cannot be taken back from it; the terminal is as it was before.
///
/// # Errors
/// Those of `read`, [`Exit::Interrupted`](crate::failure::Exit::Interrupted), and that the time limit was reached.
pub(crate) async fn reading<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    limit: Option<TimeLimit>,
) -> Result<T, Failure> {
    let (before, stop) = (AsBefore::now(), Stop::listen()?);
    let read = async {
        let failed = |error| Failure::usage(format!("stdin was not read: {error}"), "try again");
        Ok(tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(failed(error))))
    };
    let stopped = tokio::select! {
        read = stop.unless(read) => match read {
            Ok(read) => {
                before.leave();
                return read;
            }
            Err(stopped) => stopped,
        },
        failure = time_limit::reached(limit) => failure,
    };
    before.stay();
    Err(stopped)
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

/// How the terminal was before; it is so again once this is dropped, whatever happens meanwhile.
#[derive(Debug)]
pub(crate) struct AsBefore {
    #[cfg(unix)]
    modes: Option<rustix::termios::Termios>,
}

impl AsBefore {
    /// Changes nothing yet.
    pub(crate) fn now() -> Self {
        Self {
            #[cfg(unix)]
            modes: rustix::termios::tcgetattr(io::stdin()).ok(),
        }
    }

    /// Nothing is to be undone.
    fn leave(self) {
        #[cfg(unix)]
        {
            let mut before = self;
            before.modes = None;
        }
    }

    /// It is so again from now on, until the process ends.
    fn stay(self) {
        let mut stopped = STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
        self.restore();
        *stopped = true;
    }

    fn restore(&self) {
        #[cfg(unix)]
        if let Some(modes) = &self.modes {
            // There is nothing left to do about a terminal that is gone.
            let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, modes);
        }
    }

    /// What is typed from now on is not shown. `true` if that could be done.
    #[cfg(unix)]
    fn hide(&self, line_ends: bool) -> bool {
        use rustix::termios::{LocalModes, OptionalActions, tcsetattr};
        let stopped = STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut hidden) = self.modes.clone().filter(|_| !*stopped) else { return false };
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.set(LocalModes::ECHONL, line_ends);
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden).is_ok()
    }
}

impl Drop for AsBefore {
    fn drop(&mut self) {
        if !*STOPPED.lock().unwrap_or_else(PoisonError::into_inner) {
            self.restore();
        }
    }
}

/// What is typed while this lives does not stand between what is written.
#[must_use]
pub(crate) fn quiet() -> AsBefore {
    let before = AsBefore::now();
    #[cfg(unix)]
    let _ = before.hide(false);
    before
}

/// One line of a person that is not shown while it is typed.
#[cfg(unix)]
pub(crate) fn hidden_line() -> Option<String> {
    let before = AsBefore::now();
    if !before.hide(true) {
        return None;
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).ok().filter(|count| *count > 0)?;
    Some(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// One line of a person that is not shown while it is typed.
#[cfg(not(unix))]
pub(crate) fn hidden_line() -> Option<String> {
    rpassword::read_password().ok()
}

/// One line of a person, without its end; nothing once stdin has ended.
///
/// Dropping the future leaves the read behind on a thread of its own: a terminal cannot be taken back from it.
/// The program ends without waiting for that thread.
pub(crate) async fn line() -> Option<String> {
    if let Some(lines) = LINES.get() {
        let prompt = std::mem::take(&mut *PROMPT.lock().unwrap_or_else(PoisonError::into_inner));
        return lines.line(&prompt).await;
    }
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end_matches(['\n', '\r']).to_owned()),
        }
    });
    read.await.ok().flatten()
}
