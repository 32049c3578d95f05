//! Options that an endpoint rejects: learned once from its error, left out from then on.

use serde::{Deserialize, Serialize};

use super::failure::Failure;

/// An optional part of a request that some endpoint is known to refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOption {
    StreamOptions,
    ParallelToolCalls,
    ToolChoice,
    Temperature,
    /// Replaced by its newer spelling rather than left out: a limit must not get lost.
    MaxTokens,
    /// The newer spelling, replaced by the older one.
    MaxCompletionTokens,
    /// Thinking that goes back in the field in which it came.
    Thinking(ThinkingField),
    /// Thinking that goes back as the blocks that it came in.
    ThinkingBlocks,
    ReasoningDetails,
    /// Being told to think.
    ThinkingParameter,
    Strict,
    Images,
    CacheControl,
    /// An answer as long as the table of models says; shortened rather than left out.
    MaxOutput,
}

impl RequestOption {
    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StreamOptions => "stream_options",
            Self::ParallelToolCalls => "parallel_tool_calls",
            Self::ToolChoice => "tool_choice",
            Self::Temperature => "temperature",
            Self::MaxTokens | Self::MaxOutput => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::Thinking(field) => field.name(),
            Self::ThinkingBlocks | Self::ThinkingParameter => "thinking",
            Self::ReasoningDetails => "reasoning_details",
            Self::Strict => "strict",
            Self::Images => "image",
            Self::CacheControl => "cache_control",
        }
    }

    /// What an error about it says, beside its name.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::ParallelToolCalls => &["disable_parallel_tool_use"],
            Self::ThinkingBlocks => &["signature", "redacted_thinking"],
            Self::ThinkingParameter => &["budget_tokens", "adaptive"],
            // What is refused is not the guarantee but the schema that it needs.
            Self::Strict => &["invalid schema for function", "structured outputs"],
            Self::Images => &["images", "image_url", "image input", "vision", "multimodal", "mmproj"],
            _ => &[],
        }
    }

    fn is_named(self, message: &str) -> bool {
        // Blocks of thinking and being told to think have one name; only the blocks have a signature.
        let by_name = self != Self::ThinkingBlocks && mentions(message, self.name());
        by_name || self.words().iter().any(|words| mentions(message, words))
    }

    /// Whether the error is about the option as such and not about what it held this time.
    fn is_lasting(self, message: &str) -> bool {
        match self {
            Self::Images => {
                ["support", "not allowed", "vision", "multimodal", "unknown", "mmproj", "expected"]
                    .iter()
                    .any(|word| message.contains(word))
            }
            Self::ThinkingBlocks | Self::ReasoningDetails => false,
            _ => true,
        }
    }

    fn bit(self) -> u16 {
        1 << match self {
            Self::StreamOptions => 0,
            Self::ParallelToolCalls => 1,
            Self::ToolChoice => 2,
            Self::Temperature => 3,
            Self::MaxTokens => 4,
            Self::MaxCompletionTokens => 5,
            Self::Thinking(_) => 6,
            Self::ThinkingBlocks => 7,
            Self::ReasoningDetails => 8,
            Self::ThinkingParameter => 9,
            Self::Strict => 10,
            Self::Images => 11,
            Self::CacheControl => 12,
            Self::MaxOutput => 13,
        }
    }
}

/// The field in which an endpoint delivers thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ThinkingField {
    ReasoningContent,
    Reasoning,
}

impl ThinkingField {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
        }
    }
}

/// What is known about an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Learned {
    rejected: u16,
    /// The field in which it delivers thinking, and in which it gets it back.
    pub(crate) thinking_field: Option<ThinkingField>,
    /// The longest answer that it takes, where the table of models says more.
    pub(crate) max_output_tokens: Option<u32>,
}

impl Learned {
    pub(crate) fn accepts(self, option: RequestOption) -> bool {
        self.rejected & option.bit() == 0
    }

    pub(crate) fn reject(&mut self, option: RequestOption) {
        self.rejected |= option.bit();
    }

    /// The same, with what only one request must leave out.
    pub(crate) fn without(mut self, options: &[RequestOption]) -> Self {
        options.iter().for_each(|option| self.reject(*option));
        self
    }
}

/// What an error teaches.
#[derive(Debug, PartialEq)]
pub(crate) struct Lesson {
    pub(crate) option: RequestOption,
    /// Whether it holds for later requests too.
    pub(crate) lasting: bool,
    /// The figure that the endpoint would take instead.
    pub(crate) instead: Option<u32>,
}

/// The option that the endpoint's error is about, if it is one that was `sent`.
pub(crate) fn rejected_option(status: u16, failure: &Failure, sent: &[RequestOption]) -> Option<Lesson> {
    if !matches!(status, 400 | 404 | 415 | 422 | 500 | 501) {
        return None;
    }
    let message = failure.message.to_ascii_lowercase();
    let named = sent.iter().copied().find(|option| option.is_named(&message));
    let option = named.or_else(|| {
        // One server answers a required call with an error that has no words.
        let silent = message.is_empty() && sent.contains(&RequestOption::ToolChoice);
        silent.then_some(RequestOption::ToolChoice)
    })?;
    let instead = (option == RequestOption::MaxOutput).then(|| largest_allowed(&message)).flatten();
    Some(Lesson { option, lasting: option.is_lasting(&message), instead })
}

/// The figure in a message such as `max_tokens: 64000 > 8192, which is the maximum allowed …`.
fn largest_allowed(message: &str) -> Option<u32> {
    let (_, rest) = message.split_once('>')?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|figure| *figure > 0)
}

/// Whether `text` holds `name` as a whole word, so that `max_tokens` is not found in `max_tokens_total`.
fn mentions(text: &str, name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(inner)
            && !text[at + name.len()..].chars().next().is_some_and(inner)
    })
}
