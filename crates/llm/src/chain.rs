//! Which model is used: a chain of places that always says which one it took and why.
//!
//! In order: what was named explicitly; a key in the environment; a model server on this machine; none. It reads
//! no environment itself (the caller passes a lookup) and asks no other host than the ones it was told and
//! loopback. What to do without a model is the caller's business.

mod probe;

use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

use crate::chain::probe::Found;
use crate::error::{Kind, ModelError};
use crate::http_client::{is_loopback, parse_base_url};
use crate::openai::OpenAiConfig;
use crate::secret::Secret;

const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
const OPENAI_MODEL: &str = "gpt-5-mini";
const OPENROUTER_BASE_URL: &str = "https://openrouter.ai/api/v1";
/// OpenRouter's own choice of a model.
const OPENROUTER_MODEL: &str = "openrouter/auto";

/// What the chain is given.
#[derive(Clone, Debug, Default)]
pub struct ChainRequest {
    /// The model that was named explicitly.
    pub model: Option<String>,
    /// The endpoint that was named explicitly.
    pub base_url: Option<String>,
    /// Whether and where to look for servers on this machine.
    pub probe: Probe,
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
    pub model: Option<OpenAiConfig>,
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
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Resolution, ModelError> {
    let request = ChainRequest {
        model: given(request.model.clone()),
        base_url: given(request.base_url.clone()),
        probe: request.probe.clone(),
    };
    let lookup = |name: &str| given(environment(name));
    if let Some(base_url) = &request.base_url {
        return from_flags(&request, base_url, &lookup).await;
    }
    if let Some(found) = from_openai(&request, &lookup).await? {
        return Ok(found);
    }
    if let Some(key) = lookup("OPENROUTER_API_KEY") {
        let model = request.model.unwrap_or_else(|| OPENROUTER_MODEL.to_owned());
        return environment_link("OPENROUTER_API_KEY", OPENROUTER_BASE_URL, model, Some(key));
    }
    from_this_machine(&request).await
}

type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

fn given(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

async fn from_flags(
    request: &ChainRequest,
    base_url: &str,
    lookup: Lookup<'_>,
) -> Result<Resolution, ModelError> {
    let url = parse_base_url(base_url)?;
    // A key goes only where it belongs: OpenRouter's to OpenRouter, OpenAI's to what the person named instead.
    let variable =
        if url.domain() == Some("openrouter.ai") { "OPENROUTER_API_KEY" } else { "OPENAI_API_KEY" };
    let key = lookup(variable).map(Secret::new);
    let (model, source) = match (request.model.clone(), lookup("OPENAI_MODEL")) {
        (Some(model), _) => (model, "as given"),
        (None, Some(model)) => (model, "from OPENAI_MODEL"),
        (None, None) => (probe::only_model(&url, key.as_ref()).await?, "the first that it lists"),
    };
    let with_key = if key.is_some() { format!(", with the key in {variable}") } else { String::new() };
    let reason =
        format!("model {model} ({source}) at {}, the base URL that was given{with_key}", shown(&url));
    let mut config = OpenAiConfig::new(base_url, model)?;
    config.api_key = key;
    Ok(Resolution { link: Link::Flags, reason, model: Some(config) })
}

async fn from_openai(request: &ChainRequest, lookup: Lookup<'_>) -> Result<Option<Resolution>, ModelError> {
    let key = lookup("OPENAI_API_KEY");
    let base_url = lookup("OPENAI_BASE_URL");
    let variable = match (&key, &base_url) {
        (Some(_), _) => "OPENAI_API_KEY",
        // Servers without a key are named like this.
        (None, Some(_)) => "OPENAI_BASE_URL",
        (None, None) => return Ok(None),
    };
    let model = match (request.model.clone().or_else(|| lookup("OPENAI_MODEL")), &base_url) {
        (Some(model), _) => model,
        (None, None) => OPENAI_MODEL.to_owned(),
        (None, Some(base_url)) => {
            let key = key.as_deref().map(Secret::new);
            probe::only_model(&parse_base_url(base_url)?, key.as_ref()).await?
        }
    };
    let base_url = base_url.unwrap_or_else(|| OPENAI_BASE_URL.to_owned());
    environment_link(variable, &base_url, model, key).map(Some)
}

fn environment_link(
    variable: &'static str,
    base_url: &str,
    model: String,
    key: Option<String>,
) -> Result<Resolution, ModelError> {
    let mut config = OpenAiConfig::new(base_url, model)?;
    config.api_key = key.map(Secret::new);
    let reason = format!("model {} at {}, because {variable} is set", config.model, shown(&config.base_url));
    Ok(Resolution { link: Link::Environment { variable }, reason, model: Some(config) })
}

/// A URL without its query, which may hold a key.
fn shown(url: &Url) -> Url {
    let mut shown = url.clone();
    shown.set_query(None);
    shown
}

async fn from_this_machine(request: &ChainRequest) -> Result<Resolution, ModelError> {
    let found = match &request.probe {
        Probe::Disabled => Vec::new(),
        Probe::At { places, within } => probe::all(places, *within).await,
    };
    // A server counts only if it has the model that was asked for.
    let choice = found.into_iter().find_map(|Found { place, models }| match &request.model {
        None => Some((place, models.into_iter().next()?)),
        Some(wanted) => {
            let latest = format!("{wanted}:latest");
            models.into_iter().find(|model| model == wanted || *model == latest).map(|model| (place, model))
        }
    });
    if let Some((LocalServer { kind, address }, model)) = choice {
        let reason = format!("model {model} of {} at {address}, which runs on this machine", kind.name());
        let config = OpenAiConfig::new(&format!("http://{address}/v1"), model)?;
        debug_assert!(is_loopback(&config.base_url));
        return Ok(Resolution { link: Link::Local { kind, address }, reason, model: Some(config) });
    }
    let looked = match &request.probe {
        Probe::Disabled => "no server on this machine was looked for".to_owned(),
        Probe::At { places, .. } => {
            let places: Vec<String> =
                places.iter().map(|place| format!("{} at {}", place.kind.name(), place.address)).collect();
            format!("no model server answers on this machine (tried {})", places.join(", "))
        }
    };
    let reason = format!("no key in OPENAI_API_KEY or OPENROUTER_API_KEY, and {looked}");
    match &request.model {
        Some(model) => Err(ModelError::new(
            Kind::Configuration,
            format!("no endpoint is known for the model {model}: {reason}"),
        )
        .with_hint("give a base URL, set a key, or start a local server that has this model")),
        None => Ok(Resolution { link: Link::None, reason, model: None }),
    }
}
