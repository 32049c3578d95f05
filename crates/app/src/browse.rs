//! `/prompts`, `/resources` and `/complete`: what servers have beside tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use switchboard_agent::ServerName;
use switchboard_agent::host::{ArgumentToComplete, ServerPrompt, ServerResource};
use switchboard_protocol::model::completion::{Completion, CompletionReference};
use switchboard_protocol::model::prompt::GetPromptResult;

use crate::App;
use crate::body::{Body, Query};
use crate::error::ApiError;

pub(crate) async fn prompts(State(app): State<Arc<App>>) -> Result<Json<Vec<ServerPrompt>>, ApiError> {
    Ok(Json(app.host.prompts().await?))
}

/// A prompt, filled in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prompted {
    server: ServerName,
    name: String,
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

pub(crate) async fn prompt(
    State(app): State<Arc<App>>,
    Body(Prompted { server, name, arguments }): Body<Prompted>,
) -> Result<Json<GetPromptResult>, ApiError> {
    Ok(Json(app.host.prompt(&server, (&name, &arguments)).await?))
}

/// What is looked for.
#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    query: String,
}

pub(crate) async fn resources(
    State(app): State<Arc<App>>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Vec<ServerResource>>, ApiError> {
    Ok(Json(app.host.resources(&wanted.query).await?))
}

/// An argument that is being typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typing {
    server: ServerName,
    reference: CompletionReference,
    argument: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    context: BTreeMap<String, String>,
}

pub(crate) async fn complete(
    State(app): State<Arc<App>>,
    Body(Typing { server, reference, argument, value, context }): Body<Typing>,
) -> Result<Json<Completion>, ApiError> {
    let typed = ArgumentToComplete { reference, argument, value, context };
    Ok(Json(app.host.complete(&server, &typed).await?))
}
