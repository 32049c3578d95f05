//! The events of the fifth stage: who was asked about a call or for an answer, and what they said.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_protocol::model::elicitation::ElicitAction;

use super::event::value_of;
use crate::desk::Question;
use crate::digest::Digest;
use crate::name::{CallId, ServerName};
use crate::policy::{Approval, Denial, Permit, Proposal};

/// Somebody consents, or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Authorization {
    /// A person is asked.
    Asked {
        /// Which call.
        call: CallId,
        /// Whose tool.
        server: ServerName,
        /// The tool's own name.
        tool: String,
        /// What it would be called with.
        arguments: Value,
        /// Why they are asked.
        rule: String,
        /// What the answer will be bound to.
        digest: Digest,
    },
    /// The call may be made.
    Granted {
        /// Which call.
        call: CallId,
        /// Whose tool.
        server: ServerName,
        /// The tool's own name.
        tool: String,
        /// Who or what allowed it.
        by: String,
        /// What was allowed.
        digest: Digest,
    },
    /// The call must not be made.
    Denied {
        /// Which call.
        call: CallId,
        /// Whose tool.
        server: ServerName,
        /// The tool's own name.
        tool: String,
        /// Why.
        reason: String,
        /// The rule that decided.
        rule: String,
    },
    /// A question waits for an answer, which may come from anywhere: the terminal, a page, a program.
    Requested {
        /// The handle to answer it by.
        request: String,
        /// The call that it is about or was asked in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The question.
        question: Box<Question>,
    },
    /// A question was answered. What was filled in is on the wire only.
    Answered {
        /// Which.
        request: String,
        /// The answer in a word, such as `once`, `accept` or `decline`.
        answer: String,
    },
    /// A question needs no answer any more.
    Withdrawn {
        /// Which.
        request: String,
        /// Why.
        reason: String,
    },
    /// A server asks the person something during a call.
    Elicited {
        /// Which.
        server: ServerName,
        /// What it says.
        message: String,
        /// The fields of its form.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields: Vec<String>,
        /// The host of the address that it wants opened, instead of a form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// What the person said to that. The answers themselves are on the wire only.
    Replied {
        /// Whose question.
        server: ServerName,
        /// Whether they answered.
        action: ElicitAction,
    },
}

impl Authorization {
    pub(crate) fn asked(approval: &Approval) -> Self {
        let Proposal { call, server, tool, arguments, .. } = approval.proposal();
        Self::Asked {
            call: *call,
            server: server.clone(),
            tool: tool.name.clone(),
            arguments: value_of(arguments),
            rule: approval.rule().to_owned(),
            digest: approval.digest(),
        }
    }

    pub(crate) fn granted(permit: &Permit) -> Self {
        let proposal = permit.proposal();
        Self::Granted {
            call: proposal.call,
            server: proposal.server.clone(),
            tool: proposal.tool.name.clone(),
            by: permit.by().to_owned(),
            digest: proposal.digest(),
        }
    }

    pub(crate) fn denied(call: CallId, denial: &Denial) -> Self {
        Self::Denied {
            call,
            server: denial.server.clone(),
            tool: denial.tool.clone(),
            reason: denial.to_string(),
            rule: denial.rule.clone(),
        }
    }
}
