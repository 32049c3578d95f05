//! Thinking in OpenRouter's form: a list of details that arrives in pieces and goes back whole.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One detail, or a piece of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Detail {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Everything else goes back as it came.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Detail {
    /// What a person can read of it.
    pub(super) fn words(&self) -> &str {
        self.text.as_deref().or(self.summary.as_deref()).unwrap_or_default()
    }

    fn continues(&self, earlier: &Self) -> bool {
        let readable = self.text.is_some() || self.summary.is_some() || self.rest.contains_key("signature");
        readable && self.r#type == earlier.r#type && self.index == earlier.index && !earlier.is_sealed()
    }

    /// Encrypted thinking comes whole.
    fn is_sealed(&self) -> bool {
        self.rest.contains_key("data")
    }

    fn append(&mut self, piece: Self) {
        for (mine, theirs) in [(&mut self.text, piece.text), (&mut self.summary, piece.summary)] {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().push_str(&theirs);
            }
        }
        // An early null is a place that a later piece fills.
        for (name, value) in piece.rest {
            let known = self.rest.get(&name).is_some_and(|known| !known.is_null());
            if !known || !value.is_null() {
                self.rest.insert(name, value);
            }
        }
    }
}

/// Adds a piece to the list.
pub(super) fn push(details: &mut Vec<Detail>, piece: Detail) {
    match details.last_mut() {
        Some(last) if piece.continues(last) => last.append(piece),
        _ => details.push(piece),
    }
}
