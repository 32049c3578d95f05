//! The builder: everything that can be known at the start is checked there, all problems at once.
//!
//! The checks of single things are in `catalog/bind.rs`.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use switchboard_protocol::model::capability::{Icon, Implementation};

use crate::bus::ChangeBus;
use crate::call::Call;
use crate::catalog::{Catalog, Expose, Facts, Ground, Items, Terms};
use crate::entry::{Cache, Core};
use crate::hub::Hub;
use crate::limits::Limits;
use crate::linger::Lingering;
use crate::middleware::{CallService, Wrap, wrap};
use crate::prompt::Prompt;
use crate::reply::Reply;
use crate::resource::Resource;
use crate::seal::{Keys, Seal};
use crate::server::Server;
use crate::tool::Tool;
use crate::visible::{Caller, Item, Predicate};

/// Builds a [`Server`] whose handlers take their state from an `S`.
#[must_use = "nothing is served before `build`"]
pub struct Builder<S> {
    info: Implementation,
    instructions: Option<String>,
    items: Items<S>,
    layers: Vec<Wrap>,
    limits: Limits,
    keys: Option<Keys>,
    principals: Vec<TypeId>,
    list_cache: Cache,
    visible: Vec<Predicate>,
    bus: Option<Arc<dyn ChangeBus>>,
    #[cfg(feature = "legacy")]
    eras: crate::legacy::Eras,
}

impl<S> fmt::Debug for Builder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Server {
    /// Starts to build a server with this name and version.
    pub fn builder<S: Send + Sync + 'static>(
        name: impl Into<String>,
        version: impl Into<String>,
    ) -> Builder<S> {
        Builder {
            info: Implementation::new(name, version),
            instructions: None,
            items: Items::new(),
            layers: Vec::new(),
            limits: Limits::default(),
            keys: None,
            principals: Vec::new(),
            list_cache: Cache::default(),
            visible: Vec::new(),
            bus: None,
            #[cfg(feature = "legacy")]
            eras: crate::legacy::Eras::default(),
        }
    }
}

impl<S: Send + Sync + 'static> Builder<S> {
    /// What people call the server.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// What the server is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.info.description = Some(description.into());
        self
    }

    /// Where the server lives.
    pub fn website_url(mut self, url: impl Into<String>) -> Self {
        self.info.website_url = Some(url.into());
        self
    }

    /// What the server looks like.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.info.icons = Some(icons);
        self
    }

    /// Guidance for a language model that uses the server.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Exposes a tool.
    pub fn tool(self, tool: Tool<S>) -> Self {
        self.expose(tool)
    }

    /// Exposes a resource or a template.
    pub fn resource(self, resource: Resource<S>) -> Self {
        self.expose(resource)
    }

    /// Exposes a prompt.
    pub fn prompt(self, prompt: Prompt<S>) -> Self {
        self.expose(prompt)
    }

    /// Exposes whatever can be exposed.
    pub fn expose(mut self, item: impl Expose<S>) -> Self {
        item.expose(&mut self.items);
        self
    }

    /// Middleware around every call but `subscriptions/listen`; the layer added last runs first.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: tower_layer::Layer<CallService> + Send + 'static,
        L::Service: tower_service::Service<Call, Response = Reply, Error = std::convert::Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        <L::Service as tower_service::Service<Call>>::Future: Send,
    {
        self.layers.push(wrap(layer));
        self
    }

    /// The limits that every transport obeys.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The keys of sealed request states and cursors. Without them the process makes its own, which is
    /// right for stdio and for a single process, and refused on a public address.
    pub fn state_keys(mut self, keys: Keys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Says that an authenticator in front of the server puts a `Principal<P>` (and a
    /// [`CallerId`](crate::CallerId)) into the extensions of every request.
    pub fn authenticated<P: 'static>(mut self) -> Self {
        self.principals.push(TypeId::of::<P>());
        self
    }

    /// Shows items only to callers of whom this is true, as [`Tool::visible`] does for one: whatever there
    /// is, and whatever is put into the catalog later. All predicates must agree.
    ///
    /// ```
    /// use switchboard_server::{Item, Server, Tool};
    ///
    /// let server = Server::builder("demo", "1.0.0")
    ///     .tool(Tool::new("ping", async || "pong"))
    ///     .tool(Tool::new("admin.restart", async || "restarted"))
    ///     .visible(|caller, item| !item.name().starts_with("admin.") || caller.id() == Some("root"))
    ///     .build(())?;
    /// # Ok::<(), switchboard_server::BuildError>(())
    /// ```
    pub fn visible(
        mut self,
        predicate: impl Fn(&Caller<'_>, &Item<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible.push(Arc::new(predicate));
        self
    }

    /// For how long clients may keep the lists and the discovery, and who may share them. Where callers
    /// see different lists, nobody may: `build` refuses [`Cache::Public`] then.
    pub fn list_cache(mut self, cache: Cache) -> Self {
        self.list_cache = cache;
        self
    }

    /// A change bus of your own, for several replicas; the in-process one otherwise.
    pub fn bus(mut self, bus: impl ChangeBus) -> Self {
        self.bus = Some(Arc::new(bus));
        self
    }

    /// Which revisions the server speaks: all of them, unless said otherwise. There is an example at
    /// [`Eras`](crate::Eras).
    #[cfg(feature = "legacy")]
    pub fn eras(mut self, eras: crate::legacy::Eras) -> Self {
        self.eras = eras;
        self
    }

    /// Checks everything and makes the server.
    ///
    /// # Errors
    /// All that is wrong, at once.
    pub fn build(self, state: S) -> Result<Server, BuildError> {
        let mut problems = Vec::new();
        for (what, text) in [("name", &self.info.name), ("version", &self.info.version)] {
            if text.is_empty() {
                problems.push(format!("the server needs a {what}"));
            }
        }
        let has_keys = self.keys.is_some();
        let keys = self.keys.map_or_else(Keys::random, Ok).map_err(BuildError::of)?;
        let seal = Seal::new(&keys, &self.info.name, self.limits.request_state_bytes);
        let bus = self.bus.unwrap_or_else(|| Arc::new(Hub::new()));
        let lingering = Lingering::new(self.limits.concurrent_exchanges);
        let core = Core {
            bus,
            seal,
            lingering,
            #[cfg(feature = "legacy")]
            legacy: crate::legacy::Shared::new(self.eras, &self.limits.sessions),
            limits: self.limits,
        };
        let terms = Arc::new(Terms {
            core: Arc::new(core),
            principals: self.principals,
            visible: self.visible,
            list_cache: self.list_cache,
        });
        problems.extend(terms.problem());
        let ground = Ground { terms: Arc::clone(&terms), state: Arc::new(state) };
        let bindings = match self.items.bind(&ground) {
            Ok(bindings) => Some(bindings),
            Err(error) => {
                problems.extend(error.into_problems());
                None
            }
        };
        let stamp = serde_json::to_string(&self.info).map_err(|error| BuildError::of(error.to_string()))?;
        let facts = Facts { terms, stamp: stamp.into(), instructions: self.instructions, announces: true };
        match bindings {
            Some(bindings) if problems.is_empty() => {
                let catalog = Catalog::new(facts, bindings)?;
                Ok(Server::new(catalog, self.layers, has_keys))
            }
            _ => Err(BuildError { problems }),
        }
    }
}

/// Why a server could not be built: everything that is wrong, each with what to do about it.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    problems: Vec<String>,
}

impl BuildError {
    pub(crate) fn of(problem: impl Into<String>) -> Self {
        Self { problems: vec![problem.into()] }
    }

    pub(crate) fn unless_empty(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    pub(crate) fn into_problems(self) -> Vec<String> {
        self.problems
    }

    /// One sentence each.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(f, "the server cannot be built: {only}"),
            problems => {
                write!(f, "the server cannot be built, {} problems:", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
        }
    }
}

// `main` prints an error that it returns this way, so it is the text for a person here, too.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}
