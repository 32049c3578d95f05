//! The server: immutable, shared, and the one place where a call finds its handler.
//!
//! It knows no transport. Where to look next: `build.rs` makes one, `catalog` holds what it exposes,
//! `exchange.rs` runs what is found here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use switchboard_protocol::ProtocolError;
use switchboard_protocol::error::Origin;
use switchboard_protocol::http::METHOD;
use switchboard_protocol::model::completion::CompletionReference;

use crate::bus::{ChangeBus, Notifier};
use crate::call::{Call, Params};
use crate::catalog::{Catalog, Exposed, Facts};
use crate::entry::Bound;
use crate::exchange::{Dispatch, Exchange, Guard, ListenRequest, ReplyFuture};
use crate::handler::Run;
use crate::into_reply::{IntoReply, Suggestions};
use crate::limits::Limits;
use crate::linger::{Graced, Lingering, Spawned};
use crate::listen::Slots;
use crate::middleware::{CallService, Wrap, stack};
use crate::outbox::Outbox;
use crate::output;
use crate::reply::{Reply, ReplyBody};
use crate::resource::not_found;
use crate::rounds;
use crate::visible::Caller;

/// A running server: immutable, and cheap to clone. It serves any number of callers on any number of
/// transports at the same time.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    router: Arc<Router>,
    /// The whole server with middleware around it, if it has any.
    layered: Option<CallService>,
    has_keys: bool,
    /// The subscriptions that may be open at the same time, over all transports.
    listens: Slots,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("info", &self.identity()).finish_non_exhaustive()
    }
}

impl Server {
    pub(crate) fn new(catalog: Catalog, layers: Vec<Wrap>, has_keys: bool) -> Self {
        let router = Arc::new(Router { catalog });
        let leaf: Arc<dyn Run> = Arc::clone(&router) as Arc<dyn Run>;
        let listens = Slots::new(router.catalog.facts().terms.core.limits.listen_streams);
        Self { inner: Arc::new(Inner { router, layered: stack(&leaf, layers), has_keys, listens }) }
    }

    fn facts(&self) -> &Facts {
        self.inner.router.catalog.facts()
    }

    /// Runs a call, or answers it at once.
    ///
    /// Handlers run when the exchange is polled, within a tokio runtime whose clock is on.
    #[must_use]
    pub fn dispatch(&self, mut call: Call) -> Dispatch {
        let Inner { router, layered, .. } = &*self.inner;
        let Facts { terms, stamp, .. } = self.facts();
        let core = &terms.core;
        if let Params::Listen { filter } = &mut call.params {
            let wanted = std::mem::take(filter);
            let caller = Caller::of(&call);
            let filter = router.catalog.load().grant(wanted, (&caller, core.limits.listen_uris));
            return Dispatch::Listen(ListenRequest { id: call.into_parts().id, filter });
        }
        let (token, level) = (&call.meta.progress_token, call.meta.log_level);
        // The adapter of another era brings its own.
        if call.outbox.is_none() && (token.is_some() || level.is_some()) {
            call.outbox = Some(Arc::new(Outbox::new(token.clone(), level, &core.limits)));
        }
        let (id, outbox, method) = (call.id.clone(), call.outbox.clone(), call.method);
        let (future, timeout) = match layered {
            None => match router.route(call) {
                Route::Ready(reply) => return Dispatch::Ready(reply.stamped(stamp)),
                Route::Run(future, timeout) => (future, timeout),
            },
            Some(service) => {
                let timeout = router.timeout(&call);
                (service.run(call), timeout)
            }
        };
        Dispatch::Running(Exchange::new(id, future, outbox, (Guard { method, timeout }, Arc::clone(stamp))))
    }

    /// What the server exposes, to change it while it runs.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.inner.router.catalog
    }

    /// The limits that every transport obeys.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.facts().terms.core.limits
    }

    /// The handlers that go on after their exchange, for whoever ends the process.
    pub(crate) fn lingering(&self) -> &Lingering {
        &self.facts().terms.core.lingering
    }

    /// The places of subscriptions, which every transport takes from.
    pub(crate) fn listens(&self) -> &Slots {
        &self.inner.listens
    }

    /// What seals the tokens of this server.
    #[cfg(all(feature = "legacy", feature = "serve"))]
    pub(crate) fn seal(&self) -> &crate::seal::Seal {
        &self.facts().terms.core.seal
    }

    /// Whether sealed tokens outlive this process: keys were given to the builder. A public address needs
    /// that, or one replica only.
    #[must_use]
    pub fn has_state_keys(&self) -> bool {
        self.inner.has_keys
    }

    /// Where changes are published and subscribed to.
    #[must_use]
    pub fn bus(&self) -> &Arc<dyn ChangeBus> {
        &self.facts().terms.core.bus
    }

    /// Announces changes from outside a request.
    #[must_use]
    pub fn notifier(&self) -> Notifier {
        Notifier::new(Arc::clone(self.bus()))
    }

    /// The server's identity as the JSON text that goes under `io.modelcontextprotocol/serverInfo`.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.facts().stamp
    }
}

/// Finds the handler of a call.
struct Router {
    catalog: Catalog,
}

enum Route {
    Ready(Reply),
    Run(ReplyFuture, Option<Duration>),
}

impl Run for Router {
    fn run(&self, call: Call) -> ReplyFuture {
        match self.route(call) {
            Route::Ready(reply) => Box::pin(std::future::ready(reply)),
            Route::Run(future, _) => future,
        }
    }
}

impl Router {
    fn route(&self, mut call: Call) -> Route {
        let facts = self.catalog.facts();
        let snapshot = self.catalog.load();
        let caller = Caller::of(&call);
        if !snapshot.serves(call.method) {
            return refuse(ProtocolError::method_not_found(call.method.name()), Origin::Transport);
        }
        match &call.params {
            Params::Discover => Route::Ready(ReplyBody::Prepared(snapshot.discovery()).into()),
            Params::List { cursor } => {
                match snapshot.page(call.method, cursor.as_deref(), (&caller, facts)) {
                    Ok(page) => Route::Ready(ReplyBody::Prepared(page).into()),
                    Err(error) => refuse(error, Origin::Handler),
                }
            }
            Params::CallTool(target) => match snapshot.tool(&target.name, &caller) {
                Some(tool) => enter(tool, call),
                None => unknown("tool", &target.name),
            },
            Params::GetPrompt(target) => match snapshot.prompt(&target.name, &caller) {
                Some(prompt) => enter(prompt, call),
                None => unknown("prompt", &target.name),
            },
            Params::ReadResource(target) => match snapshot.resource(&target.name, &caller) {
                Some(found) => {
                    call.vars = found.vars;
                    enter(found.exposed, call)
                }
                None => refuse(not_found(&target.name, "Resource not found"), Origin::Handler),
            },
            Params::Complete(completing) => match snapshot.completed(&completing.reference, &caller) {
                Some(exposed) => complete(exposed, call),
                None => match &completing.reference {
                    CompletionReference::Prompt { name, .. } => unknown("prompt", name),
                    CompletionReference::Resource { uri } => unknown("resource template", uri),
                },
            },
            // `dispatch` has taken those; a layer cannot make another.
            Params::Listen { .. } => refuse(ProtocolError::internal("Not a call"), Origin::Handler),
        }
    }

    /// How long the handler of a call may take.
    fn timeout(&self, call: &Call) -> Option<Duration> {
        let snapshot = self.catalog.load();
        let caller = Caller::of(call);
        let exposed = match &call.params {
            Params::CallTool(target) => snapshot.tool(&target.name, &caller),
            Params::GetPrompt(target) => snapshot.prompt(&target.name, &caller),
            Params::ReadResource(target) => {
                snapshot.resource(&target.name, &caller).map(|found| found.exposed)
            }
            Params::Complete(completing) => snapshot.completed(&completing.reference, &caller),
            Params::Discover | Params::List { .. } | Params::Listen { .. } => None,
        };
        let limits = &self.catalog.facts().terms.core.limits;
        exposed.map_or(limits.handler_timeout, |exposed| exposed.bound.timeout())
    }
}

/// Binds a call to what it reached, opens its input round, and starts the handler.
fn enter(exposed: &Exposed, mut call: Call) -> Route {
    if let Err(error) = check_headers(exposed, &call) {
        return refuse(error, Origin::Transport);
    }
    call.bound = Some(Arc::clone(&exposed.bound));
    if exposed.bound.entry.rounds
        && let Err(reply) = rounds::open(&mut call, &exposed.bound)
    {
        return Route::Ready(reply);
    }
    Route::Run(start(exposed, call), exposed.bound.timeout())
}

/// The handler with its own middleware, in the way in which its tool wants to be run.
fn start(exposed: &Exposed, mut call: Call) -> ReplyFuture {
    let Bound { core, entry } = &*exposed.bound;
    let graced = entry.grace.map(|grace| (grace, call.alive.follow()));
    let mut future = match &exposed.service {
        None => exposed.run.run(call),
        Some(service) => service.run(call),
    };
    if entry.output.is_some() {
        future = Box::pin(output::conforming(future, Arc::clone(&exposed.bound)));
    }
    if entry.spawned {
        future = Box::pin(Spawned::Waiting(future));
    }
    if let Some((grace, alive)) = graced {
        future = Box::pin(Graced::new(future, alive, (grace, Arc::clone(&core.lingering))));
    }
    future
}

/// Compares the headers that repeat arguments with the arguments, where the call came over HTTP
/// [spec: server/tools, x-mcp-header].
fn check_headers(exposed: &Exposed, call: &Call) -> Result<(), ProtocolError> {
    if exposed.headers.is_empty() {
        return Ok(());
    }
    let parts = call.extensions.get::<http::request::Parts>();
    // Without the header that every modern request has, it is a request of a session, and repeats nothing.
    let Some(parts) = parts.filter(|parts| parts.headers.contains_key(&METHOD)) else { return Ok(()) };
    let arguments: &RawValue = serde_json::from_slice(call.arguments())
        .map_err(|error| ProtocolError::invalid_params(format!("Invalid params: arguments: {error}")))?;
    exposed.headers.check(&parts.headers, arguments).map_err(ProtocolError::from)
}

fn complete(exposed: &Exposed, mut call: Call) -> Route {
    let Params::Complete(completing) = &call.params else {
        return refuse(ProtocolError::internal("Not a completion"), Origin::Handler);
    };
    let argument = &completing.argument;
    if !exposed.arguments.contains(argument) {
        let message = format!("{:?} has no argument {argument:?}", exposed.name);
        return refuse(ProtocolError::invalid_params(message), Origin::Handler);
    }
    match exposed.completers.iter().find(|(name, _)| name == argument) {
        Some((_, run)) => {
            call.bound = Some(Arc::clone(&exposed.bound));
            Route::Run(run.run(call), exposed.bound.timeout())
        }
        None => Route::Ready(Suggestions::default().into_reply(&call)),
    }
}

#[cold]
fn refuse(error: ProtocolError, origin: Origin) -> Route {
    Route::Ready(Reply::error(error, origin))
}

#[cold]
fn unknown(what: &str, name: &str) -> Route {
    refuse(ProtocolError::invalid_params(format!("Unknown {what}: {name}")), Origin::Handler)
}
