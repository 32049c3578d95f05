//! What a person can be asked, and what they can answer, as a page or a program reads it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_client::ElicitReply;
use switchboard_protocol::model::elicitation::{ElicitAction, ElicitForm, ElicitSchema};
use switchboard_protocol::model::roots::Root;

use crate::digest::Digest;
use crate::error::{AgentError, ErrorKind};
use crate::journal::Masker;
use crate::name::{CallId, RunId, ServerName};
use crate::policy::{ApprovalView, ArgumentRule, Choice};

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingView {
    /// The handle to answer it by: the run, a dot, the call, and a number where one call asks several times. It is
    /// the same after a restart.
    pub id: String,
    /// The run that waits.
    pub run: RunId,
    /// When it was asked, in milliseconds since 1970-01-01 UTC.
    pub asked_ms: u64,
    /// The question.
    pub question: Question,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Question {
    /// May this call be made?
    Approval(Box<ApprovalView>),
    /// A tool wants a form filled in.
    Form {
        /// Whose tool.
        server: ServerName,
        /// The call that asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// What it says.
        message: String,
        /// The fields, in the order in which they are asked.
        schema: ElicitSchema,
        /// Whether a secret of the configuration stands where `***` is shown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hidden: bool,
    },
    /// A tool wants an address opened. Nobody has looked at it yet.
    Url {
        /// Whose tool.
        server: ServerName,
        /// The call that asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Why.
        message: String,
        /// The whole address, with everything invisible made visible.
        url: String,
        /// Its host: what to look at first.
        host: String,
        /// Whether a secret of the configuration stands where `***` is shown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hidden: bool,
    },
    /// A server wants to ask the language model.
    Sampling {
        /// Which.
        server: ServerName,
        /// The call that asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Instructions that it gives the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
        /// What it tells the model.
        messages: Vec<SamplingLine>,
        /// The longest answer, in tokens.
        max_tokens: u32,
        /// What the answer is bound to.
        digest: Digest,
        /// Whether a secret of the configuration stands where `***` is shown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hidden: bool,
    },
    /// A server wants to know the folders that it may work in.
    Roots {
        /// Which.
        server: ServerName,
        /// What it would be told.
        roots: Vec<Root>,
    },
    /// A server wants a login.
    Login {
        /// Which.
        server: ServerName,
        /// What to do.
        hint: String,
    },
}

/// One message that a server has for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingLine {
    /// `user` or `assistant`.
    pub role: String,
    /// Its text, with everything invisible made visible.
    pub text: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    /// To an approval.
    Approval {
        /// The digest of what was shown.
        digest: Digest,
        /// The answer.
        choice: Choice,
        /// What the arguments of further calls must be like: one of the rules that the question offers. An answer for
        /// more than once needs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<ArgumentRule>,
    },
    /// To a form.
    Form {
        /// Whether it was filled in.
        action: ElicitAction,
        /// The fields. Those that have a default may be left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Map<String, Value>>,
    },
    /// To an address.
    Url {
        /// Whether it may be, or was, opened.
        action: ElicitAction,
    },
    /// To a request to the model.
    Sampling {
        /// The digest of what was shown.
        digest: Digest,
        /// Whether the model may be asked.
        allow: bool,
    },
    /// To a request for the folders. Counts for the session.
    Roots {
        /// Whether the server may know them.
        allow: bool,
    },
    /// To a login.
    Login {
        /// Whether to go on.
        done: bool,
    },
}

/// An answer that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no such question.
    #[error("no question is called {0}")]
    Unknown(String),
    /// Somebody answered it before.
    #[error("the question {0} is answered already: the first answer counts")]
    Taken(String),
    /// The answer does not fit the question.
    #[error("the answer does not fit the question: {0}")]
    NotThis(String),
}

impl Question {
    /// Whether the answer fits it.
    pub(super) fn check(&self, reply: &Reply) -> Result<(), AnswerError> {
        let other = || Err(AnswerError::NotThis("it is an answer to another kind of question".to_owned()));
        let changed =
            || Err(AnswerError::NotThis("it was given to something else than what is asked now".to_owned()));
        match (self, reply) {
            (Self::Approval(view), Reply::Approval { digest, .. }) if view.digest != *digest => changed(),
            (Self::Approval(view), Reply::Approval { choice, rule, .. }) => {
                view.check(*choice, rule.as_ref()).map_err(AnswerError::NotThis)
            }
            (Self::Sampling { digest: shown, .. }, Reply::Sampling { digest, .. }) if shown != digest => {
                changed()
            }
            (Self::Form { .. }, Reply::Form { .. }) => {
                let asked = self.form();
                asked.map_or(Ok(()), |asked| reply.elicited().check(&asked)).map_err(AnswerError::NotThis)
            }
            (Self::Url { .. }, Reply::Url { .. })
            | (Self::Sampling { .. }, Reply::Sampling { .. })
            | (Self::Roots { .. }, Reply::Roots { .. })
            | (Self::Login { .. }, Reply::Login { .. }) => Ok(()),
            _ => other(),
        }
    }

    /// The form as it is shown, if it is one.
    pub(super) fn form(&self) -> Option<ElicitForm> {
        let Self::Form { message, schema, .. } = self else { return None };
        Some(ElicitForm { message: message.clone(), requested_schema: schema.clone() })
    }

    /// Whether an answer that was given to what was `shown` is one to this question.
    pub(super) fn takes(&self, shown: &Self, reply: &Reply) -> bool {
        // These name what they were given to. All others count for the very question only.
        let bound = matches!(reply, Reply::Approval { .. } | Reply::Sampling { .. });
        (bound || shown == self) && self.check(reply).is_ok()
    }

    /// What it comes to where nobody is there to answer: what waits, and what would let it go on.
    #[must_use]
    pub fn unanswered(&self) -> AgentError {
        let waits = |what: String| {
            let error = AgentError::new(ErrorKind::InputNeeded, what).at(self.server());
            error.hint("run it in a terminal, where the question can be shown and answered")
        };
        match self {
            Self::Approval(view) => {
                let message = format!("{}/{} waits for approval ({})", view.server, view.tool, view.rule);
                AgentError::from(view.unanswered()).saying(message)
            }
            Self::Form { message, .. } => waits(format!("a form waits to be filled in: {message}")),
            Self::Url { host, .. } => waits(format!("an address of {host} waits to be opened")),
            Self::Sampling { .. } => waits("it waits for leave to ask the model".to_owned()),
            Self::Roots { .. } => waits("it waits for leave to know the folders".to_owned()),
            Self::Login { hint, .. } => waits(format!("it waits for a login: {hint}")),
        }
    }

    /// The call that it is about or was asked in.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::Approval(view) => Some(view.call),
            Self::Form { call, .. } | Self::Url { call, .. } | Self::Sampling { call, .. } => *call,
            Self::Roots { .. } | Self::Login { .. } => None,
        }
    }

    /// Whose question it is, or whose tool it is about.
    #[must_use]
    pub fn server(&self) -> &ServerName {
        match self {
            Self::Approval(view) => &view.server,
            Self::Form { server, .. }
            | Self::Url { server, .. }
            | Self::Sampling { server, .. }
            | Self::Roots { server, .. }
            | Self::Login { server, .. } => server,
        }
    }

    /// The same as a person sees it: without known secrets, and it says so where one stands. Nothing else is masked in a
    /// question. A default that is secret is none, or what is shown in its place would be sent.
    pub(super) fn hiding(mut self, masker: &Masker) -> Self {
        let mut hides = false;
        if let Self::Form { schema, .. } = &mut self {
            for (_, field) in &mut schema.properties.0 {
                if field.default_value().is_some_and(|value| masker.is_in(&value.to_string())) {
                    field.forget_default();
                    hides = true;
                }
            }
        }
        if let Some(shown) = masker.known_in(&self) {
            (self, hides) = (shown, true);
        }
        if let Self::Form { hidden, .. } | Self::Url { hidden, .. } | Self::Sampling { hidden, .. } =
            &mut self
        {
            *hidden |= hides;
        }
        self
    }

    /// Whether a secret of the configuration stands where `***` is shown.
    #[must_use]
    pub fn hides_secret(&self) -> bool {
        match self {
            Self::Approval(view) => !view.hidden.is_empty(),
            Self::Form { hidden, .. } | Self::Url { hidden, .. } | Self::Sampling { hidden, .. } => *hidden,
            Self::Roots { .. } | Self::Login { .. } => false,
        }
    }
}

impl Reply {
    /// The answer in a word, for the journal.
    #[must_use]
    pub fn word(&self) -> &'static str {
        let action = |action: &ElicitAction| match action {
            ElicitAction::Accept => "accept",
            ElicitAction::Decline => "decline",
            ElicitAction::Cancel => "cancel",
        };
        let allowed = |allow: &bool| if *allow { "allow" } else { "deny" };
        match self {
            Self::Approval { choice, .. } => match choice {
                Choice::AllowOnce => "once",
                Choice::AllowRun => "run",
                Choice::AllowSession => "session",
                Choice::AllowAlways => "always",
                Choice::Deny => "deny",
                Choice::Unanswered => "unanswered",
            },
            Self::Form { action: said, .. } | Self::Url { action: said } => action(said),
            Self::Sampling { allow, .. } | Self::Roots { allow } | Self::Login { done: allow } => {
                allowed(allow)
            }
        }
    }

    /// The answer to a form or an address, as the client library takes it.
    pub(super) fn elicited(&self) -> ElicitReply {
        match self {
            Self::Form { action: ElicitAction::Accept, content } => {
                ElicitReply::Accept(content.clone().map_or(Value::Null, Value::Object))
            }
            Self::Url { action: ElicitAction::Accept } => ElicitReply::Accept(Value::Null),
            Self::Form { action: ElicitAction::Decline, .. }
            | Self::Url { action: ElicitAction::Decline } => ElicitReply::Decline,
            _ => ElicitReply::Cancel,
        }
    }
}
