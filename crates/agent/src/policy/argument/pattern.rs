//! A regular expression of bounded size. It takes time in proportion to the text, whatever the expression.

use std::fmt;

use regex::{Regex, RegexBuilder};

use super::{Fit, InvalidArgumentTest};
use crate::visible;

/// The longest expression, in bytes.
const LONGEST: usize = 2000;
/// What one may take in memory once it is compiled, in bytes.
const COMPILED: usize = 1024 * 1024;
/// The longest text that is looked at, in bytes.
const LONGEST_TEXT: usize = 1024 * 1024;

#[derive(Clone)]
pub(in crate::policy) struct Pattern {
    source: String,
    some: Regex,
    whole: Regex,
}

impl Pattern {
    pub(super) fn new(source: &str) -> Result<Self, InvalidArgumentTest> {
        if source.len() > LONGEST {
            return Err(InvalidArgumentTest::new(format!(
                "a regular expression is at most {LONGEST} bytes long"
            )));
        }
        let compile = |text: &str| {
            RegexBuilder::new(text).size_limit(COMPILED).dfa_size_limit(COMPILED).build().map_err(|error| {
                let shown = visible::quoted(source, 100);
                // The last line of its message is the cause; those before draw a picture.
                let cause = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
                InvalidArgumentTest::new(format!("{shown} is no regular expression: {cause}"))
            })
        };
        let some = compile(source)?;
        let whole = compile(&format!("\\A(?:{source})\\z"))?;
        Ok(Self { source: source.to_owned(), some, whole })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.source
    }

    pub(super) fn fit(&self, text: &str, whole: bool) -> Fit {
        if text.len() > LONGEST_TEXT {
            return Fit::Unknown;
        }
        Fit::of(if whole { &self.whole } else { &self.some }.is_match(text))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.source, f)
    }
}
