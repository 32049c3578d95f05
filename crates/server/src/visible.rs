//! Who sees what: predicates over the caller and the item.
//!
//! What a caller does not see is absent for it, everywhere and in the same words: in lists, calls, reads,
//! completions and subscriptions. Where to look next: `catalog/snapshot.rs` asks, `catalog/lists.rs`
//! leaves out.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use http::Extensions;
use switchboard_protocol::Revision;
use switchboard_protocol::model::capability::Implementation;

use crate::call::{Call, CallMeta};
use crate::entry::Core;
use crate::extract::Principal;

/// Who makes a request, as far as the server knows.
///
/// ```
/// use switchboard_server::{Caller, Item, Server, Tool};
///
/// #[derive(Clone)]
/// struct User {
///     admin: bool,
/// }
///
/// fn admins(caller: &Caller<'_>, _item: &Item<'_>) -> bool {
///     caller.principal::<User>().is_some_and(|user| user.admin)
/// }
///
/// let server = Server::builder("demo", "1.0.0")
///     .authenticated::<User>()
///     .tool(Tool::new("ping", async || "pong"))
///     .tool(Tool::new("restart", async || "restarted").visible(admins))
///     .build(())?;
/// # Ok::<(), switchboard_server::BuildError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    extensions: &'a Extensions,
    meta: &'a CallMeta,
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl<'a> Caller<'a> {
    pub(crate) fn of(call: &'a Call) -> Self {
        Self { extensions: &call.extensions, meta: &call.meta }
    }

    /// The principal that the authenticator found, if it is of this type; see [`Principal`].
    #[must_use]
    pub fn principal<P: Clone + Send + Sync + 'static>(&self) -> Option<&'a P> {
        self.extension::<Principal<P>>().map(|Principal(principal)| principal)
    }

    /// The authenticated identity; see [`CallerId`](crate::CallerId).
    #[must_use]
    pub fn id(&self) -> Option<&'a str> {
        Core::caller(self.extensions)
    }

    /// What the transport or the middleware put into the extensions of the request: over HTTP the head of
    /// the request among it, as `http::request::Parts`.
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<&'a T> {
        self.extensions.get::<T>()
    }

    /// Who the client says it is. Self-reported: good for what suits a client, never for what it may do.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        self.meta.client_info()
    }

    /// The revision that the request is written in.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.meta.revision
    }
}

/// Something that may be seen or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// The tool with this name.
    Tool(&'a str),
    /// The resource at this URI.
    Resource(&'a str),
    /// The resource template with this text. Its resources are seen, or not, all together.
    Template(&'a str),
    /// The prompt with this name.
    Prompt(&'a str),
}

impl<'a> Item<'a> {
    /// The name, the URI, or the text of the template.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            Self::Tool(name) | Self::Resource(name) | Self::Template(name) | Self::Prompt(name) => name,
        }
    }
}

/// Whether a caller sees an item. To be quick: it is asked for every item of a list.
pub(crate) type Predicate = Arc<dyn Fn(&Caller<'_>, &Item<'_>) -> bool + Send + Sync>;

/// Whether all agree that the caller sees the item. A predicate that panics hides it.
pub(crate) fn all_agree(predicates: &[Predicate], caller: &Caller<'_>, item: &Item<'_>) -> bool {
    predicates.iter().all(|predicate| {
        catch_unwind(AssertUnwindSafe(|| predicate(caller, item))).unwrap_or_else(|_| {
            tracing::error!(?item, "a predicate of visibility panicked; the item is hidden");
            false
        })
    })
}
