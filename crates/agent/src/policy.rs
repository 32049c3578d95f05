//! The one choke point: who may call what, and who says so.
//!
//! [`Policy`] holds rules; [`Authority`] decides by them, by [`Pins`] and by what a person said before ([`Grants`]);
//! `Gate` asks the person where that is needed, and is the only owner of the connections to servers. A call needs a
//! [`Permit`], which only this module makes, out of exactly what was decided about. So nothing else in the host can
//! reach a server. It looks at the file system where a rule is about folders, and at the store; it does nothing else to
//! the world. Where to look next: `policy/rule.rs` for the rules, `policy/authority.rs` for what decides when,
//! `policy/approval.rs` for what a person is shown, `policy/gate.rs` for the connections.

mod approval;
mod argument;
mod authority;
mod decision;
mod explain;
mod failure;
mod gate;
pub(crate) mod glob;
mod grants;
mod pins;
mod place;
mod preset;
mod proposal;
mod rule;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;
use switchboard_protocol::model::tool::Tool;

use crate::exposure::Exposure;
use crate::name::ServerName;

pub use self::approval::{
    Approval, ApprovalView, Choice, Claim, Consent, ConsentReply, Nobody, Offer, ServerView, Shortened, Why,
};
pub use self::argument::{ArgumentTest, InvalidArgumentTest};
pub use self::authority::Authority;
pub use self::decision::{Denial, DenialReason, Permit, RuleToAdd};
pub use self::explain::{Explanation, Fate, GrantShown, Otherwise, Outcome, RuleShown};
pub(crate) use self::gate::Gate;
pub use self::grants::{ArgumentRule, Grant, GrantScope, Grants, Scope};
pub(crate) use self::pins::definition_digest;
pub use self::pins::{
    Definition, Difference, DifferenceLine, FieldDifference, LineChange, PinState, PinnedTool, Pins,
    ServerIdentity, ServerPins,
};
pub use self::preset::{Preset, UnknownPreset};
pub use self::proposal::Proposal;
pub use self::rule::{Action, Hints, InvalidRule, Presence, Rule, UnmatchedRule};
pub(crate) use self::upstream::{
    Asked, CallContext, ClientUpstream, LISTING, Listing, Slot, Typed, Upstream, UpstreamError, WireSink,
    exchange,
};

/// What a run does where a rule says *ask*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A person is asked.
    #[default]
    Interactive,
    /// The person has said yes to everything in advance. Rules that deny still deny, and a tool that changed is not
    /// called.
    Yes,
    /// Nobody can be asked, and the run ends.
    Fail,
    /// Nobody can be asked, the call is denied, and the run goes on.
    Deny,
}

impl Mode {
    /// Whether somebody can be asked, for rules that make a difference of it.
    #[must_use]
    pub fn presence(self) -> Presence {
        if self == Self::Interactive { Presence::Interactive } else { Presence::Headless }
    }
}

/// Rules, what to do where none matches, and what to do where they say *ask*.
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
    /// Those of one run.
    of_run: Vec<Rule>,
    trusted: BTreeSet<ServerName>,
    mode: Mode,
    preset: Preset,
    home: Option<PathBuf>,
    folders: BTreeMap<ServerName, PathBuf>,
}

/// What the rules say about a call.
#[derive(Debug)]
struct Ruling {
    action: Action,
    /// Which rule says it, for people.
    by: String,
    /// Its place among the rules, if it is one of them.
    rule: Option<usize>,
    /// Only what a person says in the run itself answers it, if it asks.
    is_of_run: bool,
    /// No rule says it, and only rules may.
    is_unmatched: bool,
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

    /// Adds rules of one run, which may only ask or deny. What they ask about is asked, whatever a more specific rule
    /// allows and whatever a person said beyond the run.
    pub(crate) fn of_run(mut self, rules: Vec<Rule>) -> Self {
        self.of_run.extend(rules);
        self
    }

    /// What to do with a call that no rule is about.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// Believes what a server says about its own tools: those that it calls read-only need no question.
    #[must_use]
    pub fn trust(mut self, server: ServerName) -> Self {
        self.trusted.insert(server);
        self
    }

    /// What `~` is, in rules and in arguments.
    #[must_use]
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }

    /// The folder that a server runs in. What it is given as a relative path is looked for there; of a server whose
    /// folder is not known, nobody can say where that is.
    #[must_use]
    pub fn folder(mut self, server: ServerName, folder: impl Into<PathBuf>) -> Self {
        self.folders.insert(server, folder.into());
        self
    }

    /// The same rules for somebody who can, or cannot, be asked.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What it does where a rule says *ask*.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether a server is believed.
    #[must_use]
    pub fn trusts(&self, server: &ServerName) -> bool {
        self.trusted.contains(server)
    }

    /// Refuses a rule that matches no known tool, or looks into an argument that none of them takes: it would protect
    /// nothing, silently.
    ///
    /// Rules for servers in `absent`, whose tools are not known now, are not looked at.
    ///
    /// # Errors
    /// The first such rule.
    pub fn check(&self, exposure: &Exposure, absent: &[ServerName]) -> Result<(), UnmatchedRule> {
        for rule in self.all_rules() {
            if absent.iter().any(|server| rule.names_server(server)) {
                continue;
            }
            let matched: Vec<_> =
                exposure.tools().iter().filter(|tool| rule.names(tool.server(), &tool.tool().name)).collect();
            let is_left_out = exposure.left_out().iter().any(|left| rule.names(&left.server, &left.tool));
            if matched.is_empty() && !is_left_out {
                return Err(UnmatchedRule::no_tool(rule, exposure, absent));
            }
            if let Some(error) = UnmatchedRule::no_argument(rule, &matched) {
                return Err(error);
            }
        }
        Ok(())
    }

    fn all_rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().chain(&self.of_run)
    }

    /// What the rules say about a call, and which of them says it: a rule that denies wins, then one of the run that
    /// asks, then the most specific rule, then trust, then what the preset says. What becomes of *ask* is up to the mode.
    fn ruling(
        &self,
        (server, tool): (&ServerName, &Tool),
        arguments: Option<&Value>,
        principal: Option<&str>,
    ) -> Ruling {
        let case = self.case((server, tool), arguments, principal);
        // Judged once: what a rule finds on the disk may be another thing the next time.
        let matching = self.all_rules().enumerate().filter(|(_, rule)| rule.judge(&case).is_ok());
        let matching: Vec<_> = matching.collect();
        let denied = matching.iter().find(|(_, rule)| rule.action() == Action::Deny);
        let is_of_run = |index: usize| index >= self.rules.len();
        let first = |&&(index, rule): &&(usize, &Rule)| (is_of_run(index), rule.precedence());
        if let Some(&(index, rule)) = denied.or_else(|| matching.iter().max_by_key(first)) {
            let by = format!("the rule `{rule}`");
            let is_of_run = is_of_run(index);
            return Ruling { action: rule.action(), by, rule: Some(index), is_of_run, is_unmatched: false };
        }
        let read_only = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
        let (action, by) = if read_only && case.trusted && self.preset.trusts() {
            (Action::Allow, "trust in the server, which calls the tool read-only")
        } else if self.preset == Preset::Careful {
            (Action::Ask, self.preset.why())
        } else {
            (Action::Deny, self.preset.why())
        };
        let is_unmatched = action == Action::Deny && self.preset == Preset::CiStrict;
        Ruling { action, by: by.to_owned(), rule: None, is_of_run: false, is_unmatched }
    }

    fn case<'a>(
        &'a self,
        (server, tool): (&'a ServerName, &'a Tool),
        arguments: Option<&'a Value>,
        principal: Option<&'a str>,
    ) -> rule::Case<'a> {
        rule::Case {
            server,
            tool,
            trusted: self.trusts(server),
            arguments,
            presence: self.mode.presence(),
            principal,
            place: self.place(server),
        }
    }

    fn place(&self, server: &ServerName) -> argument::Place<'_> {
        argument::Place { home: self.home.as_deref(), folder: self.folders.get(server).map(PathBuf::as_path) }
    }
}

/// A decision without a gate, for tests of what comes after one.
#[cfg(test)]
pub(crate) fn decided(policy: &Policy, proposal: Proposal) -> Result<Permit, Denial> {
    let authority = Authority::forgetful(policy.clone());
    match authority.decide(proposal, &Scope::run()) {
        authority::Decision::Allow(permit) => Ok(permit),
        authority::Decision::Deny(denial) => Err(denial),
        authority::Decision::Ask(approval) => {
            let reply = approval.reply(Choice::Unanswered);
            approval.decide(&reply)
        }
    }
}

#[cfg(test)]
mod tests;
