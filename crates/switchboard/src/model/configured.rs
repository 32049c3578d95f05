//! The models of the configuration, as the chain takes them.

use switchboard_config::{ModelEntry, ModelKind};
use switchboard_llm::chain::{Configured, key_for};
use switchboard_llm::{ModelConfig, ModelError, Provider, SchemaDialect, Secret};
use url::Url;

use super::probed::Probed;
use super::variable;
use crate::settings::Settings;

/// All that can be used, the preferred one first, and what is wrong with the others.
pub(super) fn all(settings: &Settings, probed: &Probed) -> (Vec<Configured>, Vec<(String, ModelError)>) {
    let (entries, preferred) = settings.models();
    let (mut usable, mut broken) = (Vec::new(), Vec::new());
    for entry in entries {
        match config(entry, probed) {
            Ok(config) => usable.push(Configured { name: entry.name.clone(), config }),
            Err(error) => broken.push((entry.name.clone(), error)),
        }
    }
    // The sort is stable: the others keep their order.
    usable.sort_by_key(|model| preferred != Some(model.name.as_str()));
    (usable, broken)
}

fn config(entry: &ModelEntry, probed: &Probed) -> Result<ModelConfig, ModelError> {
    let (provider, own) = match entry.kind {
        ModelKind::Anthropic => (Provider::Anthropic, "https://api.anthropic.com"),
        ModelKind::OpenAi => (Provider::OpenAi, "https://api.openai.com/v1"),
    };
    let base_url = entry.base_url.as_deref().unwrap_or(own);
    // A short entry is called as its provider calls it.
    let mut config = ModelConfig::new(provider, base_url, entry.model.as_ref().unwrap_or(&entry.name))?;
    config.api_key = entry.key.as_ref().map(|key| Secret::new(key.expose()));
    if config.api_key.is_none() {
        config.api_key = own_key(&config.base_url);
    }
    probed.correct(&mut config);
    let capabilities = &mut config.capabilities;
    capabilities.context_tokens = entry.context.or(capabilities.context_tokens);
    capabilities.vision = entry.vision.unwrap_or(capabilities.vision);
    capabilities.parallel_tool_calls = entry.parallel.unwrap_or(capabilities.parallel_tool_calls);
    let longest = entry.max_tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
    capabilities.max_output_tokens = longest.or(capabilities.max_output_tokens);
    // The configuration was checked when it was read.
    let dialect = entry.dialect.as_deref().and_then(|dialect| dialect.parse::<SchemaDialect>().ok());
    capabilities.dialect = dialect.unwrap_or(capabilities.dialect);
    Ok(config)
}

/// The key in the environment that belongs to this very endpoint.
fn own_key(base_url: &Url) -> Option<Secret> {
    key_for(base_url, variable)
}
