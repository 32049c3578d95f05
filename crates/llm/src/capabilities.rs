//! What a model can do, so that a host offers it no more and lowers schemas the right way.

mod table;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::config::Provider;

/// Which schemas a model's endpoint takes for the arguments of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SchemaDialect {
    /// OpenAI's endpoint, without its guarantee.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI's endpoint with `strict`: closed objects, every property required.
    #[serde(rename = "openai-strict")]
    OpenAiStrict,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini and what speaks its subset of OpenAPI schemas.
    Gemini,
    /// Anything else: local servers and endpoints that nobody knows.
    #[default]
    Generic,
}

impl SchemaDialect {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini, Self::Generic];

    /// The name in options and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiStrict => "openai-strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Generic => "generic",
        }
    }
}

impl fmt::Display for SchemaDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDialect(String);

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = SchemaDialect::ALL.map(SchemaDialect::name).join(", ");
        write!(f, "`{}` is no dialect of schemas; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownDialect {}

impl FromStr for SchemaDialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name() == text)
            .ok_or_else(|| UnknownDialect(text.chars().take(64).collect()))
    }
}

/// What a model can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Which schemas its endpoint takes.
    pub dialect: SchemaDialect,
    /// Whether it takes pictures.
    pub vision: bool,
    /// Whether a picture may stand in the answer to a call. Where it may not, it follows in a user message.
    pub images_in_tool_results: bool,
    /// Whether one answer may hold several calls.
    pub parallel_tool_calls: bool,
    /// Whether it thinks before it answers.
    pub reasoning: bool,
    /// How many tokens a conversation may have.
    pub context_tokens: Option<u64>,
    /// How many tokens an answer may have.
    pub max_output_tokens: Option<u32>,
}

impl Capabilities {
    /// What is assumed of a model that nobody knows: text only, and several calls at once, which the host copes
    /// with in any case.
    pub const UNKNOWN: Self = Self {
        dialect: SchemaDialect::Generic,
        vision: false,
        images_in_tool_results: false,
        parallel_tool_calls: true,
        reasoning: false,
        context_tokens: None,
        max_output_tokens: None,
    };

    /// What the table of known models says about a model at an endpoint.
    pub fn known(provider: Provider, base_url: &Url, model: &str) -> Self {
        table::look_up(provider, base_url, model)
    }
}

impl Default for Capabilities {
    fn default() -> Self {
        Self::UNKNOWN
    }
}
