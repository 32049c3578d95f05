//! The keys that are looked for in the environment, in this order, and what each is good for.

use url::Url;

use crate::config::{KeyHeader, Provider};
use crate::secret::Secret;

/// One known key.
#[derive(Debug)]
pub(super) struct Known {
    /// The variable that holds it.
    pub(super) key: &'static str,
    pub(super) key_header: KeyHeader,
    pub(super) provider: Provider,
    /// Where it belongs.
    pub(super) base_url: &'static str,
    /// The variable that names another endpoint for it.
    pub(super) base_url_variable: Option<&'static str>,
    /// Whether that variable alone, without any key, names an endpoint.
    pub(super) base_url_is_enough: bool,
    /// The variable that names the model.
    pub(super) model_variable: Option<&'static str>,
    /// The model where nobody names one.
    pub(super) model: &'static str,
    /// What the names of its models begin with; nothing if it has models of many makers.
    own: &'static [&'static str],
}

/// A key of an OpenAI-compatible endpoint without variables of its own.
const fn compatible(
    key: &'static str,
    base_url: &'static str,
    model: &'static str,
    own: &'static [&'static str],
) -> Known {
    Known {
        key,
        key_header: KeyHeader::Bearer,
        provider: Provider::OpenAi,
        base_url,
        base_url_variable: None,
        base_url_is_enough: false,
        model_variable: None,
        model,
        own,
    }
}

const fn anthropic(key: &'static str, key_header: KeyHeader) -> Known {
    Known {
        key_header,
        provider: Provider::Anthropic,
        base_url_variable: Some("ANTHROPIC_BASE_URL"),
        model_variable: Some("ANTHROPIC_MODEL"),
        ..compatible(key, "https://api.anthropic.com", "claude-sonnet-4-5", &["claude"])
    }
}

const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta/openai";
const GEMINI_MODEL: &str = "gemini-2.5-flash";
const GEMINI_OWN: &[&str] = &["gemini", "models/gemini", "gemma"];

/// All of them, the best known first.
pub(super) const KNOWN: &[Known] = &[
    Known {
        base_url_variable: Some("OPENAI_BASE_URL"),
        base_url_is_enough: true,
        model_variable: Some("OPENAI_MODEL"),
        ..compatible(
            "OPENAI_API_KEY",
            "https://api.openai.com/v1",
            "gpt-5-mini",
            &["gpt-", "o1", "o3", "o4", "ft:"],
        )
    },
    anthropic("ANTHROPIC_API_KEY", KeyHeader::XApiKey),
    anthropic("ANTHROPIC_AUTH_TOKEN", KeyHeader::Bearer),
    compatible("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", "openrouter/auto", &[]),
    compatible("GEMINI_API_KEY", GEMINI, GEMINI_MODEL, GEMINI_OWN),
    compatible("GOOGLE_API_KEY", GEMINI, GEMINI_MODEL, GEMINI_OWN),
    compatible(
        "MISTRAL_API_KEY",
        "https://api.mistral.ai/v1",
        "mistral-small-latest",
        &["mistral", "magistral"],
    ),
    compatible("GROQ_API_KEY", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", &[]),
    compatible("DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "deepseek-chat", &["deepseek-"]),
    compatible("XAI_API_KEY", "https://api.x.ai/v1", "grok-4", &["grok"]),
];

/// Keys of models that are not looked for, since nothing says where they belong.
const OTHERS: &[&str] = &[
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "COHERE_API_KEY",
    "FIREWORKS_API_KEY",
    "NVIDIA_API_KEY",
    "OPENAI_ADMIN_KEY",
    "TOGETHER_API_KEY",
];

impl Known {
    fn is_at(&self, url: &Url) -> bool {
        Url::parse(self.base_url).is_ok_and(|own| own.domain().is_some() && own.domain() == url.domain())
    }

    /// Whether its endpoint may have this model: it is its own, or nobody else's.
    pub(super) fn may_have(&self, model: &str) -> bool {
        let name = model.to_ascii_lowercase();
        let owns = |known: &Self| known.own.iter().any(|start| name.starts_with(start));
        // Those who have models of many makers name the maker, and nobody else does.
        let of_vendor = name.contains('/');
        owns(self) || if of_vendor { self.own.is_empty() } else { !KNOWN.iter().any(owns) }
    }
}

/// The key for an endpoint that a person named: its own, or OpenAI's, which everyone else takes.
pub(super) fn at(url: &Url) -> &'static Known {
    KNOWN.iter().find(|known| known.is_at(url)).unwrap_or(&KNOWN[0])
}

/// The wire of an endpoint that a person named.
pub(super) fn provider_at(url: &Url, known: &Known) -> Provider {
    let path = url.path().trim_end_matches('/');
    let speaks_messages = path.ends_with("/anthropic") || path.ends_with("/messages");
    if speaks_messages { Provider::Anthropic } else { known.provider }
}

/// The key for an endpoint, if it is one of the known ones and its variable is set. Nobody else gets it.
pub fn key_for(base_url: &Url, environment: impl Fn(&str) -> Option<String>) -> Option<Secret> {
    let own = KNOWN.iter().filter(|known| known.is_at(base_url));
    own.filter_map(|known| environment(known.key)).map(Secret::new).find(|key| !key.expose().is_empty())
}

/// The variables that hold keys of models, so that they can be kept from other programs: those that are looked for, and
/// others.
pub fn key_variables() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.key).chain(OTHERS.iter().copied())
}

/// The first of them, for people.
pub(super) fn best_known() -> String {
    KNOWN[..4]
        .iter()
        .filter(|known| known.key.ends_with("_API_KEY"))
        .map(|known| known.key)
        .collect::<Vec<_>>()
        .join(", ")
}
