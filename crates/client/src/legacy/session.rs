//! One session: the handshake, what it agreed on, and the requests in it [spec: basic/lifecycle].

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_protocol::era::Verdict;
use switchboard_protocol::era::legacy::{
    Features, Initialize, InitializeResult, agree, capability, name, upgrade,
};
use switchboard_protocol::error::ProtocolError;
use switchboard_protocol::model::capability::{ClientCapabilities, Implementation, ServerCapabilities};
use switchboard_protocol::model::discover::DiscoverResult;
use switchboard_protocol::model::input::{InputRequests, InputRequiredResult};
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::{Method, RequestId, Revision, frame};
use tokio::sync::{OnceCell, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::listen::LocalStream;
use super::params::Params;
use super::watched::Watched;
use super::{Carrier, Ears, Stream, Transport, answer};
use crate::core::{Core, Run};
use crate::error::{Delivery, Error, Kind};
use crate::link::{Encode, Opening, Said};
use crate::params::Ask;

/// How long a server may take to note that nobody listens to a resource any more.
const GOODBYE: Duration = Duration::from_secs(10);

/// One session, from its handshake to its end.
pub(crate) struct Session {
    pub(super) carrier: Arc<Carrier>,
    pub(crate) revision: Revision,
    pub(super) ears: Arc<Ears>,
    pub(super) discovered: Arc<DiscoverResult>,
    idle: Duration,
    pub(super) watched: Arc<Watched>,
    task: std::sync::OnceLock<AbortHandle>,
    /// Set once the server was waited for, as far as it may be, before the first request that it may ask about.
    listening: OnceCell<()>,
    /// Goes with the session, and so does what is done for it in the background.
    life: watch::Sender<()>,
}

/// An exchange in a session.
pub(crate) struct Exchange {
    source: Source,
    method: Option<Method>,
    session: Arc<Session>,
}

enum Source {
    Carried(Box<Stream>),
    Local(Box<LocalStream>),
    /// What is known already.
    Ready(Option<Box<RawValue>>),
}

/// Opens a session.
///
/// # Errors
/// When the server refuses, cannot be reached, or speaks no revision up to `offer`.
pub(super) async fn handshake(
    core: &Core,
    transport: Transport,
    offer: Revision,
) -> Result<Arc<Session>, Error> {
    let ears = Ears::new(core);
    let carrier = Carrier::begin(&core.link, transport, &ears).await?;
    let agreed = agree_on(core, &carrier, &ears, offer).await;
    let (revision, answered) = match agreed {
        Ok(agreed) => agreed,
        Err(error) => {
            carrier.close().await;
            return Err(error);
        }
    };
    let session = Arc::new(Session {
        carrier: Arc::new(carrier),
        revision,
        ears,
        discovered: Arc::new(answered.into_discovered()),
        idle: core.idle,
        watched: Arc::default(),
        task: std::sync::OnceLock::new(),
        listening: OnceCell::new(),
        life: watch::Sender::new(()),
    });
    // Set once, here; nobody else has the session yet.
    let _ = session.task.set(answer::spawn(&session));
    session.carrier.listen();
    if let Some(level) = core.log_level.filter(|_| session.discovered.capabilities.logging.is_some()) {
        // A server that does not answer this is none that cannot be used.
        let set = timeout(core.limits.probe_time, session.set_level(level)).await;
        if set.is_err() {
            tracing::warn!(server = %core.name, "the server does not answer {}", name::SET_LEVEL);
        }
    }
    Ok(session)
}

/// The handshake itself: the revision that both sides speak from now on, and what the server said.
async fn agree_on(
    core: &Core,
    carrier: &Carrier,
    ears: &Ears,
    offer: Revision,
) -> Result<(Revision, InitializeResult), Error> {
    let params = initialize(core, offer)?;
    let asked = tokio::select! {
        biased;
        asked = ask(carrier, (name::INITIALIZE, &params), true) => asked?,
        () = answer::until_open(carrier, ears) => return Err(Error::server_fault("the session has ended")),
    };
    let answered: InitializeResult = serde_json::from_str(asked.get()).map_err(|error| {
        Error::server_fault(format!("the server's answer to {} is invalid: {error}", name::INITIALIZE))
    })?;
    let revision = agree(offer, &answered.protocol_version).map_err(|disagreement| {
        Error::new(Kind::Incompatible, Delivery::Rejected, disagreement.to_string())
            .offering(vec![answered.protocol_version.clone()])
            .hint("update the older of the two")
    })?;
    carrier.agreed(revision);
    ears.open(revision);
    notify(carrier, name::INITIALIZED, None).await.map_err(|error| refused_open(core, error))?;
    Ok((revision, answered))
}

/// A server that answered the handshake is there: that it refuses what follows is no evidence of another era.
fn refused_open(core: &Core, error: Error) -> Error {
    if error.http_status().is_none() || core.evidence(&error).verdict() == Verdict::None {
        return error;
    }
    let why =
        format!("the server answered the handshake and refused {}: {}", name::INITIALIZED, error.cause());
    Error::server_fault(why).delivered(Delivery::Rejected)
}

/// What this client says about itself in a handshake.
fn initialize(core: &Core, offer: Revision) -> Result<Initialize<'static>, Error> {
    let unreadable = |error: serde_json::Error| {
        Error::misuse(format!("the client's own description cannot be read: {error}"))
    };
    let identity = &core.identity;
    let mut capabilities: ClientCapabilities =
        serde_json::from_str(identity.capabilities.get()).map_err(unreadable)?;
    if let Some(roots) = &mut capabilities.roots {
        roots.insert("listChanged".to_owned(), true.into());
    }
    let info = match &identity.info {
        Some(info) => Implementation::deserialize(&**info).map_err(unreadable)?,
        None => Implementation::new("switchboard-client", env!("CARGO_PKG_VERSION")),
    };
    Ok(Initialize {
        protocol_version: offer.date().into(),
        capabilities: capability::of_client(capabilities, offer),
        client_info: capability::identity(info, offer),
    })
}

/// A request of the session itself.
async fn ask(
    carrier: &Carrier,
    (method, params): (&str, &(impl Serialize + Sync)),
    unannounced: bool,
) -> Result<Box<RawValue>, Error> {
    let encode = |id: &RequestId, out: &mut Vec<u8>| frame::encode_request(out, id, method, params);
    let mut stream = carrier.open(&opening(&encode, unannounced, false)).await?;
    loop {
        if let Said::Result(result) = stream.next().await? {
            return Ok(result);
        }
    }
}

pub(super) async fn notify(carrier: &Carrier, method: &str, params: Option<&RawValue>) -> Result<(), Error> {
    let mut message = Vec::new();
    frame::encode_notification(&mut message, method, params.as_ref())
        .map_err(|error| Error::misuse(format!("the parameters cannot be written as JSON: {error}")))?;
    carrier.send(message).await
}

fn opening<'a>(encode: &'a Encode<'a>, unannounced: bool, progress: bool) -> Opening<'a> {
    Opening { headers: HeaderMap::new(), encode, progress, log: false, listen: false, unannounced }
}

impl Session {
    pub(super) fn is_over(&self) -> bool {
        self.carrier.is_over()
    }

    /// Opens an exchange in this session.
    pub(super) async fn open(self: &Arc<Self>, ask: &Ask, run: &Run) -> Result<Exchange, Error> {
        let source = match ask.known {
            Some(Method::Discover) => Source::Ready(Some(self.described()?)),
            Some(Method::SubscriptionsListen) => Source::Local(Box::new(LocalStream::open(self, ask).await?)),
            known => {
                if let Some(method) = known.filter(|_| !ask.raw) {
                    self.check_offered(method)?;
                }
                if known.is_none_or(Method::allows_input_rounds) {
                    // Some servers ask on a stream that is not the request's, and on none if there is none yet.
                    self.listening.get_or_init(|| self.carrier.listening()).await;
                }
                Source::Carried(Box::new(self.carry(ask, run).await?))
            }
        };
        Ok(Exchange { source, method: ask.known, session: Arc::clone(self) })
    }

    async fn carry(&self, ask: &Ask, run: &Run) -> Result<Stream, Error> {
        let progress = run.on_progress.is_some();
        let features = Features::of(self.revision);
        let encode = |id: &RequestId, out: &mut Vec<u8>| {
            run.tell_id(id);
            let params = Params { ask, progress: progress.then_some(id), features };
            frame::encode_request(out, id, &ask.method, &params)
        };
        self.carrier.open(&opening(&encode, false, progress)).await
    }

    /// What the handshake said, as if the server had been discovered.
    fn described(&self) -> Result<Box<RawValue>, Error> {
        serde_json::value::to_raw_value(&*self.discovered)
            .map_err(|error| Error::misuse(format!("the server's description cannot be written: {error}")))
    }

    /// Only what was agreed on in the handshake may be used [spec: basic/lifecycle, Operation].
    fn check_offered(&self, method: Method) -> Result<(), Error> {
        let Some(lacking) = lacking(method, &self.discovered.capabilities, Features::of(self.revision))
        else {
            return Ok(());
        };
        let mut refusal = ProtocolError::method_not_found(method.name());
        refusal.message.push_str(&format!(" (the server declared no {lacking} in its handshake)"));
        Err(Error::protocol(refusal).delivered(Delivery::NotSent))
    }

    async fn set_level(&self, level: LoggingLevel) {
        #[derive(Serialize)]
        struct SetLevel {
            level: LoggingLevel,
        }
        if let Err(error) = self.ask(name::SET_LEVEL, &SetLevel { level }).await {
            tracing::warn!(%error, "the server does not take the level of its log messages");
        }
    }

    async fn ask(&self, method: &str, params: &(impl Serialize + Sync)) -> Result<Box<RawValue>, Error> {
        let asked = timeout(self.idle, ask(&self.carrier, (method, params), false)).await;
        asked.unwrap_or_else(|_| Err(Error::timeout(method, self.idle, true)))
    }

    /// Asks the server to watch a resource that somebody listens to, unless it does already.
    ///
    /// # Errors
    /// When it refuses, or cannot be asked.
    pub(super) async fn watch(&self, uri: &str) -> Result<(), Error> {
        self.watched.watch(uri, self.ask(name::SUBSCRIBE, &Watch { uri })).await
    }

    /// Nobody listens to these any more, as far as this listener is concerned. The server is told where
    /// somebody can wait for that.
    pub(super) fn unwatch(&self, uris: &[String]) {
        let left = self.watched.leave(uris);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if left.is_empty() || self.is_over() {
            return;
        }
        // The session itself is not held: it ends when nobody else uses it, whatever the server still owes.
        let (carrier, watched) = (Arc::clone(&self.carrier), Arc::clone(&self.watched));
        let mut life = self.life.subscribe();
        runtime.spawn(async move {
            tokio::select! {
                biased;
                _ = life.changed() => {}
                () = unwatch(&carrier, &watched, &left) => {}
            }
        });
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), Error> {
        notify(&self.carrier, method, params).await
    }

    /// Waits until the server says that a person is done at all of these addresses.
    pub(super) async fn urls_done(&self, ids: &[String]) {
        self.ears.urls.all_done(ids).await;
    }

    pub(super) async fn close(&self) {
        self.carrier.close().await;
        self.ears.end();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.ears.end();
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

#[derive(Serialize)]
struct Watch<'a> {
    uri: &'a str,
}

async fn unwatch(carrier: &Carrier, watched: &Watched, uris: &[String]) {
    for uri in uris {
        let params = Watch { uri };
        let ask = ask(carrier, (name::UNSUBSCRIBE, &params), false);
        match timeout(GOODBYE, watched.unwatch(uri, ask)).await {
            Ok(None | Some(Ok(_))) => {}
            _ => tracing::debug!("the server still watches a resource for nobody"),
        }
    }
}

/// The capability that a method needs and the server did not declare.
fn lacking(method: Method, offered: &ServerCapabilities, features: &Features) -> Option<&'static str> {
    let lacks = |name, there: bool| (!there).then_some(name);
    match method {
        Method::ListTools | Method::CallTool => lacks("tools", offered.tools.is_some()),
        Method::ListResources | Method::ListResourceTemplates | Method::ReadResource => {
            lacks("resources", offered.resources.is_some())
        }
        Method::ListPrompts | Method::GetPrompt => lacks("prompts", offered.prompts.is_some()),
        Method::Complete if features.completions_capability => {
            lacks("completions", offered.completions.is_some())
        }
        Method::Complete | Method::Discover | Method::SubscriptionsListen => None,
    }
}

impl Exchange {
    pub(crate) async fn next(&mut self) -> Result<Said, Error> {
        match &mut self.source {
            Source::Local(stream) => stream.next().await,
            Source::Ready(known) => match known.take() {
                Some(result) => Ok(Said::Result(result)),
                None => Err(Error::server_fault("the exchange had ended before")),
            },
            Source::Carried(stream) => match stream.next().await {
                Ok(Said::Result(result)) => self.modern(result),
                Ok(said) => Ok(said),
                Err(error) => self.required_urls(error),
            },
        }
    }

    /// The rule of the session that the server broke last, if it broke any.
    pub(crate) fn broken_rule(&self) -> Option<String> {
        match &self.source {
            Source::Carried(stream) => stream.broken_rule().or_else(|| self.session.ears.broken_rule()),
            Source::Local(_) | Source::Ready(_) => None,
        }
    }

    fn modern(&self, result: Box<RawValue>) -> Result<Said, Error> {
        let Some(method) = self.method else { return Ok(Said::Result(result)) };
        upgrade::result(method, result)
            .map(Said::Result)
            .map_err(|error| Error::server_fault(error.to_string()))
    }

    /// A refusal until the person has visited an address is a question in the modern model.
    fn required_urls(&self, error: Error) -> Result<Said, Error> {
        let asked = error.protocol_error().and_then(upgrade::required_urls);
        let may_ask =
            self.session.ears.inputs().has_url() && self.method.is_some_and(Method::allows_input_rounds);
        let Some(urls) = asked.filter(|_| may_ask) else { return Err(error) };
        self.session.ears.urls.expect(urls.keys());
        question(urls).map(Said::Result)
    }
}

fn question(urls: InputRequests) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(&InputRequiredResult::new(Some(urls), None))
        .map_err(|error| Error::misuse(format!("a question cannot be written as JSON: {error}")))
}
