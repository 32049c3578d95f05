//! What every result has in common: its type, its cache hints, and how it can be wrong.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What kind of answer a result is [spec: basic, ResultType].
///
/// Absent means complete. Anything unknown makes the result invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultType {
    /// The final content.
    #[default]
    Complete,
    /// A question first.
    InputRequired,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Peek<'a> {
    #[serde(borrow, default)]
    result_type: Option<Cow<'a, str>>,
}

impl ResultType {
    /// Reads the type of a result without reading the rest of it.
    ///
    /// # Errors
    /// When the result is no object, or its type is unknown.
    pub fn peek(raw: &RawValue) -> Result<Self, ResultError> {
        if !raw.get().starts_with('{') {
            return Err(ResultError { kind: Kind::Malformed, message: "The result is no object".into() });
        }
        let peek: Peek<'_> = serde_json::from_str(raw.get()).map_err(ResultError::malformed)?;
        match peek.result_type.as_deref() {
            None | Some("complete") => Ok(Self::Complete),
            Some("input_required") => Ok(Self::InputRequired),
            Some(other) => Err(ResultError {
                kind: Kind::UnknownType,
                message: format!("The result has the unknown resultType {other:?}, so it is invalid"),
            }),
        }
    }
}

/// Why a result is invalid: always the peer's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ResultError {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Malformed,
    UnknownType,
    Misplaced,
}

impl ResultError {
    #[expect(clippy::needless_pass_by_value, reason = "the argument of map_err")]
    pub(crate) fn malformed(error: serde_json::Error) -> Self {
        Self { kind: Kind::Malformed, message: format!("The result is malformed: {error}") }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { kind: Kind::Malformed, message: message.into() }
    }

    pub(crate) fn misplaced(method: &str) -> Self {
        Self {
            kind: Kind::Misplaced,
            message: format!("The server asked for input on {method}, which does not allow it"),
        }
    }

    /// Whether the type of the result is one that this revision does not know.
    #[must_use]
    pub fn is_unknown_type(&self) -> bool {
        self.kind == Kind::UnknownType
    }

    /// Whether a question came where none is allowed.
    #[must_use]
    pub fn is_misplaced_input(&self) -> bool {
        self.kind == Kind::Misplaced
    }
}

/// Who may share a cached result [spec: server/utilities/caching]. Unknown values are private.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// Only the authorization context that asked.
    #[default]
    Private,
}

impl<'de> Deserialize<'de> for CacheScope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(if value == "public" { Self::Public } else { Self::Private })
    }
}

/// Reads `ttlMs`, in whole milliseconds. What is no number means stale at once: a hint that cannot be
/// read costs an answer its freshness, never the caller the answer [spec: server/utilities/caching].
///
/// # Errors
/// When the value is no JSON.
pub fn deserialize_ttl_ms<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    #[expect(clippy::cast_possible_truncation, reason = "beyond the largest integer is as good as it")]
    let fraction = || value.as_f64().map(|number| number as i64);
    Ok(value.as_i64().or_else(fraction).unwrap_or(0))
}
