//! Why a schema could not be compiled.
//!
//! An opaque error with predicates; its text names the cause and the next action. A *value* that does
//! not fit a schema is never a `SchemaError` but a list of [`Violation`](crate::Violation)s.

use std::fmt;

use crate::dialect::SUPPORTED_DIALECTS;

/// Texts of the peer that are repeated in a message are cut to this many characters.
const QUOTED_CHARS: usize = 200;

/// A schema that cannot be used.
///
/// ```
/// use serde_json::json;
/// use switchboard_schema::{SchemaLimits, Validator};
///
/// let schema = json!({ "$schema": "https://schemas.example/my-dialect", "type": "object" });
/// let error = Validator::compile(&schema, &SchemaLimits::default()).unwrap_err();
/// assert!(error.is_unsupported_dialect());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct SchemaError {
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    UnsupportedDialect { dialect: String },
    ExternalRef { reference: String },
    TooLarge { what: &'static str, limit: usize },
    Invalid { cause: String },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedDialect { dialect } => {
                write!(f, "JSON Schema dialect {dialect} is not supported; use one of ")?;
                for (index, known) in SUPPORTED_DIALECTS.iter().enumerate() {
                    write!(f, "{}{known}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str(", or leave $schema out for 2020-12")
            }
            Self::ExternalRef { reference } => write!(
                f,
                "$ref {reference} points outside the schema, and nothing is fetched; \
                 copy the referenced schema into $defs and refer to it as #/$defs/NAME"
            ),
            Self::TooLarge { what, limit } => {
                write!(f, "the schema is too large: more than {limit} {what}; simplify it or raise the limit")
            }
            Self::Invalid { cause } => write!(f, "the schema is not valid: {cause}; correct the schema"),
        }
    }
}

impl SchemaError {
    pub(crate) fn unsupported_dialect(dialect: &str) -> Self {
        Self { kind: Kind::UnsupportedDialect { dialect: quote(dialect) } }
    }

    pub(crate) fn external_ref(reference: &str) -> Self {
        Self { kind: Kind::ExternalRef { reference: quote(reference) } }
    }

    pub(crate) fn too_large(what: &'static str, limit: usize) -> Self {
        Self { kind: Kind::TooLarge { what, limit } }
    }

    pub(crate) fn invalid(cause: &str) -> Self {
        Self { kind: Kind::Invalid { cause: cut(cause, 2 * QUOTED_CHARS) } }
    }

    /// `$schema` names a dialect that this crate does not know.
    #[must_use]
    pub fn is_unsupported_dialect(&self) -> bool {
        matches!(self.kind, Kind::UnsupportedDialect { .. })
    }

    /// A reference points outside the document. It was not fetched.
    #[must_use]
    pub fn is_external_ref(&self) -> bool {
        matches!(self.kind, Kind::ExternalRef { .. })
    }

    /// The schema exceeds one of the [`SchemaLimits`](crate::SchemaLimits).
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(self.kind, Kind::TooLarge { .. })
    }

    /// The schema breaks the rules of its own dialect.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self.kind, Kind::Invalid { .. })
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", cut(text, QUOTED_CHARS))
}

/// Cuts at a character boundary, with a visible mark, and shows control characters escaped.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    let mut out = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == chars {
            out.push('…');
            break;
        }
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}
