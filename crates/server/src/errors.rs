//! Failures of handlers: what the model may read, and what only the log may.
//!
//! A [`ToolError`] is a result with `isError`, a `ProtocolError` is a JSON-RPC error; neither becomes the
//! other by accident. `?` on any other error gives the model an opaque reference and the log the whole
//! chain. Failures of `build()` are in `build.rs`.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// A failure of a tool.
///
/// It is deliberately no [`std::error::Error`]: that is what lets `?` turn *any* error into one. What
/// came through `?` is told to the model as a reference only; what was said with [`ToolError::say`] or
/// [`Say::say`] is told word for word.
///
/// ```
/// use switchboard_server::{Say, ToolError};
///
/// fn parse(text: &str) -> Result<i64, ToolError> {
///     Ok(text.parse::<i64>().say("that is no number")?)
/// }
/// assert_eq!(parse("x").unwrap_err().text(), "that is no number");
///
/// let opaque: ToolError = "x".parse::<i64>().unwrap_err().into();
/// assert!(opaque.text().starts_with("internal error, reference "));
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
        tracing::error!(%reference, error = %Chain(error), "a handler failed");
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

/// Words for the model, in place of an error that is for the log.
pub trait Say<T> {
    /// Replaces the failure by words that the model reads.
    ///
    /// # Errors
    /// The failure, with those words.
    fn say(self, text: impl Into<Cow<'static, str>>) -> Result<T, ToolError>;
}

impl<T, E: fmt::Display> Say<T> for Result<T, E> {
    fn say(self, text: impl Into<Cow<'static, str>>) -> Result<T, ToolError> {
        self.map_err(|error| {
            let text = text.into();
            tracing::warn!(%error, said = %text, "a handler failed");
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
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X}", self.0)
    }
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
