//! Tests of a call's arguments: which argument, and what it must be like.
//!
//! A test fails safe: what cannot be said for sure (the argument is missing, is of another type, or can be read in two
//! ways) lets no rule allow a call and keeps none from denying it. Where to look next: `argument/selector.rs` for how an
//! argument is named, `argument/inside.rs` for folders, `argument/host.rs` for addresses.

mod form;
mod host;
mod inside;
mod pattern;
mod selector;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use self::form::ArgumentForm;
pub(super) use self::host::host_of;
pub(super) use self::inside::folder_of;
use self::pattern::Pattern;
use self::selector::ArgumentPath;

/// One test of one argument. In a configuration file it is written
/// `{ path = "file.name", inside = "~/docs" }`, in a line of text `file.name inside ~/docs`.
///
/// The path is `a.b`, `a[0]`, `a[*]` for every element, a JSON pointer such as `/a/b`, or `$` for all arguments
/// together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ArgumentForm", into = "ArgumentForm")]
pub struct ArgumentTest {
    path: ArgumentPath,
    test: Test,
}

/// What an argument must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// A path in one of these folders, or the folder.
    Inside(Vec<String>),
    /// An address at one of these hosts; `*.HOST` stands for all below it.
    HostIn(Vec<String>),
    /// This very value.
    Equals(Value),
    /// A text that matches: all of it for a rule that allows, some of it for one that asks or denies.
    Matches(Pattern),
    /// At most this long: a string in UTF-8, anything else as JSON.
    MaxBytes(u64),
}

/// What a test gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is like that.
    Holds,
    /// It is not like that.
    Fails,
    /// Nobody can say.
    Unknown,
}

/// Where paths begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place<'a> {
    /// What `~` is.
    pub(super) home: Option<&'a Path>,
    /// What a path is relative to: the folder that the server runs in, if it is known.
    pub(super) folder: Option<&'a Path>,
}

/// A test that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidArgumentTest(String);

impl InvalidArgumentTest {
    fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl ArgumentTest {
    /// The argument is a path inside one of these folders, each of which is absolute or begins with `~`.
    ///
    /// # Errors
    /// When there is none, or one is not.
    pub fn inside(path: &str, folders: Vec<String>) -> Result<Self, InvalidArgumentTest> {
        Self::new(path, Test::Inside(folders))
    }

    /// The argument is an address at one of these hosts: `HOST`, `HOST:PORT`, or `*.HOST` for every host below.
    ///
    /// # Errors
    /// When there is none, or one is no host.
    pub fn host_in(path: &str, hosts: Vec<String>) -> Result<Self, InvalidArgumentTest> {
        Self::new(path, Test::HostIn(hosts))
    }

    /// The argument is this value.
    ///
    /// # Errors
    /// When the path is none.
    pub fn equals(path: &str, value: Value) -> Result<Self, InvalidArgumentTest> {
        Self::new(path, Test::Equals(value))
    }

    /// The argument is a text that matches a regular expression.
    ///
    /// # Errors
    /// When it is no regular expression, or a huge one.
    pub fn matches(path: &str, pattern: &str) -> Result<Self, InvalidArgumentTest> {
        Self::new(path, Test::Matches(Pattern::new(pattern)?))
    }

    /// The argument is at most this long.
    ///
    /// # Errors
    /// When the path is none.
    pub fn max_bytes(path: &str, bytes: u64) -> Result<Self, InvalidArgumentTest> {
        Self::new(path, Test::MaxBytes(bytes))
    }

    fn new(path: &str, test: Test) -> Result<Self, InvalidArgumentTest> {
        match &test {
            Test::Inside(folders) => inside::check_list(folders)?,
            Test::HostIn(hosts) => host::check_list(hosts)?,
            Test::Equals(_) | Test::Matches(_) | Test::MaxBytes(_) => {}
        }
        Ok(Self { path: path.parse()?, test })
    }

    /// The argument, as it is written.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// The name of the argument that it looks into, unless it looks at all of them.
    pub(super) fn argument(&self) -> Option<&str> {
        self.path.first()
    }

    /// Whether the arguments are surely like that, in all places that the path names.
    pub(super) fn surely(&self, arguments: &Value, place: Place<'_>) -> bool {
        self.fits(arguments, place, true).all(|fit| fit == Fit::Holds)
    }

    /// Whether the arguments may be like that, in some place that the path names.
    pub(super) fn maybe(&self, arguments: &Value, place: Place<'_>) -> bool {
        self.fits(arguments, place, false).any(|fit| fit != Fit::Fails)
    }

    /// `whole` says whether an expression must match a whole text. There is at least one.
    fn fits(&self, arguments: &Value, place: Place<'_>, whole: bool) -> impl Iterator<Item = Fit> {
        let places = self.path.places(arguments);
        places.into_iter().map(move |value| match value {
            None => Fit::Unknown,
            Some(value) => self.test.fit(value, place, whole),
        })
    }
}

impl Test {
    fn fit(&self, value: &Value, place: Place<'_>, whole: bool) -> Fit {
        match (self, value) {
            (Self::Inside(folders), Value::String(text)) => inside::fit(folders, text, place),
            (Self::HostIn(hosts), Value::String(text)) => host::fit(hosts, text),
            (Self::Matches(pattern), Value::String(text)) => pattern.fit(text, whole),
            (Self::Matches(pattern), Value::Number(_) | Value::Bool(_)) => {
                pattern.fit(&value.to_string(), whole)
            }
            (Self::Inside(_) | Self::HostIn(_) | Self::Matches(_), _) => Fit::Unknown,
            (Self::Equals(wanted), _) => Fit::of(same(wanted, value)),
            (Self::MaxBytes(most), Value::String(text)) => Fit::of(at_most(text.len(), *most)),
            (Self::MaxBytes(most), _) => Fit::of(at_most(value.to_string().len(), *most)),
        }
    }
}

impl Fit {
    fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

fn at_most(bytes: usize, most: u64) -> bool {
    u64::try_from(bytes).is_ok_and(|bytes| bytes <= most)
}

/// From here on, not every integer has a floating-point number of its own.
const INTEGERS_END: f64 = 9_007_199_254_740_992.0;

/// The same number. Only small integers are compared to floating-point numbers; great ones would be rounded.
fn same_number(left: &Number, right: &Number) -> bool {
    let is_exact = |number: &Number| number.as_f64().is_some_and(|number| number.abs() < INTEGERS_END);
    left == right
        || (left.is_f64() != right.is_f64()
            && is_exact(left)
            && is_exact(right)
            && left.as_f64() == right.as_f64())
}

/// The same value; `1` and `1.0` are.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// As it stands in a line of text.
impl fmt::Display for ArgumentTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = super::rule::word(self.path.as_str());
        match &self.test {
            Test::Inside(folders) => match folders.as_slice() {
                [folder] => write!(f, "{path} inside {}", super::rule::word(folder)),
                _ => write!(f, "{path} inside {}", super::rule::value(&Value::from(folders.as_slice()))),
            },
            Test::HostIn(hosts) => write!(f, "{path} host_in {}", hosts.join(",")),
            Test::Equals(value) => write!(f, "{path} equals {}", super::rule::value(value)),
            Test::Matches(pattern) => write!(f, "{path} matches {}", super::rule::word(pattern.as_str())),
            Test::MaxBytes(bytes) => write!(f, "{path} max_bytes {bytes}"),
        }
    }
}

#[cfg(test)]
mod tests;
