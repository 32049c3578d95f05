//! What all clones of a client share, and how one request becomes an answer: encode, send, listen to
//! what is said, and repeat where that is safe.
//!
//! Input rounds are in `rounds`, pages in `list`, the first request of all in `connect`.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use serde_json::value::RawValue;
use switchboard_protocol::error::{ErrorCode, ProtocolError};
use switchboard_protocol::http::METHOD;
use switchboard_protocol::http::headers::request_headers;
use switchboard_protocol::model::discover::DiscoverResult;
use switchboard_protocol::model::input::InputRequiredResult;
use switchboard_protocol::model::notification::{LoggingLevel, LoggingMessage, Progress};
use switchboard_protocol::{Method, RequestId, Revision, frame};
use tokio::time::{Instant, timeout_at};

use crate::cache::Cache;
use crate::error::{Delivery, Error, Kind};
use crate::flight::Flights;
use crate::inputs::Inputs;
use crate::limits::Limits;
use crate::link::{Encode, Exchange, Link, Opening, Said};
use crate::params::{Ask, Identity, Input, Sending};
use crate::secret::Partition;
use crate::tools::ToolSet;

/// How often one request is sent: once, and once more for each of a newer revision, a newer
/// schema and a connection that died.
const MAX_ATTEMPTS: usize = 4;

pub(crate) type ProgressFn = Arc<dyn Fn(&Progress) + Send + Sync>;
pub(crate) type IdFn = Arc<dyn Fn(&RequestId) + Send + Sync>;
pub(crate) type InputFn = Arc<dyn Fn(&InputRequiredResult) + Send + Sync>;
pub(crate) type LogFn = Arc<dyn Fn(LoggingMessage) + Send + Sync>;

/// What all clones of a client share.
pub(crate) struct Core {
    /// What messages call the server.
    pub(crate) name: Arc<str>,
    /// What the cache knows the server by.
    pub(crate) server: Arc<str>,
    pub(crate) link: Link,
    pub(crate) identity: Identity,
    pub(crate) inputs: Inputs,
    pub(crate) limits: Limits,
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
    pub(crate) log_level: Option<LoggingLevel>,
    pub(crate) on_log: Option<LogFn>,
    pub(crate) partition: Partition,
    pub(crate) cache: Cache,
    pub(crate) flights: Flights,
    pub(crate) learned: Learned,
    pub(crate) closed: AtomicBool,
    #[cfg(feature = "legacy")]
    pub(crate) legacy: crate::legacy::State,
}

/// What the client has learned about its server so far.
#[derive(Default)]
pub(crate) struct Learned(Mutex<Facts>);

#[derive(Clone, Default)]
struct Facts {
    revision: Option<Revision>,
    discovered: Option<Arc<DiscoverResult>>,
    /// The latest definitions, whether still fresh or not.
    tools: Option<Arc<ToolSet>>,
}

impl Learned {
    fn facts<T>(&self, read: impl FnOnce(&mut Facts) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn revision(&self) -> Revision {
        self.facts(|facts| facts.revision).unwrap_or(Revision::LATEST)
    }

    pub(crate) fn set_revision(&self, revision: Revision) {
        self.facts(|facts| facts.revision = Some(revision));
    }

    pub(crate) fn discovered(&self) -> Option<Arc<DiscoverResult>> {
        self.facts(|facts| facts.discovered.clone())
    }

    pub(crate) fn set_discovered(&self, discovered: DiscoverResult) {
        self.facts(|facts| facts.discovered = Some(Arc::new(discovered)));
    }

    pub(crate) fn tools(&self) -> Option<Arc<ToolSet>> {
        self.facts(|facts| facts.tools.clone())
    }

    pub(crate) fn set_tools(&self, tools: Arc<ToolSet>) {
        self.facts(|facts| facts.tools = Some(tools));
    }
}

/// The clocks and the ears of one request. It outlives rounds and repetitions: `total` only runs
/// while the server is at work.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
    pub(crate) total_left: Duration,
    pub(crate) on_progress: Option<ProgressFn>,
    pub(crate) on_id: Option<IdFn>,
    pub(crate) on_input: Option<InputFn>,
    pub(crate) log_level: Option<LoggingLevel>,
}

impl Run {
    pub(crate) fn new(clocks: (Duration, Duration), log_level: Option<LoggingLevel>) -> Self {
        let (idle, total) = clocks;
        Self { idle, total, total_left: total, on_progress: None, on_id: None, on_input: None, log_level }
    }

    /// Tells whoever made the request what it is called on the wire.
    pub(crate) fn tell_id(&self, id: &RequestId) {
        if let Some(on_id) = &self.on_id {
            on_id(id);
        }
    }

    /// Shortens the whole time.
    pub(crate) fn at_most(mut self, total: Duration) -> Self {
        if total < self.total_left {
            (self.total, self.total_left) = (total, total);
        }
        self
    }
}

impl Core {
    pub(crate) fn run(&self) -> Run {
        Run::new((self.idle, self.total), self.log_level)
    }

    /// Sends one request of one round and waits for its result, whatever type that has. Repeats it
    /// where the server said how to do better, or where it is safe.
    pub(crate) async fn round(
        self: &Arc<Self>,
        ask: &Ask,
        input: &Input,
        run: &mut Run,
    ) -> Result<Box<RawValue>, Error> {
        let mut tried = Tried::default();
        loop {
            let headers = if self.has_headers() { self.headers(ask, run).await? } else { HeaderMap::new() };
            let error = match self.attempt(ask, input, headers, run).await {
                Ok(result) => return Ok(result),
                Err(error) => error.at(&self.name),
            };
            tried.attempts += 1;
            if tried.attempts >= MAX_ATTEMPTS || !self.may_repeat(ask, &error, &mut tried, run).await? {
                return Err(error);
            }
        }
    }

    /// Whether another attempt may end better than `error`; prepares it.
    async fn may_repeat(
        self: &Arc<Self>,
        ask: &Ask,
        error: &Error,
        tried: &mut Tried,
        run: &mut Run,
    ) -> Result<bool, Error> {
        let first = |done: &mut bool| !std::mem::replace(done, true);
        #[cfg(feature = "legacy")]
        if self.reconsider(ask, error).await {
            return Ok(true);
        }
        if let Some(refusal) = error.protocol_error() {
            return Ok(match refusal.code {
                ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
                    if !self.is_legacy() && first(&mut tried.revision) =>
                {
                    self.learned.set_revision(self.common_revision(refusal, error)?);
                    true
                }
                // The tool's schema names other headers than it did when it was listed.
                ErrorCode::HEADER_MISMATCH
                    if ask.known == Some(Method::CallTool)
                        && self.has_headers()
                        && first(&mut tried.schema) =>
                {
                    self.relist(run).await.is_ok()
                }
                _ => false,
            });
        }
        let died = error.kind() == Kind::Lost;
        let safe = ask.is_read() || error.delivery() == Delivery::NotSent;
        Ok(died && safe && !self.closed.load(Ordering::Relaxed) && first(&mut tried.connection))
    }

    pub(crate) fn common_revision(&self, refusal: &ProtocolError, error: &Error) -> Result<Revision, Error> {
        let Some(supported) = refusal.supported_versions() else { return Err(error.clone()) };
        Revision::newest_common(supported.iter().map(String::as_str)).ok_or_else(|| {
            let none = self.no_common_revision(supported).made_from(refusal.clone()).at(&self.name);
            match error.http_status() {
                Some(status) => none.status(status, error.retry_after()),
                None => none,
            }
        })
    }

    /// One exchange.
    async fn attempt(
        &self,
        ask: &Ask,
        input: &Input,
        headers: HeaderMap,
        run: &mut Run,
    ) -> Result<Box<RawValue>, Error> {
        let started = Instant::now();
        let mut clocks = Clocks::start(run, &ask.method)?;
        #[cfg(feature = "legacy")]
        clocks.follow(&self.legacy);
        let outcome = self.exchange((ask, input), headers, run, &mut clocks).await;
        run.total_left =
            run.total_left.saturating_sub(started.elapsed().saturating_sub(clocks.stood_still()));
        outcome
    }

    async fn exchange(
        &self,
        (ask, input): (&Ask, &Input),
        headers: HeaderMap,
        run: &Run,
        clocks: &mut Clocks<'_>,
    ) -> Result<Box<RawValue>, Error> {
        let mut exchange = clocks.within(self.open(ask, input, headers, run)).await?;
        let mut furthest = f64::NEG_INFINITY;
        loop {
            let said = clocks.within(exchange.next()).await;
            match said.map_err(|error| why_silent(error, &exchange))? {
                Said::Result(result) => return Ok(result),
                // Progress must grow [spec: basic/patterns/progress]; what does not is no sign of life.
                Said::Progress(progress) if progress.progress > furthest => {
                    furthest = progress.progress;
                    clocks.heard();
                    if let Some(on_progress) = &run.on_progress {
                        on_progress(&progress);
                    }
                }
                Said::Log(message) => {
                    if let Some(on_log) = &self.on_log {
                        on_log(message);
                    }
                }
                Said::Progress(_) | Said::Subscription(..) | Said::Missed => {}
            }
        }
    }

    /// Opens an exchange without waiting for what it says.
    pub(crate) async fn open(
        &self,
        ask: &Ask,
        input: &Input,
        headers: HeaderMap,
        run: &Run,
    ) -> Result<Exchange, Error> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(closed());
        }
        #[cfg(feature = "legacy")]
        if let Some(keeper) = self.legacy.keeper() {
            let opened = Box::pin(keeper.open(self, ask, run)).await;
            return opened.map(|exchange| Exchange::Legacy(Box::new(exchange)));
        }
        let revision = self.learned.revision();
        let progress = run.on_progress.is_some();
        let encode = |id: &RequestId, out: &mut Vec<u8>| {
            run.tell_id(id);
            let sending = Sending {
                identity: &self.identity,
                revision,
                log_level: run.log_level,
                progress: progress.then_some(id),
                input,
            };
            frame::encode_request(out, id, &ask.method, &ask.params(&sending))
        };
        let opening = Opening {
            headers,
            encode: &encode as &Encode<'_>,
            progress,
            log: run.log_level.is_some(),
            listen: ask.known == Some(Method::SubscriptionsListen),
            unannounced: ask.unannounced,
        };
        self.link.open(&opening).await
    }

    /// Whether a session was opened, since the server is of the legacy era.
    pub(crate) fn is_legacy(&self) -> bool {
        #[cfg(feature = "legacy")]
        return self.legacy.keeper().is_some();
        #[cfg(not(feature = "legacy"))]
        return false;
    }

    /// Whether that session is over HTTP+SSE.
    pub(crate) fn uses_http_sse(&self) -> bool {
        #[cfg(feature = "legacy")]
        return self.legacy.keeper().is_some_and(|keeper| keeper.transport == crate::legacy::Transport::Sse);
        #[cfg(not(feature = "legacy"))]
        return false;
    }

    /// Whether headers mirror what is asked: over HTTP, in the modern era.
    pub(crate) fn has_headers(&self) -> bool {
        self.link.is_http() && !self.is_legacy()
    }

    /// The headers of a request. A tool whose schema is unknown is looked up first: its schema may
    /// name parameters that headers must mirror.
    async fn headers(self: &Arc<Self>, ask: &Ask, run: &mut Run) -> Result<HeaderMap, Error> {
        let mut headers = self.standard_headers(ask)?;
        if ask.known == Some(Method::CallTool)
            && let Some(tool) = &ask.name
        {
            if self.learned.tools().is_none() && self.may_have_tools() {
                self.look_up_tools(run).await?;
            }
            if let Some(tools) = self.learned.tools() {
                headers.extend(tools.param_headers(tool, ask.member("arguments"))?);
            }
        }
        Ok(headers)
    }

    /// The headers that every request has.
    ///
    /// # Errors
    /// When no header can carry the method.
    pub(crate) fn standard_headers(&self, ask: &Ask) -> Result<HeaderMap, Error> {
        let known = ask.known.unwrap_or(Method::Discover);
        let mut headers = request_headers(known, ask.name.as_deref(), self.learned.revision());
        if ask.known.is_none() {
            headers.insert(METHOD, method_header(&ask.method).map_err(|error| error.at(&self.name))?);
        }
        Ok(headers)
    }

    fn may_have_tools(&self) -> bool {
        self.learned.discovered().is_none_or(|discovered| discovered.capabilities.tools.is_some())
    }

    /// A server that does not list its tools may still have the one that is called.
    async fn look_up_tools(self: &Arc<Self>, run: &mut Run) -> Result<(), Error> {
        match self.relist(run).await {
            Ok(()) => Ok(()),
            Err(error) if error.protocol_error().is_some() || error.is_server_fault() => {
                tracing::debug!(server = %self.name, %error, "the tools cannot be listed; the call goes without");
                Ok(())
            }
            // The call itself was not sent yet.
            Err(error) => Err(error.delivered(Delivery::NotSent)),
        }
    }

    /// Boxed, since listing sends requests, which may list.
    fn relist<'a>(
        self: &'a Arc<Self>,
        run: &'a mut Run,
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>> {
        Box::pin(async move {
            let started = Instant::now();
            let listing = Run { on_progress: None, ..run.clone() };
            let listed = self.tool_set(listing, true).await;
            run.total_left = run.total_left.saturating_sub(started.elapsed());
            listed.map(drop)
        })
    }
}

/// A server that breaks rules may have answered in a way that nobody could take for the answer.
fn why_silent(error: Error, exchange: &Exchange) -> Error {
    let rule = if error.kind() == Kind::Timeout { exchange.broken_rule() } else { None };
    match rule {
        Some(rule) => error.hint(format!("the server breaks a rule, which may be why: {rule}")),
        None => error,
    }
}

/// A header has nothing but visible ASCII, and servers compare it with the method as it stands.
fn method_header(method: &str) -> Result<HeaderValue, Error> {
    let carried = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_graphic());
    carried.then(|| HeaderValue::from_str(method).ok()).flatten().ok_or_else(|| {
        Error::misuse(format!("no header can carry the method {:?}", crate::error::excerpt(method)))
            .hint("name a method of visible ASCII characters, such as tools/list")
    })
}

/// Which repetitions a request has used up.
#[derive(Default)]
struct Tried {
    attempts: usize,
    revision: bool,
    schema: bool,
    connection: bool,
}

/// The two clocks of one exchange.
struct Clocks<'a> {
    method: &'a str,
    idle: Duration,
    total: Duration,
    idle_deadline: Option<Instant>,
    total_deadline: Option<Instant>,
    #[cfg(feature = "legacy")]
    pauses: Option<crate::legacy::RequestPauses>,
}

impl<'a> Clocks<'a> {
    fn start(run: &Run, method: &'a str) -> Result<Self, Error> {
        if run.total_left.is_zero() {
            return Err(Error::timeout(method, run.total, true));
        }
        let now = Instant::now();
        Ok(Self {
            method,
            idle: run.idle,
            total: run.total,
            // A time beyond what a clock can hold is as good as none.
            idle_deadline: now.checked_add(run.idle),
            total_deadline: now.checked_add(run.total_left),
            #[cfg(feature = "legacy")]
            pauses: None,
        })
    }

    fn heard(&mut self) {
        self.idle_deadline = Instant::now().checked_add(self.idle);
        #[cfg(feature = "legacy")]
        if let Some(pauses) = &mut self.pauses {
            pauses.heard();
        }
    }

    /// In a session the clocks stand still while a person is asked.
    #[cfg(feature = "legacy")]
    fn follow(&mut self, state: &crate::legacy::State) {
        self.pauses = state.request_pauses();
    }

    /// How long they stood still.
    fn stood_still(&self) -> Duration {
        #[cfg(feature = "legacy")]
        if let Some(pauses) = &self.pauses {
            return pauses.in_all();
        }
        Duration::ZERO
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        #[cfg(feature = "legacy")]
        if let Some(pauses) = &self.pauses {
            let clocks = [(self.idle_deadline, self.idle), (self.total_deadline, self.total)];
            return tokio::select! {
                biased;
                done = work => done,
                after = pauses.over(clocks) => Err(Error::timeout(self.method, after, true)),
            };
        }
        let (deadline, after) = match (self.idle_deadline, self.total_deadline) {
            (Some(idle), Some(total)) if total < idle => (total, self.total),
            (Some(idle), _) => (idle, self.idle),
            (None, Some(total)) => (total, self.total),
            (None, None) => return work.await,
        };
        timeout_at(deadline, work).await.unwrap_or_else(|_| Err(Error::timeout(self.method, after, true)))
    }
}

pub(crate) fn closed() -> Error {
    Error::new(Kind::Cancelled, Delivery::NotSent, "the client was closed").hint("connect again")
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.name)
            .field("link", &self.link)
            .field("inputs", &self.inputs)
            .field("revision", &self.learned.revision())
            .finish_non_exhaustive()
    }
}
