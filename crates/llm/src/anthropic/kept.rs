//! The thinking of an answer as it must go back: every block unchanged and in its place among text and calls.
//! Opaque to everyone else, and only read by the wire and the model that wrote it.

use serde::{Deserialize, Serialize};

const WIRE: &str = "anthropic";

/// What one answer leaves.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
    wire: String,
    model: String,
    pub(super) parts: Vec<KeptPart>,
}

/// One block of the answer. Text and calls stand in the message itself; here is only their place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum KeptPart {
    Thinking {
        thinking: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    RedactedThinking {
        data: String,
    },
    /// So many bytes of the text.
    Text {
        bytes: usize,
    },
    Call,
}

impl Kept {
    /// The text to keep, if the answer holds any thinking.
    pub(super) fn write(model: &str, parts: Vec<KeptPart>) -> Option<String> {
        let thinks = |part: &KeptPart| !matches!(part, KeptPart::Text { .. } | KeptPart::Call);
        if !parts.iter().any(thinks) {
            return None;
        }
        serde_json::to_string(&Self { wire: WIRE.to_owned(), model: model.to_owned(), parts }).ok()
    }

    /// What was kept of an answer of `model`. What another model or wire left is nothing.
    pub(super) fn read(text: Option<&str>, model: &str) -> Vec<KeptPart> {
        text.and_then(|text| serde_json::from_str::<Self>(text).ok())
            .filter(|kept| kept.wire == WIRE && kept.model == model)
            .map(|kept| kept.parts)
            .unwrap_or_default()
    }
}
