//! What is known of models by their names: one line for each family, the first that fits counts.
//!
//! The figures are the makers' own. Whoever knows better says so in the configuration; what nobody knows is taken
//! carefully.

use url::Url;

use super::{Capabilities, SchemaDialect};
use crate::config::Provider;

/// A family of models.
struct Family {
    /// What a name of the family begins with, in lower case and without the vendor.
    start: &'static str,
    /// Thousands of tokens of context and of answer; 0 is unknown.
    size: (u64, u32),
    traits: &'static [Trait],
}

#[derive(Clone, Copy, PartialEq)]
enum Trait {
    Sees,
    Thinks,
    /// One call an answer.
    Single,
}

use Trait::{Sees, Single, Thinks};

const fn family(start: &'static str, size: (u64, u32), traits: &'static [Trait]) -> Family {
    Family { start, size, traits }
}

/// Longer starts stand before shorter ones.
const FAMILIES: &[Family] = &[
    family("gpt-5-chat", (128, 16), &[Sees]),
    family("gpt-5", (400, 128), &[Sees, Thinks]),
    family("gpt-4.1", (1_047, 32), &[Sees]),
    family("gpt-4o", (128, 16), &[Sees]),
    family("gpt-4-turbo", (128, 4), &[Sees]),
    family("gpt-4", (8, 4), &[]),
    family("gpt-3.5", (16, 4), &[]),
    family("gpt-oss", (131, 32), &[Thinks]),
    family("chatgpt-4o", (128, 16), &[Sees]),
    family("o1-mini", (128, 64), &[Thinks, Single]),
    family("o1", (200, 100), &[Sees, Thinks, Single]),
    family("o3-mini", (200, 100), &[Thinks, Single]),
    family("o3", (200, 100), &[Sees, Thinks, Single]),
    family("o4-mini", (200, 100), &[Sees, Thinks, Single]),
    family("claude-opus-4-1", (200, 32), &[Sees, Thinks]),
    family("claude-opus-4-2025", (200, 32), &[Sees, Thinks]),
    family("claude-opus-4-0", (200, 32), &[Sees, Thinks]),
    family("claude-opus-4.1", (200, 32), &[Sees, Thinks]),
    family("claude-opus", (200, 64), &[Sees, Thinks]),
    family("claude-sonnet", (200, 64), &[Sees, Thinks]),
    family("claude-haiku", (200, 64), &[Sees, Thinks]),
    family("claude-3-7", (200, 64), &[Sees, Thinks]),
    family("claude-3.7", (200, 64), &[Sees, Thinks]),
    family("claude-3-5", (200, 8), &[Sees]),
    family("claude-3.5", (200, 8), &[Sees]),
    family("claude-3", (200, 4), &[Sees]),
    family("claude", (200, 8), &[Sees]),
    family("gemini-2.0", (1_048, 8), &[Sees]),
    family("gemini-1.5", (1_048, 8), &[Sees]),
    family("gemini", (1_048, 65), &[Sees, Thinks]),
    family("gemma-3n", (32, 8), &[Sees]),
    family("gemma3n", (32, 8), &[Sees]),
    family("gemma-3", (131, 8), &[Sees]),
    family("gemma3", (131, 8), &[Sees]),
    family("gemma", (8, 8), &[]),
    family("deepseek-r1", (128, 32), &[Thinks]),
    family("deepseek-reasoner", (128, 64), &[Thinks]),
    family("deepseek", (128, 8), &[]),
    family("qwen3-vl", (262, 32), &[Sees, Thinks]),
    family("qwen3-coder", (262, 65), &[]),
    family("qwen3", (32, 16), &[Thinks]),
    family("qwen2.5-vl", (32, 8), &[Sees]),
    family("qwen2.5vl", (32, 8), &[Sees]),
    family("qwen2-vl", (32, 8), &[Sees]),
    family("qwen2.5", (32, 8), &[]),
    family("qwq", (131, 32), &[Thinks]),
    family("llama-4", (131, 16), &[Sees]),
    family("llama4", (131, 16), &[Sees]),
    family("llama-3.2-11b-vision", (131, 8), &[Sees, Single]),
    family("llama-3.2-90b-vision", (131, 8), &[Sees, Single]),
    family("llama3.2-vision", (131, 8), &[Sees, Single]),
    family("llama-3", (131, 8), &[Single]),
    family("llama3", (131, 8), &[Single]),
    family("llava", (4, 0), &[Sees, Single]),
    family("mistral-medium", (131, 32), &[Sees]),
    family("mistral-small", (131, 32), &[Sees]),
    family("mistral-large", (131, 32), &[]),
    family("pixtral", (131, 32), &[Sees]),
    family("magistral", (40, 32), &[Thinks]),
    family("mistral", (32, 8), &[]),
    family("grok-4", (256, 64), &[Sees, Thinks]),
    family("grok-3", (131, 32), &[]),
    family("glm-4.5v", (65, 16), &[Sees, Thinks]),
    family("glm-4.6", (200, 128), &[Thinks]),
    family("glm-4.5", (131, 96), &[Thinks]),
    family("kimi-k2-thinking", (262, 32), &[Thinks]),
    family("kimi-k2", (131, 32), &[]),
    family("minimax-m2", (204, 128), &[Thinks]),
    family("smollm2", (8, 2), &[Single]),
    family("phi-4", (16, 8), &[]),
    family("granite", (131, 8), &[]),
];

/// What is known of `model` at an endpoint.
pub(super) fn look_up(provider: Provider, base_url: &Url, model: &str) -> Capabilities {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default();
    let host = base_url.domain().unwrap_or_default();
    let found = FAMILIES.iter().find(|family| name.starts_with(family.start));
    let has = |wanted| found.is_some_and(|family| family.traits.contains(&wanted));
    let anthropic = provider == Provider::Anthropic;
    let (context, output) = found.map_or((0, 0), |family| family.size);
    Capabilities {
        dialect: dialect(provider, host, name),
        vision: has(Sees),
        // Only this wire has a place for them.
        images_in_tool_results: anthropic && has(Sees),
        parallel_tool_calls: !has(Single),
        reasoning: has(Thinks),
        context_tokens: (context > 0).then_some(context * 1_000),
        max_output_tokens: (output > 0).then_some(output * 1_000),
    }
}

fn dialect(provider: Provider, host: &str, name: &str) -> SchemaDialect {
    let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let is_host =
        |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if provider == Provider::Anthropic {
        SchemaDialect::Anthropic
    } else if is_host("generativelanguage.googleapis.com") || starts(&["gemini"]) {
        SchemaDialect::Gemini
    } else if starts(&["claude"]) {
        SchemaDialect::Anthropic
    } else if is_host("api.openai.com")
        || is_host("openai.azure.com")
        || (starts(&["gpt-", "o1", "o3", "o4", "chatgpt-"]) && !starts(&["gpt-oss"]))
    {
        SchemaDialect::OpenAi
    } else {
        SchemaDialect::Generic
    }
}
