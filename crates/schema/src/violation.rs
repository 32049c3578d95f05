//! What is wrong with a value, in words that a model or a person can act on.
//!
//! One [`Violation`] names the place (a JSON pointer into the value), what was expected there, what was
//! given, and the allowed values where they are a list. Texts from the value are cut and escaped.

use std::fmt;

use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::Value;

use crate::error::cut;

const GOT_CHARS: usize = 60;
const PATH_CHARS: usize = 200;
const PATTERN_CHARS: usize = 120;
/// Allowed values named at most; a longer list is told by its length.
const ALLOWED_VALUES: usize = 64;
/// Alternatives within alternatives that are looked into for the most telling finding.
const EXPLAINED_NESTING: usize = 8;

/// One thing that is wrong with a value.
///
/// Its `Display` is one line: `/units: expected one of metric, imperial, kelvin; got "x"`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// JSON pointer into the checked value; empty for the value itself.
    pub path: String,
    /// What the schema wants at that place.
    pub expected: String,
    /// What was there, cut to a readable length.
    pub got: String,
    /// The allowed values (or property names), where the schema lists them.
    pub allowed: Option<Vec<String>>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "(root)" } else { &self.path };
        write!(f, "{path}: expected {}; got {}", self.expected, self.got)
    }
}

impl Violation {
    fn new(path: &str, expected: String, got: String) -> Self {
        Self { path: cut(path, PATH_CHARS), expected, got, allowed: None }
    }

    fn allowing(mut self, allowed: Vec<String>) -> Self {
        self.allowed = Some(allowed);
        self
    }

    pub(crate) fn too_deep(limit: usize) -> Self {
        let expected = format!("at most {limit} levels of nesting");
        Self::new("", expected, "a value nested deeper".to_owned())
    }

    pub(crate) fn too_costly() -> Self {
        let got = "one on which the alternatives of the schema multiply; send a smaller or flatter value";
        Self::new("", "a value that can be checked in bounded time".to_owned(), got.to_owned())
    }

    pub(crate) fn unexplained() -> Self {
        let got = "one that does not, for reasons too many to list";
        Self::new("", "a value that fits the schema".to_owned(), got.to_owned())
    }
}

/// Adds what `error` says to `found`, up to `cap` findings in all.
pub(crate) fn explain(
    error: &ValidationError<'_>,
    schema: &Value,
    (found, cap): (&mut Vec<Violation>, usize),
) {
    let mut explainer = Explainer { schema, found, cap };
    explainer.error(error, 0);
}

struct Explainer<'a> {
    schema: &'a Value,
    found: &'a mut Vec<Violation>,
    cap: usize,
}

impl Explainer<'_> {
    fn push(&mut self, violation: Violation) {
        if self.found.len() < self.cap && !self.found.contains(&violation) {
            self.found.push(violation);
        }
    }

    fn error(&mut self, error: &ValidationError<'_>, nesting: usize) {
        let path = error.instance_path().as_str();
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let path = format!("{path}/{}", escape(property.as_str().unwrap_or_default()));
                self.push(Violation::new(&path, "a value, it is required".to_owned(), "nothing".to_owned()));
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                self.unexpected_properties(error, unexpected);
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                self.alternatives(error, context, nesting);
            }
            ValidationErrorKind::PropertyNames { error: inner } => {
                let expected = format!("property names to be {}", expectation(inner).0);
                self.push(Violation::new(path, expected, describe(inner.instance())));
            }
            _ => {
                let (expected, allowed) = expectation(error);
                let mut violation = Violation::new(path, expected, describe(error.instance()));
                violation.allowed = allowed;
                self.push(violation);
            }
        }
    }

    fn unexpected_properties(&mut self, error: &ValidationError<'_>, unexpected: &[String]) {
        let pointer = error.schema_path().as_str();
        let known: Vec<String> = pointer
            .rsplit_once('/')
            .and_then(|(parent, _)| self.schema.pointer(parent))
            .and_then(|parent| parent.get("properties"))
            .and_then(Value::as_object)
            .map(|properties| {
                properties.keys().take(ALLOWED_VALUES).map(|name| cut(name, GOT_CHARS)).collect()
            })
            .unwrap_or_default();
        let expected = if known.is_empty() {
            "no such property".to_owned()
        } else {
            format!("no property but {}", known.join(", "))
        };
        for name in unexpected {
            let path = format!("{}/{}", error.instance_path(), escape(name));
            let got = format!("the unknown property \"{}\"", cut(name, GOT_CHARS));
            self.push(Violation::new(&path, expected.clone(), got).allowing(known.clone()));
        }
    }

    /// Says either what all alternatives want of this very value, or what is wrong with the one that
    /// was evidently meant.
    fn alternatives(
        &mut self,
        error: &ValidationError<'_>,
        branches: &[Vec<ValidationError<'static>>],
        nesting: usize,
    ) {
        let here = error.instance_path().as_str();
        let meant: Vec<_> = branches.iter().filter(|errors| !rules_out(errors, here)).collect();
        if let ([meant], true) = (meant.as_slice(), nesting < EXPLAINED_NESTING) {
            for inner in *meant {
                self.error(inner, nesting + 1);
            }
            return;
        }
        let considered: Vec<_> = if meant.is_empty() { branches.iter().collect() } else { meant };
        let mut wishes = Wishes { allowed: Some(Vec::new()), wanted: Vec::new() };
        for errors in considered {
            wishes.collect(errors, here, nesting);
        }
        let Wishes { allowed, wanted } = wishes;
        let allowed = allowed.filter(|values| !values.is_empty() && values.len() <= ALLOWED_VALUES);
        let expected = match &allowed {
            Some(values) => one_of(values),
            None if wanted.is_empty() => "one of the alternatives in the schema".to_owned(),
            None => wanted.join(", or "),
        };
        let mut violation = Violation::new(here, expected, describe(error.instance()));
        violation.allowed = allowed;
        self.push(violation);
    }
}

/// What the alternatives of a value want of it.
struct Wishes {
    /// The allowed values, as long as every alternative is a list of values.
    allowed: Option<Vec<String>>,
    wanted: Vec<String>,
}

impl Wishes {
    /// Notes the first wish of one alternative, or those of the alternatives within it.
    fn collect(&mut self, errors: &[ValidationError<'static>], here: &str, nesting: usize) {
        let Some(first) = errors.first() else { return };
        if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
            first.kind()
            && nesting < EXPLAINED_NESTING
        {
            for errors in context {
                self.collect(errors, here, nesting + 1);
            }
            return;
        }
        let (mut text, values) = expectation(first);
        let deeper = first.instance_path().as_str().strip_prefix(here).unwrap_or_default();
        if !deeper.is_empty() {
            text = format!("{text} at {}", cut(deeper, PATH_CHARS));
        }
        match (&mut self.allowed, values) {
            (Some(allowed), Some(values)) if deeper.is_empty() => {
                allowed
                    .extend(values.into_iter().take(ALLOWED_VALUES + 1 - allowed.len().min(ALLOWED_VALUES)));
            }
            _ => self.allowed = None,
        }
        if !self.wanted.contains(&text) && self.wanted.len() < ALLOWED_VALUES {
            self.wanted.push(text);
        }
    }
}

/// Whether an alternative was evidently not meant: the value is of another type, or a member that tells
/// the alternatives apart has another value.
fn rules_out(errors: &[ValidationError<'static>], here: &str) -> bool {
    errors.iter().any(|error| match error.kind() {
        ValidationErrorKind::Type { .. } | ValidationErrorKind::Enum { .. } => {
            error.instance_path().as_str() == here
        }
        ValidationErrorKind::Constant { .. } => true,
        _ => false,
    })
}

/// What the failed keyword wants, and the list of allowed values where there is one.
fn expectation(error: &ValidationError<'_>) -> (String, Option<Vec<String>>) {
    let text = match error.kind() {
        ValidationErrorKind::Type { kind } => types(kind),
        ValidationErrorKind::Enum { options } => return listed(options),
        ValidationErrorKind::Constant { expected_value } => {
            let value = plain(expected_value);
            return (value.clone(), Some(vec![value]));
        }
        ValidationErrorKind::Required { property } => {
            format!("the property {}", plain(property))
        }
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        ValidationErrorKind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        ValidationErrorKind::MinLength { limit } => format!("at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
        ValidationErrorKind::Pattern { pattern } => {
            format!("text matching the pattern {}", cut(pattern, PATTERN_CHARS))
        }
        ValidationErrorKind::BacktrackLimitExceeded { .. }
        | ValidationErrorKind::RegexEngineFailure { .. } => {
            "text that the pattern can be tried on in bounded time".to_owned()
        }
        ValidationErrorKind::Format { format } => format!("text in the format {}", cut(format, GOT_CHARS)),
        ValidationErrorKind::ContentEncoding { content_encoding } => {
            format!("text encoded as {}", cut(content_encoding, GOT_CHARS))
        }
        ValidationErrorKind::ContentMediaType { content_media_type } => {
            format!("text that is {}", cut(content_media_type, GOT_CHARS))
        }
        ValidationErrorKind::FromUtf8 { .. } => "encoded text that is UTF-8".to_owned(),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::AdditionalItems { limit } => format!("no more than {limit} items"),
        ValidationErrorKind::UnevaluatedItems { .. } => "no further items".to_owned(),
        ValidationErrorKind::UniqueItems => "items that all differ".to_owned(),
        ValidationErrorKind::Contains => "an item that fits `contains`".to_owned(),
        ValidationErrorKind::MinProperties { limit } => format!("at least {limit} properties"),
        ValidationErrorKind::MaxProperties { limit } => format!("at most {limit} properties"),
        ValidationErrorKind::FalseSchema => "no value here".to_owned(),
        ValidationErrorKind::Not { .. } => "a value that does not fit `not`".to_owned(),
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "a value that fits exactly one alternative of `oneOf`, not several".to_owned()
        }
        other => format!("a value that fits `{}`", cut(other.keyword(), GOT_CHARS)),
    };
    (text, None)
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => with_article(*one),
        TypeKind::Multiple(several) => several.iter().map(with_article).collect::<Vec<_>>().join(" or "),
    }
}

fn with_article(json_type: JsonType) -> String {
    match json_type {
        JsonType::Null => "null".to_owned(),
        JsonType::Array | JsonType::Integer | JsonType::Object => format!("an {json_type}"),
        JsonType::Boolean | JsonType::Number | JsonType::String => format!("a {json_type}"),
    }
}

fn listed(options: &Value) -> (String, Option<Vec<String>>) {
    let Some(options) = options.as_array() else { return (plain(options), None) };
    if options.len() > ALLOWED_VALUES {
        let first: Vec<String> = options.iter().take(ALLOWED_VALUES).map(plain).collect();
        return (format!("one of {} values, such as {}", options.len(), first.join(", ")), None);
    }
    let allowed: Vec<String> = options.iter().map(plain).collect();
    (one_of(&allowed), Some(allowed))
}

fn one_of(values: &[String]) -> String {
    match values {
        [only] => only.clone(),
        values => format!("one of {}", values.join(", ")),
    }
}

/// An allowed value: strings bare, everything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text, PATTERN_CHARS),
        other => describe(other),
    }
}

/// A given value: scalars as JSON, the rest by size.
fn describe(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) => cut(&number.to_string(), GOT_CHARS),
        Value::String(text) => format!("\"{}\"", cut(text, GOT_CHARS)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(members) => {
            let names: Vec<String> = members.keys().take(4).map(|name| cut(name, GOT_CHARS)).collect();
            let more = if members.len() > names.len() { ", …" } else { "" };
            format!("an object with {}{more}", names.join(", "))
        }
    }
}

/// A property name as a step of a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
