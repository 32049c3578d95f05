//! What endpoints send: one chunk of a stream, or one whole answer, which differ only in `delta` and `message`.
//!
//! Reading is lenient on purpose. Every field may be missing, null or of the wrong type without failing the
//! rest, since no two servers agree on all of them. What we send is strict and lives in `request`.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    pub(super) error: Option<Box<RawValue>>,
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(deserialize_with = "lenient")]
    pub(super) usage: Option<WireUsage>,
    /// The next three tell an error that is not wrapped in `error`.
    #[serde(deserialize_with = "lenient")]
    pub(super) object: Option<String>,
    pub(super) detail: Option<Box<RawValue>>,
    pub(super) message: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    #[serde(deserialize_with = "number")]
    pub(super) index: Option<u64>,
    pub(super) delta: Option<Body>,
    pub(super) message: Option<Body>,
    #[serde(deserialize_with = "string")]
    pub(super) finish_reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    #[serde(deserialize_with = "content")]
    pub(super) content: String,
    #[serde(deserialize_with = "string")]
    pub(super) refusal: String,
    #[serde(deserialize_with = "string")]
    pub(super) reasoning_content: String,
    #[serde(deserialize_with = "string")]
    pub(super) reasoning: String,
    pub(super) tool_calls: Option<Vec<WireCall>>,
    /// The deprecated single call. Some servers send it beside `tool_calls`, some instead of it.
    pub(super) function_call: Option<WireFunction>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCall {
    #[serde(deserialize_with = "number")]
    pub(super) index: Option<u64>,
    #[serde(deserialize_with = "string")]
    pub(super) id: String,
    pub(super) function: Option<WireFunction>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireFunction {
    #[serde(deserialize_with = "string")]
    pub(super) name: String,
    #[serde(deserialize_with = "arguments")]
    pub(super) arguments: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    #[serde(deserialize_with = "number")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "number")]
    pub(super) completion_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) prompt_tokens_details: Option<WireUsageDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsageDetails {
    #[serde(deserialize_with = "number")]
    pub(super) cached_tokens: Option<u64>,
}

/// A value of the wanted type, or nothing.
fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: for<'a> Deserialize<'a>,
{
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

/// A string; a number counts as its digits, everything else as nothing.
fn string<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(raw.map(|raw| as_string(&raw)).unwrap_or_default())
}

fn as_string(raw: &RawValue) -> String {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).unwrap_or_default(),
        Some(b'0'..=b'9' | b'-') => text.to_owned(),
        _ => String::new(),
    }
}

/// A number, also if it is written as a string.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(string(deserializer)?.parse().ok())
}

/// A string, or a list of parts of which the text is taken.
fn content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Part {
        #[serde(deserialize_with = "string")]
        text: String,
    }
    let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else {
        return Ok(String::new());
    };
    if raw.get().starts_with('[') {
        let parts: Vec<Part> = serde_json::from_str(raw.get()).unwrap_or_default();
        return Ok(parts.into_iter().map(|part| part.text).collect());
    }
    Ok(as_string(&raw))
}

/// A piece of the arguments' text. Arguments that are sent as JSON itself are taken as their text.
fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(match raw {
        Some(raw) if raw.get().starts_with('"') => as_string(&raw),
        Some(raw) => raw.get().to_owned(),
        None => String::new(),
    })
}
