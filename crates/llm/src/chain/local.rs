//! Asks a server which models it has, and recognises servers on this machine by the shape of their answers.
//!
//! The usual ports belong to many programs: what answers in another shape is not a model server.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use http::header::AUTHORIZATION;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use url::Url;

use super::{LocalKind, LocalServer};
use crate::anthropic::{VERSION_HEADER, models_url};
use crate::config::Provider;
use crate::error::{Kind, ModelError};
use crate::http_client::{client, endpoint};
use crate::secret::Secret;

/// The largest list that is read, in bytes.
const MAX_LIST_BYTES: usize = 4 << 20;

/// How long an endpoint that was named may take to list its models.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// A server that answered in its shape.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) place: LocalServer,
    /// In the server's own order, without models that cannot chat.
    pub(super) models: Vec<String>,
}

#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

#[derive(Deserialize)]
struct Props {
    /// Only its presence counts; no other program has it.
    #[serde(rename = "default_generation_settings")]
    _settings: Box<RawValue>,
}

#[derive(Deserialize)]
struct List {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct StrictList {
    object: String,
    data: Vec<StrictModel>,
}

#[derive(Deserialize)]
struct StrictModel {
    id: String,
    object: String,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

/// Looks at all places at once. The result has the order of `places`.
pub(super) async fn all(places: &[LocalServer], within: Duration) -> Vec<Found> {
    let local = places.iter().copied().filter(|place| place.address.ip().is_loopback());
    let probes = local.map(|place| async move {
        let models = tokio::time::timeout(within, one(place)).await.ok().flatten()?;
        (!models.is_empty()).then_some(Found { place, models })
    });
    join_all(probes).await.into_iter().flatten().collect()
}

async fn one(place: LocalServer) -> Option<Vec<String>> {
    let base = Url::parse(&format!("http://{}/", place.address)).ok()?;
    let http = client(&base, LIST_TIMEOUT).ok()?;
    let names = match place.kind {
        LocalKind::Ollama => {
            let tags: Tags = read(http.get(base.join("api/tags").ok()?)).await.ok()?;
            tags.models.into_iter().map(|tag| tag.name).collect()
        }
        LocalKind::LlamaServer => {
            let _: Props = read(http.get(base.join("props").ok()?)).await.ok()?;
            strict_list(&http, &base).await?
        }
        LocalKind::LmStudio | LocalKind::Vllm => strict_list(&http, &base).await?,
    };
    Some(names.into_iter().filter(|name| can_chat(name)).collect())
}

async fn strict_list(http: &reqwest::Client, base: &Url) -> Option<Vec<String>> {
    let list: StrictList = read(http.get(base.join("v1/models").ok()?)).await.ok()?;
    let right = list.object == "list" && list.data.iter().all(|model| model.object == "model");
    right.then(|| list.data.into_iter().map(|model| model.id).collect())
}

/// The models that an endpoint lists, or in a few words why there are none.
pub(super) async fn listed(
    provider: Provider,
    base_url: &Url,
    key: Option<&Secret>,
) -> Result<Result<Vec<String>, String>, ModelError> {
    let http = client(base_url, LIST_TIMEOUT)?;
    let mut request = match provider {
        Provider::OpenAi => http.get(endpoint(base_url, "/models")),
        Provider::Anthropic => http.get(models_url(base_url)).header(VERSION_HEADER.0, VERSION_HEADER.1),
    };
    if let Some(key) = key {
        request = match provider {
            Provider::OpenAi => request.header(AUTHORIZATION, format!("Bearer {}", key.expose())),
            Provider::Anthropic => request.header("x-api-key", key.expose()),
        };
    }
    let Ok(listed) = tokio::time::timeout(LIST_TIMEOUT, read::<List>(request)).await else {
        return Ok(Err("it does not answer".to_owned()));
    };
    Ok(listed.map(|list| list.data.into_iter().map(|model| model.id).filter(|name| can_chat(name)).collect()))
}

/// The first model of an endpoint that was named without one.
pub(super) async fn only_model(
    provider: Provider,
    base_url: &Url,
    key: Option<&Secret>,
) -> Result<String, ModelError> {
    let failed = |why: String| {
        ModelError::new(
            Kind::Unnamed,
            format!(
                "no model was named, and {} does not say which it has: {why}",
                base_url.host_str().unwrap_or("?")
            ),
        )
        .with_hint("name a model")
    };
    let names = listed(provider, base_url, key).await?.map_err(failed)?;
    names.into_iter().next().ok_or_else(|| failed("its list is empty".to_owned()))
}

/// Reads a small JSON answer, or says in a few words why there is none.
async fn read<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, String> {
    let response = request.send().await.map_err(|_| "it cannot be reached".to_owned())?;
    if !response.status().is_success() {
        return Err(format!("it answers {}", response.status().as_u16()));
    }
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| "its answer breaks off".to_owned())?;
        if body.len() + chunk.len() > MAX_LIST_BYTES {
            return Err("its answer is too long".to_owned());
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body).map_err(|_| "its answer is no list of models".to_owned())
}

/// Lists hold models for other purposes too; their names say so. What would move a cursor is no name.
fn can_chat(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.contains(char::is_control)
        && !["embed", "rerank", "whisper"].iter().any(|other| name.contains(other))
}
