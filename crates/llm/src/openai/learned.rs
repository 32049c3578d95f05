//! Options that an endpoint rejects: learned once from its error, left out from then on.

use super::ThinkingField;
use super::failure::Failure;

/// An optional part of the request that some endpoint is known to refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOption {
    StreamOptions,
    ParallelToolCalls,
    ToolChoice,
    Temperature,
    /// Replaced by its newer spelling rather than left out: a limit must not get lost.
    MaxTokens,
    Thinking(ThinkingField),
}

impl RequestOption {
    /// The name on the wire.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::StreamOptions => "stream_options",
            Self::ParallelToolCalls => "parallel_tool_calls",
            Self::ToolChoice => "tool_choice",
            Self::Temperature => "temperature",
            Self::MaxTokens => "max_tokens",
            Self::Thinking(field) => field.name(),
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::StreamOptions => 1,
            Self::ParallelToolCalls => 1 << 1,
            Self::ToolChoice => 1 << 2,
            Self::Temperature => 1 << 3,
            Self::MaxTokens => 1 << 4,
            Self::Thinking(_) => 1 << 5,
        }
    }
}

/// What is known about an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learned {
    rejected: u8,
    /// The field in which it delivers thinking, and in which it gets it back.
    pub(super) thinking_field: Option<ThinkingField>,
}

impl Learned {
    pub(super) fn accepts(self, option: RequestOption) -> bool {
        self.rejected & option.bit() == 0
    }

    pub(super) fn reject(&mut self, option: RequestOption) {
        self.rejected |= option.bit();
    }
}

/// The option that the endpoint's error is about, if it is one that was `sent`.
pub(super) fn rejected_option(
    status: u16,
    failure: &Failure,
    sent: &[RequestOption],
) -> Option<RequestOption> {
    let named = || sent.iter().copied().find(|option| mentions(&failure.message, option.name()));
    match status {
        400 | 404 | 415 | 422 | 500 | 501 => named().or_else(|| {
            // One server answers a required call with an error that has no words.
            let silent = failure.message.is_empty() && sent.contains(&RequestOption::ToolChoice);
            silent.then_some(RequestOption::ToolChoice)
        }),
        _ => None,
    }
}

/// Whether `text` holds `name` as a whole word, so that `max_tokens` is not found in `max_tokens_total`.
fn mentions(text: &str, name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(inner)
            && !text[at + name.len()..].chars().next().is_some_and(inner)
    })
}
