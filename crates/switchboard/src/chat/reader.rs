//! The line that is typed: edited, completed, remembered.
//!
//! One thread reads, one line at a time; everything that asks the person on the terminal goes through it, so that no
//! two read at once and nothing that was asked for swallows the next line.

use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, ExternalPrinter, Helper};
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::stdin;

/// Lines that are remembered.
const HISTORY: usize = 1000;
/// Completions that are shown, at most.
const MOST_WORDS: usize = 200;

/// What came of reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A line.
    Line(String),
    /// Ctrl-c.
    Interrupted,
    /// Ctrl-d, or the terminal is gone.
    End,
}

/// Reads lines on a thread of its own.
pub(crate) struct Reader {
    wanted: mpsc::Sender<Wanted>,
    words: Words,
    /// Writes above the line that is being typed.
    above: Option<Arc<Mutex<Above>>>,
}

/// A line that is asked for.
pub(crate) struct Wanted {
    prompt: String,
    kind: Kind,
    read: oneshot::Sender<Read>,
}

/// What a line is for.
pub(crate) enum Kind {
    /// Something to say: it is remembered, and its words are completed.
    Talk,
    /// An answer, with what it could be.
    Answer(Option<Choices>),
}

/// What could be meant by what was typed so far. It is asked on the thread that reads, and may take its time.
pub(crate) type Choices = Box<dyn Fn(&str) -> Vec<String> + Send>;

/// What can be completed: words that begin with `/` or `@`, with what they are for.
pub(crate) type Words = Arc<Mutex<Vec<(String, String)>>>;

type Above = dyn ExternalPrinter + Send;

impl Reader {
    /// Begins to read when asked to. What is asked is remembered in `history`.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(crate) fn start(history: Option<PathBuf>) -> Result<Self, Failure> {
        let failure = |error: ReadlineError| {
            Failure::usage(format!("the terminal cannot be read: {error}"), "check TERM")
        };
        let config = Config::builder().completion_type(CompletionType::List).max_history_size(HISTORY);
        let config = config.map_err(failure)?.build();
        let words = Words::default();
        let mut editor: Editor<Complete, DefaultHistory> = Editor::with_config(config).map_err(failure)?;
        editor.set_helper(Some(Complete { words: Arc::clone(&words), kind: Kind::Talk }));
        if let Some(file) = &history {
            // Without a history there is nothing to remember yet.
            let _ = editor.load_history(file);
        }
        // A dumb terminal has nothing above the line.
        let above = editor.create_external_printer().ok();
        let above = above.map(|above| Arc::new(Mutex::new(above)) as Arc<Mutex<Above>>);
        let (wanted, asked) = mpsc::channel();
        thread::spawn(move || read_all(&mut editor, &asked, history.as_deref()));
        Ok(Self { wanted, words, above })
    }

    /// Reads a line.
    pub(crate) async fn read(&self, prompt: &str, kind: Kind) -> Read {
        let (read, line) = oneshot::channel();
        if self.wanted.send(Wanted { prompt: prompt.to_owned(), kind, read }).is_err() {
            return Read::End;
        }
        line.await.unwrap_or(Read::End)
    }

    /// Shows a line while another one is typed. `false` where that cannot be done.
    pub(crate) fn say_above(&self, line: String) -> bool {
        let Some(above) = self.above.clone() else { return false };
        // It waits for the thread that reads.
        tokio::task::spawn_blocking(move || {
            let _ = above.lock().unwrap_or_else(PoisonError::into_inner).print(line);
        });
        true
    }

    /// Where that stands which can be completed.
    pub(crate) fn words(&self) -> Words {
        Arc::clone(&self.words)
    }
}

impl stdin::Lines for Reader {
    fn line<'a>(&'a self, prompt: &'a str) -> BoxFuture<'a, Option<String>> {
        let line = async move {
            match self.read(prompt, Kind::Answer(None)).await {
                Read::Line(line) => Some(line),
                Read::Interrupted | Read::End => None,
            }
        };
        line.boxed()
    }
}

fn read_all(
    editor: &mut Editor<Complete, DefaultHistory>,
    asked: &mpsc::Receiver<Wanted>,
    history: Option<&std::path::Path>,
) {
    while let Ok(Wanted { prompt, kind, read }) = asked.recv() {
        let remember = matches!(kind, Kind::Talk);
        if let Some(helper) = editor.helper_mut() {
            helper.kind = kind;
        }
        let plain = console::strip_ansi_codes(&prompt).into_owned();
        let line = match editor.readline(&(plain, prompt)) {
            Ok(line) => {
                let is_new = remember && !line.trim().is_empty();
                if is_new
                    && editor.add_history_entry(&line).unwrap_or(false)
                    && let Some(file) = history
                {
                    // A history that cannot be written is no reason to stop.
                    let _ = editor.append_history(file);
                }
                Read::Line(line)
            }
            Err(ReadlineError::Interrupted) => Read::Interrupted,
            Err(_) => Read::End,
        };
        // Whoever asked may be gone; the line was for them.
        let _ = read.send(line);
    }
}

struct Complete {
    words: Words,
    kind: Kind,
}

impl Helper for Complete {}
impl Validator for Complete {}
impl Highlighter for Complete {}

impl Hinter for Complete {
    type Hint = String;
}

impl Completer for Complete {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..at).unwrap_or_default();
        match &self.kind {
            Kind::Talk => {
                let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(word(&words, before))
            }
            Kind::Answer(None) => Ok((at, Vec::new())),
            Kind::Answer(Some(choices)) => {
                let pair = |choice: String| Pair { display: choice.clone(), replacement: choice };
                Ok((0, choices(before).into_iter().take(MOST_WORDS).map(pair).collect()))
            }
        }
    }
}

/// Where the last word begins, and what it could be.
fn word(words: &[(String, String)], before: &str) -> (usize, Vec<Pair>) {
    let start = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
    let word = before.get(start..).unwrap_or_default();
    // A command begins the line, a resource may be anywhere.
    let fits = word.starts_with('@') || (word.starts_with('/') && start == 0);
    if !fits {
        return (before.len(), Vec::new());
    }
    let found = words.iter().filter(|(known, _)| known.starts_with(word)).take(MOST_WORDS);
    let pair = |(known, what): &(String, String)| Pair {
        display: if what.is_empty() { known.clone() } else { format!("{known}  {what}") },
        // The rest of a template is the person's.
        replacement: match known.split_once('{') {
            Some((fixed, _)) => fixed.to_owned(),
            None => format!("{known} "),
        },
    };
    (start, found.map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn the_last_word_is_completed_if_it_is_one_of_ours() {
        let words = [("/help", "h"), ("/hello", ""), ("@s:file:///a", ""), ("@s:file:///{path}", "")];
        let words: Vec<_> = words.map(|(word, what)| (word.to_owned(), what.to_owned())).into();
        for (before, start, found) in [
            ("/he", 0, &["/help ", "/hello "][..]),
            ("say /he", 7, &[]),
            ("read @s:file:///a", 5, &["@s:file:///a "]),
            ("@s", 0, &["@s:file:///a ", "@s:file:///"]),
            ("ü @", 3, &["@s:file:///a ", "@s:file:///"]),
            ("hello", 5, &[]),
        ] {
            let (at, pairs) = word(&words, before);
            let replacements: Vec<_> = pairs.iter().map(|pair| pair.replacement.as_str()).collect();
            assert_eq!((at, &replacements[..]), (start, found), "{before}");
        }
    }
}
