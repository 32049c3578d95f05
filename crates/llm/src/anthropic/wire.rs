//! What endpoints send: events of a stream, or one whole message. Reading is lenient on purpose.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::lenient::{items, maybe, number, string};

/// One event. Which members it has depends on its type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    #[serde(deserialize_with = "string")]
    pub(super) r#type: String,
    #[serde(deserialize_with = "number")]
    pub(super) index: Option<u64>,
    #[serde(deserialize_with = "maybe")]
    pub(super) message: Option<WireMessage>,
    #[serde(deserialize_with = "maybe")]
    pub(super) content_block: Option<Block>,
    #[serde(deserialize_with = "maybe")]
    pub(super) delta: Option<Delta>,
    #[serde(deserialize_with = "maybe")]
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Box<RawValue>>,
}

/// A whole message, or the beginning of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireMessage {
    #[serde(deserialize_with = "string")]
    pub(super) r#type: String,
    #[serde(deserialize_with = "maybe")]
    pub(super) content: Option<Content>,
    #[serde(deserialize_with = "string")]
    pub(super) stop_reason: String,
    #[serde(deserialize_with = "maybe")]
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Box<RawValue>>,
}

/// The blocks of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Content(#[serde(deserialize_with = "items")] pub(super) Vec<Block>);

/// One block, whole or in its first state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(deserialize_with = "string")]
    pub(super) r#type: String,
    #[serde(deserialize_with = "string")]
    pub(super) text: String,
    #[serde(deserialize_with = "string")]
    pub(super) thinking: String,
    #[serde(deserialize_with = "maybe")]
    pub(super) signature: Option<String>,
    #[serde(deserialize_with = "string")]
    pub(super) data: String,
    #[serde(deserialize_with = "string")]
    pub(super) id: String,
    #[serde(deserialize_with = "string")]
    pub(super) name: String,
    pub(super) input: Option<Box<RawValue>>,
}

/// More of a block, or of the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta {
    #[serde(deserialize_with = "string")]
    pub(super) r#type: String,
    #[serde(deserialize_with = "string")]
    pub(super) text: String,
    #[serde(deserialize_with = "string")]
    pub(super) partial_json: String,
    #[serde(deserialize_with = "string")]
    pub(super) thinking: String,
    #[serde(deserialize_with = "string")]
    pub(super) signature: String,
    #[serde(deserialize_with = "string")]
    pub(super) stop_reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    #[serde(deserialize_with = "number")]
    pub(super) input_tokens: Option<u64>,
    #[serde(deserialize_with = "number")]
    pub(super) output_tokens: Option<u64>,
    #[serde(deserialize_with = "number")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "number")]
    pub(super) cache_creation_input_tokens: Option<u64>,
}
