//! What a person is asked, how it is shown, and what they may answer.
//!
//! The whole arguments are shown, laid out but unshortened, with everything invisible made visible. The answer
//! carries the digest of what was shown; a permit is made only if that is the digest of what will be sent.

use std::fmt::Write as _;

use futures_util::future::BoxFuture;

use super::{Denial, DenialReason, Permit, Proposal};
use crate::digest::Digest;
use crate::visible;

/// A question to a person: may this call be made?
#[derive(Debug)]
pub struct Approval {
    proposal: Proposal,
    digest: Digest,
    rule: String,
}

/// What a person may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Yes, this once.
    AllowOnce,
    /// Yes, and to every further call of this tool in this run, whatever its arguments, as long as the
    /// definition of the tool stays the same.
    AllowRun,
    /// No.
    Deny,
    /// Nobody is there to answer.
    Unanswered,
}

/// An answer, bound to what was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsentReply {
    /// [`Approval::digest`] of the question that was shown.
    pub shown: Digest,
    /// The answer.
    pub choice: Choice,
}

/// Whoever asks the person: a terminal, a web page, a test.
pub trait Consent: Send + Sync {
    /// Shows the question and waits for the answer. Dropping the future withdraws the question.
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply>;
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
    pub(super) fn new(proposal: Proposal, rule: String) -> Self {
        let digest = proposal.digest();
        Self { proposal, digest, rule }
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

    /// Why the person is asked.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// An answer to this very question.
    #[must_use]
    pub fn reply(&self, choice: Choice) -> ConsentReply {
        ConsentReply { shown: self.digest, choice }
    }

    /// Turns the answer into leave to make exactly this call, or into a denial.
    pub(super) fn decide(self, reply: ConsentReply) -> Result<Permit, Denial> {
        if reply.shown != self.digest {
            return Err(Denial::new(&self.proposal, DenialReason::OtherThanShown, self.rule));
        }
        match reply.choice {
            Choice::AllowOnce => Ok(Permit::new(self.proposal, "the person, once".to_owned())),
            Choice::AllowRun => Ok(Permit::new(self.proposal, "the person, for this run".to_owned())),
            Choice::Deny => Err(Denial::new(&self.proposal, DenialReason::Person, self.rule)),
            Choice::Unanswered => {
                Err(Denial::new(&self.proposal, DenialReason::NobodyToAskSoFail, self.rule))
            }
        }
    }

    /// The question as text, several lines, ending with a newline.
    ///
    /// Nothing is shortened: a person who consents has seen everything. What the arguments show is JSON and
    /// says exactly what will be sent.
    #[must_use]
    pub fn render(&self) -> String {
        let Proposal { server, tool, arguments, .. } = &self.proposal;
        let mut out = String::from("Allow this call?\n");
        let mut row = |label: &str, text: &str| {
            let text = text.replace('\n', "\n             ");
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {label:<10} {text}");
        };
        row("server", server.as_str());
        row("tool", &visible::name(&tool.name));
        if let Some(title) = tool.title.as_deref().filter(|title| !title.is_empty()) {
            row("title", &visible::line(title));
        }
        if let Some(claims) = claims(&self.proposal) {
            row("claims", &claims);
        }
        row("arguments", &visible::json(arguments));
        row("asked by", &visible::line(&self.rule));
        row("digest", &self.digest.short(16));
        out
    }
}

/// What the server says that the tool does to the world.
fn claims(proposal: &Proposal) -> Option<String> {
    let hints = proposal.tool.annotations.as_ref()?;
    let mut claims = Vec::new();
    match hints.read_only_hint {
        Some(true) => claims.push("read-only"),
        Some(false) => claims.push("changes something"),
        None => {}
    }
    if hints.read_only_hint != Some(true) {
        match hints.destructive_hint {
            Some(true) => claims.push("may destroy"),
            Some(false) => claims.push("destroys nothing"),
            None => {}
        }
    }
    if hints.open_world_hint == Some(true) {
        claims.push("reaches the outside world");
    }
    (!claims.is_empty()).then(|| format!("{} (says the server, unverified)", claims.join(", ")))
}
