//! The legacy era at the edge of the server: a handshake opens a session, and the server asks in requests
//! of its own.
//!
//! Nothing behind this folder knows of it. A legacy request becomes a [`Call`](crate::Call) like any other,
//! with what its session agreed on in place of what a modern request says about itself; the reply is
//! written as the session's revision has it. Where a handler asks, the questions go out as requests and the
//! call is dispatched again with the answers. Deleting this folder and the lines behind
//! `cfg(feature = "legacy")` ends the era.
//!
//! Where to look next: `eras.rs` says who is served, `handshake.rs` opens a session, `session.rs` is what
//! changes in one, `request.rs` takes a request, `exchange.rs` runs it, `encode.rs` writes the answer;
//! `pipe.rs` is what a connection of pipes keeps, `limits.rs` how much a session may cost.

mod batch;
mod encode;
mod eras;
mod exchange;
mod handshake;
#[cfg(feature = "serve")]
pub(crate) mod http;
mod limits;
mod lists;
mod pipe;
mod request;
mod room;
mod session;
mod watch;

pub use eras::Eras;
pub use limits::SessionLimits;

pub(crate) use batch::split as split_batch;
#[cfg(feature = "serve")]
pub(crate) use encode::error;
pub(crate) use exchange::{Event, Exchange};
#[cfg(feature = "serve")]
pub(crate) use handshake::{Terms, before_the_session, initialize};
pub(crate) use pipe::Peer;
pub(crate) use request::Step;
#[cfg(feature = "serve")]
pub(crate) use request::dispatch;
pub(crate) use session::Session;

use std::sync::Arc;

use switchboard_protocol::ProtocolError;
use switchboard_protocol::model::capability::{ListCapability, ServerCapabilities};
use switchboard_protocol::model::subscription::SubscriptionFilter;

use crate::call::Call;
use crate::catalog::Snapshot;
use crate::resource::not_found;
use crate::server::Server;
use crate::visible::Caller;
use lists::Lists;
use room::Room;

/// What a server has for the legacy era, next to everything else that its parts share.
pub(crate) struct Shared {
    /// Who is served.
    pub(crate) eras: Eras,
    lists: Lists,
    /// For what sessions are subscribed to.
    room: Arc<Room>,
}

impl Shared {
    pub(crate) fn new(eras: Eras, limits: &SessionLimits) -> Self {
        Self { eras, lists: Lists::default(), room: Room::new(limits.subscribed_bytes) }
    }
}

impl Server {
    /// What the server has for the legacy era.
    pub(crate) fn legacy(&self) -> &Shared {
        &self.catalog().facts().terms.core.legacy
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.catalog().load()
    }

    /// What the server can do, and its guidance.
    fn discovered(&self) -> (ServerCapabilities, Option<String>) {
        (self.snapshot().capabilities().clone(), self.catalog().facts().instructions.clone())
    }

    /// Whether changes of the contents of resources are announced.
    fn takes_subscriptions(&self) -> bool {
        let snapshot = self.snapshot();
        snapshot.capabilities().resources.as_ref().is_some_and(|has| has.subscribe == Some(true))
    }

    /// The lists whose changes are announced.
    fn announced(&self) -> SubscriptionFilter {
        let snapshot = self.snapshot();
        let ServerCapabilities { tools, prompts, resources, .. } = snapshot.capabilities();
        let of = |list: &Option<ListCapability>| list.as_ref()?.list_changed.filter(|is| *is);
        SubscriptionFilter {
            tools_list_changed: of(tools),
            prompts_list_changed: of(prompts),
            resources_list_changed: resources.as_ref().and_then(|has| has.list_changed).filter(|is| *is),
            resource_subscriptions: None,
        }
    }

    /// Looks up the resource that a call names, as reading it would.
    fn find_resource(&self, call: &Call) -> Result<(), ProtocolError> {
        let found = self.snapshot().resource(call.name(), &Caller::of(call)).is_some();
        if found { Ok(()) } else { Err(not_found(call.name(), "Resource not found")) }
    }
}
