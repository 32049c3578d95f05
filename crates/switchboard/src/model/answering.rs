//! Which model would answer, what decided that, and what to do where none would: what `doctor` says of it.

use serde::Serialize;
use switchboard_agent::journal::Masker;
use switchboard_llm::chain::{Link, Resolution, resolve};
use switchboard_llm::{ModelConfig, ModelError, Provider, SchemaDialect};

use super::probed::Probed;
use super::{ModelArgs, NO_LOCAL_MODELS, configured, failure, local_models_are_off, variable};
use crate::failure::Failure;
use crate::settings::Settings;

/// Who would answer. What is not known of it is absent.
#[derive(Debug, Serialize)]
pub(crate) struct Answering {
    /// What decided it.
    link: Decided,
    /// The wire that is spoken, as `kind` of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Provider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Host and port.
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    /// All of it in one line for people.
    pub(super) reason: String,
    /// What to do to have a language model, where none would answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
    #[serde(skip)]
    pub(super) config: Option<ModelConfig>,
}

/// The link of the chain that was taken.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Decided {
    /// `--base-url`.
    Flags,
    /// The configuration has it.
    Configuration { name: String, origin: Option<String> },
    /// This variable is set.
    Environment { variable: &'static str },
    /// A server on this machine.
    Local { server: &'static str, address: String },
    /// There is no language model.
    Router,
}

/// A model of the configuration that cannot be used: what is wrong with it, and what to do.
pub(crate) type Unusable = (String, String);

impl Answering {
    /// Finds the model as every command does, and what of the configuration cannot be used.
    pub(crate) async fn find(
        args: &ModelArgs,
        settings: &Settings,
    ) -> (Result<Self, Failure>, Vec<Unusable>) {
        // Whoever finds out anew does not go by what was found out before.
        let (usable, broken) = configured::all(settings, &Probed::default());
        let unusable = broken.iter().map(unusable).collect();
        if let Err(failure) = args.unless_broken(settings) {
            return (Err(failure), unusable);
        }
        for (name, error) in &broken {
            if let Err(failure) = args.unless_meant(name, error) {
                return (Err(failure), unusable);
            }
        }
        let found = resolve(&args.chain(usable), variable).await;
        let found = found.map(|found| Self::of(found, settings));
        (found.map_err(|error| args.explain(failure(&error))), unusable)
    }

    fn of(found: Resolution, settings: &Settings) -> Self {
        let Resolution { link, reason, model: config } = found;
        let (models, _) = settings.models();
        let origin =
            |name: &str| models.iter().find(|model| model.name == name).map(|model| model.origin.to_string());
        let link = Decided::by(link, origin);
        let mut masker = Masker::default();
        settings.keys().iter().for_each(|key| masker.add(key.expose()));
        let next_step = (link == Decided::Router).then(|| next_step(settings));
        Self {
            provider: config.as_ref().map(|config| config.provider),
            model: config.as_ref().map(|config| config.model.clone()),
            endpoint: config.as_ref().map(ModelConfig::endpoint),
            reason: masker.known(reason),
            link,
            next_step,
            config,
        }
    }

    /// Which schemas the model that would answer takes; any, where that cannot be told.
    pub(crate) async fn dialect(settings: &Settings) -> SchemaDialect {
        let (found, _) = Self::find(&ModelArgs::default(), settings).await;
        let config = found.ok().and_then(|found| found.config);
        config.map(|config| config.capabilities.dialect).unwrap_or_default()
    }

    /// In one line for people, and what to do.
    pub(crate) fn said(&self) -> (String, Option<&str>) {
        let Self { reason, provider, link, next_step, .. } = self;
        let place = match link {
            Decided::Configuration { origin: Some(origin), .. } => format!(" in {origin}"),
            _ => String::new(),
        };
        match provider {
            Some(provider) => {
                (format!("{reason}{place} (provider {})", provider.name()), next_step.as_deref())
            }
            None => (format!("the router, which is no language model: {reason}"), next_step.as_deref()),
        }
    }
}

impl Decided {
    fn by(link: Link, origin: impl FnOnce(&str) -> Option<String>) -> Self {
        match link {
            Link::Flags => Self::Flags,
            Link::Configured { name } => Self::Configuration { origin: origin(&name), name },
            Link::Environment { variable } => Self::Environment { variable },
            Link::Local { kind, address } => {
                Self::Local { server: kind.name(), address: address.to_string() }
            }
            _ => Self::Router,
        }
    }
}

fn unusable((name, error): &(String, ModelError)) -> Unusable {
    let failure = failure(error);
    (
        format!("the model {name} of the configuration cannot be used: {}", failure.cause()),
        failure.hint().to_owned(),
    )
}

/// What to do to have a language model.
fn next_step(settings: &Settings) -> String {
    let file = settings.paths().map(|paths| paths.config_file().display().to_string());
    let file = file.unwrap_or_else(|_| "config.toml".to_owned());
    let local = match local_models_are_off() {
        true => format!("unset {NO_LOCAL_MODELS} and start a model server such as Ollama"),
        false => "start a model server such as Ollama".to_owned(),
    };
    format!(
        "set a key such as OPENAI_API_KEY or ANTHROPIC_API_KEY, add [models.NAME] to {file}, {local}, or name an endpoint \
         with --base-url"
    )
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use serde_json::json;
    use switchboard_llm::chain::{Link, LocalKind};

    use super::Decided;

    #[test]
    fn every_link_of_the_chain_has_a_name() {
        let address = SocketAddr::from(([127, 0, 0, 1], 11434));
        for (link, said) in [
            (Link::Flags, json!({ "kind": "flags" })),
            (
                Link::Configured { name: "m".to_owned() },
                json!({ "kind": "configuration", "name": "m", "origin": "f:1" }),
            ),
            (
                Link::Environment { variable: "OPENAI_API_KEY" },
                json!({ "kind": "environment", "variable": "OPENAI_API_KEY" }),
            ),
            (
                Link::Local { kind: LocalKind::Ollama, address },
                json!({ "kind": "local", "server": "Ollama", "address": "127.0.0.1:11434" }),
            ),
            (Link::None, json!({ "kind": "router" })),
        ] {
            let decided = Decided::by(link, |_| Some("f:1".to_owned()));
            assert_eq!(serde_json::to_value(decided).unwrap(), said);
        }
    }
}
