//! The one choke point: who may call what, and who says so.
//!
//! [`Policy`] decides without any IO; `Gate` asks the person where the policy says so, and is the only owner
//! of the connections to servers. A call needs a [`Permit`], which only this module makes, out of exactly what
//! was decided about. So nothing else in the host can reach a server. Where to look next: `policy/rule.rs` for
//! the rules, `policy/approval.rs` for what a person is shown, `policy/gate.rs` for the connections.

mod approval;
mod gate;
mod rule;
mod upstream;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;
use switchboard_protocol::model::tool::Tool;

use crate::digest::Digest;
use crate::exposure::{ExposedTool, Exposure};
use crate::name::{CallId, ServerName};

pub use self::approval::{Approval, Choice, Consent, ConsentReply, Nobody};
pub(crate) use self::gate::{Gate, RunGrants};
pub use self::rule::{Action, InvalidRule, Rule, UnmatchedRule};
#[cfg(test)]
pub(crate) use self::upstream::ProgressSink;
pub(crate) use self::upstream::{ClientUpstream, Listing, Upstream, UpstreamError};

/// A call that has been checked against the tool's schema and waits for a decision.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The host's number for it.
    pub call: CallId,
    /// Whose tool.
    pub server: ServerName,
    /// The tool as its server defines it.
    pub tool: Arc<Tool>,
    /// Binds decisions to the definition.
    pub definition: Digest,
    /// The arguments, as they will be sent.
    pub arguments: Box<RawValue>,
}

impl Proposal {
    /// A call of `tool` with these arguments.
    #[must_use]
    pub fn new(call: CallId, tool: &ExposedTool, arguments: Box<RawValue>) -> Self {
        let (server, definition) = (tool.server().clone(), tool.digest());
        Self { call, server, tool: Arc::clone(tool.tool()), definition, arguments }
    }

    /// The digest of everything that a person is shown and a server is sent.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&[
            b"call",
            self.server.as_str().as_bytes(),
            self.tool.name.as_bytes(),
            self.definition.to_string().as_bytes(),
            self.arguments.get().as_bytes(),
        ])
    }
}

/// What a run does where a rule says *ask*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A person is asked.
    #[default]
    Interactive,
    /// The person has said yes to everything in advance. Rules that deny still deny.
    Yes,
    /// Nobody can be asked, and the run ends.
    Fail,
    /// Nobody can be asked, the call is denied, and the run goes on.
    Deny,
}

/// Rules, and what to do where they say *ask*.
///
/// ```
/// use switchboard_agent::policy::{Mode, Policy, Rule};
///
/// let policy = Policy::new(Mode::Interactive)
///     .rule("allow station/get_*".parse::<Rule>()?)
///     .rule("deny */delete_*".parse()?);
/// # Ok::<(), switchboard_agent::policy::InvalidRule>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    trusted: BTreeSet<ServerName>,
    mode: Mode,
}

/// What the policy says about a call. Private to this module, because a permit is in it.
#[derive(Debug)]
enum Decision {
    /// It may be made.
    Allow(Permit),
    /// A person must be asked.
    Ask(Approval),
    /// It must not be made.
    Deny(Denial),
}

/// Leave to make one call, made out of exactly the call that was decided about.
///
/// It cannot be copied, and only the gate gives one out.
#[derive(Debug)]
pub struct Permit {
    proposal: Proposal,
    digest: Digest,
    by: String,
}

/// A call that must not be made, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Which call.
    pub call: CallId,
    /// Whose tool.
    pub server: ServerName,
    /// The tool's own name.
    pub tool: String,
    /// Why.
    pub reason: DenialReason,
    /// The rule that decided, for people.
    pub rule: String,
}

/// Why a call must not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialReason {
    /// A rule forbids it.
    Rule,
    /// The person said no.
    Person,
    /// A person would have to be asked, nobody can be, and the run is to end.
    NobodyToAskSoFail,
    /// A person would have to be asked, nobody can be, and the run is to go on without the call.
    NobodyToAskSoDeny,
    /// The person answered about something else than this call.
    OtherThanShown,
}

impl Permit {
    fn new(proposal: Proposal, by: String) -> Self {
        let digest = proposal.digest();
        Self { proposal, digest, by }
    }

    /// The call.
    #[must_use]
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// Who or what allowed it, for people.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
    }
}

impl Denial {
    fn new(proposal: &Proposal, reason: DenialReason, rule: impl Into<String>) -> Self {
        let (server, tool) = (proposal.server.clone(), proposal.tool.name.clone());
        Self { call: proposal.call, server, tool, reason, rule: rule.into() }
    }

    /// Whether the run must end because of it.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        self.reason == DenialReason::NobodyToAskSoFail
    }

    /// What the model is told.
    #[must_use]
    pub fn for_model(&self) -> &'static str {
        match self.reason {
            DenialReason::Person => {
                "The call was not made: the person declined it. Do not make it again; go on without it or ask what \
                 they want instead."
            }
            DenialReason::Rule => {
                "The call was not made: the policy of this host forbids it. Do not make it again."
            }
            DenialReason::NobodyToAskSoFail | DenialReason::NobodyToAskSoDeny => {
                "The call was not made: it needs a person's approval and nobody can be asked. Go on without it."
            }
            DenialReason::OtherThanShown => "The call was not made: the approval was given for another call.",
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, tool) = (&self.server, crate::visible::name(&self.tool));
        match self.reason {
            DenialReason::Rule => write!(f, "{server}/{tool} is forbidden by {}", self.rule),
            DenialReason::Person => write!(f, "{server}/{tool} was declined"),
            DenialReason::NobodyToAskSoFail | DenialReason::NobodyToAskSoDeny => {
                write!(f, "{server}/{tool} needs approval ({}) and nobody can be asked", self.rule)
            }
            DenialReason::OtherThanShown => {
                write!(f, "the approval of {server}/{tool} was given for another call")
            }
        }
    }
}

impl Policy {
    /// A policy without rules: every tool asks.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Adds a rule. The order of rules does not matter.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Believes what a server says about its own tools: those that it calls read-only need no question.
    #[must_use]
    pub fn trust(mut self, server: ServerName) -> Self {
        self.trusted.insert(server);
        self
    }

    /// What it does where a rule says *ask*.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Refuses a rule that matches no known tool: it would protect nothing, silently.
    ///
    /// Rules for servers in `absent`, whose tools are not known now, are not looked at.
    ///
    /// # Errors
    /// The first such rule.
    pub fn check(&self, exposure: &Exposure, absent: &[ServerName]) -> Result<(), UnmatchedRule> {
        let useless = |rule: &&Rule| {
            !exposure.tools().iter().any(|tool| rule.matches(tool.server(), &tool.tool().name))
                && !exposure.left_out().iter().any(|left| rule.matches(&left.server, &left.tool))
                && !absent.iter().any(|server| rule.matches_server(server))
        };
        self.rules.iter().find(useless).map_or(Ok(()), |rule| Err(UnmatchedRule::new(rule, exposure)))
    }

    /// What the rules say about a tool, and which of them says it: a rule that denies wins, then the most
    /// specific rule, then trust, then *ask*. What becomes of *ask* is up to the mode.
    #[must_use]
    pub fn explain(&self, server: &ServerName, tool: &Tool) -> (Action, String) {
        let matching = || self.rules.iter().filter(|rule| rule.matches(server, &tool.name));
        let denied = matching().find(|rule| rule.action() == Action::Deny);
        if let Some(rule) = denied.or_else(|| matching().max_by_key(|rule| rule.precedence())) {
            return (rule.action(), format!("the rule `{rule}`"));
        }
        let read_only = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
        if read_only && self.trusted.contains(server) {
            return (Action::Allow, "trust in the server, which calls the tool read-only".to_owned());
        }
        (Action::Ask, "the default: every tool asks".to_owned())
    }

    fn decide(&self, proposal: Proposal) -> Decision {
        let (action, rule) = self.explain(&proposal.server, &proposal.tool);
        match (action, self.mode) {
            (Action::Deny, _) => Decision::Deny(Denial::new(&proposal, DenialReason::Rule, rule)),
            (Action::Allow, _) => Decision::Allow(Permit::new(proposal, rule)),
            (Action::Ask, Mode::Interactive) => Decision::Ask(Approval::new(proposal, rule)),
            (Action::Ask, Mode::Yes) => {
                Decision::Allow(Permit::new(proposal, "yes to everything".to_owned()))
            }
            (Action::Ask, Mode::Fail) => {
                Decision::Deny(Denial::new(&proposal, DenialReason::NobodyToAskSoFail, rule))
            }
            (Action::Ask, Mode::Deny) => {
                Decision::Deny(Denial::new(&proposal, DenialReason::NobodyToAskSoDeny, rule))
            }
        }
    }
}

/// A decision without a gate, for tests of what comes after one.
#[cfg(test)]
pub(crate) fn decided(policy: &Policy, proposal: Proposal) -> Result<Permit, Denial> {
    match policy.decide(proposal) {
        Decision::Allow(permit) => Ok(permit),
        Decision::Deny(denial) => Err(denial),
        Decision::Ask(approval) => {
            let reply = approval.reply(Choice::Unanswered);
            approval.decide(reply)
        }
    }
}

#[cfg(test)]
mod tests;
