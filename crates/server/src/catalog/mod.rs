//! What a server exposes, as immutable snapshots: a call sees one, a change swaps in the next.
//!
//! A snapshot holds its lists as bytes, so that listing costs a copy however many items there are.
//! `snapshot.rs` is one generation, `lists.rs` its pages and cursors, `items.rs` what goes in, `bind.rs`
//! the checks on the way.

mod bind;
mod items;
mod lists;
mod snapshot;

use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::build::BuildError;
use crate::bus::Change;
use crate::entry::{Cache, Core};
use crate::visible::Predicate;

pub(crate) use bind::{Exposed, Ground};
pub(crate) use items::Bindings;
pub use items::{Expose, Items};
pub(crate) use snapshot::Snapshot;

/// The things that a server exposes, while it runs. Cheap to clone.
///
/// Each change takes effect at once and as a whole: calls that are running keep what they started with,
/// and every subscriber hears which lists changed.
///
/// ```
/// use switchboard_server::{Server, Tool};
///
/// let server = Server::builder("demo", "1.0.0").build(())?;
/// server.catalog().insert(Tool::new("ping", async || "pong"))?;
/// assert!(server.catalog().remove_tool("ping"));
/// # Ok::<(), switchboard_server::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Catalog {
    shared: Arc<Shared>,
}

struct Shared {
    /// Held only to take or to put the pointer, never while anything is made or read.
    snapshot: RwLock<Arc<Snapshot>>,
    /// One change at a time.
    changing: Mutex<()>,
    facts: Facts,
}

/// What a snapshot is made with, besides its items.
pub(crate) struct Facts {
    pub(crate) terms: Arc<Terms>,
    /// The server's identity, as JSON text.
    pub(crate) stamp: Arc<str>,
    pub(crate) instructions: Option<String>,
    /// Whether changes reach anybody.
    pub(crate) announces: bool,
}

/// What every item of a server is held against and bound to.
pub(crate) struct Terms {
    pub(crate) core: Arc<Core>,
    /// The types of principal that there is an authenticator for.
    pub(crate) principals: Vec<TypeId>,
    /// What hides items from callers, besides their own predicates.
    pub(crate) visible: Vec<Predicate>,
    pub(crate) list_cache: Cache,
}

impl Terms {
    /// What is wrong with them.
    pub(crate) fn problem(&self) -> Option<String> {
        let is_public = matches!(self.list_cache, Cache::Public(_));
        (is_public && !self.visible.is_empty()).then(|| {
            "callers do not see the same lists, so lists must not be cached publicly; give list_cache a \
             Cache::Private"
                .to_owned()
        })
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("snapshot", &self.load()).finish()
    }
}

impl Catalog {
    pub(crate) fn new(facts: Facts, bindings: Bindings) -> Result<Self, BuildError> {
        let snapshot = Snapshot::new(&facts, bindings, None)?;
        let shared = Shared { snapshot: RwLock::new(Arc::new(snapshot)), changing: Mutex::new(()), facts };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.shared.facts
    }

    pub(crate) fn load(&self) -> Arc<Snapshot> {
        Arc::clone(&self.shared.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an item, or puts it in the place of the one with the same name. Give an item with a state of
    /// its own through [`Items::with_state`] and [`Catalog::insert_all`].
    ///
    /// # Errors
    /// What is wrong with the item; nothing has changed then.
    pub fn insert(&self, item: impl Expose<()>) -> Result<(), BuildError> {
        self.insert_all(Items::new().with(item))
    }

    /// Adds several items in one change, each in the place of the one with the same name.
    ///
    /// # Errors
    /// What is wrong with any of them; nothing has changed then.
    pub fn insert_all(&self, items: Items<()>) -> Result<(), BuildError> {
        let new = self.bind(items)?;
        self.change(|bindings| bindings.merge(new))
    }

    /// Puts these items in the place of everything that is there, in one change.
    ///
    /// # Errors
    /// What is wrong with any of them; nothing has changed then.
    pub fn replace_all(&self, items: Items<()>) -> Result<(), BuildError> {
        let new = self.bind(items)?;
        self.change(|bindings| *bindings = new)
    }

    /// Removes a tool; whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(|bindings| remove(&mut bindings.tools, name))
    }

    /// Removes a resource by its URI, or a template by its text; whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(|bindings| remove(&mut bindings.resources, uri) | remove(&mut bindings.templates, uri))
    }

    /// Removes a prompt; whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(|bindings| remove(&mut bindings.prompts, name))
    }

    fn bind(&self, items: Items<()>) -> Result<Bindings, BuildError> {
        items.bind(&Ground { terms: Arc::clone(&self.shared.facts.terms), state: Arc::new(()) })
    }

    fn remove(&self, remove: impl FnOnce(&mut Bindings) -> bool) -> bool {
        let mut removed = false;
        let done = self.change(|bindings| removed = remove(bindings));
        removed && done.is_ok()
    }

    fn change(&self, change: impl FnOnce(&mut Bindings)) -> Result<(), BuildError> {
        let guard = self.shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.load();
        let mut bindings = before.bindings().clone();
        change(&mut bindings);
        let after = Arc::new(Snapshot::new(&self.shared.facts, bindings, Some(&before))?);
        *self.shared.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&after);
        drop(guard);
        for (changed, change) in after.changes_since(&before) {
            if changed {
                self.shared.facts.terms.core.bus.publish(change);
            }
        }
        Ok(())
    }
}

fn remove(items: &mut Vec<Arc<Exposed>>, name: &str) -> bool {
    let before = items.len();
    items.retain(|item| item.name != name);
    items.len() < before
}

/// Which lists a change is about, in the order in which they are announced.
pub(crate) type Changed = [(bool, Change); 3];
