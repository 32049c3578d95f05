//! Sessions over HTTP: Streamable HTTP with its two methods more, and HTTP+SSE, at the same addresses as
//! the modern era.
//!
//! A session is its id: what the handshake agreed on, sealed. Only what changes in one is kept, in one
//! bounded table, and only by the replica where it changed. What runs belongs to its session, not to the
//! connection that asked for it: a client that leaves comes back for what it missed.
//!
//! Where to look next: `route.rs` says what a request wants, `post.rs` takes messages, `listen.rs` opens
//! streams; `token.rs` is the id of a session, `table.rs` and `live.rs` are what is kept of one, `log.rs`
//! what a stream said, `budget.rs` how much of that is kept and how long, `work.rs` what runs, `places.rs` how much of it, `abandoned.rs` what runs for
//! nobody; `sse.rs` is HTTP+SSE.

mod abandoned;
mod answer;
mod budget;
mod listen;
mod live;
mod log;
mod places;
mod post;
mod route;
mod sse;
mod stream;
mod table;
mod token;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use switchboard_protocol::RequestId;
use switchboard_protocol::era::legacy::Features;
use switchboard_protocol::http::PROTOCOL_VERSION;
use switchboard_protocol::http::classify;
use switchboard_protocol::http::legacy::SESSION_ID;
use tokio::sync::watch;

pub(crate) use places::Places;
pub(crate) use post::Received;
pub(crate) use stream::Stream;

use abandoned::Abandoned;
use answer::Answered;
use budget::Budget;
use live::Live;
use log::{Log, STANDING};
use route::Route;
use sse::Peers;
use table::Table;
use token::Ids;

use crate::entry::Core;
use crate::http::{Body, Http};
use crate::limits::Limits;
use crate::listen::{Slot, Slots};
use crate::server::Server;

/// The legacy era of one HTTP service.
pub(crate) struct Legacy {
    server: Server,
    ids: Ids,
    table: Arc<Table>,
    budget: Arc<Budget>,
    abandoned: Arc<Abandoned>,
    /// For messages that are read while all places are taken.
    beside: Slots,
    peers: Arc<Peers>,
    /// The number of the next stream.
    streams: AtomicU64,
    public_url: Option<String>,
    /// True once the service ends its streams.
    closing: watch::Sender<bool>,
    /// Heard by what runs: it changes, or is dropped, with the end of the service.
    service: watch::Sender<()>,
}

impl Http {
    /// The address under which clients reach this server, such as `https://example.com/tools`: clients of
    /// HTTP+SSE are then told to send their messages to `https://example.com/tools/message`. Without it they
    /// are told a relative address, which holds behind every proxy that keeps `sse` and `message` side by
    /// side.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }
}

impl Legacy {
    /// The legacy era of a service, if its server serves that.
    pub(crate) fn new(http: &Http, closing: watch::Sender<bool>) -> Option<Self> {
        let server = &http.server;
        server.legacy().eras.newest_legacy()?;
        let sessions = &server.limits().sessions;
        // Numbers of an earlier process are not to be taken for ours.
        let first = getrandom::u64().unwrap_or_default() >> 16;
        Some(Self {
            ids: Ids::new(server.seal()),
            table: Table::new(sessions.clone()),
            budget: Arc::new(Budget::new(sessions.replay_bytes, sessions.replay_time)),
            abandoned: Arc::new(Abandoned::new(server.limits().concurrent_exchanges)),
            beside: places::part(server.limits()),
            peers: Arc::default(),
            streams: AtomicU64::new(first),
            public_url: http.public_url.clone(),
            closing,
            service: watch::Sender::new(()),
            server: server.clone(),
        })
    }

    /// Whether nothing but this era is served.
    pub(crate) fn is_all(&self) -> bool {
        !self.has_modern()
    }

    /// A place to read a message in while all others are taken, if it may be one that frees such a place:
    /// one of a session.
    #[cold]
    pub(crate) fn beside(&self, parts: &Parts, endpoint: Option<&str>) -> Option<Slot> {
        let has_session = parts.headers.contains_key(SESSION_ID);
        (has_session || route::route(parts, endpoint) == Route::Message).then(|| self.beside.take())?
    }

    /// Ends what runs without a connection, and waits for its end.
    pub(crate) async fn end(&self) {
        self.service.send_replace(());
        self.service.closed().await;
    }

    fn has_modern(&self) -> bool {
        self.server.legacy().eras.has_modern()
    }

    fn limits(&self) -> &Limits {
        self.server.limits()
    }

    /// Looks at a request that the modern era refuses by its head.
    ///
    /// # Errors
    /// The answer, unless it is a message whose body is to be read; `refused` where it means nothing here,
    /// either.
    pub(crate) fn head(
        &self,
        parts: &Parts,
        endpoint: Option<&str>,
        refused: Response<Body>,
    ) -> Answered<()> {
        Err(Box::new(match route::route(parts, endpoint) {
            Route::Get => self.get(parts),
            Route::Delete => self.delete(parts),
            Route::Open => self.open(parts),
            Route::Only(allowed) => answer::not_served(&parts.method, allowed),
            Route::Message => match classify::check_head(&parts.method, &parts.headers) {
                // Answers go to the stream, so that nothing has to be acceptable here.
                Err(refusal) if refusal.status == StatusCode::NOT_ACCEPTABLE => return Ok(()),
                Err(refusal) => answer::error(refusal.status, None, refusal.error),
                Ok(()) => return Ok(()),
            },
            Route::Post | Route::None => refused,
        }))
    }

    fn delete(&self, parts: &Parts) -> Response<Body> {
        match self.enter(parts, None) {
            Ok(live) => {
                self.table.end(&live);
                answer::ended()
            }
            Err(refused) => *refused,
        }
    }

    /// The session that a request is sent in.
    fn enter(&self, parts: &Parts, id: Option<&RequestId>) -> Answered<Arc<Live>> {
        let mut values = parts.headers.get_all(SESSION_ID).iter();
        let Some(session) = values.next() else {
            return Err(Box::new(answer::no_session_id(id, self.has_modern())));
        };
        if values.next().is_some() {
            return Err(Box::new(answer::bad(id, "The header Mcp-Session-Id is sent more than once")));
        }
        let caller = Core::caller(&parts.extensions);
        let opened = session.to_str().ok().and_then(|text| self.ids.open(text, caller));
        let live = opened.and_then(|opened| self.table.enter(&self.server, opened));
        let Some(live) = live else { return Err(Box::new(answer::no_session(id))) };
        check_version(&parts.headers, &live).map_err(|why| Box::new(answer::bad(id, why)))?;
        Ok(live)
    }

    fn features(live: &Live) -> &'static Features {
        Features::of(live.session().terms().revision)
    }

    fn new_log(&self) -> Arc<Log> {
        let stream = self.streams.fetch_add(1, Ordering::Relaxed) & !STANDING;
        Log::new(stream, &self.budget)
    }

    fn new_standing_log(&self) -> Arc<Log> {
        let stream = self.streams.fetch_add(1, Ordering::Relaxed) | STANDING;
        Log::new(stream, &self.budget)
    }
}

/// A request may leave its revision out: the session has it. What it says must be that.
fn check_version(headers: &HeaderMap, live: &Live) -> Result<(), String> {
    let agreed = live.session().terms().revision.date();
    for said in headers.get_all(&PROTOCOL_VERSION) {
        let said = said.to_str().map(str::trim).unwrap_or_default();
        if said != agreed {
            let said: String = said.chars().take(40).collect();
            return Err(format!(
                "MCP-Protocol-Version is {said:?}, but the session was opened with {agreed}: send that, or \
                 initialize again"
            ));
        }
    }
    Ok(())
}
