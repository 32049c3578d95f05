//! The host over HTTP: `POST /run`, the event stream, and the web page.
//!
//! It shows and answers; what is allowed is decided in `switchboard_agent::policy`, and everything that is shown is a
//! view of the journal. Where to look next: `router` below for the routes, `guard` for who may ask, `run` for a
//! question's way, `events` for the streams, `assets/main.js` for the page.

mod artefacts;
mod assets;
mod body;
mod browse;
mod connections;
mod cookie;
mod error;
mod events;
mod guard;
mod listen;
mod masked;
mod openapi;
mod run;
mod servers;
mod sessions;
mod shown;
mod tools;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, delete, get, post};
use switchboard_agent::session::RunView;
use switchboard_agent::supervisor::Supervisor;
use switchboard_agent::{Host, RunId, Session};
use tokio::sync::{Semaphore, watch};

use crate::error::ApiError;
use crate::events::Place;
use crate::guard::Guard;
use crate::shown::Shown;

pub use crate::listen::{Bound, ListenOptions, NotBound, bind};

/// Sessions that nothing was asked in yet and that are kept for whoever made them.
const EMPTY_SESSIONS: usize = 64;

/// What all requests share.
pub(crate) struct App {
    host: Host,
    supervisor: Supervisor,
    /// The servers and the sessions, as every page is shown them.
    servers: Arc<Shown>,
    sessions: Arc<Shown>,
    /// Places for event streams.
    streams: Arc<Semaphore>,
    /// True once everything is to end.
    stopping: watch::Sender<bool>,
    /// A session is stored with its first question; until then it lives here.
    empty: Mutex<VecDeque<Session>>,
    /// Held while a run begins that has a key.
    with_a_key: Mutex<()>,
}

impl App {
    fn new(host: Host, supervisor: Supervisor) -> Arc<Self> {
        let servers = Shown::new(supervisor.changes(), {
            let (host, supervisor) = (host.clone(), supervisor.clone());
            move || Some(events::list("servers", &host, &supervisor.status()))
        });
        let sessions = Shown::new(host.changes(), {
            let host = host.clone();
            move || {
                let list = sessions::newest(&host, sessions::SHOWN);
                let problem = |error| tracing::warn!(%error, "the sessions cannot be listed");
                Some(events::list("sessions", &host, &list.map_err(problem).ok()?))
            }
        });
        Arc::new(Self {
            host,
            supervisor,
            servers,
            sessions,
            streams: Arc::new(Semaphore::new(events::STREAMS)),
            stopping: watch::Sender::new(false),
            empty: Mutex::default(),
            with_a_key: Mutex::default(),
        })
    }

    /// Does what reads or writes the disk, where it holds nobody up.
    async fn blocking<T: Send + 'static, E: Into<ApiError> + Send + 'static>(
        &self,
        work: impl FnOnce(&Host) -> Result<T, E> + Send + 'static,
    ) -> Result<T, ApiError> {
        let host = self.host.clone();
        let done = tokio::task::spawn_blocking(move || work(&host)).await;
        let done = done.map_err(|_| ApiError::failed())?;
        done.map_err(Into::into)
    }

    /// A run of a session, wherever it is kept.
    async fn run_of(&self, session: &Session, run: &RunId) -> Result<Option<RunView>, ApiError> {
        let (session, run) = (session.clone(), run.clone());
        self.blocking(move |_| Ok::<_, ApiError>(session.run(&run))).await
    }

    /// Held while a run begins that has a key.
    fn one_with_a_key(&self) -> MutexGuard<'_, ()> {
        self.with_a_key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for an event stream, if there is one.
    fn place(&self) -> Result<Place, ApiError> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            let message = format!("{} event streams are open, which is all there can be", events::STREAMS);
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", message)
                .hint("close pages of this host or end programs that follow runs, then try again")
        })
    }

    /// Keeps a session that nothing was asked in yet; the oldest of too many is let go of.
    fn keep(&self, session: Session) {
        let mut empty = self.empty.lock().unwrap_or_else(PoisonError::into_inner);
        empty.push_back(session);
        if empty.len() > EMPTY_SESSIONS {
            empty.pop_front();
        }
    }

    /// Waits until everything is to end.
    fn stopping(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut stopping = self.stopping.subscribe();
        async move {
            // An error means that the program is gone already.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        }
    }
}

/// The routes of the page itself and of logging in. Everybody may ask for them.
fn open_routes() -> Vec<(&'static str, MethodRouter<Guard>)> {
    vec![
        ("/", get(assets::index)),
        ("/assets/{name}", get(assets::asset)),
        ("/healthz", get(|| async { "ok" })),
        ("/login", post(guard::login)),
        ("/logout", post(guard::logout)),
    ]
}

/// The routes that need the token.
fn closed_routes() -> Vec<(&'static str, MethodRouter<Arc<App>>)> {
    vec![
        ("/run", post(run::begin)),
        ("/run/{run}", get(run::show).delete(run::cancel)),
        ("/run/{run}/events", get(run::follow)),
        ("/run/{run}/input", post(run::input)),
        ("/run/{run}/resume", post(run::resume)),
        ("/run/{run}/calls/{call}", delete(run::cancel_call)),
        ("/sessions", get(sessions::list).post(sessions::create)),
        ("/sessions/{id}", get(sessions::show).patch(sessions::rename).delete(sessions::delete)),
        ("/sessions/{id}/fork", post(sessions::fork)),
        ("/sessions/{id}/export", get(sessions::export)),
        ("/events", get(events::page)),
        ("/servers", get(servers::list)),
        ("/servers/{name}/restart", post(servers::restart)),
        ("/servers/{name}/stop", post(servers::stop)),
        ("/servers/{name}/test", post(servers::test)),
        ("/servers/{name}/logs", get(servers::logs)),
        ("/servers/{name}/wire", get(servers::wire)),
        ("/servers/{name}/tools", get(tools::list)),
        ("/servers/{name}/pins/accept", post(tools::accept)),
        ("/models", get(sessions::models)),
        ("/prompts", get(browse::prompts).post(browse::prompt)),
        ("/resources", get(browse::resources)),
        ("/complete", post(browse::complete)),
        ("/artefacts/{id}", get(artefacts::show)),
        ("/openapi.json", get(openapi::document)),
    ]
}

/// All routes. What is not the page itself needs the token.
fn router(app: Arc<App>, guard: Guard) -> Router {
    let route = |router: Router<Guard>, (path, methods): (&str, _)| router.route(path, methods);
    let open = open_routes().into_iter().fold(Router::new(), route).with_state(guard.clone());
    let route = |router: Router<Arc<App>>, (path, methods): (&str, _)| router.route(path, methods);
    let closed = closed_routes()
        .into_iter()
        .fold(Router::new(), route)
        .layer(from_fn_with_state(Arc::clone(&app), masked::known))
        .layer(from_fn(connections::keep))
        .layer(from_fn_with_state(guard.clone(), guard::logged_in))
        .with_state(app);
    let absent = || async { ApiError::not_found("page", "here") };
    let unfit = || async {
        ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this is not done here")
            .hint("the header `Allow` names what is")
    };
    open.merge(closed)
        .fallback(absent)
        .method_not_allowed_fallback(unfit)
        .layer(from_fn_with_state(guard, guard::same_site))
}
