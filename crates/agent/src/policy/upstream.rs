//! The seam to a server: list its tools, call one, read what it has.
//!
//! The handles live in [`Gate`](super::Gate) and nowhere else. `policy/upstream/client.rs` is one client, and
//! `supervisor` keeps many of them alive; both speak through `policy/upstream/exchange.rs`.

mod client;
pub(crate) mod exchange;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use switchboard_client::{
    CompleteResult, CompletionReference, GetPromptResult, InputResponses, InvalidTool, Prompt,
    ReadResourceResult, Resource, ResourceTemplate, WireMessage,
};
use switchboard_llm::SchemaDialect;
use switchboard_protocol::model::tool::Tool;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::pins::{ServerIdentity, pin_of};
use crate::digest::Digest;
use crate::exposure::{Declared, Exposure, ExposureOptions, ToolFilter};
use crate::identity::Identity;
use crate::name::{CallId, ServerName};
use crate::outcome::ToolOutcome;
use crate::questions::{NoAnswers, Questions};

pub(crate) use self::client::ClientUpstream;

/// How long the next step of a run waits for a server that is asked for its tools again.
pub(crate) const LISTING: Duration = Duration::from_secs(3);

/// What a request gives, or why a server cannot be asked.
pub(crate) type Asked<'a, T> = BoxFuture<'a, Result<T, UpstreamError>>;

/// A server that tools can be listed and called on.
pub(crate) trait Upstream: Send + Sync {
    /// The tools of all pages, for a run that begins. Opens the connection where that is needed.
    fn list(&self) -> Asked<'_, Arc<Listing>>;

    /// The tools for the next step of a run. They are asked for again where what is known of them may be stale, and not
    /// for long: a server that does not answer keeps what is known.
    fn list_again(&self) -> Asked<'_, Arc<Listing>> {
        self.list()
    }

    /// What is known without asking, and newer than what was listed last if the server said so meanwhile.
    fn newest(&self) -> BoxFuture<'_, Option<Arc<Listing>>> {
        Box::pin(std::future::ready(None))
    }

    /// Counts changes of what is known of it, or of servers beside it.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// The hash of what the server is configured as, where that is known: a part of who it is.
    fn configuration_hash(&self) -> Option<String> {
        None
    }

    /// The same part by part, for people: without secrets. Empty where it is not known.
    fn configuration_parts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether nothing works without it.
    fn is_required(&self) -> bool {
        false
    }

    /// Whether it knows itself how many calls may run on it, and gives out places for them.
    fn has_slots(&self) -> bool {
        false
    }

    /// Waits until the server may be given one more call of this tool.
    fn slot<'a>(&'a self, _tool: &'a Tool) -> BoxFuture<'a, Slot> {
        Box::pin(async { Slot::default() })
    }

    /// Makes one call. Dropping the future cancels it.
    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: &'a RawValue,
        context: CallContext,
    ) -> BoxFuture<'a, ToolOutcome>;

    /// Its resources.
    fn resources(&self) -> Asked<'_, Arc<[Resource]>> {
        Box::pin(async { Err(UpstreamError::offers_no("resources")) })
    }

    /// Its templates of resources.
    fn resource_templates(&self) -> Asked<'_, Arc<[ResourceTemplate]>> {
        Box::pin(async { Err(UpstreamError::offers_no("resources")) })
    }

    /// One resource.
    fn read_resource<'a>(&'a self, _uri: &'a str, _context: CallContext) -> Asked<'a, ReadResourceResult> {
        Box::pin(async { Err(UpstreamError::offers_no("resources")) })
    }

    /// Its prompts.
    fn prompts(&self) -> Asked<'_, Arc<[Prompt]>> {
        Box::pin(async { Err(UpstreamError::offers_no("prompts")) })
    }

    /// One prompt.
    fn prompt<'a>(
        &'a self,
        _name: &'a str,
        _arguments: &'a BTreeMap<String, String>,
        _context: CallContext,
    ) -> Asked<'a, GetPromptResult> {
        Box::pin(async { Err(UpstreamError::offers_no("prompts")) })
    }

    /// Values for an argument of which some was typed.
    fn complete<'a>(
        &'a self,
        _of: &'a CompletionReference,
        _argument: Typed<'a>,
    ) -> Asked<'a, CompleteResult> {
        Box::pin(async { Err(UpstreamError::offers_no("completion")) })
    }
}

/// An argument that is being typed, and the others that are there already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) others: &'a BTreeMap<String, String>,
}

/// A place among the calls that run on one server. Dropping it makes room for the next.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) _places: Vec<OwnedSemaphorePermit>,
}

/// Whose call it is, and who hears of it.
#[derive(Clone)]
pub(crate) struct CallContext {
    /// The host's number for it.
    pub(crate) call: Option<CallId>,
    /// Takes its progress.
    pub(crate) progress: Option<ProgressSink>,
    /// Answers what the server asks meanwhile.
    pub(crate) questions: Arc<dyn Questions>,
    /// Takes its messages as they go over the wire, unmasked.
    pub(crate) wire: Option<WireSink>,
    /// The answers that it goes on with, if the server asked in an earlier process.
    pub(crate) input: Option<GivenInput>,
    /// What the tool was when the call was allowed.
    pub(crate) allowed: Option<AllowedTool>,
}

/// What a tool was when a call of it was allowed. Where it is known to be another by the time at which the call would
/// leave, the call does not leave.
#[derive(Clone, Debug)]
pub(crate) struct AllowedTool {
    pub(crate) tool: String,
    pub(crate) pin: Digest,
    /// What its server is configured as.
    pub(crate) configuration: Option<String>,
}

impl AllowedTool {
    /// Whether the tool is that one in a newer listing of its server. One that is gone is for the server to refuse.
    pub(crate) fn is_in(&self, listing: &Listing, server: &ServerName) -> bool {
        let identity = ServerIdentity::of(&listing.identity, self.configuration.clone());
        listing.tool(&self.tool).is_none_or(|tool| pin_of(server, &identity, tool) == self.pin)
    }
}

impl Default for CallContext {
    fn default() -> Self {
        Self {
            call: None,
            progress: None,
            questions: Arc::new(NoAnswers),
            wire: None,
            input: None,
            allowed: None,
        }
    }
}

/// The answers to one round of questions, and the state that the server wants back.
#[derive(Clone, Debug)]
pub(crate) struct GivenInput {
    pub(crate) responses: Option<InputResponses>,
    pub(crate) request_state: Option<String>,
}

/// Takes the progress of one call.
pub(crate) type ProgressSink = Arc<dyn Fn(CallProgress) + Send + Sync>;

/// Takes the messages of one call.
pub(crate) type WireSink = Arc<dyn Fn(WireMessage<'_>) + Send + Sync>;

/// How far a call has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallProgress {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// What a server says when it is asked for its tools.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) identity: Identity,
    pub(crate) tools: Arc<[Tool]>,
    /// The definitions that are invalid, with reasons.
    pub(crate) invalid: Arc<[InvalidTool]>,
    /// What was found out last, and for whom.
    cost: Mutex<Option<(CostKey, usize)>>,
}

/// The server's name, what is offered of it, and for whom.
type CostKey = (ServerName, ToolFilter, SchemaDialect);

impl Listing {
    pub(crate) fn new(identity: Identity, tools: Arc<[Tool]>, invalid: Arc<[InvalidTool]>) -> Self {
        Self { identity, tools, invalid, cost: Mutex::default() }
    }

    /// What a model is sent of them costs, about, in tokens. Counted once for one that asks again.
    pub(crate) fn token_cost(
        &self,
        server: &ServerName,
        filter: ToolFilter,
        dialect: SchemaDialect,
    ) -> usize {
        let key = (server.clone(), filter, dialect);
        let mut cost = self.cost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, tokens)) = &*cost
            && *known == key
        {
            return *tokens;
        }
        let declared = Declared { tools: self.tools.to_vec(), invalid: Vec::new() };
        let filters = BTreeMap::from([(server.clone(), key.1.clone())]);
        let options = ExposureOptions { dialect, filters, ..ExposureOptions::default() };
        let tokens = Exposure::token_cost_for([(server.clone(), declared)], &options);
        *cost = Some((key, tokens));
        tokens
    }

    /// The tool of this name; the first one, if a server lists it twice.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Whether the definitions, and the server, are the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |one: &Tool, other: &Tool| serde_json::to_vec(one).ok() == serde_json::to_vec(other).ok();
        let tools = || self.tools.iter().zip(&*other.tools).all(|(one, other)| same(one, other));
        self.identity == other.identity
            && self.invalid == other.invalid
            && self.tools.len() == other.tools.len()
            && (Arc::ptr_eq(&self.tools, &other.tools) || tools())
    }

    /// What the compiler of tools takes.
    pub(crate) fn declared(&self) -> Declared {
        Declared { tools: self.tools.to_vec(), invalid: self.invalid.to_vec() }
    }
}

/// Why a server cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UpstreamError {
    pub(crate) message: String,
    pub(crate) unauthorized: bool,
}

impl UpstreamError {
    /// A reason that is no refusal to say who is asking.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), unauthorized: false }
    }

    fn offers_no(what: &str) -> Self {
        Self::new(format!("it offers no {what}"))
    }
}
