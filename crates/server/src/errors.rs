//! Failures of handlers: what the model may read, and what only the log may.
//!
//! A [`ToolError`] is a result with `isError`, a `ProtocolError` is a JSON-RPC error; neither becomes the
//! other by accident. `?` on any other error gives the model an opaque reference and the log the whole
//! chain. Failures of `build()` are in `build.rs`.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io::Write;

/// A failure of a tool.
///
/// Either it is in words for the model ([`ToolError::say`], [`Say::say`]), or it is internal: the model is
/// told a reference, and the log has the cause and its causes under it.
///
/// `?` makes an internal failure of everything that implements [`std::error::Error`]. Some types do not,
/// `anyhow::Error`, `Box<dyn Error + Send + Sync>` and `String` among them, and neither does this type, or
/// `?` could not do that. They take [`ToolError::internal`], or [`Say::say`] as any error.
///
/// | to fail with | write |
/// |---|---|
/// | words | `return Err(ToolError::say("no such city"))` |
/// | words in place of an error, or of `None` | `look_up(city).say("no such city")?` |
/// | a reference for an error | `read(path)?` |
/// | a reference for an `anyhow::Error`, a boxed error, a text | `read(path).map_err(ToolError::internal)?` |
///
/// The log is what [`tracing`] has been set up for. As long as nothing has been, a line
/// `reference 3D44CAED: cause: its cause` goes to standard error, for panics of handlers too; a subscriber
/// of any kind, such as [`tracing::subscriber::NoSubscriber`], puts an end to that.
///
/// ```
/// use switchboard_server::{Say, ToolError};
///
/// fn parse(text: &str) -> Result<i64, ToolError> {
///     Ok(text.parse::<i64>().say("that is no number")?)
/// }
/// assert_eq!(parse("x").unwrap_err().text(), "that is no number");
///
/// fn opaque(text: &str) -> Result<i64, ToolError> {
///     Ok(text.parse::<i64>()?)
/// }
/// assert!(opaque("x").unwrap_err().text().starts_with("internal error, reference "));
///
/// fn boxed() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     Err("the disk is full".into())
/// }
/// let error = boxed().map_err(ToolError::internal).unwrap_err();
/// assert!(error.text().starts_with("internal error, reference "));
/// assert_eq!(boxed().say("try again").unwrap_err().text(), "try again");
/// ```
pub struct ToolError {
    text: Cow<'static, str>,
}

impl ToolError {
    /// A failure in words that the model reads.
    #[must_use]
    pub fn say(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into() }
    }

    /// A failure that the model cannot help: a reference for it, the cause for the log. This is what `?`
    /// does, for what `?` does not take: `anyhow::Error`, boxed errors, texts.
    #[must_use]
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::opaque(&*cause.into())
    }

    /// What the model reads.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_text(self) -> String {
        self.text.into_owned()
    }

    /// A failure that the model cannot help: a reference for it, the chain of causes for the log.
    pub(crate) fn opaque(error: &dyn Error) -> Self {
        let reference = Reference::new();
        let error = Chain(error);
        tracing::error!(%reference, %error, "a handler failed");
        reference.keep(&error);
        Self { text: reference.sentence().into() }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolError").field(&self.text).finish()
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::opaque(&error)
    }
}

/// Words for the model, in place of an error that is for the log: on a `Result` with anything that can be
/// displayed, which every error can, and on an `Option`.
pub trait Say<T> {
    /// Replaces the failure by words that the model reads. The log has both, as a warning.
    ///
    /// # Errors
    /// The failure, with those words.
    fn say(self, text: impl Into<Cow<'static, str>>) -> Result<T, ToolError>;
}

impl<T, E: fmt::Display> Say<T> for Result<T, E> {
    fn say(self, text: impl Into<Cow<'static, str>>) -> Result<T, ToolError> {
        self.map_err(|error| {
            let text = text.into();
            // What `anyhow` and its like make of `#` is the whole chain.
            tracing::warn!(error = format_args!("{error:#}"), said = %text, "a handler failed");
            ToolError { text }
        })
    }
}

impl<T> Say<T> for Option<T> {
    fn say(self, text: impl Into<Cow<'static, str>>) -> Result<T, ToolError> {
        self.ok_or_else(|| ToolError::say(text))
    }
}

/// Ties what a caller saw to a line of the log.
#[derive(Clone, Copy)]
pub(crate) struct Reference(u32);

impl Reference {
    pub(crate) fn new() -> Self {
        Self(getrandom::u32().unwrap_or_default())
    }

    pub(crate) fn sentence(self) -> String {
        format!("internal error, reference {self}")
    }

    /// Puts a cause that was logged on standard error, where nobody set up a log: it has to be somewhere.
    pub(crate) fn keep(self, cause: &dyn fmt::Display) {
        if !tracing::dispatcher::has_been_set() {
            let line = format!("reference {self}: {}\n", one_line(&cause.to_string()));
            // There is nowhere left to say that this failed.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X}", self.0)
    }
}

/// What others wrote neither forges a line nor commands a terminal.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// An error and its causes on one line.
struct Chain<'a>(&'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
