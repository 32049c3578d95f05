//! `/servers/{name}/tools` and its pins: what a server offers, what a model sees of it, and what became of it since it
//! was agreed to.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_agent::ServerName;
use switchboard_agent::exposure::{ExposedTool, Exposure, LeftOut, Lost};
use switchboard_agent::policy::{Difference, PinState};
use switchboard_protocol::model::tool::ToolAnnotations;

use crate::App;
use crate::body::{Body, Path, Query};
use crate::error::ApiError;
use crate::servers::named;

/// A tool as its server defines it and as a model sees it.
#[derive(Debug, Serialize)]
pub(crate) struct ToolView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<ToolAnnotations>,
    /// The schema of its arguments; none if the definition is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Box<RawValue>>,
    /// What a model calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exposed_name: Option<String>,
    /// The schema that a model sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    lowered: Option<Box<RawValue>>,
    lost: Vec<Lost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<usize>,
    /// Why a model does not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<PinView>,
}

/// How a tool stands to what was agreed to.
#[derive(Debug, Serialize)]
pub(crate) struct PinView {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
    /// A tool that is gone and looked the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    resembles: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl From<PinState> for PinView {
    fn from(state: PinState) -> Self {
        let view = |state| Self { state, difference: None, resembles: None, problem: None };
        match state {
            PinState::Same => view("pinned"),
            PinState::Changed { difference, .. } => Self { difference: Some(difference), ..view("changed") },
            PinState::New { resembles, .. } => Self { resembles, ..view("new") },
            PinState::Gone => view("gone"),
            PinState::Unreadable { problem } => Self { problem: Some(problem), ..view("unreadable") },
        }
    }
}

/// For which model tools are compiled.
#[derive(Debug, Deserialize)]
pub(crate) struct ForModel {
    model: Option<String>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(for_model): Query<ForModel>,
) -> Result<Json<Vec<ToolView>>, ApiError> {
    let server = named(&name)?;
    let exposure = app.host.exposure(for_model.model.as_deref()).await?;
    let pins = app.host.pin_states(&server).await?;
    Ok(Json(tools(&server, &exposure, pins.into_iter().collect())))
}

fn tools(server: &ServerName, exposure: &Exposure, mut pins: BTreeMap<String, PinState>) -> Vec<ToolView> {
    let mut views: Vec<_> =
        exposure.tools().iter().filter(|tool| tool.server() == server).map(offered).collect();
    views.extend(exposure.left_out().iter().filter(|left| left.server == *server).map(hidden));
    for view in &mut views {
        view.pin = pins.remove(&view.name).map(PinView::from);
    }
    // What was agreed to and is not there any more can be forgotten.
    views.extend(pins.into_iter().map(|(name, state)| ToolView { pin: Some(state.into()), ..nothing(name) }));
    views.sort_by(|one, other| one.name.cmp(&other.name));
    views
}

fn offered(tool: &ExposedTool) -> ToolView {
    let own = tool.tool();
    ToolView {
        title: own.title.clone(),
        description: own.description.clone(),
        annotations: own.annotations.clone(),
        schema: Some(own.input_schema.clone()),
        exposed_name: Some(tool.name().to_owned()),
        lowered: Some(tool.definition().parameters.clone()),
        lost: tool.lost().to_vec(),
        tokens: Some(tool.token_cost()),
        ..nothing(own.name.clone())
    }
}

fn hidden(left: &LeftOut) -> ToolView {
    ToolView { hidden: Some(left.reason.clone()), ..nothing(left.tool.clone()) }
}

fn nothing(name: String) -> ToolView {
    ToolView {
        name,
        title: None,
        description: None,
        annotations: None,
        schema: None,
        exposed_name: None,
        lowered: None,
        lost: Vec::new(),
        tokens: None,
        hidden: None,
        pin: None,
    }
}

/// What is agreed to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accept {
    /// One tool.
    tool: Option<String>,
    /// All of the server.
    #[serde(default)]
    all: bool,
}

/// The tools that were agreed to.
#[derive(Debug, Serialize)]
pub(crate) struct Accepted {
    accepted: Vec<String>,
}

pub(crate) async fn accept(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Body(accept): Body<Accept>,
) -> Result<Json<Accepted>, ApiError> {
    // Nobody agrees to more than they named.
    if accept.tool.is_some() == accept.all {
        let message = "it names neither one tool nor all of them";
        return Err(ApiError::bad_request(message).hint("send `tool` with its name, or `all` with `true`"));
    }
    let accepted = app.host.accept_pins(&named(&name)?, accept.tool.as_deref()).await?;
    Ok(Json(Accepted { accepted }))
}
