//! `/servers`: how each is, what it says, and what to do about it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use switchboard_agent::ServerName;
use switchboard_agent::supervisor::{LogLine, NoSuchServer, ServerStatus, TestReport, WireLine};

use crate::App;
use crate::body::{Path, Query};
use crate::error::ApiError;

/// Lines of a log that are given if nobody says how many.
const LINES: usize = 200;

pub(crate) async fn list(State(app): State<Arc<App>>) -> Json<Vec<ServerStatus>> {
    Json(app.supervisor.status())
}

pub(crate) async fn restart(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.supervisor.restart(&named(&name)?)?;
    Ok(StatusCode::ACCEPTED)
}

pub(crate) async fn stop(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.supervisor.stop(&named(&name)?)?;
    Ok(StatusCode::ACCEPTED)
}

pub(crate) async fn test(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Json<TestReport>, ApiError> {
    Ok(Json(app.supervisor.test(&named(&name)?).await?))
}

/// How many lines.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Count {
    n: Option<usize>,
}

pub(crate) async fn logs(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(count): Query<Count>,
) -> Result<Json<Vec<LogLine>>, ApiError> {
    Ok(Json(app.supervisor.logs(&named(&name)?, count.n.unwrap_or(LINES))?))
}

pub(crate) async fn wire(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(count): Query<Count>,
) -> Result<Json<Vec<WireLine>>, ApiError> {
    Ok(Json(app.supervisor.wire(&named(&name)?, count.n.unwrap_or(LINES))?))
}

pub(crate) fn named(name: &str) -> Result<ServerName, ApiError> {
    ServerName::new(name).map_err(|_| ApiError::not_found("server", name))
}

impl From<NoSuchServer> for ApiError {
    fn from(error: NoSuchServer) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", error.to_string())
    }
}
