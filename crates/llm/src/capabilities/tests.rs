//! What is said about models of each kind.

use url::Url;

use super::table::look_up;
use super::{Capabilities, SchemaDialect};
use crate::config::Provider;

fn known(provider: Provider, url: &str, model: &str) -> Capabilities {
    look_up(provider, &Url::parse(url).unwrap(), model)
}

#[test]
fn families_are_found_by_name_whoever_serves_them() {
    use SchemaDialect::{Anthropic, Gemini, Generic, OpenAi};
    let (chat, messages) = (Provider::OpenAi, Provider::Anthropic);
    let router = "https://openrouter.ai/api/v1";
    for (provider, url, model, dialect, sees, thinks, parallel, context, output) in [
        (chat, "https://api.openai.com/v1", "gpt-5-mini", OpenAi, true, true, true, 400_000, 128_000),
        (chat, "https://api.openai.com/v1", "gpt-4o-2024-08-06", OpenAi, true, false, true, 128_000, 16_000),
        (chat, "https://api.openai.com/v1", "o3-mini", OpenAi, false, true, false, 200_000, 100_000),
        (chat, "https://api.openai.com/v1", "tomorrow", OpenAi, false, false, true, 0, 0),
        (chat, "https://x.openai.azure.com/v1", "my-name", OpenAi, false, false, true, 0, 0),
        (
            messages,
            "https://api.anthropic.com",
            "claude-sonnet-4-5",
            Anthropic,
            true,
            true,
            true,
            200_000,
            64_000,
        ),
        (
            messages,
            "https://api.anthropic.com",
            "claude-3-5-haiku-latest",
            Anthropic,
            true,
            false,
            true,
            200_000,
            8_000,
        ),
        (messages, "http://127.0.0.1:8080", "qwen3", Anthropic, false, true, true, 32_000, 16_000),
        (chat, router, "anthropic/claude-opus-4.1", Anthropic, true, true, true, 200_000, 32_000),
        (chat, router, "google/gemini-2.5-flash", Gemini, true, true, true, 1_048_000, 65_000),
        (chat, router, "openai/gpt-oss-120b", Generic, false, true, true, 131_000, 32_000),
        (chat, router, "openrouter/auto", Generic, false, false, true, 0, 0),
        (chat, "http://127.0.0.1:11434/v1", "Qwen3:0.6b", Generic, false, true, true, 32_000, 16_000),
        (
            chat,
            "http://127.0.0.1:11434/v1",
            "llama3.2-vision:11b",
            Generic,
            true,
            false,
            false,
            131_000,
            8_000,
        ),
        (chat, "https://api.openai.com.example/v1", "x", Generic, false, false, true, 0, 0),
    ] {
        let found = known(provider, url, model);
        let expected = Capabilities {
            dialect,
            vision: sees,
            images_in_tool_results: sees && provider == messages,
            parallel_tool_calls: parallel,
            reasoning: thinks,
            context_tokens: (context > 0).then_some(context),
            max_output_tokens: (output > 0).then_some(output),
        };
        assert_eq!(found, expected, "{model} at {url}");
    }
}

#[test]
fn every_dialect_is_read_as_it_is_written() {
    for dialect in SchemaDialect::ALL {
        assert_eq!(dialect.to_string().parse(), Ok(dialect));
        assert_eq!(serde_json::to_value(dialect).unwrap(), dialect.name());
    }
    let unknown = "openai_strict".parse::<SchemaDialect>().unwrap_err();
    assert!(unknown.to_string().contains("openai-strict"), "{unknown}");
}
