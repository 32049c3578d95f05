//! What goes back to the endpoint beside an answer's text and calls while its calls are being answered: opaque to
//! everyone else, and only read by the wire and the model that wrote it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::details::Detail;
use crate::wire::learned::ThinkingField;

const WIRE: &str = "openai";

/// What one answer leaves.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
    wire: String,
    model: String,
    /// The field in which the endpoint delivered the thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<ThinkingField>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) details: Vec<Detail>,
    /// What belongs to each call, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Option<Box<RawValue>>>,
}

impl Kept {
    pub(super) fn new(
        model: &str,
        field: Option<ThinkingField>,
        details: Vec<Detail>,
        mut calls: Vec<Option<Box<RawValue>>>,
    ) -> Self {
        while calls.last().is_some_and(Option::is_none) {
            calls.pop();
        }
        Self { wire: WIRE.to_owned(), model: model.to_owned(), field, details, calls }
    }

    /// The text to keep, if there is anything.
    pub(super) fn write(&self) -> Option<String> {
        let empty = self.field.is_none() && self.details.is_empty() && self.calls.is_empty();
        if empty { None } else { serde_json::to_string(self).ok() }
    }

    /// What was kept of an answer of `model`. What another model or wire left is nothing.
    pub(super) fn read(text: Option<&str>, model: &str) -> Self {
        text.and_then(|text| serde_json::from_str::<Self>(text).ok())
            .filter(|kept| kept.wire == WIRE && kept.model == model)
            .unwrap_or_default()
    }
}
