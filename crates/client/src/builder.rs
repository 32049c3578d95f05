//! How a client is made: who it is, what it can answer, its clocks and bounds, and where the server
//! is.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use switchboard_protocol::meta::is_valid_key;
use switchboard_protocol::model::capability::{ClientCapabilities, Implementation, Settings};
use switchboard_protocol::model::elicitation::{ElicitForm, ElicitUrl};
use switchboard_protocol::model::notification::{LoggingLevel, LoggingMessage};
use switchboard_protocol::model::roots::Root;
use switchboard_protocol::model::sampling::{CreateMessage, CreateMessageResult};
use switchboard_transport::child::ChildCommand;
use switchboard_transport::{InProcess, Pipe};
use url::Url;

use crate::cache::Cache;
use crate::client::Client;
use crate::core::{Core, Learned, LogFn};
use crate::era::Era;
use crate::error::Error;
use crate::flight::Flights;
use crate::http::{HttpLink, without_query};
use crate::inputs::{ElicitReply, Inputs, Refused};
use crate::limits::Limits;
use crate::link::Link;
use crate::params::Identity;
use crate::pipe::{PipeLink, Source};
use crate::secret::Headers;
use crate::verdict::EraVerdict;
use crate::wire::{Tap, WireMessage};

const IDLE: Duration = Duration::from_secs(60);
const TOTAL: Duration = Duration::from_secs(30 * 60);

/// Collects what a [`Client`] is made of. The last call says where the server is
/// ([`http`](Self::http), [`command`](Self::command), [`child`](Self::child),
/// [`in_process`](Self::in_process)); awaiting it connects.
#[derive(Debug)]
pub struct ClientBuilder {
    info: Implementation,
    name: Option<String>,
    inputs: Inputs,
    extensions: BTreeMap<String, Settings>,
    idle: Duration,
    total: Duration,
    limits: Limits,
    headers: Headers,
    log_level: Option<LoggingLevel>,
    on_log: Option<Sink>,
    tap: Tap,
    cache: Option<Cache>,
    verdict: Option<EraVerdict>,
    era: Era,
    /// The first thing that was wrong, told when connecting.
    wrong: Option<Error>,
}

#[derive(Clone)]
struct Sink(LogFn);

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            info: Implementation::new("switchboard-client", env!("CARGO_PKG_VERSION")),
            name: None,
            inputs: Inputs::default(),
            extensions: BTreeMap::new(),
            idle: IDLE,
            total: TOTAL,
            limits: Limits::default(),
            headers: Headers::default(),
            log_level: None,
            on_log: None,
            tap: Tap::default(),
            cache: None,
            verdict: None,
            era: Era::default(),
            wrong: None,
        }
    }
}

/// # Who the client is
impl ClientBuilder {
    /// Name and version of the application, as servers see them.
    #[must_use]
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Implementation::new(name, version);
        self
    }

    /// Everything that servers may know of the application.
    #[must_use]
    pub fn implementation(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// What errors and warnings call the server; its address by default.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Declares an extension, with its settings.
    #[must_use]
    pub fn extension(mut self, identifier: impl Into<String>, settings: Settings) -> Self {
        let identifier = identifier.into();
        if !is_valid_key(&identifier) || !identifier.contains('/') {
            let wrong = format!("{identifier:?} is no identifier of an extension");
            self.wrong.get_or_insert_with(|| Error::misuse(wrong).hint("use one like com.example/feature"));
        }
        self.extensions.insert(identifier, settings);
        self
    }
}

/// # What the client answers
///
/// A handler declares its capability by existing; without one, servers do not ask.
impl ClientBuilder {
    /// Shows a form to the person. Defaults are filled in and the answer is checked against the form
    /// before it is sent. The interface must say which server asks, and let the person decline.
    #[must_use]
    pub fn on_elicit<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitForm) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitReply> + Send + 'static,
    {
        self.inputs.set_form(handler);
        self
    }

    /// Shows an address to the person and opens it if they agree. Never fetch it.
    #[must_use]
    pub fn on_elicit_url<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitUrl) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitReply> + Send + 'static,
    {
        self.inputs.set_url(handler);
        self
    }

    /// Asks a language model. A refusal ends the request that asked.
    #[must_use]
    pub fn on_sampling<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessage) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, Refused>> + Send + 'static,
    {
        self.inputs.set_sampling(handler);
        self
    }

    /// Also lets servers give the language model tools.
    #[must_use]
    pub fn allow_sampling_tools(mut self) -> Self {
        self.inputs.allow_sampling_tools();
        self
    }

    /// Lists the folders that servers may work in.
    #[must_use]
    pub fn on_roots<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<Root>> + Send + 'static,
    {
        self.inputs.set_roots(handler);
        self
    }
}

/// # Clocks, bounds and ears
impl ClientBuilder {
    /// Ends a request after this much silence; progress starts the clock anew. 60 s by default.
    #[must_use]
    pub fn timeout(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Ends a request after this time, whatever is said. 30 min by default.
    #[must_use]
    pub fn max_total(mut self, total: Duration) -> Self {
        self.total = total;
        self
    }

    /// Bounds on what a server can make the client hold or wait for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Asks for log messages of this severity and above with every request.
    #[must_use]
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Takes log messages; asks for those from `info` on unless [`log_level`](Self::log_level) says
    /// otherwise. It must not block.
    #[must_use]
    pub fn on_log(mut self, sink: impl Fn(LoggingMessage) + Send + Sync + 'static) -> Self {
        self.on_log = Some(Sink(Arc::new(sink)));
        self
    }

    /// Sees every message as it goes over the wire, unmasked. It must not block.
    #[must_use]
    pub fn on_wire(mut self, tap: impl Fn(WireMessage<'_>) + Send + Sync + 'static) -> Self {
        self.tap = Tap::new(tap);
        self
    }

    /// Keeps answers in this cache, which may serve other clients, too.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }
}

/// # The way to the server
impl ClientBuilder {
    /// A header of every HTTP request. Its value is never printed.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Err(error) = self.headers.insert(name, value) {
            self.wrong.get_or_insert(error);
        }
        self
    }

    /// The bearer token of every HTTP request. It is never printed.
    #[must_use]
    pub fn bearer(mut self, token: &str) -> Self {
        if let Err(error) = self.headers.bearer(token) {
            self.wrong.get_or_insert(error);
        }
        self
    }

    /// Which revisions may be spoken; by default all, as the server needs.
    #[must_use]
    pub fn era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// Trusts what was found out about the server before ([`Client::verdict`]), which saves the first
    /// request. A verdict of a modern revision corrects itself; one of a legacy revision is believed for a day
    /// ([`EraVerdict::holds_at`]). It counts with [`Era::Auto`] only, and a modern one with [`Era::Modern`], too.
    #[must_use]
    pub fn verdict(mut self, verdict: EraVerdict) -> Self {
        self.verdict = Some(verdict);
        self
    }

    /// Connects to a server at a URL.
    pub fn http(self, url: impl AsRef<str>) -> Connect {
        let target = parse_url(url.as_ref()).map(Target::Http);
        Connect { builder: self, target }
    }

    /// Starts a program and speaks to it over its standard streams.
    pub fn command<A: Into<String>>(
        self,
        program: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Connect {
        let program = program.into();
        let mut builder = self;
        builder.name.get_or_insert_with(|| program.clone());
        builder.child(ChildCommand::new(program).args(args.into_iter().map(Into::into)))
    }

    /// Starts a program with an environment, a folder and more of its own.
    pub fn child(self, config: ChildCommand) -> Connect {
        Connect { builder: self, target: Ok(Target::Child(Box::new(config))) }
    }

    /// Connects to a server in this process.
    pub fn in_process(self, server: &impl InProcess) -> Connect {
        Connect { builder: self, target: Ok(Target::Pipe(server.connect())) }
    }

    /// Connects over a pipe that is open already.
    pub fn pipe(self, pipe: Pipe) -> Connect {
        Connect { builder: self, target: Ok(Target::Pipe(pipe)) }
    }
}

/// A connection that is made when it is awaited.
#[derive(Debug)]
#[must_use = "a connection is made when it is awaited"]
pub struct Connect {
    builder: ClientBuilder,
    target: Result<Target, Error>,
}

enum Target {
    Http(Url),
    Child(Box<ChildCommand>),
    Pipe(Pipe),
}

impl IntoFuture for Connect {
    type Output = Result<Client, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Client, Error>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.connect())
    }
}

impl Connect {
    async fn connect(self) -> Result<Client, Error> {
        let mut builder = self.builder;
        if let Some(wrong) = builder.wrong.take() {
            return Err(wrong);
        }
        let target = self.target?;
        let (era, known) = (builder.era, builder.verdict.take());
        let core = Arc::new(builder.core(target)?);
        if let Err(error) = core.connect(era, known).await {
            core.link.close().await;
            return Err(error);
        }
        Ok(Client::new(core))
    }
}

impl ClientBuilder {
    fn core(self, target: Target) -> Result<Core, Error> {
        let server: Arc<str> = target.identity().into();
        let name: Arc<str> = match (&self.name, &target) {
            (Some(name), _) => name.as_str().into(),
            (None, Target::Http(url)) => without_query(url).into(),
            (None, Target::Child(_) | Target::Pipe(_)) => "the server".into(),
        };
        let identity = self.identity()?;
        let on_log = self.on_log.map(|Sink(sink)| sink);
        let partition = self.headers.partition();
        let log_level = self.log_level.or(on_log.as_ref().map(|_| LoggingLevel::Info));
        let limits = self.limits;
        let pipe = |source, tap| Link::Pipe(Box::new(PipeLink::new(source, &limits, (tap, on_log.clone()))));
        let link = match target {
            Target::Http(url) => {
                Link::Http(Arc::new(HttpLink::new(url, self.headers, limits.clone(), self.tap)?))
            }
            Target::Child(config) => pipe(Source::Child(config), self.tap),
            Target::Pipe(open) => pipe(Source::Pipe(Some(open)), self.tap),
        };
        Ok(Core {
            name,
            server,
            link,
            identity,
            inputs: self.inputs,
            cache: self.cache.unwrap_or_else(|| Cache::new(&limits)),
            limits,
            idle: self.idle,
            total: self.total,
            log_level,
            on_log,
            partition,
            flights: Flights::default(),
            learned: Learned::default(),
            closed: AtomicBool::new(false),
            #[cfg(feature = "legacy")]
            legacy: crate::legacy::State::default(),
        })
    }

    fn identity(&self) -> Result<Identity, Error> {
        let extensions = (!self.extensions.is_empty()).then(|| self.extensions.clone());
        let capabilities = ClientCapabilities { extensions, ..self.inputs.capabilities() };
        let raw = |error: serde_json::Error| {
            Error::misuse(format!("the client's own description cannot be written as JSON: {error}"))
        };
        Ok(Identity {
            info: Some(serde_json::value::to_raw_value(&self.info).map_err(raw)?),
            capabilities: serde_json::value::to_raw_value(&capabilities).map_err(raw)?,
        })
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(url) => f.debug_tuple("Http").field(&without_query(url)).finish(),
            // Arguments and environment may hold secrets.
            Self::Child(_) => f.write_str("Child"),
            Self::Pipe(_) => f.write_str("Pipe"),
        }
    }
}

impl Target {
    /// What the cache knows the server by; never shown.
    fn identity(&self) -> String {
        match self {
            Self::Http(url) => url.to_string(),
            // Another process is another server: nothing is kept from one to the next.
            Self::Child(_) | Self::Pipe(_) => {
                static LAST: AtomicU64 = AtomicU64::new(0);
                format!("pipe {}", LAST.fetch_add(1, Ordering::Relaxed) + 1)
            }
        }
    }
}

fn parse_url(text: &str) -> Result<Url, Error> {
    let wrong = |why: String| {
        Error::misuse(why).hint("give one like https://example.com/mcp or http://127.0.0.1:8080/mcp")
    };
    let url = Url::parse(text.trim())
        .map_err(|error| wrong(format!("the server's address is no URL: {error}")).source(error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(format!(
            "the server's address starts with {}:, not with http: or https:",
            url.scheme()
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::misuse("the server's address holds credentials, which would show up in logs")
            .hint("give them as a bearer token or a header"));
    }
    Ok(url)
}
