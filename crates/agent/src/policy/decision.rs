//! What becomes of a call: leave to make it, or that it must not be made and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::pins::Difference;
use super::{Proposal, Rule};
use crate::digest::Digest;
use crate::name::{CallId, ServerName};
use crate::visible;

/// Leave to make one call, made out of exactly the call that was decided about.
///
/// It cannot be copied, and only the gate gives one out.
#[derive(Debug)]
pub struct Permit {
    pub(super) proposal: Proposal,
    pub(super) digest: Digest,
    /// What the tool was when this was decided; nothing where no tool of a server is called.
    pub(super) pin: Option<Digest>,
    /// Whether the call was permitted before a restart, and goes on where it was then.
    pub(super) resumes: bool,
    by: String,
}

/// A call that must not be made, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What else there is to know, where there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct More {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_add: Option<RuleToAdd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
    /// The tool must be accepted as it is now.
    #[serde(default)]
    needs_pin: bool,
}

/// The rule that would allow a call, for whoever writes it down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleToAdd {
    /// What stands behind `--allow`, not yet quoted for a shell.
    pub allow: String,
    /// What stands in a configuration file.
    pub toml: String,
    /// The command line that keeps the rule, quoted for a shell.
    #[serde(default)]
    pub command: String,
}

/// Why a call must not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DenialReason {
    /// A rule forbids it.
    Rule,
    /// The person said no.
    Person,
    /// No rule allows it, only rules count, and the run is to end.
    Unmatched,
    /// A person would have to be asked, nobody can be, and the run is to end.
    NobodyToAskSoFail,
    /// A person would have to be asked, nobody can be, and the run is to go on without the call.
    NobodyToAskSoDeny,
    /// The person answered about something else than this call.
    OtherThanShown,
}

impl DenialReason {
    /// Whether the run must end for it.
    pub(super) fn ends_run(self) -> bool {
        matches!(self, Self::NobodyToAskSoFail | Self::Unmatched)
    }
}

impl Permit {
    pub(super) fn new(proposal: Proposal, by: impl Into<String>) -> Self {
        let digest = proposal.digest();
        Self { proposal, digest, pin: None, resumes: false, by: by.into() }
    }

    /// Binds it to what the tool is now.
    pub(super) fn pinned(self, pin: Digest) -> Self {
        Self { pin: Some(pin), ..self }
    }

    /// Says whether the call goes on where it was before a restart.
    pub(super) fn resuming(self, resumes: bool) -> Self {
        Self { resumes, ..self }
    }

    /// The call.
    #[must_use]
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// Whether the call goes on where it was before a restart.
    pub(crate) fn resumes(&self) -> bool {
        self.resumes
    }

    /// What is kept of it while its call is made: this very call, of this very tool of this very server.
    pub(crate) fn mark(&self) -> Digest {
        Self::mark_of(self.digest, self.pin)
    }

    pub(super) fn mark_of(call: Digest, pin: Option<Digest>) -> Digest {
        let pin = pin.as_ref().map(ToString::to_string).unwrap_or_default();
        Digest::of(&[b"permit", call.to_string().as_bytes(), pin.as_bytes()])
    }

    /// Who or what allowed it, for people.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
    }

    pub(super) fn also(mut self, said: &str) -> Self {
        self.by.push_str(said);
        self
    }
}

impl Denial {
    pub(super) fn new(proposal: &Proposal, reason: DenialReason, rule: impl Into<String>) -> Self {
        Self::of((proposal.call, proposal.server.clone(), &proposal.tool.name), reason, rule)
    }

    /// A denial of a call of a tool, which is not there any more.
    pub(crate) fn of(
        (call, server, tool): (CallId, ServerName, &str),
        reason: DenialReason,
        rule: impl Into<String>,
    ) -> Self {
        Self { call, server, tool: tool.to_owned(), reason, rule: rule.into(), more: None }
    }

    /// Names the rule that would allow it.
    pub(super) fn with_rule_to_add(mut self, rule: Option<RuleToAdd>) -> Self {
        if rule.is_some() {
            self.more.get_or_insert_default().to_add = rule;
        }
        self
    }

    /// The tool is not as it was agreed to; how, where there is something to compare.
    pub(super) fn for_its_pin(mut self, difference: Option<Difference>) -> Self {
        let more = self.more.get_or_insert_default();
        (more.difference, more.needs_pin) = (difference, true);
        self
    }

    /// Whether the tool would have to be accepted as it is now.
    #[must_use]
    pub fn needs_pin(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.needs_pin)
    }

    /// The rule that would allow it, where a rule would.
    #[must_use]
    pub fn rule_to_add(&self) -> Option<&RuleToAdd> {
        self.more.as_ref()?.to_add.as_ref()
    }

    /// How the tool's definition changed, where that is why.
    #[must_use]
    pub fn difference(&self) -> Option<&Difference> {
        self.more.as_ref()?.difference.as_ref()
    }

    /// Whether the run must end because of it.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        self.reason.ends_run()
    }

    /// What the model is told.
    #[must_use]
    pub fn for_model(&self) -> &'static str {
        match self.reason {
            DenialReason::Person => {
                "The call was not made: the person declined it. Do not make it again; go on without it or ask what \
                 they want instead."
            }
            DenialReason::Rule | DenialReason::Unmatched => {
                "The call was not made: the policy of this host forbids it. Do not make it again."
            }
            DenialReason::NobodyToAskSoFail | DenialReason::NobodyToAskSoDeny => {
                "The call was not made: it needs a person's approval and nobody can be asked. Go on without it."
            }
            DenialReason::OtherThanShown => "The call was not made: the approval was given for another call.",
        }
    }
}

impl RuleToAdd {
    /// Nothing where a file cannot hold the rule.
    pub(super) fn of(rule: &Rule) -> Option<Self> {
        #[derive(Serialize)]
        struct File<'a> {
            policy: Section<'a>,
        }
        #[derive(Serialize)]
        struct Section<'a> {
            rules: [&'a Rule; 1],
        }
        let toml = toml_edit::ser::to_string_pretty(&File { policy: Section { rules: [rule] } }).ok()?;
        let text = rule.to_string();
        let (_, allow) = text.split_once(' ')?;
        let command = format!("switchboard policy add {}", visible::argument(&text));
        Some(Self { allow: allow.to_owned(), toml, command })
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, tool) = (&self.server, visible::name(&self.tool));
        match self.reason {
            DenialReason::Rule => write!(f, "{server}/{tool} is forbidden by {}", self.rule),
            DenialReason::Person => write!(f, "{server}/{tool} was declined"),
            DenialReason::Unmatched => write!(f, "{server}/{tool} is allowed by no rule ({})", self.rule),
            DenialReason::NobodyToAskSoFail | DenialReason::NobodyToAskSoDeny => {
                write!(f, "{server}/{tool} needs approval ({}) and nobody can be asked", self.rule)?;
                self.difference().map_or(Ok(()), |difference| write!(f, "\n{difference}"))
            }
            DenialReason::OtherThanShown => {
                write!(f, "the approval of {server}/{tool} was given for another call")?;
                if self.rule.is_empty() { Ok(()) } else { write!(f, ": {}", self.rule) }
            }
        }
    }
}
