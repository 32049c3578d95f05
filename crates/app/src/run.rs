//! `/run`: a question goes in, an answer comes out, and what has to be asked on the way is asked here.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use switchboard_agent::desk::{AnswerError, Reply};
use switchboard_agent::journal::{Authorization, Entry, Event};
use switchboard_agent::session::{RunRequest, RunView, SessionOptions};
use switchboard_agent::store::{RunStatus, StoreError};
use switchboard_agent::{AgentError, CallId, Host, RunId, Session};

use crate::App;
use crate::body::{Body, MAX_QUESTION, Path, Query};
use crate::error::ApiError;
use crate::events::{self, Place};

/// Entries of a journal that are read at a time.
const PAGE: usize = 256;

/// Whether the answer waits for the run.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Wait {
    /// Default: yes.
    wait: Option<bool>,
}

pub(crate) async fn begin(
    State(app): State<Arc<App>>,
    Query(wait): Query<Wait>,
    headers: HeaderMap,
    Body(request): Body<RunRequest, MAX_QUESTION>,
) -> Result<Response, ApiError> {
    let place = streamed(&app, &headers)?;
    let begun = app.blocking({
        let app = Arc::clone(&app);
        move |host| {
            // Of two that come with one key at once, the second finds the run of the first.
            let _one = request.idempotency_key.as_ref().map(|_| app.one_with_a_key());
            begun(host, request)
        }
    });
    answer(&app, begun.await?, wait, place).await
}

/// Begins a run. Whoever asks the same again with the same key gets the run that there is, whatever its session.
fn begun(host: &Host, request: RunRequest) -> Result<(Session, RunId), AgentError> {
    if let Some(record) = host.begun(&request)? {
        let (session, run) = (host.session(&record.session)?, RunId::from(record.id.as_str()));
        resume_if_left(&session, &run);
        return Ok((session, run));
    }
    let options =
        SessionOptions { id: request.session.clone(), interactive: true, ..SessionOptions::default() };
    let session = host.open(options)?;
    let run = session.ask(request)?;
    Ok((session, run))
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
) -> Result<Json<RunView>, ApiError> {
    Ok(Json(app.blocking(move |host| host.run(&RunId::from(run))).await?))
}

/// Goes on with a run that an earlier process left in the middle.
pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wait): Query<Wait>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let place = streamed(&app, &headers)?;
    let resumed = app.blocking(move |host| {
        let run = RunId::from(run);
        let session = host.session_of(&run)?;
        resume_if_left(&session, &run);
        Ok::<_, AgentError>((session, run))
    });
    answer(&app, resumed.await?, wait, place).await
}

/// One that asks something goes on with the answer.
fn resume_if_left(session: &Session, run: &RunId) {
    if session.run(run).is_some_and(|view| view.status == RunStatus::Interrupted) {
        session.resume();
    }
}

/// `POST /run/{id}/input`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    request: String,
    reply: Reply,
}

pub(crate) async fn input(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wait): Query<Wait>,
    headers: HeaderMap,
    Body(input): Body<Input>,
) -> Result<Response, ApiError> {
    let place = streamed(&app, &headers)?;
    let answered = app.blocking(move |host| {
        let run = RunId::from(run);
        let session = host.session_of(&run)?;
        match session.answer(&input.request, input.reply) {
            Ok(()) => Ok((session, run)),
            Err(AnswerError::Unknown(request)) if was_asked(host, (&session, &run), &request)? => {
                Err(ApiError::from(AnswerError::Taken(request)))
            }
            Err(error) => Err(error.into()),
        }
    });
    answer(&app, answered.await?, wait, place).await
}

/// Whether a run asked something and got its answer, or needed none any more. A session that was put away and taken up
/// again does not know it by heart; its journal does.
fn was_asked(host: &Host, (session, run): (&Session, &RunId), request: &str) -> Result<bool, StoreError> {
    let Some(view) = session.run(run) else { return Ok(false) };
    let mut after = view.first_seq.saturating_sub(1);
    loop {
        let entries = host.store().entries(session.id(), after, PAGE)?;
        let Some(last) = entries.last().map(|entry| entry.seq) else { return Ok(false) };
        let settles = |entry: &Entry| match &entry.event {
            Event::Authorization(
                Authorization::Answered { request: settled, .. }
                | Authorization::Withdrawn { request: settled, .. },
            ) => settled == request,
            _ => false,
        };
        if entries.iter().any(settles) {
            return Ok(true);
        }
        after = last;
    }
}

pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
) -> Result<Json<RunView>, ApiError> {
    let run = RunId::from(run);
    let (session, going_on) = app
        .blocking({
            let run = run.clone();
            move |host| {
                let session = host.session_of(&run)?;
                let going_on = session.cancel(&run);
                Ok::<_, AgentError>((session, going_on))
            }
        })
        .await?;
    if going_on {
        session.ended(&run).await;
    }
    Ok(Json(app.blocking(move |host| host.run(&run)).await?))
}

pub(crate) async fn cancel_call(
    State(app): State<Arc<App>>,
    Path((run, number)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let call = number.parse().map(CallId).map_err(|_| ApiError::not_found("call", &number))?;
    let run = RunId::from(run);
    let cancelled = app.blocking({
        let run = run.clone();
        move |host| Ok::<_, AgentError>(host.session_of(&run)?.cancel_call(&run, call))
    });
    if cancelled.await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ApiError::new(StatusCode::CONFLICT, "not_running", format!("the run {run} is not under way")))
}

/// The events of one run, from the one after `after`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct After {
    after: Option<u64>,
}

pub(crate) async fn follow(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(after): Query<After>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let place = app.place()?;
    let (session, run, view) = app
        .blocking(move |host| {
            let run = RunId::from(run);
            let (session, view) = (host.session_of(&run)?, host.run(&run)?);
            Ok::<_, AgentError>((session, run, view))
        })
        .await?;
    let after = events::last_seen(&headers).or(after.after).unwrap_or(view.first_seq.saturating_sub(1));
    events::of_run(&app, place, (session, run), after).await
}

/// What is said of a run: at once, when it settles, or as it goes on.
async fn answer(
    app: &App,
    (session, run): (Session, RunId),
    wait: Wait,
    streamed: Option<Place>,
) -> Result<Response, ApiError> {
    if let Some(place) = streamed {
        let view = app.run_of(&session, &run).await?;
        let first = view.map_or(1, |view| view.first_seq);
        return events::of_run(app, place, (session, run), first.saturating_sub(1)).await;
    }
    if wait.wait.unwrap_or(true) {
        // A host that ends says how far it is; the run is kept and goes on with the next one.
        tokio::select! {
            _ = session.settled(&run) => {}
            () = app.stopping() => {}
        }
    }
    let view = app.run_of(&session, &run).await?;
    let view = view.ok_or_else(|| ApiError::not_found("run", run.as_str()))?;
    let status = if view.status.is_over() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let place = [(header::LOCATION, format!("/run/{run}"))];
    Ok((status, place, Json(view)).into_response())
}

/// A place for the events, where they are wanted. Taken before anything begins.
fn streamed(app: &App, headers: &HeaderMap) -> Result<Option<Place>, ApiError> {
    wants_events(headers).then(|| app.place()).transpose()
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept
        .split(',')
        .any(|part| part.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
}
