//! Why an answer ended. The provider's reason is a hint; what the answer holds decides: complete calls are calls
//! whatever the reason says, and a reason that announces calls makes none.

use std::collections::VecDeque;

use super::failure::shorten;
use crate::model::{Finish, ModelEvent, Warning};

/// Why the answer ended, said to `events`. `refused` says that it is a refusal whatever the reason.
pub(crate) fn decide(reason: &str, calls: usize, refused: bool, events: &mut VecDeque<ModelEvent>) {
    let announced = matches!(reason, "tool_calls" | "function_call" | "tool_use");
    let finish = if is_length(reason) {
        Finish::Length
    } else if refused || matches!(reason, "content_filter" | "refusal" | "safety") {
        Finish::ContentFilter
    } else {
        if announced == (calls == 0) {
            let reason = if reason.is_empty() { "none".to_owned() } else { shorten(reason) };
            events.push_back(ModelEvent::Warning(Warning::FinishMismatch { reason }));
        }
        match reason {
            _ if calls > 0 => Finish::ToolCalls,
            "" | "stop" | "eos" | "end_turn" | "stop_sequence" => Finish::Stop,
            _ if announced => Finish::Stop,
            other => Finish::Other(shorten(other)),
        }
    };
    events.push_back(ModelEvent::Finish(finish));
}

/// Whether the answer ended for want of tokens.
pub(crate) fn is_length(reason: &str) -> bool {
    matches!(reason, "length" | "max_tokens" | "model_length" | "model_context_window_exceeded")
}
