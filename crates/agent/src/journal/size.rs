//! How large an event is, and how a large result is cut for the journal.

use serde_json::Value;

use super::event::{Event, Execution, Integration, Invocation, ResultEvent, Selection};
use super::{Authorization, Declaration, Exposed};
use crate::visible;

/// Bytes of one text of a result that the journal keeps. The whole text is in the artefacts of the call.
const TEXT_BYTES: usize = 16 * 1024;
/// Bytes of a whole result up to which nothing of it is cut.
const RESULT_BYTES: usize = 128 * 1024;
/// What an event takes beside its texts, about.
const EVENT_BYTES: usize = 256;

/// The result with its long texts cut, if it is large.
pub(crate) fn reduced(mut result: Value) -> Value {
    if size(&result) > RESULT_BYTES {
        cut(&mut result, &mut (RESULT_BYTES * 2));
    }
    result
}

/// Cuts long texts, and whatever comes once `left` bytes are kept.
fn cut(value: &mut Value, left: &mut usize) {
    match value {
        Value::String(text) => {
            let most = TEXT_BYTES.min(*left);
            if text.len() > most {
                let whole = text.len();
                *text = format!("{}… ({whole} bytes)", visible::head(text, most));
            }
            *left = left.saturating_sub(text.len());
        }
        Value::Array(items) => {
            let mut kept = 0;
            for item in items.iter_mut() {
                if *left == 0 {
                    break;
                }
                cut(item, left);
                kept += 1;
            }
            if kept < items.len() {
                let gone = items.len() - kept;
                items.truncate(kept);
                items.push(Value::String(format!("… ({gone} more)")));
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                *left = left.saturating_sub(name.len());
                cut(member, left);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => *left = left.saturating_sub(8),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum::<usize>() + items.len(),
        Value::Object(members) => members.iter().map(|(name, member)| name.len() + size(member)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

impl Event {
    /// How much memory it takes, about, in bytes.
    pub(crate) fn size(&self) -> usize {
        let texts = match self {
            Self::Exposure(Exposed::Offered { tools }) => tools.len() * EVENT_BYTES,
            Self::Declaration(Declaration::Listed { tools, .. }) => {
                tools.iter().map(|tool| tool.len() + 24).sum()
            }
            Self::Selection(selection) => match selection {
                Selection::Question { text }
                | Selection::TextDelta { text }
                | Selection::ThinkingDelta { text }
                | Selection::Note { text }
                | Selection::Corrected { problem: text, .. } => text.len(),
                Selection::Answered { text, calls, .. } => {
                    text.len() + calls.iter().map(|call| size(&call.arguments)).sum::<usize>()
                }
                _ => 0,
            },
            Self::Authorization(Authorization::Asked { arguments, .. })
            | Self::Invocation(Invocation::Started { arguments, .. }) => size(arguments),
            Self::Authorization(Authorization::Requested { .. }) => 4 * EVENT_BYTES,
            Self::Execution(Execution::Wire { message, .. }) => size(message),
            Self::Result { outcome: ResultEvent::Returned { result, .. }, .. } => size(result),
            Self::Integration(Integration::Added { text, .. } | Integration::Finished { text, .. }) => {
                text.len()
            }
            _ => 0,
        };
        EVENT_BYTES + texts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{reduced, size};

    #[test]
    fn a_large_result_is_cut_wherever_its_bulk_is_and_a_small_one_is_not() {
        let small = json!({"content": [{"type": "text", "text": "x".repeat(100_000)}]});
        assert_eq!(reduced(small.clone()), small);
        for large in [
            json!({"content": [{"type": "text", "text": "x".repeat(1 << 20)}], "isError": false}),
            json!({"structuredContent": (0..200_000).collect::<Vec<u32>>()}),
            json!({"deep": {"deeper": vec!["y".repeat(1000); 10_000]}}),
        ] {
            let cut = reduced(large);
            assert!(size(&cut) < 300 * 1024, "{}", size(&cut));
            assert!(cut.to_string().contains('…'));
        }
    }
}
