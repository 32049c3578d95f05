//! Event streams: the journal of a session or a run as it grows, with its numbers, and what changes around it.
//!
//! Where to look next: `shown` for the lists that all pages share.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde::{Deserialize, Serialize};
use switchboard_agent::journal::{self, Entry, RunEvent};
use switchboard_agent::session::RunView;
use switchboard_agent::{Host, RunId, Session};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::App;
use crate::body::Query;
use crate::error::ApiError;

/// Streams at the same time: half of the connections, so that whoever asks something else finds one.
pub(crate) const STREAMS: usize = 256;

/// What a stream says that it is.
pub(crate) const MEDIA_TYPE: &str = "text/event-stream";

/// How often a stream on which nothing happens says so. Proxies cut what is silent for long.
const HEARTBEAT: Duration = Duration::from_secs(15);

type Events = BoxStream<'static, Bytes>;

/// A place among the streams, taken until its stream ends.
pub(crate) type Place = OwnedSemaphorePermit;

/// What the one stream of a page is about.
#[derive(Debug, Deserialize)]
pub(crate) struct Topic {
    session: Option<String>,
    after: Option<u64>,
}

/// The one stream of a page: the journal of a session, the servers, the list of sessions.
pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Query(topic): Query<Topic>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let place = app.place()?;
    let mut all = vec![app.servers.lists(), app.sessions.lists()];
    if let Some(id) = topic.session {
        let session = app.blocking(move |host| host.session(&id)).await?;
        let after = last_seen(&headers).or(topic.after).unwrap_or(0);
        all.push(session.events(after).map(|entry| entry_event(&entry)).boxed());
    }
    Ok(response(&app, place, stream::select_all(all).boxed()))
}

/// The entries of one run, then its last state as the event `end`.
pub(crate) async fn of_run(
    app: &App,
    place: Place,
    (session, run): (Session, RunId),
    after: u64,
) -> Result<Response, ApiError> {
    let over =
        |view: &RunView| view.status.is_over() && view.outcome.last_seq.is_none_or(|last| last <= after);
    let done = app.run_of(&session, &run).await?.as_ref().is_none_or(over);
    let entries = if done { stream::empty().boxed() } else { session.events(after) };
    let state = (entries, session, run, done);
    let events = stream::unfold(Some(state), |state| async move {
        let (mut entries, session, run, done) = state?;
        if done {
            let view = tokio::task::spawn_blocking(move || session.run(&run)).await.ok()?;
            return Some((event("end", None, &view?), None));
        }
        loop {
            let entry = entries.next().await?;
            if entry.run.as_ref() != Some(&run) {
                continue;
            }
            let done = matches!(entry.event, journal::Event::Run(RunEvent::Ended { .. }));
            return Some((entry_event(&entry), Some((entries, session, run, done))));
        }
    });
    Ok(response(app, place, events.boxed()))
}

/// Events as they come, and a comment where none does for a while.
fn response(app: &App, place: Place, events: Events) -> Response {
    let state = (events.take_until(app.stopping()).boxed(), place);
    let beating = stream::unfold(state, |(mut events, place)| async move {
        let next = timeout(HEARTBEAT, events.next()).await;
        let event = next.unwrap_or(Some(Bytes::from_static(b":\n\n")))?;
        Some((Ok::<_, std::convert::Infallible>(event), (events, place)))
    });
    let mut response = Response::new(Body::from_stream(beating));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Where a stream that broke off was.
pub(crate) fn last_seen(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

fn entry_event(entry: &Entry) -> Bytes {
    event("entry", Some(entry.seq), entry)
}

/// A list that every page is shown, without known secrets. What is in a journal has none.
pub(crate) fn list(kind: &str, host: &Host, data: &impl Serialize) -> Bytes {
    written(kind, None, &host.shown_json(serde_json::to_string(data).unwrap_or_default()))
}

fn event(kind: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    written(kind, id, &serde_json::to_string(data).unwrap_or_default())
}

/// An event as it is sent. JSON as it is written here has no line ends.
fn written(kind: &str, id: Option<u64>, text: &str) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {kind}\ndata: {text}\n\n").into()
}
