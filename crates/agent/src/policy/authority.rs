//! Puts together what decides about a call: rules, pins, and what a person said before.
//!
//! A rule that denies comes first. Then a tool that changed, or is new on its server, asks whatever else is said; only
//! an answer that was given for it as it is now covers it. Then the rules; and where they ask, what a person said
//! before. Where nobody can be asked, the call is not made; a yes to everything in advance is no yes to a tool that
//! changed since. Where to look next: `explain.rs` for the same as an account for people.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_protocol::model::tool::Tool;

use super::approval::{Asked, Lasts, ServerFacts, Why, propose};
use super::grants::{Grant, GrantScope, GrantedCall, Grants, Scope};
use super::pins::{Checked, PinState, Pins, ServerIdentity};
use super::{
    Action, Approval, Choice, ConsentReply, Denial, DenialReason, Mode, Permit, Policy, Proposal, Rule,
    RuleToAdd, Ruling,
};
use crate::name::ServerName;
use crate::store::{MemoryStore, Store};

/// Everything that decides. It has no connection and asks nobody.
#[derive(Debug)]
pub struct Authority {
    policy: Policy,
    pins: Pins,
    grants: Grants,
    servers: Mutex<BTreeMap<ServerName, Arc<ServerFacts>>>,
    /// Whether what is kept outlives the process.
    is_lasting: bool,
}

/// What is said about a call. Private to this module, because a permit is in it.
#[derive(Debug)]
pub(super) enum Decision {
    /// It may be made.
    Allow(Permit),
    /// A person must be asked.
    Ask(Box<Approval>),
    /// It must not be made.
    Deny(Denial),
}

/// What becomes of a call, before anybody is asked.
pub(super) enum Verdict {
    /// It may be made; who says so.
    Allowed(String),
    /// A person must be asked.
    Asked,
    /// It must not be made.
    Denied(DenialReason),
}

/// The order in which everything counts that has a say about a call: the rules, then whether its tool is as it was
/// agreed to, then what the person `said` before, then what becomes of questions.
pub(super) fn verdict(
    mode: Mode,
    ruling: &Ruling,
    (is_same, said): (bool, impl FnOnce() -> Option<String>),
) -> Verdict {
    match ruling.action {
        Action::Deny if ruling.is_unmatched => return Verdict::Denied(DenialReason::Unmatched),
        Action::Deny => return Verdict::Denied(DenialReason::Rule),
        Action::Allow if is_same => return Verdict::Allowed(ruling.by.clone()),
        Action::Allow | Action::Ask => {}
    }
    match (said(), mode) {
        (Some(by), _) => Verdict::Allowed(by),
        (None, Mode::Interactive) => Verdict::Asked,
        // It was said before the tool became what it is.
        (None, Mode::Yes) if is_same => Verdict::Allowed("yes to everything".to_owned()),
        (None, Mode::Yes | Mode::Fail) => Verdict::Denied(DenialReason::NobodyToAskSoFail),
        (None, Mode::Deny) => Verdict::Denied(DenialReason::NobodyToAskSoDeny),
    }
}

impl Authority {
    /// Decides by a policy; pins and answers are kept in `store`.
    #[must_use]
    pub fn new(policy: Policy, store: &Arc<dyn Store>) -> Self {
        Self {
            policy,
            pins: Pins::new(Arc::clone(store)),
            grants: Grants::new(Arc::clone(store)),
            servers: Mutex::default(),
            is_lasting: true,
        }
    }

    /// Nothing is kept any longer than the process lives.
    pub(crate) fn forgetful(policy: Policy) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        Self { is_lasting: false, ..Self::new(policy, &store) }
    }

    /// Goes by pins that others go by, too.
    pub(super) fn with_pins(self, pins: Pins) -> Self {
        Self { pins, ..self }
    }

    /// The rules.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What each tool looked like when it was agreed to.
    #[must_use]
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// What a person said for more than one call.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Takes what a server says about itself and its tools now.
    pub(super) fn observe(&self, server: &ServerName, facts: ServerFacts, tools: &Arc<[Tool]>) {
        let said = facts.identity.clone().unwrap_or_default();
        let identity = ServerIdentity {
            parts: facts.parts.clone(),
            ..ServerIdentity::of(&said, facts.configuration.clone())
        };
        let facts = ServerFacts { trusted: self.policy.trusts(server), ..facts };
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).insert(server.clone(), Arc::new(facts));
        if let Err(error) = self.pins.observe_listed(server, identity, tools) {
            tracing::warn!(%server, %error, "the pins of its tools cannot be kept");
        }
    }

    /// As [`observe`](Self::observe), for free where that was seen last.
    pub(super) fn observe_again(&self, server: &ServerName, facts: ServerFacts, tools: &Arc<[Tool]>) {
        if !self.pins.has_seen(server, tools) {
            self.observe(server, facts, tools);
        }
    }

    pub(super) fn facts(&self, server: &ServerName) -> Arc<ServerFacts> {
        let known = self.servers.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned();
        known.unwrap_or_else(|| {
            Arc::new(ServerFacts { trusted: self.policy.trusts(server), ..ServerFacts::default() })
        })
    }

    pub(super) fn decide(&self, proposal: Proposal, scope: &Scope) -> Decision {
        let arguments = proposal.value();
        let ruling =
            self.policy.ruling((&proposal.server, &proposal.tool), Some(&arguments), scope.principal());
        let checked = self.pins.check(&proposal.server, &proposal.tool);
        let (pin, is_same) = (checked.pin, checked.state.is_same());
        // Of a server that is not configured nobody can say whether it is the one that was there before.
        let is_known = self.facts(&proposal.server).configuration.is_some();
        let resumes = is_known && scope.was_permitted(&Permit::mark_of(proposal.digest(), Some(pin)));
        let said = || {
            let call = self.call(&proposal, &arguments, &checked);
            let granted = if ruling.is_of_run { scope.covering(&call) } else { self.granted(&call, scope) };
            let granted = granted.map(|grant| grant.said());
            granted.or_else(|| resumes.then(|| "the answer before the restart".to_owned()))
        };
        match verdict(self.policy.mode(), &ruling, (is_same, said)) {
            Verdict::Allowed(by) => Decision::Allow(Permit::new(proposal, by).pinned(pin).resuming(resumes)),
            Verdict::Asked => {
                Decision::Ask(Box::new(self.question((proposal, &arguments), (checked, ruling), scope)))
            }
            Verdict::Denied(DenialReason::Rule | DenialReason::Unmatched) => {
                Decision::Deny(self.denied(&proposal, &arguments, ruling))
            }
            Verdict::Denied(reason) => {
                let question = self.question((proposal, &arguments), (checked, ruling), scope);
                Decision::Deny(question.unanswered(reason))
            }
        }
    }

    /// What a person said before that covers a call.
    fn granted(&self, call: &GrantedCall<'_>, scope: &Scope) -> Option<Grant> {
        let grant = self.grants.covering(call, scope);
        let grant = grant.inspect_err(|error| tracing::warn!(%error, "earlier answers cannot be read"));
        grant.ok().flatten()
    }

    /// Turns an answer into leave or a denial, and keeps it where it is for more than once.
    pub(super) fn answered(
        &self,
        approval: Approval,
        reply: ConsentReply,
        scope: &Scope,
    ) -> Result<Permit, Denial> {
        let pin = approval.pin();
        let permit = approval.decide(&reply)?;
        let Some(rule) = reply.rule else { return Ok(permit) };
        let grant_scope = match (reply.choice, scope.session()) {
            (Choice::AllowRun, _) => GrantScope::Run,
            // Outside of a session, the run is all there is.
            (Choice::AllowSession, None) => GrantScope::Run,
            (Choice::AllowSession, Some(session)) => GrantScope::Session { session: session.to_owned() },
            (Choice::AllowAlways, _) => GrantScope::Always,
            (Choice::AllowOnce | Choice::Deny | Choice::Unanswered, _) => return Ok(permit),
        };
        let Proposal { server, tool, .. } = permit.proposal();
        let is_always = grant_scope == GrantScope::Always;
        let grant = Grant::new((server, &tool.name, pin), Some(rule), grant_scope);
        // What was not shown is not agreed to: the tool may have changed while the person was thinking.
        let is_as_shown = self.pins.check(server, tool).pin == pin;
        let kept = self.grants.add(grant, scope).and_then(|()| match is_always && is_as_shown {
            true => self.pins.accept(server, &tool.name).map(drop),
            false => Ok(()),
        });
        Ok(match kept {
            Ok(()) => permit,
            Err(error) => permit.also(&format!(" (only this once, for it cannot be kept: {error})")),
        })
    }

    /// What a grant is held against.
    pub(super) fn call<'a>(
        &'a self,
        proposal: &'a Proposal,
        arguments: &'a Value,
        checked: &Checked,
    ) -> GrantedCall<'a> {
        GrantedCall {
            server: &proposal.server,
            tool: &proposal.tool.name,
            pin: checked.pin,
            arguments,
            place: self.policy.place(&proposal.server),
        }
    }

    fn question(
        &self,
        (proposal, arguments): (Proposal, &Value),
        (checked, ruling): (Checked, Ruling),
        scope: &Scope,
    ) -> Approval {
        let Checked { pin, state } = checked;
        let is_configured = self.facts(&proposal.server).configuration.is_some();
        // Nothing is offered that would not count.
        let lasts = match ruling.is_of_run {
            true => Lasts::default(),
            false => Lasts { session: scope.session().is_some(), always: self.is_lasting && is_configured },
        };
        let why = match state {
            PinState::Same | PinState::Gone => Why::Rule { rule: ruling.by.clone() },
            PinState::Changed { difference, accepted_ms } => Why::Changed { difference, accepted_ms },
            PinState::New { since_ms, resembles } => Why::NewTool { since_ms, resembles },
            PinState::Unreadable { problem } => Why::Unreadable { problem },
        };
        let proposed = propose(arguments, self.policy.place(&proposal.server));
        let would_do = !ruling.is_of_run && matches!(why, Why::Rule { .. });
        let to_add = would_do.then(|| self.to_add(&proposal, arguments)).flatten();
        let to_add = to_add.as_ref().and_then(RuleToAdd::of);
        let server = self.facts(&proposal.server);
        Approval::new(proposal, Asked { why, pin, server, proposed, to_add, lasts })
    }

    fn denied(&self, proposal: &Proposal, arguments: &Value, ruling: Ruling) -> Denial {
        if ruling.is_unmatched {
            let to_add = self.to_add(proposal, arguments).as_ref().and_then(RuleToAdd::of);
            Denial::new(proposal, DenialReason::Unmatched, ruling.by).with_rule_to_add(to_add)
        } else {
            Denial::new(proposal, DenialReason::Rule, ruling.by)
        }
    }

    /// The rule that would allow this call: of this tool and no other, and where it acts as it does now. Nothing where
    /// a name means more in a rule than itself, or cannot be typed.
    fn to_add(&self, proposal: &Proposal, arguments: &Value) -> Option<Rule> {
        let name = &proposal.tool.name;
        let is_odd =
            |character: char| matches!(character, '*' | '?') || crate::visible::is_invisible(character);
        if name.contains(is_odd) || name.trim() != name || proposal.server.as_str().contains(is_odd) {
            return None;
        }
        let rule = Rule::plain(Action::Allow, proposal.server.as_str(), name);
        let proposed = propose(arguments, self.policy.place(&proposal.server));
        Some(proposed.map(|proposed| proposed.0).unwrap_or_default().into_iter().fold(rule, Rule::and))
    }
}
