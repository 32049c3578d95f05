//! The server: immutable, shared, and the one place where a call finds its handler.
//!
//! It knows no transport. Where to look next: `build.rs` makes one, `catalog` holds what it exposes.

use std::fmt;
use std::sync::Arc;

use switchboard_protocol::error::Origin;
use switchboard_protocol::{ProtocolError, RequestId};

use crate::bus::{ChangeBus, Notifier};
use crate::call::Call;
use crate::exchange::{Dispatch, Exchange, Guard};
use crate::limits::Limits;
use crate::reply::Reply;

/// A running server. Cloning costs one reference count.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    stamp: Arc<str>,
    limits: Limits,
    bus: Arc<dyn ChangeBus>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("info", &self.inner.stamp).finish_non_exhaustive()
    }
}

impl Server {
    /// Runs a call, or answers it at once.
    #[must_use]
    pub fn dispatch(&self, call: Call) -> Dispatch {
        let _ = |call: Call, id: RequestId| {
            Exchange::new(
                id,
                Box::pin(async { Reply::tool_error("") }),
                call.outbox,
                (Guard { method: call.method, timeout: None }, Arc::clone(&self.inner.stamp)),
            )
        };
        Dispatch::Ready(Reply::error(ProtocolError::method_not_found(call.method.name()), Origin::Handler))
    }

    /// The limits that every transport obeys.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// Whether sealed tokens outlive this process: keys were given to the builder. A public address needs
    /// that, or one replica only.
    #[cfg(feature = "serve")]
    pub(crate) fn has_state_keys(&self) -> bool {
        false
    }

    /// Where changes are published and subscribed to.
    #[must_use]
    pub fn bus(&self) -> &Arc<dyn ChangeBus> {
        &self.inner.bus
    }

    /// Announces changes from outside a request.
    #[must_use]
    pub fn notifier(&self) -> Notifier {
        Notifier::new(Arc::clone(&self.inner.bus))
    }

    /// The server's identity as the JSON text that goes under `io.modelcontextprotocol/serverInfo`.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.inner.stamp
    }
}
