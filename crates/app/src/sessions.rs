//! `/sessions`: the conversations, what was said in them, and what they hold.

use std::io;
use std::sync::Arc;

use axum::Json;
use axum::body::{Body as Sent, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use switchboard_agent::desk::PendingView;
use switchboard_agent::host::{Export, ExportForm, ModelInfo};
use switchboard_agent::session::{RunView, SessionOptions, SessionState};
use switchboard_agent::store::SessionRecord;
use switchboard_agent::{AgentError, Host, RunId, Session};

use crate::App;
use crate::body::{Body, Path, Query};
use crate::error::ApiError;

/// Sessions that a page lists, the newest.
pub(crate) const SHOWN: usize = 500;

/// A session in the list.
#[derive(Debug, Serialize)]
pub(crate) struct SessionView {
    id: String,
    title: String,
    created_ms: u64,
    updated_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// How it stands.
    state: SessionState,
}

impl SessionView {
    fn new(record: SessionRecord, state: SessionState) -> Self {
        let SessionRecord { id, title, created_ms, updated_ms, model, servers, parent, .. } = record;
        Self { id, title, created_ms, updated_ms, model, servers, parent, state }
    }

    /// A session that is open.
    fn of(host: &Host, session: &Session) -> Self {
        Self::new(session.record(), SessionState::of(&runs(host, session.id())))
    }
}

/// A session with its runs.
#[derive(Debug, Serialize)]
pub(crate) struct SessionDetail {
    #[serde(flatten)]
    session: SessionView,
    runs: Vec<RunView>,
    pending: Vec<PendingView>,
}

/// One that nothing was asked in yet is not stored, and has none.
fn runs(host: &Host, session: &str) -> Vec<RunView> {
    host.runs(session).unwrap_or_default()
}

/// How many are listed.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Limit {
    limit: Option<usize>,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(Limit { limit }): Query<Limit>,
) -> Result<Json<Vec<SessionView>>, ApiError> {
    let limit = limit.unwrap_or(usize::MAX);
    Ok(Json(app.blocking(move |host| newest(host, limit)).await?))
}

/// The newest sessions.
pub(crate) fn newest(host: &Host, limit: usize) -> Result<Vec<SessionView>, AgentError> {
    let sessions = host.session_list(limit)?;
    Ok(sessions.into_iter().map(|(record, state)| SessionView::new(record, state)).collect())
}

/// What a new session is like.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NewSession {
    title: Option<String>,
    model: Option<String>,
    servers: Option<Vec<String>>,
}

pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body(new): Body<NewSession>,
) -> Result<Response, ApiError> {
    let NewSession { title, model, servers } = new;
    let options = SessionOptions { title, model, servers, interactive: true, ..SessionOptions::default() };
    let session = app.blocking(move |host| host.open(options)).await?;
    let place = [(header::LOCATION, format!("/sessions/{}", session.id()))];
    let view = SessionView::new(session.record(), SessionState::New);
    app.keep(session);
    Ok((StatusCode::CREATED, place, Json(view)).into_response())
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<SessionDetail>, ApiError> {
    let detail = app.blocking(move |host| {
        let session = host.session(&id)?;
        let (runs, pending) = (runs(host, &id), session.pending());
        let session = SessionView::new(session.record(), SessionState::of(&runs));
        Ok::<_, AgentError>(SessionDetail { session, runs, pending })
    });
    Ok(Json(detail.await?))
}

/// What can be changed of a session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    title: String,
}

pub(crate) async fn rename(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Body(rename): Body<Rename>,
) -> Result<Json<SessionView>, ApiError> {
    let renamed = app.blocking(move |host| {
        let session = host.session(&id)?;
        session.rename(&rename.title)?;
        Ok::<_, AgentError>(SessionView::of(host, &session))
    });
    Ok(Json(renamed.await?))
}

/// Where a session is forked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Fork {
    /// The last run that the new session holds; all that are over without it.
    run: Option<String>,
}

pub(crate) async fn fork(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Body(fork): Body<Fork>,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    let after = fork.run.as_deref().map(RunId::from);
    let forked = app.blocking(move |host| {
        let record = host.fork(&id, after.as_ref())?;
        let state = SessionState::of(&runs(host, &record.id));
        Ok::<_, AgentError>(SessionView::new(record, state))
    });
    Ok((StatusCode::CREATED, Json(forked.await?)))
}

pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.blocking(move |host| host.delete(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The models that can be chosen, the usual one first.
pub(crate) async fn models(State(app): State<Arc<App>>) -> Json<Vec<ModelInfo>> {
    Json(app.host.models().list())
}

/// In which form a session is exported.
#[derive(Debug, Deserialize)]
pub(crate) struct Format {
    format: Option<String>,
}

pub(crate) async fn export(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(format): Query<Format>,
) -> Result<Response, ApiError> {
    let (form, media_type, ending) = match format.format.as_deref() {
        None | Some("json") => (ExportForm::Json, "application/json", "json"),
        Some("markdown") => (ExportForm::Markdown, "text/markdown; charset=utf-8", "md"),
        Some(other) => {
            return Err(ApiError::bad_request(format!("{other:?} is not a format")).hint("json or markdown"));
        }
    };
    let name = format!("attachment; filename=\"{id}.{ending}\"");
    let export = app.blocking(move |host| host.pieces(&id, form)).await?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(value) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok((headers, written(export)).into_response())
}

/// An export, each piece made once the one before is on its way. What goes wrong half-way breaks the answer off, so
/// that nobody takes a part for the whole.
fn written(export: Export) -> Sent {
    let pieces = stream::try_unfold(export, |mut export| async move {
        let made = tokio::task::spawn_blocking(move || (export.next(), export)).await;
        let (piece, export) = made.map_err(|_| io::Error::other("the export did not come to its end"))?;
        let piece = piece.transpose().map_err(|error| io::Error::other(error.to_string()))?;
        Ok::<_, io::Error>(piece.map(|piece| (Bytes::from(piece), export)))
    });
    Sent::from_stream(pieces)
}
