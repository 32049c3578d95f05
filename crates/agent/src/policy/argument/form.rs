//! A test as it stands in a configuration file: `{ path = "…", inside = "…" }`, with exactly one test.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pattern::Pattern;
use super::{ArgumentTest, InvalidArgumentTest, Test};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArgumentForm {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inside: Option<OneOrMore>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host_in: Option<OneOrMore>,
    /// `null` is a value to be equal to, and not the lack of a test.
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    equals: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    matches: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
}

/// One text, or several.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<OneOrMore> for Vec<String> {
    fn from(texts: OneOrMore) -> Self {
        match texts {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

fn some<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<ArgumentForm> for ArgumentTest {
    type Error = InvalidArgumentTest;

    fn try_from(form: ArgumentForm) -> Result<Self, InvalidArgumentTest> {
        let ArgumentForm { path, inside, host_in, equals, matches, max_bytes } = form;
        let mut tests = Vec::new();
        tests.extend(inside.map(|folders| Test::Inside(folders.into())));
        tests.extend(host_in.map(|hosts| Test::HostIn(hosts.into())));
        tests.extend(equals.map(Test::Equals));
        if let Some(pattern) = matches {
            tests.push(Test::Matches(Pattern::new(&pattern)?));
        }
        tests.extend(max_bytes.map(Test::MaxBytes));
        match (tests.pop(), tests.is_empty()) {
            (Some(test), true) => Self::new(&path, test),
            _ => Err(InvalidArgumentTest::new(format!(
                "the test of {path} must be one of inside, host_in, equals, matches and max_bytes"
            ))),
        }
    }
}

impl From<ArgumentTest> for ArgumentForm {
    fn from(ArgumentTest { path, test }: ArgumentTest) -> Self {
        let mut form = Self {
            path: path.as_str().to_owned(),
            inside: None,
            host_in: None,
            equals: None,
            matches: None,
            max_bytes: None,
        };
        match test {
            Test::Inside(mut folders) => {
                form.inside = match (folders.pop(), folders.is_empty()) {
                    (Some(folder), true) => Some(OneOrMore::One(folder)),
                    (last, _) => Some(OneOrMore::More(folders.into_iter().chain(last).collect())),
                }
            }
            Test::HostIn(hosts) => form.host_in = Some(OneOrMore::More(hosts)),
            Test::Equals(value) => form.equals = Some(value),
            Test::Matches(pattern) => form.matches = Some(pattern.as_str().to_owned()),
            Test::MaxBytes(bytes) => form.max_bytes = Some(bytes),
        }
        form
    }
}
