//! What endpoints send: one chunk of a stream, or one whole answer, which differ only in `delta` and `message`.
//!
//! Reading is lenient on purpose. Every field may be missing, null or of the wrong type without failing the
//! rest, since no two servers agree on all of them. What we send is strict and lives in `request`.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::details::Detail;
use crate::wire::lenient::{as_string, items, maybe, number, string};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    pub(super) error: Option<Box<RawValue>>,
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(deserialize_with = "maybe")]
    pub(super) usage: Option<WireUsage>,
    /// Where one provider puts the usage of a stream.
    #[serde(deserialize_with = "maybe")]
    pub(super) x_groq: Option<Groq>,
    /// The next three tell an error that is not wrapped in `error`.
    #[serde(deserialize_with = "maybe")]
    pub(super) object: Option<String>,
    pub(super) detail: Option<Box<RawValue>>,
    pub(super) message: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Groq {
    #[serde(deserialize_with = "maybe")]
    pub(super) usage: Option<WireUsage>,
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
    #[serde(deserialize_with = "items")]
    pub(super) reasoning_details: Vec<Detail>,
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
    /// What a provider wants back with the call, such as a signature of the thought behind it.
    pub(super) extra_content: Option<Box<RawValue>>,
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
    #[serde(deserialize_with = "maybe")]
    pub(super) prompt_tokens_details: Option<WireUsageDetails>,
    /// Where one provider says what came from its cache.
    #[serde(deserialize_with = "number")]
    pub(super) prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsageDetails {
    #[serde(deserialize_with = "number")]
    pub(super) cached_tokens: Option<u64>,
    #[serde(deserialize_with = "number")]
    pub(super) cache_write_tokens: Option<u64>,
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
