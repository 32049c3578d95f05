//! The gate to all servers: it owns the connections, asks the person, and makes the calls that were permitted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use switchboard_client::{
    CompleteResult, CompletionReference, GetPromptResult, Prompt, ReadResourceResult, Refused, Resource,
    ResourceTemplate,
};
use tokio::sync::{Semaphore, watch};

use super::approval::{Consent, ServerFacts};
use super::authority::{Authority, Decision};
use super::grants::{Grants, Scope};
use super::pins::Pins;
use super::place::{Asking, Place};
use super::upstream::{
    AllowedTool, CallContext, CallProgress, GivenInput, Listing, ProgressSink, Typed, Upstream, UpstreamError,
};
use super::{Approval, Choice, Denial, DenialReason, Permit, Policy, Proposal};
use crate::artefact::{ALLOWED_BY, HostTools, ResourceReader, is_host_tool};
use crate::exposure::Exposure;
use crate::integration::Returned;
use crate::journal::{Authorization, Event, Execution, Invocation, Journal, ResultEvent, journaled_result};
use crate::name::{CallId, ServerName};
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
use crate::questions::{NoAnswers, Questions, answered};
use crate::store::Store;

/// How many messages of progress of one call are passed on at whatever speed they come.
const FREE_PROGRESS: u32 = 1000;

/// The least time between two of those that come after them.
const PROGRESS_PACE: Duration = Duration::from_millis(100);

/// A question that is open for so long may be about a tool that is another one by the time of the answer.
const LONG: Duration = Duration::from_secs(1);

/// Why an answer does not count, for people.
const CHANGED: &str = "the tool changed while it was asked about";

/// Owns the connections. Its fields are private to this file, so that a call without a permit cannot be
/// written anywhere.
pub(crate) struct Gate {
    authority: Authority,
    consent: Arc<dyn Consent>,
    servers: BTreeMap<ServerName, Server>,
    journal: Journal,
    questions: Arc<dyn Questions>,
}

struct Server {
    upstream: Arc<dyn Upstream>,
    slots: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new(policy: Policy, consent: Arc<dyn Consent>, journal: Journal) -> Self {
        let questions = Arc::new(NoAnswers);
        let authority = Authority::forgetful(policy);
        Self { authority, consent, servers: BTreeMap::new(), journal, questions }
    }

    /// Keeps pins and answers in a store.
    pub(crate) fn kept_in(mut self, store: &Arc<dyn Store>) -> Self {
        self.authority = Authority::new(self.authority.policy().clone(), store);
        self
    }

    /// Goes by pins that others go by, too.
    pub(crate) fn sharing(mut self, pins: &Pins) -> Self {
        self.authority = self.authority.with_pins(pins.clone());
        self
    }

    /// What decides, for whoever wants to know why.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Who answers what servers ask during calls.
    pub(crate) fn answered_by(mut self, questions: Arc<dyn Questions>) -> Self {
        self.questions = questions;
        self
    }

    /// Takes a connection over. `slots` calls may run on it at the same time. `false` if the name is taken.
    pub(crate) fn connect(&mut self, server: ServerName, upstream: Arc<dyn Upstream>, slots: usize) -> bool {
        let slots = if upstream.has_slots() { Semaphore::MAX_PERMITS } else { slots };
        let slots = Arc::new(Semaphore::new(slots.clamp(1, Semaphore::MAX_PERMITS)));
        match self.servers.entry(server) {
            std::collections::btree_map::Entry::Occupied(_) => false,
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(Server { upstream, slots });
                true
            }
        }
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = &ServerName> {
        self.servers.keys()
    }

    /// Whether nothing works without this server.
    pub(crate) fn is_required(&self, server: &ServerName) -> bool {
        self.servers.get(server).is_some_and(|server| server.upstream.is_required())
    }

    pub(crate) fn check_rules(
        &self,
        exposure: &Exposure,
        absent: &[ServerName],
    ) -> Result<(), super::UnmatchedRule> {
        self.authority.policy().check(exposure, absent)
    }

    /// Asks a server for its tools, and looks what became of them since they were agreed to.
    pub(crate) async fn list(&self, server: &ServerName) -> Result<Arc<Listing>, UpstreamError> {
        let listing = self.upstream(server)?.list().await?;
        self.authority.observe(server, self.facts(server, &listing), &listing.tools);
        Ok(listing)
    }

    /// As [`list`](Self::list), for the next step of a run: a list that is known to be fresh costs nothing.
    pub(crate) async fn list_again(&self, server: &ServerName) -> Result<Arc<Listing>, UpstreamError> {
        let listing = self.upstream(server)?.list_again().await?;
        self.authority.observe_again(server, self.facts(server, &listing), &listing.tools);
        Ok(listing)
    }

    fn facts(&self, server: &ServerName, listing: &Listing) -> ServerFacts {
        let upstream = self.upstream(server).ok();
        ServerFacts {
            identity: Some(listing.identity.clone()),
            configuration: upstream.and_then(Upstream::configuration_hash),
            parts: upstream.map(Upstream::configuration_parts).unwrap_or_default(),
            trusted: false,
        }
    }

    fn configuration(&self, server: &ServerName) -> Option<String> {
        self.upstream(server).ok().and_then(Upstream::configuration_hash)
    }

    /// Decides about a call, asking the person where that is needed.
    pub(crate) async fn authorize(&self, proposal: Proposal, scope: &Scope) -> Result<Permit, Denial> {
        let call = proposal.call;
        if is_host_tool(&proposal.server) {
            return Ok(Permit::new(proposal, ALLOWED_BY));
        }
        self.newest(&proposal.server).await;
        // From before it is decided on: an answer that is given meanwhile must not be missed.
        let given = Grants::given();
        let decided = match self.authority.decide(proposal, scope) {
            Decision::Allow(permit) => self.settle(permit),
            Decision::Deny(denial) => {
                self.consent.settle(call, &denial.rule);
                Err(denial)
            }
            Decision::Ask(approval) => self.ask(approval.hiding(self.journal.masker()), scope, given).await,
        };
        self.journal.record(match &decided {
            Ok(permit) => Authorization::granted(permit),
            Err(denial) => Authorization::denied(call, denial),
        });
        decided
    }

    /// Asks the person about a call, until they answer, or an answer to another question covers it.
    async fn ask(
        &self,
        approval: Approval,
        scope: &Scope,
        mut given: watch::Receiver<u64>,
    ) -> Result<Permit, Denial> {
        self.journal.record(Authorization::asked(&approval));
        let mut changes = self.upstream(&approval.proposal().server).ok().and_then(Upstream::changes);
        let since = tokio::time::Instant::now();
        let mut asked = self.consent.ask(&approval);
        let reply = loop {
            tokio::select! {
                // What they said to this very call comes first.
                biased;
                reply = &mut asked => break reply,
                _ = given.changed() => {
                    if let Decision::Allow(permit) = self.authority.decide(approval.proposal().clone(), scope) {
                        return self.settle(permit);
                    }
                }
                () = next_change(&mut changes) => {
                    if self.is_other(&approval).await {
                        return Err(Denial::new(approval.proposal(), DenialReason::OtherThanShown, CHANGED));
                    }
                }
            }
        };
        drop(asked);
        // At the latest now: what was not shown is not agreed to.
        let is_yes = !matches!(reply.choice, Choice::Deny | Choice::Unanswered);
        if is_yes && since.elapsed() >= LONG {
            // Of a change nothing may have been heard meanwhile.
            let _ = self.list_again(&approval.proposal().server).await;
        }
        if is_yes && self.is_other(&approval).await {
            return Err(Denial::new(approval.proposal(), DenialReason::OtherThanShown, CHANGED));
        }
        let lasts = reply.lasts();
        let decided = self.authority.answered(approval, reply, scope);
        if lasts {
            // Questions of this run that it covers go first: who reads that it counts finds them withdrawn.
            tokio::task::yield_now().await;
        }
        decided
    }

    /// A call needs no answer. If the person gave one all the same, a no counts.
    fn settle(&self, permit: Permit) -> Result<Permit, Denial> {
        if self.consent.settle(permit.proposal().call, permit.by()) {
            Ok(permit)
        } else {
            Err(Denial::new(
                permit.proposal(),
                DenialReason::Person,
                "what the person said to this very call",
            ))
        }
    }

    /// Whether the tool that somebody is asked about is another one by now.
    async fn is_other(&self, approval: &Approval) -> bool {
        let Proposal { server, tool, .. } = approval.proposal();
        self.newest(server).await;
        self.authority.pins().check(server, tool).pin != approval.pin()
    }

    /// What a server's tools are now, as far as is known. A tool that changed while the model was thinking, or while its
    /// call waited, counts as it is in these.
    pub(crate) async fn newest(&self, server: &ServerName) -> Option<Arc<Listing>> {
        let listing = self.upstream(server).ok()?.newest().await?;
        self.authority.observe_again(server, self.facts(server, &listing), &listing.tools);
        Some(listing)
    }

    /// Makes one call. Dropping the future cancels it.
    pub(crate) async fn invoke(&self, permit: Permit) -> ToolOutcome {
        let Permit { proposal, digest, pin, resumes, .. } = permit;
        let Some(server) = self.servers.get(&proposal.server) else {
            let message = format!("no server is called {}", proposal.server);
            return ToolOutcome::Failed(CallFailure::new(FailureKind::Transport, message));
        };
        // A permit cannot be changed after it was made; this guards the code that makes them.
        if proposal.digest() != digest {
            let denial = Denial::new(&proposal, DenialReason::OtherThanShown, "");
            return ToolOutcome::Failed(CallFailure::new(FailureKind::Malformed, denial.to_string()));
        }
        let configuration = self.configuration(&proposal.server);
        let allowed = pin.map(|pin| AllowedTool { tool: proposal.tool.name.clone(), pin, configuration });
        let stay = Place::take(&server.upstream, &server.slots, &proposal.tool).await;
        let leaves =
            !self.authority.facts(&proposal.server).identity.as_ref().is_some_and(|said| said.session);
        let questions = Asking::new(&self.questions, &stay, leaves);
        self.journal.record(Invocation::started(&proposal));
        let ended =
            Recorded { journal: &self.journal, call: proposal.call, since: Instant::now(), done: false };
        let context = match left_round(&*questions, &proposal, resumes).await {
            Ok(input) => CallContext { input, allowed, questions, ..self.context(&proposal) },
            Err(Refused(why)) => {
                let refused = ToolOutcome::Failed(CallFailure::new(FailureKind::Interrupted, why));
                ended.with(&refused);
                return refused;
            }
        };
        let outcome = server.upstream.call(&proposal.tool, &proposal.arguments, context).await;
        drop(stay);
        ended.with(&outcome);
        outcome
    }

    /// Makes one call of a tool of the host itself.
    pub(crate) async fn invoke_own(&self, permit: Permit, tools: &HostTools) -> Returned {
        let Proposal { call, tool, arguments, .. } = permit.proposal();
        self.journal.record(Invocation::started(permit.proposal()));
        let ended = Recorded { journal: &self.journal, call: *call, since: Instant::now(), done: false };
        let returned = tools.call((*call, &tool.name), arguments, self).await;
        ended.with(returned.outcome());
        returned
    }

    /// Who hears of a call, and who answers what its server asks.
    fn context(&self, proposal: &Proposal) -> CallContext {
        let call = proposal.call;
        CallContext {
            call: Some(call),
            progress: Some(self.progress_sink(call)),
            questions: Arc::clone(&self.questions),
            wire: Some(Arc::new(self.journal.call_tap(proposal.server.clone(), call))),
            ..CallContext::default()
        }
    }

    fn progress_sink(&self, call: CallId) -> ProgressSink {
        let journal = self.journal.clone();
        let pace = Mutex::new((0_u32, Instant::now()));
        Arc::new(move |CallProgress { done, total, message }| {
            let mut pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
            let (count, last) = &mut *pace;
            if *count >= FREE_PROGRESS && last.elapsed() < PROGRESS_PACE {
                return;
            }
            (*count, *last) = (count.saturating_add(1), Instant::now());
            drop(pace);
            journal.record(Event::Execution(Execution::Progress { call, done, total, message }));
        })
    }
}

/// What a server has beside tools. A person asks for it, so it needs no leave; a model has no way to these.
impl Gate {
    pub(crate) async fn prompts(&self, server: &ServerName) -> Result<Arc<[Prompt]>, UpstreamError> {
        self.upstream(server)?.prompts().await
    }

    pub(crate) async fn prompt(
        &self,
        server: &ServerName,
        (name, arguments): (&str, &BTreeMap<String, String>),
    ) -> Result<GetPromptResult, UpstreamError> {
        self.upstream(server)?.prompt(name, arguments, CallContext::default()).await
    }

    pub(crate) async fn resources(&self, server: &ServerName) -> Result<Arc<[Resource]>, UpstreamError> {
        self.upstream(server)?.resources().await
    }

    pub(crate) async fn resource_templates(
        &self,
        server: &ServerName,
    ) -> Result<Arc<[ResourceTemplate]>, UpstreamError> {
        self.upstream(server)?.resource_templates().await
    }

    pub(crate) async fn complete(
        &self,
        server: &ServerName,
        (of, argument): (&CompletionReference, Typed<'_>),
    ) -> Result<CompleteResult, UpstreamError> {
        self.upstream(server)?.complete(of, argument).await
    }

    fn upstream(&self, server: &ServerName) -> Result<&dyn Upstream, UpstreamError> {
        let known = self.servers.get(server).map(|server| &*server.upstream);
        known.ok_or_else(|| UpstreamError::new(format!("no server is called {server}")))
    }
}

impl ResourceReader for Gate {
    fn read<'a>(
        &'a self,
        server: &'a ServerName,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, CallFailure>> {
        Box::pin(async move {
            let failed = |error: UpstreamError| {
                let kind =
                    if error.unauthorized { FailureKind::Unauthorized } else { FailureKind::Transport };
                CallFailure::new(kind, error.message)
            };
            let context = CallContext {
                questions: Arc::clone(&self.questions),
                wire: Some(Arc::new(self.journal.tap(server.clone()))),
                ..CallContext::default()
            };
            let upstream = self.upstream(server).map_err(failed)?;
            upstream.read_resource(uri, context).await.map_err(failed)
        })
    }
}

/// Waits until something about the servers has changed.
async fn next_change(changes: &mut Option<watch::Receiver<u64>>) {
    if let Some(changes) = changes
        && changes.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

/// The answers to the round of input that the call was in when an earlier process ended.
async fn left_round(
    questions: &dyn Questions,
    proposal: &Proposal,
    resumes: bool,
) -> Result<Option<GivenInput>, Refused> {
    let Some(asked) = questions.kept_round(proposal.call, resumes) else { return Ok(None) };
    let whose = (&proposal.server, proposal.call);
    let responses = match asked.input_requests.filter(|questions| !questions.is_empty()) {
        Some(asked) => Some(answered(questions, whose, asked).await?),
        None => None,
    };
    Ok(Some(GivenInput { responses, request_state: asked.request_state }))
}

/// Writes the end of a call into the journal, also if its future is dropped.
struct Recorded<'a> {
    journal: &'a Journal,
    call: CallId,
    since: Instant,
    done: bool,
}

impl Recorded<'_> {
    fn with(mut self, outcome: &ToolOutcome) {
        self.done = true;
        self.write(journaled_result(outcome));
    }

    fn write(&self, outcome: ResultEvent) {
        let took_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.journal.record(Event::Result { call: self.call, took_ms, outcome });
    }
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.journal.record(Execution::Cancelled { call: self.call });
            let interrupted = CallFailure::new(
                FailureKind::Interrupted,
                "the call was cancelled: cancel sent, the server may still be running",
            );
            self.write(journaled_result(&ToolOutcome::Failed(interrupted.maybe_executed(true))));
        }
    }
}
