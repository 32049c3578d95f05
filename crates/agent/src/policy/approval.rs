//! What a person is asked, and what they may answer.
//!
//! The whole arguments are shown, with everything invisible made visible; a long text is shortened at first and says how
//! long it is. Only what the configuration calls a secret is not, and the question says where it stands. The answer carries the digest of what was shown; a permit is made only if that is the digest of what
//! will be sent. Where to look next: `approval/view.rs` for how it is shown, `approval/propose.rs` for the rule that is
//! proposed with *always*.

mod propose;
mod view;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

pub(super) use self::propose::propose;
pub use self::view::{ApprovalView, Claim, Offer, ServerView, Shortened};
use super::grants::ArgumentRule;
use super::pins::Difference;
use super::{Denial, DenialReason, Permit, Proposal, RuleToAdd};
use crate::digest::Digest;
use crate::identity::Identity;
use crate::journal::Masker;
use crate::name::CallId;

/// A question to a person: may this call be made?
#[derive(Debug)]
pub struct Approval {
    proposal: Proposal,
    asked: Asked,
    digest: Digest,
    rule: String,
    /// Knows what of it is not shown.
    masker: Masker,
}

/// Everything about a question beside the call.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) why: Why,
    /// The tool's pin as it is now.
    pub(super) pin: Digest,
    /// Who the server is.
    pub(super) server: Arc<ServerFacts>,
    /// What an answer for more than once could be bound to.
    pub(super) proposed: Option<ArgumentRule>,
    /// The rule that would make the question needless.
    pub(super) to_add: Option<RuleToAdd>,
    /// How long an answer can be kept.
    pub(super) lasts: Lasts,
}

/// How long an answer can be kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lasts {
    /// There is a session.
    pub(super) session: bool,
    /// There is a place that outlives the process.
    pub(super) always: bool,
}

/// What the gate knows of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerFacts {
    /// What it says it is, and what is spoken with it.
    pub(crate) identity: Option<Identity>,
    /// The hash of its configuration.
    pub(crate) configuration: Option<String>,
    /// The same part by part, for people.
    pub(crate) parts: Vec<String>,
    /// Whether it is believed.
    pub(crate) trusted: bool,
}

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Why {
    /// A rule or the default says so.
    Rule {
        /// Which.
        rule: String,
    },
    /// The tool is another than was agreed to.
    Changed {
        /// What is different.
        difference: Difference,
        /// When the other one was agreed to, in milliseconds since 1970-01-01 UTC.
        accepted_ms: u64,
    },
    /// The tool was not there when its server was seen first.
    NewTool {
        /// When that was, in milliseconds since 1970-01-01 UTC.
        since_ms: u64,
        /// A tool that is gone and looked the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resembles: Option<String>,
    },
    /// What was agreed to before cannot be read.
    Unreadable {
        /// Why.
        problem: String,
    },
}

/// What a person may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Yes, this once.
    AllowOnce,
    /// Yes, and to every further call of this tool in this run that the rule of the answer covers, as long as the tool and
    /// its server stay the same.
    AllowRun,
    /// The same for the whole session, restarts included.
    AllowSession,
    /// The same until somebody takes it back.
    AllowAlways,
    /// No.
    Deny,
    /// Nobody is there to answer.
    Unanswered,
}

/// An answer, bound to what was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentReply {
    /// [`Approval::digest`] of the question that was shown.
    pub shown: Digest,
    /// The answer.
    pub choice: Choice,
    /// What the arguments of further calls must be like, where the answer is for more than once. One that does not say
    /// so counts once: nobody is taken to have allowed more than they named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<ArgumentRule>,
}

impl ConsentReply {
    /// Whether it counts for further calls, too.
    pub(super) fn lasts(&self) -> bool {
        self.choice.lasts() && self.rule.is_some()
    }
}

impl Choice {
    /// Whether it is meant for further calls, too.
    pub(crate) fn lasts(self) -> bool {
        matches!(self, Self::AllowRun | Self::AllowSession | Self::AllowAlways)
    }
}

/// Whoever asks the person: a terminal, a web page, a test.
pub trait Consent: Send + Sync {
    /// Shows the question and waits for the answer. Dropping the future withdraws the question.
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply>;

    /// A call was decided without an answer to it, by the rules or by an answer to another: what still asks about it is
    /// withdrawn. `false` if the person has said no to it by then, which counts.
    fn settle(&self, call: CallId, by: &str) -> bool {
        let _ = (call, by);
        true
    }
}

/// Nobody is there: every question stays unanswered, so the call is not made and the run ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Consent for Nobody {
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply> {
        Box::pin(std::future::ready(approval.reply(Choice::Unanswered)))
    }
}

impl Approval {
    pub(super) fn new(proposal: Proposal, asked: Asked) -> Self {
        let rule = asked.why.to_string();
        let why = serde_json::to_string(&asked.why).unwrap_or_default();
        let digest = Digest::of(&[
            b"approval",
            proposal.digest().to_string().as_bytes(),
            asked.pin.to_string().as_bytes(),
            why.as_bytes(),
        ]);
        Self { proposal, asked, digest, rule, masker: Masker::default() }
    }

    /// What is not shown, as it is known to be secret. No answer that lasts, and no rule, is offered that would write it
    /// down.
    pub(super) fn hiding(mut self, masker: Masker) -> Self {
        let holds = |json: serde_json::Result<String>| json.is_ok_and(|json| masker.is_in(&json));
        self.asked.proposed = self.asked.proposed.filter(|rule| !holds(serde_json::to_string(rule)));
        self.asked.to_add = self.asked.to_add.filter(|rule| !holds(serde_json::to_string(rule)));
        self.masker = masker;
        self
    }

    /// The call in question.
    #[must_use]
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// The digest of everything shown.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Why the person is asked, in one line.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Why the person is asked.
    #[must_use]
    pub fn why(&self) -> &Why {
        &self.asked.why
    }

    /// What an answer for more than once could be bound to: only under this folder, only this host.
    #[must_use]
    pub fn proposed(&self) -> Option<&ArgumentRule> {
        self.asked.proposed.as_ref()
    }

    pub(super) fn pin(&self) -> Digest {
        self.asked.pin
    }

    /// An answer to this very question, and to no other call.
    #[must_use]
    pub fn reply(&self, choice: Choice) -> ConsentReply {
        ConsentReply { shown: self.digest, choice, rule: None }
    }

    /// An answer for more than this call, but only for calls with arguments like that. [`ArgumentRule::any`] is for all of
    /// them.
    #[must_use]
    pub fn reply_where(&self, choice: Choice, rule: ArgumentRule) -> ConsentReply {
        ConsentReply { rule: Some(rule), ..self.reply(choice) }
    }

    /// Turns the answer into leave to make exactly this call, or into a denial.
    pub(super) fn decide(self, reply: &ConsentReply) -> Result<Permit, Denial> {
        if reply.shown != self.digest {
            return Err(Denial::new(&self.proposal, DenialReason::OtherThanShown, self.rule));
        }
        let by = match reply.choice {
            Choice::Deny => return Err(Denial::new(&self.proposal, DenialReason::Person, self.rule)),
            Choice::Unanswered => return Err(self.unanswered(DenialReason::NobodyToAskSoFail)),
            Choice::AllowRun if reply.lasts() => "the person, for this run",
            Choice::AllowSession if reply.lasts() => "the person, for this session",
            Choice::AllowAlways if reply.lasts() => "the person, always",
            _ => "the person, once",
        };
        let by = match &reply.rule {
            Some(rule) if reply.lasts() && !rule.is_any() => format!("{by}, where {rule}"),
            _ => by.to_owned(),
        };
        Ok(Permit::new(self.proposal, by).pinned(self.asked.pin))
    }

    /// Nobody can be asked.
    pub(super) fn unanswered(self, reason: DenialReason) -> Denial {
        self.asked.why.unanswered(Denial::new(&self.proposal, reason, self.rule), self.asked.to_add)
    }
}

impl Why {
    /// A denial because nobody answered, with what would make the question needless.
    fn unanswered(self, denial: Denial, to_add: Option<RuleToAdd>) -> Denial {
        match self {
            Self::Rule { .. } => denial.with_rule_to_add(to_add),
            Self::Changed { difference, .. } => denial.for_its_pin(Some(difference)),
            Self::NewTool { .. } | Self::Unreadable { .. } => denial.for_its_pin(None),
        }
    }
}
