//! Which model is used: a chain of places that always says which one it took and why.
//!
//! In order: the endpoint that was named explicitly; a configured model; a key in the environment (`keys` has the
//! known ones); a model server on this machine (`local`); none. It reads no environment itself (the caller passes
//! a lookup) and asks no other host than the ones it was told and loopback. What to do without a model is the
//! caller's business.

mod keys;
mod local;

use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

use self::keys::{KNOWN, Known};
pub use self::keys::{key_for, key_variables};
use self::local::Found;
use crate::config::ModelConfig;
use crate::error::{Kind, ModelError};
use crate::http_client::{is_loopback, parse_base_url};
use crate::secret::Secret;

/// What the chain is given.
#[derive(Clone, Debug, Default)]
pub struct ChainRequest {
    /// The model that was named explicitly: a configured one, or one as its provider calls it.
    pub model: Option<String>,
    /// The endpoint that was named explicitly.
    pub base_url: Option<String>,
    /// The models that are configured, the preferred one first.
    pub configured: Vec<Configured>,
    /// Whether and where to look for servers on this machine.
    pub probe: Probe,
}

/// A model that is configured under a name of the person's own.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The name.
    pub name: String,
    /// The model.
    pub config: ModelConfig,
}

/// Whether and where to look for model servers on this machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Probe {
    /// Not at all.
    Disabled,
    /// At these places, all at once. The first in the list wins, not the fastest.
    At {
        /// Where to look. Addresses that are not loopback are left out.
        places: Vec<LocalServer>,
        /// For all of them together.
        within: Duration,
    },
}

impl Default for Probe {
    /// The usual ports, within 300 ms.
    fn default() -> Self {
        let places = [LocalKind::Ollama, LocalKind::LlamaServer, LocalKind::LmStudio, LocalKind::Vllm]
            .into_iter()
            .map(|kind| LocalServer { kind, address: SocketAddr::from(([127, 0, 0, 1], kind.port())) })
            .collect();
        Self::At { places, within: Duration::from_millis(300) }
    }
}

/// A place where a model server may listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// What must answer there.
    pub kind: LocalKind,
    /// Where.
    pub address: SocketAddr,
}

/// The model servers that are looked for. Each is recognised by the shape of one of its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocalKind {
    /// Ollama, port 11434, `/api/tags`.
    Ollama,
    /// llama.cpp's server, port 8080, `/props`.
    LlamaServer,
    /// LM Studio, port 1234, `/v1/models`.
    LmStudio,
    /// vLLM, port 8000, `/v1/models`.
    Vllm,
}

impl LocalKind {
    /// The server's name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ollama => "Ollama",
            Self::LlamaServer => "llama-server",
            Self::LmStudio => "LM Studio",
            Self::Vllm => "vLLM",
        }
    }

    /// The port on which it usually listens.
    pub fn port(self) -> u16 {
        match self {
            Self::Ollama => 11434,
            Self::LlamaServer => 8080,
            Self::LmStudio => 1234,
            Self::Vllm => 8000,
        }
    }
}

/// The link that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// An endpoint that was named explicitly.
    Flags,
    /// A configured model.
    Configured {
        /// Its name in the configuration.
        name: String,
    },
    /// An endpoint or a key from the environment.
    Environment {
        /// The variable that decided.
        variable: &'static str,
    },
    /// A server on this machine.
    Local {
        /// Which one.
        kind: LocalKind,
        /// Where.
        address: SocketAddr,
    },
    /// There is no model.
    None,
}

/// What the chain found.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The link that was taken.
    pub link: Link,
    /// Why, in one line for people: the model, the endpoint, and what decided.
    pub reason: String,
    /// The model, unless there is none.
    pub model: Option<ModelConfig>,
}

/// Walks the chain. `environment` looks up a variable; an empty value counts as none.
///
/// ```
/// use switchboard_llm::chain::{ChainRequest, Link, Probe, resolve};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let request = ChainRequest { probe: Probe::Disabled, ..ChainRequest::default() };
/// let found = resolve(&request, |name| (name == "OPENAI_API_KEY").then(|| "sk-123".to_owned())).await?;
/// assert_eq!(found.link, Link::Environment { variable: "OPENAI_API_KEY" });
/// assert!(found.reason.contains("OPENAI_API_KEY") && !found.reason.contains("sk-123"));
/// # Ok::<(), switchboard_llm::ModelError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ModelError::is_configuration`] if what was named cannot work: a broken URL, a model without any endpoint,
/// an endpoint that names no model where none was given. What was asked for is never replaced silently.
pub async fn resolve(
    request: &ChainRequest,
    environment: impl Fn(&str) -> Option<String> + Sync,
) -> Result<Resolution, ModelError> {
    let named = given(request.model.clone());
    let lookup = |name: &str| given(environment(name));
    if let Some(base_url) = given(request.base_url.clone()) {
        return from_flags(named, &base_url, &lookup).await;
    }
    if let Some(found) = from_configuration(named.as_deref(), &request.configured) {
        return Ok(found);
    }
    for known in KNOWN {
        if let Some(found) = from_environment(known, named.as_deref(), &lookup).await? {
            return Ok(found);
        }
    }
    from_this_machine(named.as_deref(), &request.probe).await
}

/// The models that an endpoint says it has, for people: not all say so, and not all that they have. Empty where nothing
/// can be learned.
pub async fn listed(config: &ModelConfig) -> Vec<String> {
    let found = local::listed(config.provider, &config.base_url, config.api_key.as_ref()).await;
    found.ok().and_then(Result::ok).unwrap_or_default()
}

type Lookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

fn given(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

async fn from_flags(
    model: Option<String>,
    base_url: &str,
    lookup: Lookup<'_>,
) -> Result<Resolution, ModelError> {
    let url = parse_base_url(base_url)?;
    // A key goes only where it belongs: OpenRouter's to OpenRouter, OpenAI's to what the person named instead.
    let known = keys::at(&url);
    let key = lookup(known.key).map(Secret::new);
    let provider = keys::provider_at(&url, known);
    let (model, source) = match (model, known.model_variable.and_then(|name| Some((name, lookup(name)?)))) {
        (Some(model), _) => (model, "as given".to_owned()),
        (None, Some((variable, model))) => (model, format!("from {variable}")),
        (None, None) => {
            let model = local::only_model(provider, &url, key.as_ref()).await?;
            (model, "the first that it lists".to_owned())
        }
    };
    let with_key = if key.is_some() { format!(", with the key in {}", known.key) } else { String::new() };
    let reason =
        format!("model {model} ({source}) at {}, the base URL that was given{with_key}", shown(&url));
    let mut config = ModelConfig::new(provider, base_url, model)?;
    config.api_key = key;
    Ok(Resolution { link: Link::Flags, reason, model: Some(config) })
}

/// The model of this name, or the first if none was named.
fn from_configuration(named: Option<&str>, configured: &[Configured]) -> Option<Resolution> {
    let found = match named {
        None => configured.first()?,
        Some(named) => configured
            .iter()
            .find(|model| model.name == named)
            .or_else(|| configured.iter().find(|model| model.config.model == named))?,
    };
    let Configured { name, config } = found.clone();
    let reason = format!("model {} at {}, configured as {name}", config.model, shown(&config.base_url));
    Some(Resolution { link: Link::Configured { name }, reason, model: Some(config) })
}

async fn from_environment(
    known: &Known,
    named: Option<&str>,
    lookup: Lookup<'_>,
) -> Result<Option<Resolution>, ModelError> {
    let key = lookup(known.key);
    let base_url = known.base_url_variable.and_then(lookup);
    let variable = match (&key, &base_url, known.base_url_variable) {
        (Some(_), ..) => known.key,
        // Servers without a key are named like this.
        (None, Some(_), Some(variable)) if known.base_url_is_enough => variable,
        _ => return Ok(None),
    };
    if base_url.is_none() && named.is_some_and(|model| !known.may_have(model)) {
        return Ok(None);
    }
    let key = key.map(Secret::new);
    let preferred = named.map(str::to_owned).or_else(|| known.model_variable.and_then(lookup));
    let model = match (preferred, &base_url) {
        (Some(model), _) => model,
        (None, None) => known.model.to_owned(),
        (None, Some(base_url)) => {
            local::only_model(known.provider, &parse_base_url(base_url)?, key.as_ref()).await?
        }
    };
    let base_url = base_url.unwrap_or_else(|| known.base_url.to_owned());
    let mut config = ModelConfig::new(known.provider, &base_url, model)?;
    config.api_key = key;
    config.key_header = known.key_header;
    let reason = format!("model {} at {}, because {variable} is set", config.model, shown(&config.base_url));
    Ok(Some(Resolution { link: Link::Environment { variable }, reason, model: Some(config) }))
}

/// A URL without its query, which may hold a key.
fn shown(url: &Url) -> Url {
    let mut shown = url.clone();
    shown.set_query(None);
    shown
}

async fn from_this_machine(named: Option<&str>, probe: &Probe) -> Result<Resolution, ModelError> {
    let found = match probe {
        Probe::Disabled => Vec::new(),
        Probe::At { places, within } => local::all(places, *within).await,
    };
    // A server counts only if it has the model that was asked for.
    let choice = found.into_iter().find_map(|Found { place, models }| match named {
        None => Some((place, models.into_iter().next()?)),
        Some(wanted) => {
            let latest = format!("{wanted}:latest");
            models.into_iter().find(|model| model == wanted || *model == latest).map(|model| (place, model))
        }
    });
    if let Some((LocalServer { kind, address }, model)) = choice {
        let reason = format!("model {model} of {} at {address}, which runs on this machine", kind.name());
        let config = ModelConfig::openai(&format!("http://{address}/v1"), model)?;
        debug_assert!(is_loopback(&config.base_url));
        return Ok(Resolution { link: Link::Local { kind, address }, reason, model: Some(config) });
    }
    let looked = match probe {
        Probe::Disabled => "no server on this machine was looked for".to_owned(),
        Probe::At { places, .. } => {
            let places: Vec<String> =
                places.iter().map(|place| format!("{} at {}", place.kind.name(), place.address)).collect();
            format!("no model server answers on this machine (tried {})", places.join(", "))
        }
    };
    let reason =
        format!("no model is configured, no key in {} or the like, and {looked}", keys::best_known());
    match named {
        Some(model) => Err(ModelError::new(
            Kind::Configuration,
            format!("no endpoint is known for the model {model}: {reason}"),
        )
        .with_hint("give a base URL, set a key, or start a local server that has this model")),
        None => Ok(Resolution { link: Link::None, reason, model: None }),
    }
}
