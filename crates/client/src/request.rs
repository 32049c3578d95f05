//! One request as a builder: options first, then `.await`.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_protocol::method::{Answer, MethodSpec, decode_result, spec};
use switchboard_protocol::model::completion::CompleteResult;
use switchboard_protocol::model::discover::DiscoverResult;
use switchboard_protocol::model::input::{InputRequiredResult, InputResponses};
use switchboard_protocol::model::notification::{LoggingLevel, Progress};
use switchboard_protocol::model::prompt::GetPromptResult;
use switchboard_protocol::model::resource::ReadResourceResult;
use switchboard_protocol::model::result::{CacheScope, deserialize_ttl_ms};
use switchboard_protocol::model::tool::{CallToolResult, Tool};
use switchboard_protocol::{Method, RequestId};

use crate::cache::{Hints, Key};
use crate::core::{Core, Run};
use crate::error::{CallError, Error};
use crate::list::{Fetched, Listing, Tools};
use crate::params::{Ask, Input};
use crate::structured;

type Work<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;
type Carry<T, E> = fn(Arc<Core>, Ask, Options) -> Work<T, E>;

/// A request that is sent when it is awaited, with options until then. Dropping the future cancels
/// the request.
///
/// | option | what it does |
/// |---|---|
/// | [`timeout`](Self::timeout) | ends it after this much silence; progress starts the clock anew |
/// | [`max_total`](Self::max_total) | ends it after this time, whatever is said |
/// | [`on_progress`](Self::on_progress) | asks for progress, and is told of it |
/// | [`on_id`](Self::on_id) | is told what the request is called on the wire |
/// | [`meta`](Self::meta) | adds a member to `_meta` |
/// | [`raw`](Self::raw) | gives the whole result as text |
/// | [`fresh`](Self::fresh) | asks the server although an answer is kept |
///
/// No clock runs while a person is being asked.
#[must_use = "a request is sent when it is awaited"]
pub struct Request<T, E = Error> {
    core: Arc<Core>,
    ask: Result<Ask, Error>,
    options: Options,
    carry: Carry<T, E>,
}

/// What was chosen for one request.
#[derive(Default)]
pub(crate) struct Options {
    idle: Option<Duration>,
    total: Option<Duration>,
    on_progress: Option<crate::core::ProgressFn>,
    on_id: Option<crate::core::IdFn>,
    on_input: Option<crate::core::InputFn>,
    log_level: Option<LoggingLevel>,
    fresh: bool,
    /// Questions are shown, not answered.
    once: bool,
    input: Input,
}

impl Options {
    fn run(&self, core: &Core) -> Run {
        let clocks = (self.idle.unwrap_or(core.idle), self.total.unwrap_or(core.total));
        let run = Run::new(clocks, self.log_level.or(core.log_level));
        Run {
            on_progress: self.on_progress.clone(),
            on_id: self.on_id.clone(),
            on_input: self.on_input.clone(),
            ..run
        }
    }

    /// Whether the answer is what anybody would get who asks the same.
    fn is_plain(&self, ask: &Ask) -> bool {
        ask.meta.is_empty() && self.on_progress.is_none() && self.log_level.is_none() && self.input.is_empty()
    }
}

impl<T, E: From<Error>> Request<T, E> {
    pub(crate) fn new(core: &Arc<Core>, ask: Result<Ask, Error>, carry: Carry<T, E>) -> Self {
        Self { core: Arc::clone(core), ask, options: Options::default(), carry }
    }

    /// Ends the request after this much silence. Progress starts the clock anew.
    pub fn timeout(mut self, idle: Duration) -> Self {
        self.options.idle = Some(idle);
        self
    }

    /// Ends the request after this time, whatever is said meanwhile.
    pub fn max_total(mut self, total: Duration) -> Self {
        self.options.total = Some(total);
        self
    }

    /// Asks the server to report progress, and hears of it.
    pub fn on_progress(mut self, hear: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.options.on_progress = Some(Arc::new(hear));
        self
    }

    /// Hears the id of every message that carries this request, right before it is sent, so that what a tap
    /// ([`crate::ClientBuilder::on_wire`]) sees can be told apart. It must not block.
    pub fn on_id(mut self, hear: impl Fn(&RequestId) + Send + Sync + 'static) -> Self {
        self.options.on_id = Some(Arc::new(hear));
        self
    }

    /// Asks for log messages of this severity and above, for this request only. A session with a legacy server
    /// has one level for all, that of the client.
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.options.log_level = Some(level);
        self
    }

    /// Adds a member to `_meta`. Members that the protocol itself sets cannot be replaced.
    pub fn meta(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        if let Ok(ask) = &mut self.ask
            && let Err(error) = ask.with_meta(key.into(), &value)
        {
            self.ask = Err(error);
        }
        self
    }

    /// Asks the server even if an answer is kept that is still fresh.
    pub fn fresh(mut self) -> Self {
        self.options.fresh = true;
        self
    }

    /// Gives the whole result as the server wrote it, unknown members included. A list gives its
    /// first page; after [`Request::once`] a question is shown as it is.
    pub fn raw(self) -> Request<Box<RawValue>> {
        Request { core: self.core, ask: self.ask, options: self.options, carry: raw }
    }
}

impl<T: Rounds> Request<T> {
    /// Gives the server's question instead of answering it, for hosts that gather the answers
    /// themselves, perhaps in another process. Go on with [`Request::with_input`].
    pub fn once(self) -> Request<Answer<T>> {
        let options = Options { once: true, ..self.options };
        Request { core: self.core, ask: self.ask, options, carry: once::<T> }
    }

    /// Hears each question that ends a round, before it is put to anybody: with the state in it, another process could
    /// go on ([`Request::with_input`]). It must not block.
    pub fn on_input(mut self, hear: impl Fn(&InputRequiredResult) + Send + Sync + 'static) -> Self {
        self.options.on_input = Some(Arc::new(hear));
        self
    }

    /// Carries the answers to a question that [`Request::once`] gave, and its state unchanged.
    pub fn with_input(mut self, responses: Option<InputResponses>, request_state: Option<String>) -> Self {
        self.options.input = Input { responses, state: request_state };
        self
    }
}

impl<T: 'static, E: From<Error> + Send + 'static> IntoFuture for Request<T, E> {
    type Output = Result<T, E>;
    type IntoFuture = Work<T, E>;

    fn into_future(self) -> Self::IntoFuture {
        match self.ask {
            Ok(ask) => (self.carry)(self.core, ask, self.options),
            Err(error) => {
                let error = error.at(&self.core.name);
                Box::pin(async move { Err(E::from(error)) })
            }
        }
    }
}

impl<T, E> fmt::Debug for Request<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.ask.as_ref().map(|ask| &*ask.method).unwrap_or("invalid");
        f.debug_struct("Request")
            .field("server", &self.core.name)
            .field("method", &method)
            .finish_non_exhaustive()
    }
}

/// Results that may be preceded by rounds of input.
pub trait Rounds: sealed::Sealed + Send + Sized + 'static {
    #[doc(hidden)]
    fn decode(raw: &RawValue) -> Result<Self, Error>;
}

mod sealed {
    pub trait Sealed {}
}

fn decode<M: MethodSpec>(raw: &RawValue) -> Result<M::Result, Error> {
    match decode_result::<M>(raw) {
        Ok(Answer::Complete(result)) => Ok(result),
        Ok(Answer::InputRequired(_)) => {
            Err(Error::server_fault("the server asked again where it had to answer"))
        }
        Err(error) => Err(Error::server_fault(error.to_string())),
    }
}

impl sealed::Sealed for CallToolResult {}
impl sealed::Sealed for ReadResourceResult {}
impl sealed::Sealed for GetPromptResult {}

impl Rounds for CallToolResult {
    fn decode(raw: &RawValue) -> Result<Self, Error> {
        decode::<spec::CallTool>(raw)
    }
}

impl Rounds for ReadResourceResult {
    fn decode(raw: &RawValue) -> Result<Self, Error> {
        decode::<spec::ReadResource>(raw)
    }
}

impl Rounds for GetPromptResult {
    fn decode(raw: &RawValue) -> Result<Self, Error> {
        decode::<spec::GetPrompt>(raw)
    }
}

fn raw(core: Arc<Core>, ask: Ask, options: Options) -> Work<Box<RawValue>, Error> {
    Box::pin(async move {
        let mut run = options.run(&core);
        if options.once {
            return core.round(&ask, &options.input, &mut run).await;
        }
        core.complete(&ask, options.input, &mut run).await.map(|completed| completed.result)
    })
}

/// The result as it is, whatever its type: a question is shown, not answered.
pub(crate) fn unread(core: Arc<Core>, ask: Ask, options: Options) -> Work<Box<RawValue>, Error> {
    Box::pin(async move {
        let mut run = options.run(&core);
        core.round(&ask, &options.input, &mut run).await
    })
}

fn once<T: Rounds>(core: Arc<Core>, ask: Ask, options: Options) -> Work<Answer<T>, Error> {
    Box::pin(async move {
        let mut run = options.run(&core);
        let result = core.round(&ask, &options.input, &mut run).await?;
        match core.asked(&ask, &result)? {
            Some(asked) => Ok(Answer::InputRequired(asked)),
            None => T::decode(&result).map(Answer::Complete).map_err(|error| error.at(&core.name)),
        }
    })
}

/// A request whose result is decoded and no more.
pub(crate) fn complete<T: Rounds>(core: Arc<Core>, ask: Ask, options: Options) -> Work<T, Error> {
    Box::pin(async move {
        let mut run = options.run(&core);
        let completed = core.complete(&ask, options.input, &mut run).await?;
        T::decode(&completed.result).map_err(|error| error.at(&core.name))
    })
}

pub(crate) fn suggest(core: Arc<Core>, ask: Ask, options: Options) -> Work<CompleteResult, Error> {
    Box::pin(async move {
        let mut run = options.run(&core);
        let completed = core.complete(&ask, options.input, &mut run).await?;
        decode::<spec::Complete>(&completed.result).map_err(|error| error.at(&core.name))
    })
}

pub(crate) fn call(core: Arc<Core>, ask: Ask, options: Options) -> Work<CallToolResult, Error> {
    Box::pin(async move {
        let result: CallToolResult = complete(Arc::clone(&core), ask.clone(), options).await?;
        if let Err(why) = check_output(&core, &ask, &result) {
            tracing::warn!(
                server = %core.name, tool = ask.name.as_deref().unwrap_or_default(), %why,
                "the result does not match the tool's output schema"
            );
        }
        Ok(result)
    })
}

pub(crate) fn call_as<O>(core: Arc<Core>, ask: Ask, options: Options) -> Work<O, CallError>
where
    O: for<'de> Deserialize<'de> + 'static,
{
    Box::pin(async move {
        let result: CallToolResult = complete(Arc::clone(&core), ask.clone(), options).await?;
        let checked = check_output(&core, &ask, &result);
        structured::decode(result, checked).map_err(|error| match error {
            CallError::Failed(error) => CallError::Failed(error.at(&core.name)),
            failure @ CallError::Tool(_) => failure,
        })
    })
}

fn check_output(core: &Core, ask: &Ask, result: &CallToolResult) -> Result<(), String> {
    match (core.learned.tools(), &ask.name) {
        (Some(tools), Some(tool)) => tools.check_output(tool, result),
        _ => Ok(()),
    }
}

/// A result that may be kept, by the name or the URI in its parameters.
pub(crate) fn read(core: Arc<Core>, ask: Ask, options: Options) -> Work<ReadResourceResult, Error> {
    Box::pin(async move {
        let raw = kept(&core, ask, options).await?;
        ReadResourceResult::decode(&raw).map_err(|error| error.at(&core.name))
    })
}

pub(crate) fn discover(core: Arc<Core>, ask: Ask, options: Options) -> Work<DiscoverResult, Error> {
    Box::pin(async move {
        let raw = kept(&core, ask, options).await?;
        let discovered = decode::<spec::Discover>(&raw).map_err(|error| error.at(&core.name))?;
        core.learned.set_discovered(discovered.clone());
        Ok(discovered)
    })
}

async fn kept(core: &Arc<Core>, ask: Ask, options: Options) -> Result<Box<RawValue>, Error> {
    let mut run = options.run(core);
    let Some(method) = ask.known.filter(|_| options.is_plain(&ask)) else {
        return core.complete(&ask, options.input, &mut run).await.map(|completed| completed.result);
    };
    let key = Key { params: ask.name.clone().unwrap_or_default(), ..Key::list(&core.server, method) };
    let answer = core.cached(key, (options.fresh, run.total_left), move |core| {
        let (ask, mut run) = (ask.clone(), run.clone());
        Box::pin(async move {
            let completed = core.complete(&ask, Input::default(), &mut run).await?;
            let hints = (!completed.with_input).then(|| hints(&completed.result));
            Ok(Fetched { bytes: completed.result.get().len(), value: completed.result, hints })
        })
    });
    answer.await.map(|answer: Arc<Box<RawValue>>| Box::clone(&answer))
}

pub(crate) fn hints(result: &RawValue) -> Hints {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Peek {
        #[serde(deserialize_with = "deserialize_ttl_ms")]
        ttl_ms: i64,
        cache_scope: CacheScope,
    }
    // What cannot be read is stale at once.
    let peek: Peek = serde_json::from_str(result.get()).unwrap_or_default();
    Hints::new(peek.ttl_ms, peek.cache_scope)
}

pub(crate) fn list<L: Listing>(core: Arc<Core>, ask: Ask, options: Options) -> Work<Arc<[L::Item]>, Error> {
    Box::pin(async move {
        let run = options.run(&core);
        if options.is_plain(&ask) {
            return core.list::<L>(run, options.fresh).await;
        }
        core.all_pages::<L>(run, &ask.meta).await.map(|all| Arc::from(all.value))
    })
}

pub(crate) fn tools(core: Arc<Core>, ask: Ask, options: Options) -> Work<Arc<[Tool]>, Error> {
    Box::pin(async move {
        let run = options.run(&core);
        if options.is_plain(&ask) {
            return core.tool_set(run, options.fresh).await.map(|tools| Arc::clone(&tools.tools));
        }
        let all = core.all_pages::<Tools>(run, &ask.meta).await?;
        Ok(core.sort_tools(all.value).tools.clone())
    })
}

/// The method that a request's parameters belong to.
pub(crate) fn ask(method: Method) -> Result<Ask, Error> {
    Ok(Ask::new(method))
}
