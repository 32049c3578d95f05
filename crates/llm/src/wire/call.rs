//! What makes a call complete, and its id unique, on every wire.

use std::collections::HashSet;

use serde::de::IgnoredAny;

use crate::error::{Kind, ModelError};
use crate::message::{CallDefect, ToolCallRequest};

/// The most calls that one answer may hold.
pub(crate) const MAX_CALLS: usize = 128;

/// The answer holds more calls than anyone wants made.
pub(crate) fn too_many_calls() -> ModelError {
    ModelError::new(Kind::TooLarge, format!("the model made more than {MAX_CALLS} calls in one answer"))
        .with_hint("ask it to do less at once, or choose another model")
}

/// A call in its final form. `cut_off` says that the answer ended for want of tokens within it.
pub(crate) fn complete(
    (id, name): (String, String),
    arguments: &str,
    used_ids: &mut HashSet<String>,
    cut_off: bool,
) -> ToolCallRequest {
    let (arguments, defect) = complete_arguments(arguments, cut_off);
    let defect = if name.is_empty() { Some(CallDefect::Nameless) } else { defect };
    ToolCallRequest { id: claim_id(id, used_ids), name, arguments, defect }
}

/// The text of the arguments as one JSON object, or what is wrong with it.
pub(crate) fn complete_arguments(text: &str, cut_off: bool) -> (String, Option<CallDefect>) {
    let trimmed = text.trim();
    if trimmed.is_empty() && cut_off {
        return (String::new(), Some(CallDefect::Truncated));
    }
    if trimmed.is_empty() || trimmed == "null" {
        return ("{}".to_owned(), None);
    }
    match serde_json::from_str::<IgnoredAny>(trimmed) {
        Ok(_) if trimmed.starts_with('{') => (trimmed.to_owned(), None),
        Err(error) if error.is_eof() || cut_off => (text.to_owned(), Some(CallDefect::Truncated)),
        _ => (text.to_owned(), Some(CallDefect::InvalidArguments)),
    }
}

/// The arguments as they go back to an endpoint. Servers parse these again: what is broken must not break the next
/// request too. The model reads what happened in the answer to the call.
pub(crate) fn arguments_sent_back(call: &ToolCallRequest) -> String {
    match complete_arguments(&call.arguments, false) {
        (arguments, None) => arguments,
        _ => "{}".to_owned(),
    }
}

/// The provider's id if it is there and new in this conversation, else one that is.
pub(crate) fn claim_id(id: String, used: &mut HashSet<String>) -> String {
    if !id.is_empty() && used.insert(id.clone()) {
        return id;
    }
    let mut number = used.len() + 1;
    loop {
        let fresh = format!("call_{number}");
        if used.insert(fresh.clone()) {
            return fresh;
        }
        number += 1;
    }
}

/// A name that a model made up may be one that the endpoint refuses to read back.
pub(crate) fn name_sent_back(name: &str) -> String {
    if name.is_empty() { "unknown".to_owned() } else { plain(name, 64) }
}

/// At most `length` of the letters that every endpoint takes in names and ids.
pub(crate) fn plain(text: &str, length: usize) -> String {
    text.chars()
        .take(length)
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .collect()
}

/// The calls of the last answer that are not answered: own id, id on the wire.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Vec<(String, String)>);

impl OpenCalls {
    pub(crate) fn push(&mut self, own: &str, wire: &str) {
        self.0.push((own.to_owned(), wire.to_owned()));
    }

    /// The wire id of the first open call with this id, which is open no longer.
    pub(crate) fn answer(&mut self, own: &str) -> Option<String> {
        let position = self.0.iter().position(|(id, _)| id == own)?;
        Some(self.0.remove(position).1)
    }

    /// The wire ids of all that are open; none is from now on.
    pub(crate) fn close(&mut self) -> impl Iterator<Item = String> {
        std::mem::take(&mut self.0).into_iter().map(|(_, wire)| wire)
    }
}
