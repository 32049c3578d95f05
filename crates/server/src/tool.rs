//! `Tool`: a function that a model may call, and what is said about it.
//!
//! Nothing is checked here; `build()` (or the catalog) checks everything at once, in `bind.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use switchboard_protocol::meta::MetaObject;
use switchboard_protocol::model::capability::Icon;
use switchboard_protocol::model::tool::ToolAnnotations;

use crate::call::Call;
use crate::handler::{Erased, Handler, erase};
use crate::into_reply::ForTool;
use crate::middleware::{CallService, Wrap, wrap};
use crate::needs::Needs;
use crate::reply::Reply;
use crate::visible::{Caller, Item, Predicate};

/// A tool of a server whose state is `S`.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use switchboard_server::{Args, Tool};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     /// The first summand
///     a: i64,
///     /// The second summand
///     b: i64,
/// }
///
/// async fn add(Args(add): Args<Add>) -> String {
///     (add.a + add.b).to_string()
/// }
///
/// let tool: Tool = Tool::new("add", add).describe("Adds two integers").read_only();
/// ```
#[must_use = "a tool does nothing until a server has it"]
pub struct Tool<S = ()> {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) annotations: ToolAnnotations,
    pub(crate) icons: Option<Vec<Icon>>,
    pub(crate) meta: Option<MetaObject>,
    pub(crate) input_schema: Option<Value>,
    pub(crate) output_schema: Option<Value>,
    pub(crate) param_headers: Vec<(String, String)>,
    pub(crate) handler: Arc<dyn Erased<S>>,
    pub(crate) needs: Needs,
    pub(crate) timeout: Option<Duration>,
    pub(crate) grace: Option<Duration>,
    pub(crate) spawned: bool,
    pub(crate) visible: Vec<Predicate>,
    pub(crate) layers: Vec<Wrap>,
}

impl<S> fmt::Debug for Tool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> Tool<S> {
    /// A tool with this name (1 to 128 of `A-Z a-z 0-9 _ - .`) and this handler.
    pub fn new<M: 'static, H: Handler<M, S, ForTool>>(name: impl Into<String>, handler: H) -> Self {
        let mut needs = Needs::default();
        H::describe(&mut needs);
        Self {
            name: name.into(),
            title: None,
            description: None,
            annotations: ToolAnnotations::default(),
            icons: None,
            meta: None,
            input_schema: None,
            output_schema: None,
            param_headers: Vec::new(),
            handler: erase(handler),
            needs,
            timeout: None,
            grace: None,
            spawned: false,
            visible: Vec::new(),
            layers: Vec::new(),
        }
    }

    /// What the tool does, for a language model.
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// What the tool is called, for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The tool changes nothing.
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only_hint = Some(true);
        self
    }

    /// The tool may destroy something.
    pub fn destructive(mut self) -> Self {
        self.annotations.destructive_hint = Some(true);
        self
    }

    /// Calling the tool twice is like calling it once.
    pub fn idempotent(mut self) -> Self {
        self.annotations.idempotent_hint = Some(true);
        self
    }

    /// Whether the tool deals with the outside world.
    pub fn open_world(mut self, open: bool) -> Self {
        self.annotations.open_world_hint = Some(open);
        self
    }

    /// All hints at once.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// What the tool looks like.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.icons = Some(icons);
        self
    }

    /// Metadata of the definition.
    pub fn meta(mut self, meta: MetaObject) -> Self {
        self.meta = Some(meta);
        self
    }

    /// An input schema of your own, published as it is and enforced by the compiled validator, for
    /// handlers that take `Args<serde_json::Value>` or `Args<Box<RawValue>>`.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input_schema = Some(schema);
        self
    }

    /// An output schema of your own, published as it is and enforced by the compiled validator: a result
    /// that does not conform is logged, and the caller is told that the tool failed.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Repeats an argument as an HTTP header, `Mcp-Param-` and `header` [spec: server/tools,
    /// x-mcp-header]. The argument is a property, or a path of properties with `/` between them.
    pub fn param_header(mut self, argument: impl Into<String>, header: impl Into<String>) -> Self {
        self.param_headers.push((argument.into(), header.into()));
        self
    }

    /// How long one call may take, in place of [`Limits::handler_timeout`](crate::Limits::handler_timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Gives the handler this long to clean up once the exchange is over before its end: the client
    /// cancelled or left, or the time is up. [`Ctx::cancelled`](crate::Ctx::cancelled) resolves first; what
    /// the handler returns then goes nowhere. Without a grace, handlers are dropped at once.
    ///
    /// ```
    /// use std::time::Duration;
    /// use switchboard_server::{Ctx, Tool};
    ///
    /// async fn book(ctx: Ctx) -> &'static str {
    ///     tokio::select! {
    ///         () = std::future::ready(()) => "booked",
    ///         () = ctx.cancelled() => "the reservation was released",
    ///     }
    /// }
    ///
    /// let tool: Tool = Tool::new("book", book).grace(Duration::from_secs(5));
    /// ```
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Runs the handler in a task of its own, for one that computes for long without waiting: it keeps a
    /// thread busy then, but not the connection. Other handlers run where their answer is awaited. When
    /// the exchange is over the task is aborted, at the next point where it waits.
    pub fn spawned(mut self) -> Self {
        self.spawned = true;
        self
    }

    /// Shows the tool only to callers of whom this is true. For the others it does not exist: it is in no
    /// list, and calling it is calling an unknown tool. All that are given must agree. To be quick: it is
    /// asked for every list and every call. An example is at [`Caller`].
    pub fn visible(
        mut self,
        predicate: impl Fn(&Caller<'_>, &Item<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible.push(Arc::new(predicate));
        self
    }

    /// Middleware around this tool alone; the layer added last runs first.
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
}
