//! The gate to all servers: it owns the connections, asks the person, and makes the calls that were permitted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::approval::{Choice, Consent};
use super::upstream::{CallProgress, Listing, ProgressSink, Upstream, UpstreamError};
use super::{Decision, Denial, DenialReason, Permit, Policy, Proposal};
use crate::digest::Digest;
use crate::exposure::Exposure;
use crate::journal::{Authorization, Event, Execution, Invocation, Journal, ResultEvent, journaled_result};
use crate::name::{CallId, ServerName};
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};

/// How many messages of progress of one call are passed on at whatever speed they come.
const FREE_PROGRESS: u32 = 1000;

/// The least time between two of those that come after them.
const PROGRESS_PACE: Duration = Duration::from_millis(100);

/// Owns the connections. Its fields are private to this file, so that a call without a permit cannot be
/// written anywhere.
pub(crate) struct Gate {
    policy: Policy,
    consent: Arc<dyn Consent>,
    servers: BTreeMap<ServerName, Server>,
    journal: Journal,
}

struct Server {
    upstream: Box<dyn Upstream>,
    slots: Semaphore,
}

/// The tools that a person has allowed for the rest of a run, each bound to its definition.
#[derive(Debug, Default)]
pub(crate) struct RunGrants(Mutex<BTreeSet<(ServerName, String, Digest)>>);

impl RunGrants {
    fn key(proposal: &Proposal) -> (ServerName, String, Digest) {
        (proposal.server.clone(), proposal.tool.name.clone(), proposal.definition)
    }

    fn cover(&self, proposal: &Proposal) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&Self::key(proposal))
    }

    fn add(&self, proposal: &Proposal) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(Self::key(proposal));
    }
}

impl Gate {
    pub(crate) fn new(policy: Policy, consent: Arc<dyn Consent>, journal: Journal) -> Self {
        Self { policy, consent, servers: BTreeMap::new(), journal }
    }

    /// Takes a connection over. `slots` calls may run on it at the same time. `false` if the name is taken.
    pub(crate) fn connect(&mut self, server: ServerName, upstream: Box<dyn Upstream>, slots: usize) -> bool {
        let slots = Semaphore::new(slots.clamp(1, Semaphore::MAX_PERMITS));
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

    pub(crate) fn check_rules(
        &self,
        exposure: &Exposure,
        absent: &[ServerName],
    ) -> Result<(), super::UnmatchedRule> {
        self.policy.check(exposure, absent)
    }

    /// Asks a server for its tools.
    pub(crate) async fn list(&self, server: &ServerName) -> Result<Listing, UpstreamError> {
        match self.servers.get(server) {
            Some(server) => server.upstream.list().await,
            None => {
                Err(UpstreamError { message: format!("no server is called {server}"), unauthorized: false })
            }
        }
    }

    /// Decides about a call, asking the person where the policy says so.
    pub(crate) async fn authorize(&self, proposal: Proposal, grants: &RunGrants) -> Result<Permit, Denial> {
        let call = proposal.call;
        let decided = match self.policy.decide(proposal) {
            Decision::Allow(permit) => Ok(permit),
            Decision::Deny(denial) => Err(denial),
            Decision::Ask(approval) if grants.cover(approval.proposal()) => {
                let reply = approval.reply(Choice::AllowRun);
                approval.decide(reply)
            }
            Decision::Ask(approval) => {
                self.journal.record(Authorization::asked(&approval));
                let reply = self.consent.ask(&approval).await;
                let decided = approval.decide(reply);
                if let (Ok(permit), Choice::AllowRun) = (&decided, reply.choice) {
                    grants.add(permit.proposal());
                }
                decided
            }
        };
        self.journal.record(match &decided {
            Ok(permit) => Authorization::granted(permit),
            Err(denial) => Authorization::denied(call, denial),
        });
        decided
    }

    /// Makes one call. Dropping the future cancels it.
    pub(crate) async fn invoke(&self, permit: Permit) -> ToolOutcome {
        let Permit { proposal, digest, .. } = permit;
        let Some(server) = self.servers.get(&proposal.server) else {
            let message = format!("no server is called {}", proposal.server);
            return ToolOutcome::Failed(CallFailure::new(FailureKind::Transport, message));
        };
        // A permit cannot be changed after it was made; this guards the code that makes them.
        if proposal.digest() != digest {
            let denial = Denial::new(&proposal, DenialReason::OtherThanShown, "");
            return ToolOutcome::Failed(CallFailure::new(FailureKind::Malformed, denial.to_string()));
        }
        let slot = server.slots.acquire().await;
        self.journal.record(Invocation::started(&proposal));
        let ended =
            Recorded { journal: &self.journal, call: proposal.call, since: Instant::now(), done: false };
        let progress = self.progress_sink(proposal.call);
        let outcome = server.upstream.call(&proposal.tool, &proposal.arguments, progress).await;
        drop(slot);
        ended.with(&outcome);
        outcome
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
            let interrupted = CallFailure::new(FailureKind::Interrupted, "the call was cancelled");
            self.write(journaled_result(&ToolOutcome::Failed(interrupted.maybe_executed(true))));
        }
    }
}
