//! URI templates [RFC 6570], as `resources/templates/list` publishes them [spec: server/resources].
//!
//! A template expands variables into a URI, and a URI is matched back into variables. Matching is what
//! the RFC leaves open, so the rules are ours: a template that could be read in two ways is refused when
//! it is parsed, values are decoded, and a value that would leave its place in the path (`..`, a slash,
//! encoded once or more often) makes the URI match nothing.
//!
//! What a matched variable names is the handler's business; whether it may be read too.
//!
//! Where to look next: `parse.rs` for the grammar and the ambiguities, `expand.rs`, `matching.rs`.

mod encoding;
mod expand;
mod matching;
mod parse;

use std::collections::BTreeMap;
use std::fmt;

/// Bytes that a template may have.
pub const MAX_TEMPLATE_BYTES: usize = 2048;
/// Variables that a template may have.
pub const MAX_VARIABLES: usize = 64;
/// Bytes that a URI may have to be matched.
pub const MAX_URI_BYTES: usize = 8192;

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VarValue {
    /// One text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
    /// Names and texts, in order.
    Pairs(Vec<(String, String)>),
}

impl From<&str> for VarValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for VarValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for VarValue {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

/// Variables by name. A variable that is not here is undefined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vars {
    values: BTreeMap<String, VarValue>,
}

impl Vars {
    /// No variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a variable.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<VarValue>) {
        self.values.insert(name.into(), value.into());
    }

    /// The text of a variable; `None` if it is undefined or not one text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(VarValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The value of a variable.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&VarValue> {
        self.values.get(name)
    }

    /// All variables in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &VarValue)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<N: Into<String>, V: Into<VarValue>> FromIterator<(N, V)> for Vars {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self { values: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

/// A parsed template.
///
/// ```
/// use switchboard_protocol::uri_template::{UriTemplate, Vars};
///
/// let template = UriTemplate::parse("notes://{user}/{id}{?version}")?;
/// let uri = template.expand(&Vars::from_iter([("user", "zoë"), ("id", "7")]));
/// assert_eq!(uri, "notes://zo%C3%AB/7");
///
/// let vars = template.matches("notes://zo%C3%AB/7?version=2").unwrap();
/// assert_eq!(vars.text("user"), Some("zoë"));
/// assert_eq!(vars.text("version"), Some("2"));
/// assert!(template.matches("notes://zoe/..%2Fsecret").is_none());
/// # Ok::<(), switchboard_protocol::uri_template::UriTemplateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    source: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression(Expression),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Expression {
    operator: Operator,
    variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    Whole,
    /// At most so many characters.
    Prefix(usize),
    Explode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    QueryContinuation,
}

impl Operator {
    /// What the expansion starts with, if any variable is defined.
    fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query => "?",
            Self::QueryContinuation => "&",
        }
    }

    fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameter => ';',
            Self::Query | Self::QueryContinuation => '&',
        }
    }

    /// Whether values are written as `name=value`.
    fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::QueryContinuation)
    }

    /// Whether reserved characters stand in values as they are.
    fn allows_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// A text that is no template, one beyond [`MAX_TEMPLATE_BYTES`] or [`MAX_VARIABLES`], or one that a
    /// URI could be matched to in two ways.
    pub fn parse(template: &str) -> Result<Self, UriTemplateError> {
        parse::parse(template)
    }

    /// The names of the variables, in order of appearance, each once.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let all: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Literal(_) => None,
                Part::Expression(expression) => Some(&expression.variables),
            })
            .flatten()
            .map(|variable| variable.name.as_str())
            .collect();
        let names: Vec<&str> = all
            .iter()
            .enumerate()
            .filter(|(index, name)| !all[..*index].contains(name))
            .map(|(_, name)| *name)
            .collect();
        names.into_iter()
    }

    /// The URI for these variables [RFC 6570, section 3]. Undefined ones leave no trace.
    #[must_use]
    pub fn expand(&self, vars: &Vars) -> String {
        expand::expand(&self.parts, vars)
    }

    /// The variables that make this URI, decoded, or `None` if none do. Optional parts (`{?q}`, `{/x}`
    /// and the like) that are not in the URI are undefined; every other variable has a value that is not
    /// empty. Parameters of a query may come in any order; ones that the template lacks match nothing.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Vars> {
        matching::matches(&self.parts, uri)
    }

    /// The template as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl std::str::FromStr for UriTemplate {
    type Err = UriTemplateError;

    fn from_str(template: &str) -> Result<Self, UriTemplateError> {
        Self::parse(template)
    }
}

/// A template that cannot be used. Names the place and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("URI template, at byte {position}: {fault}")]
pub struct UriTemplateError {
    position: usize,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("it is longer than {MAX_TEMPLATE_BYTES} bytes")]
    TooLong,
    #[error("it has more than {MAX_VARIABLES} variables")]
    TooManyVariables,
    #[error("an expression is not closed; add a }}")]
    Unclosed,
    #[error("a }} closes nothing; remove it or write it as %7D")]
    Unopened,
    #[error("an expression names no variable")]
    Empty,
    #[error("the operator {0} is reserved; the operators are + # . / ; ? &")]
    ReservedOperator(char),
    #[error("{0:?} is no variable name; use letters, digits, _ and single dots")]
    BadName(String),
    #[error("the modifier is malformed; use :N with N from 1 to 9999, or *")]
    BadModifier,
    #[error("{0:?} may not stand in a URI; percent-encode it")]
    BadLiteral(char),
    #[error("where {{{0}}} ends and {{{1}}} begins cannot be told from a URI; put a literal between them")]
    Ambiguous(String, String),
}

impl UriTemplateError {
    /// The template is well-formed, but a URI could be read in two ways.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        matches!(self.fault, Fault::Ambiguous(..))
    }
}

#[cfg(test)]
mod tests;
