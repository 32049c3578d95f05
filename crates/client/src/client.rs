//! The client: a cheap clone, from which requests are made.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_protocol::frame;
use switchboard_protocol::meta::SERVER_INFO;
use switchboard_protocol::model::capability::{Implementation, ServerCapabilities};
use switchboard_protocol::model::completion::{
    CompleteResult, CompletionArgument, CompletionContext, CompletionReference,
};
use switchboard_protocol::model::discover::DiscoverResult;
use switchboard_protocol::model::prompt::{GetPromptResult, Prompt};
use switchboard_protocol::model::resource::{ReadResourceResult, Resource, ResourceTemplate};
use switchboard_protocol::model::subscription::SubscriptionFilter;
use switchboard_protocol::model::tool::{CallToolResult, InvalidTool, Tool};
use switchboard_protocol::{Method, Revision};
use tokio::time::timeout;

use crate::builder::ClientBuilder;
use crate::core::{Core, closed};
use crate::error::{CallError, Error};
use crate::list::{Prompts, ResourceTemplates, Resources};
use crate::listen::Changes;
use crate::params::Ask;
use crate::request::{self, Request};
use crate::verdict::EraVerdict;

/// A connection to one server. A cheap clone; any number of requests may be under way.
///
/// Nothing has to be kept alive for it to work, and nothing goes on when all clones are gone: a
/// child process is shut down then, too, but [`Client::close`] waits until that is done.
#[derive(Clone, Debug)]
pub struct Client(Arc<Core>);

impl Client {
    /// Starts to make one.
    #[must_use]
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self(core)
    }

    /// What errors and warnings call the server.
    #[must_use]
    pub fn server_name(&self) -> &str {
        &self.0.name
    }

    /// The revision that requests are sent in.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.learned.revision()
    }

    /// What was found out about the server's era, to be stored by the host.
    #[must_use]
    pub fn verdict(&self) -> EraVerdict {
        EraVerdict::now(self.revision(), self.0.uses_http_sse())
    }

    /// What the server said it can do; `None` if it was never asked, because of
    /// [`ClientBuilder::verdict`].
    #[must_use]
    pub fn capabilities(&self) -> Option<ServerCapabilities> {
        self.0.learned.discovered().map(|discovered| discovered.capabilities.clone())
    }

    /// What the server says it is. For display only.
    #[must_use]
    pub fn server_info(&self) -> Option<Implementation> {
        let discovered = self.0.learned.discovered()?;
        let info = discovered.meta.as_ref()?.get(SERVER_INFO)?;
        Implementation::deserialize(info).ok()
    }

    /// The server's guidance for a language model.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        self.0.learned.discovered()?.instructions.clone()
    }

    /// Tools that the server listed last and that are left out, with the reasons.
    #[must_use]
    pub fn excluded_tools(&self) -> Arc<[InvalidTool]> {
        self.0.learned.tools().map_or_else(|| Arc::from([]), |tools| Arc::clone(&tools.excluded))
    }

    /// Waits until the process or the pipe that it talks to now has ended, and says how. Over HTTP, where every
    /// request finds out anew, it waits for ever.
    pub async fn ended(&self) -> String {
        self.0.link.ended().await
    }

    /// The process that was started for it, if the server is one and runs.
    pub async fn process_id(&self) -> Option<u32> {
        self.0.link.process_id().await
    }

    /// Ends everything that is under way and shuts a child process down in order. Later requests
    /// fail without being sent.
    pub async fn close(&self) {
        self.0.closed.store(true, Ordering::Relaxed);
        #[cfg(feature = "legacy")]
        if let Some(keeper) = self.0.legacy.keeper() {
            keeper.close().await;
        }
        self.0.link.close().await;
    }
}

/// # Requests
impl Client {
    /// `tools/call`: the result as the tool gave it. Whether the tool failed is in the result; an
    /// error means that the call failed. `args` must serialise to an object, or to `null` for none.
    pub fn call(&self, name: impl Into<String>, args: &(impl Serialize + ?Sized)) -> Request<CallToolResult> {
        Request::new(&self.0, call(name.into(), args), request::call)
    }

    /// `tools/call`, decoded: from `structuredContent`, else from a JSON text, else from the text as a
    /// string; nothing at all is `()` or `None`. So `call_as::<String>` is the text of a tool that only
    /// has one.
    ///
    /// A tool that failed is [`CallError::Tool`]; a result that is no `O` is
    /// [`Error::is_unreadable`], and one that does not match the tool's own output schema is a fault
    /// of the server.
    pub fn call_as<O>(
        &self,
        name: impl Into<String>,
        args: &(impl Serialize + ?Sized),
    ) -> Request<O, CallError>
    where
        O: for<'de> Deserialize<'de> + 'static,
    {
        Request::new(&self.0, call(name.into(), args), request::call_as::<O>)
    }

    /// `tools/list`: all pages, without the tools whose definitions are invalid.
    pub fn tools(&self) -> Request<Arc<[Tool]>> {
        Request::new(&self.0, request::ask(Method::ListTools), request::tools)
    }

    /// `resources/list`: all pages.
    pub fn resources(&self) -> Request<Arc<[Resource]>> {
        Request::new(&self.0, request::ask(Method::ListResources), request::list::<Resources>)
    }

    /// `resources/templates/list`: all pages.
    pub fn resource_templates(&self) -> Request<Arc<[ResourceTemplate]>> {
        let ask = request::ask(Method::ListResourceTemplates);
        Request::new(&self.0, ask, request::list::<ResourceTemplates>)
    }

    /// `prompts/list`: all pages.
    pub fn prompts(&self) -> Request<Arc<[Prompt]>> {
        Request::new(&self.0, request::ask(Method::ListPrompts), request::list::<Prompts>)
    }

    /// `resources/read`.
    pub fn read(&self, uri: impl Into<String>) -> Request<ReadResourceResult> {
        Request::new(&self.0, Ask::new(Method::ReadResource).named("uri", uri.into()), request::read)
    }

    /// `prompts/get`. `args` must serialise to an object of strings, or to `null` for none.
    pub fn prompt(
        &self,
        name: impl Into<String>,
        args: &(impl Serialize + ?Sized),
    ) -> Request<GetPromptResult> {
        let ask = Ask::new(Method::GetPrompt).named("name", name.into());
        Request::new(&self.0, ask.and_then(|ask| ask.with_object("arguments", args)), request::complete)
    }

    /// `completion/complete`: values for the argument `name` of which `typed` was typed so far.
    pub fn complete(
        &self,
        of: &CompletionReference,
        name: &str,
        typed: &str,
        context: Option<&CompletionContext>,
    ) -> Request<CompleteResult> {
        let argument = CompletionArgument { name: name.into(), value: typed.into() };
        let ask = Ask::new(Method::Complete)
            .with("ref", of)
            .and_then(|ask| ask.with("argument", &argument))
            .and_then(|ask| ask.with("context", &context));
        Request::new(&self.0, ask, request::suggest)
    }

    /// `server/discover`.
    pub fn discover(&self) -> Request<DiscoverResult> {
        Request::new(&self.0, request::ask(Method::Discover), request::discover)
    }

    /// Any method with any parameters. The client adds its `_meta` and, over HTTP, the headers; the
    /// result is neither decoded nor kept, and a question in it is not answered.
    pub fn request_raw(
        &self,
        method: impl Into<String>,
        params: Option<&RawValue>,
    ) -> Request<Box<RawValue>> {
        Request::new(&self.0, Ask::raw(method.into(), params), request::unread)
    }

    /// A notification. The modern revision has none that a client would send over HTTP; servers take
    /// note of it with 202, 204 or 200.
    ///
    /// # Errors
    /// When it is refused, or the transport has no such messages.
    pub async fn notify_raw(&self, method: &str, params: Option<&RawValue>) -> Result<(), Error> {
        if self.0.closed.load(Ordering::Relaxed) {
            return Err(closed().at(&self.0.name));
        }
        #[cfg(feature = "legacy")]
        if self.0.is_legacy() {
            return self.0.notify_in_session(method, params).await.map_err(|error| error.at(&self.0.name));
        }
        let ask = Ask::raw(method.to_owned(), params)?;
        let mut message = Vec::new();
        frame::encode_notification(&mut message, method, params.as_ref())
            .map_err(|error| Error::misuse(format!("the parameters cannot be written as JSON: {error}")))?;
        let headers = self.0.standard_headers(&ask)?;
        let sent = timeout(self.0.idle, self.0.link.notify(headers, message)).await;
        sent.unwrap_or_else(|_| Err(Error::timeout(method, self.0.idle, true)))
            .map_err(|error| error.at(&self.0.name))
    }

    /// Tells a server in a legacy session that the roots have changed, so that it asks for them again. A
    /// modern server asks whenever it needs them, so there is nothing to tell.
    ///
    /// # Errors
    /// When the client has no [`ClientBuilder::on_roots`], or the server cannot be told.
    pub async fn roots_changed(&self) -> Result<(), Error> {
        if !self.0.inputs.has_roots() {
            return Err(Error::misuse("this client has no roots that could change")
                .hint("give it some with on_roots")
                .at(&self.0.name));
        }
        #[cfg(feature = "legacy")]
        if self.0.is_legacy() {
            return self.0.tell_roots_changed().await.map_err(|error| error.at(&self.0.name));
        }
        Ok(())
    }

    /// `subscriptions/listen`: changes as they happen, from the moment the server has agreed.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses. Later failures heal themselves, as
    /// [`Changes`] says.
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Changes, Error> {
        Box::pin(Changes::open(Arc::clone(&self.0), filter)).await
    }
}

fn call(name: String, args: &(impl Serialize + ?Sized)) -> Result<Ask, Error> {
    Ask::new(Method::CallTool).named("name", name)?.with_object("arguments", args)
}
