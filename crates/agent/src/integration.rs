//! Turns what came of a call into what the model reads.
//!
//! The last stage of a call. One rule for a tool that answers twice: a text that is the same JSON as the
//! structured content is sent once, everything else is sent. Failures are marked and kept apart. A message is
//! never empty, never holds base64, and is never longer than its budget, which cuts visibly.
//! Where to look next: `integration/content.rs` for single blocks, `integration/budget.rs` for the cut.

mod budget;
mod content;

use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::CallToolResult;

use crate::limits::Limits;
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
use crate::visible;

const NO_DETAILS: &str = "The tool reported an error and gave no details.";

/// What the model reads as the answer to its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolMessage {
    /// The text. Never empty.
    pub text: String,
    /// Bytes that were cut out of the middle, and are marked there.
    pub left_out_bytes: Option<usize>,
    /// Whether the call failed, in whichever way.
    pub failed: bool,
}

/// What the model reads about `outcome`.
///
/// ```
/// use switchboard_agent::{Limits, ToolOutcome, integrate};
/// use switchboard_protocol::model::tool::CallToolResult;
///
/// let outcome = ToolOutcome::Result(Box::new(CallToolResult::error("date must be in the future")));
/// let message = integrate(&outcome, &Limits::default());
/// assert_eq!(message.text, "The tool reported an error:\ndate must be in the future");
/// assert!(message.failed);
/// ```
#[must_use]
pub fn integrate(outcome: &ToolOutcome, limits: &Limits) -> ToolMessage {
    match outcome {
        ToolOutcome::Result(result) if result.is_error() => {
            let body = body(result);
            let text = if body.is_empty() {
                NO_DETAILS.to_owned()
            } else {
                format!("The tool reported an error:\n{body}")
            };
            message(&text, limits.result_bytes, true)
        }
        ToolOutcome::Result(result) => {
            let body = body(result);
            let text = if body.is_empty() { "The tool succeeded and returned no output." } else { &body };
            message(text, limits.result_bytes, false)
        }
        ToolOutcome::Failed(failure) => message(&failed(failure), limits.error_bytes, true),
    }
}

fn message(text: &str, bytes: usize, failed: bool) -> ToolMessage {
    let (text, left_out_bytes) = budget::fit(text, bytes);
    ToolMessage { text, left_out_bytes, failed }
}

/// What a tool said when it failed, for a person; a placeholder if it said nothing.
pub(crate) fn said(result: &CallToolResult, bytes: usize) -> String {
    let body = body(result);
    let text = if body.is_empty() { NO_DETAILS } else { &body };
    budget::fit(text, bytes).0
}

/// All blocks in their order, then the structured content, unless a text says the same.
fn body(result: &CallToolResult) -> String {
    let structured = result.structured_content.as_deref().map(|raw| raw.get());
    let mut parts: Vec<String> = Vec::new();
    for block in &result.content {
        match (block, structured) {
            (ContentBlock::Text(text), Some(json)) if visible::same_json(&text.text, json) => {}
            _ => parts.extend(content::for_model(block)),
        }
    }
    if let Some(json) = structured {
        let marked = if parts.is_empty() { json.to_owned() } else { format!("Structured content:\n{json}") };
        parts.push(marked);
    }
    parts.join("\n")
}

fn failed(failure: &CallFailure) -> String {
    let said = visible::text(failure.message.trim());
    let mut text = match failure.kind {
        FailureKind::Protocol { code } => format!("The server refused the call (error {code}): {said}"),
        FailureKind::Transport => format!("The server could not be reached: {said}"),
        FailureKind::Unauthorized => "The server wants the person to log in first.".to_owned(),
        FailureKind::Timeout { .. } if said.is_empty() => format!("The call {}.", failure.kind),
        FailureKind::Timeout { .. } => format!("The call {}: {said}", failure.kind),
        FailureKind::Limit => format!("The call reached a limit: {said}"),
        FailureKind::Malformed => format!("The server returned a malformed result: {said}"),
        FailureKind::InputNeeded => {
            "The tool wants to ask the person something before it goes on, and nobody can be asked here."
                .to_owned()
        }
        FailureKind::Interrupted => "The call was interrupted.".to_owned(),
    };
    // Many transports say it themselves.
    if failure.maybe_executed && !said.contains("may have been executed") {
        text.push_str(" It may have been executed all the same.");
    }
    text
}

#[cfg(test)]
mod tests;
