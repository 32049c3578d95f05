//! What a run is asked to do.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema;
use crate::digest::Digest;
use crate::error::{AgentError, ErrorKind};
use crate::integration::Attachment;
use crate::journal::MASK;
use crate::limits::Limits;
use crate::policy::{Action, Mode, Policy, Rule};

/// The longest idempotency key, in characters.
const LONGEST_KEY: usize = 255;

/// The longest question with the schema of its answer, in bytes. What is longer is a file.
const LONGEST_QUESTION: usize = 1 << 20;

/// The most attachments of one question.
const MOST_ATTACHMENTS: usize = 64;

/// The size of all attachments of one question, in bytes, without base64.
const LARGEST_ATTACHMENTS: usize = 16 << 20;

/// A question, and how it is to be answered. Only the question is needed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunRequest {
    /// The question. At most 1 MiB, together with the schema of the answer.
    pub input: String,
    /// The session to ask in, for whoever has none at hand, such as a request over HTTP. A session that is asked does
    /// not look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What belongs to it. At most 64, with 16 MiB all together, counted without base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The model, by the name that the host knows it by. Default: that of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The servers whose tools are offered. Default: those of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
    /// What is allowed less than the host allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<RunPolicy>,
    /// Limits below those of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<RunLimits>,
    /// A JSON schema that the answer must fit: the answer is then one JSON value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Whoever asks the same twice with the same key gets the same run; whoever asks something else is refused. 1 to
    /// 255 visible ASCII characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// A policy that may only be stricter than that of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunPolicy {
    /// Further rules that ask or deny, such as `deny */delete_*`. What is denied in every call is not offered. What is
    /// asked about is asked, whatever a more specific rule of the host allows; of earlier answers, only one for this run
    /// answers it.
    pub rules: Vec<String>,
    /// What becomes of a call that asks, if nobody is to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_ask: Option<OnAsk>,
}

/// What becomes of a call that asks where nobody is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// The run ends.
    Fail,
    /// The run goes on without it.
    Deny,
}

/// Limits of one run. What is above the limit of the host counts as that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunLimits {
    /// Times that the model is asked, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Calls of tools. With 0, the model answers without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Tokens, read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Seconds, without those in which a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl RunRequest {
    /// A question with nothing else.
    pub fn new(input: impl Into<String>) -> Self {
        Self { input: input.into(), ..Self::default() }
    }

    /// Refuses what cannot work before anything begins.
    pub(super) fn check(&self, policy: &Policy) -> Result<(), AgentError> {
        if self.input.trim().is_empty() && self.attachments.is_empty() {
            return refused("the question is empty".to_owned(), "ask something");
        }
        let bytes = self.text().len();
        if bytes > LONGEST_QUESTION {
            let message = format!("the question has {bytes} bytes; it may have {LONGEST_QUESTION}");
            return refused(message, "attach what is long as a file");
        }
        if self.limits.and_then(|limits| limits.steps) == Some(0) {
            return refused("a run has at least 1 step".to_owned(), "give 1 or more, or no limit of steps");
        }
        self.check_attachments()?;
        self.policy(policy)?;
        self.output_schema.as_ref().map_or(Ok(()), |schema| schema::compile(schema).map(drop))
    }

    fn check_attachments(&self) -> Result<(), AgentError> {
        let count = self.attachments.len();
        if count > MOST_ATTACHMENTS {
            let message = format!("the question has {count} attachments; it may have {MOST_ATTACHMENTS}");
            return refused(message, "attach fewer, or ask several times");
        }
        let mut bytes = 0;
        for (attachment, number) in self.attachments.iter().zip(1..) {
            if attachment.address().is_some_and(|address| address.contains(MASK)) {
                let message = format!(
                    "the address of attachment {number} holds {MASK}, which stands for a secret that is not shown"
                );
                return refused(message, "give the whole address");
            }
            let Some(size) = attachment.bytes() else {
                let message = format!("the `data` of attachment {number} is no base64");
                return refused(message, "give plain text as `text`");
            };
            bytes += size;
        }
        if bytes > LARGEST_ATTACHMENTS {
            let message =
                format!("the attachments have {bytes} bytes; all together may have {LARGEST_ATTACHMENTS}");
            return refused(message, "attach less, or ask several times");
        }
        Ok(())
    }

    /// The idempotency key, if there is one.
    ///
    /// # Errors
    /// When it cannot be one.
    pub(crate) fn key(&self) -> Result<Option<&str>, AgentError> {
        let Some(key) = self.idempotency_key.as_deref() else { return Ok(None) };
        if (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(Some(key));
        }
        let message = format!("the idempotency key is not 1 to {LONGEST_KEY} visible ASCII characters");
        Err(AgentError::new(ErrorKind::Configuration, message).hint("a UUID is a good one"))
    }

    /// What is asked, so that another question with the same key is noticed.
    pub(crate) fn digest(&self) -> Digest {
        // Everything in it can be written as JSON: it was read from it.
        Digest::of(&[b"run request", &serde_json::to_vec(self).unwrap_or_default()])
    }

    /// Whether nothing was masked, where it was kept, of what it decides or has read. Once a turn has `begun`, its
    /// attachments were read.
    pub(super) fn is_whole(&self, begun: bool) -> bool {
        let rules = self.policy.iter().flat_map(|policy| &policy.rules);
        let addresses = self.attachments.iter().filter(|_| !begun).filter_map(Attachment::address);
        !rules.map(String::as_str).chain(addresses).any(|text| text.contains(MASK))
    }

    /// The question as the model reads it: with what the answer must fit.
    pub(super) fn text(&self) -> String {
        let mut text = self.input.clone();
        if let Some(schema) = &self.output_schema {
            text.push_str(&format!(
                "\n\nAnswer with one JSON value and nothing else. It must fit this JSON schema:\n{schema}"
            ));
        }
        text
    }

    /// Its own rules.
    ///
    /// # Errors
    /// When a rule is none, or would allow something.
    pub(super) fn rules(&self) -> Result<Vec<Rule>, AgentError> {
        let wrong = |message: String| AgentError::new(ErrorKind::Configuration, message);
        let texts = self.policy.iter().flat_map(|own| &own.rules);
        let rules = texts.map(|text| {
            let rule: Rule = text.parse().map_err(|error| wrong(format!("{error}")))?;
            if rule.action() == Action::Allow {
                return Err(wrong(format!("the rule `{rule}` would allow more than the host does"))
                    .hint("a run may only add rules that ask or deny"));
            }
            Ok(rule)
        });
        rules.collect()
    }

    /// The policy of the host, made stricter.
    ///
    /// # Errors
    /// When a rule is none, or would allow something.
    pub(super) fn policy(&self, host: &Policy) -> Result<Policy, AgentError> {
        let Some(own) = &self.policy else { return Ok(host.clone()) };
        let policy = host.clone().of_run(self.rules()?);
        let mode = match (host.mode(), own.on_ask) {
            (mode, None) => mode,
            (_, Some(OnAsk::Fail)) => Mode::Fail,
            (Mode::Fail, Some(OnAsk::Deny)) => Mode::Fail,
            (_, Some(OnAsk::Deny)) => Mode::Deny,
        };
        Ok(policy.with_mode(mode))
    }

    /// The limits of the host, made stricter.
    pub(super) fn limits(&self, host: &Limits) -> Limits {
        let Some(own) = self.limits else { return host.clone() };
        let stricter = |own: Option<u64>, host: Option<u64>| match (own, host) {
            (Some(own), Some(host)) => Some(own.min(host)),
            (own, host) => own.or(host),
        };
        Limits {
            steps: own.steps.map_or(host.steps, |steps| steps.clamp(1, host.steps.max(1))),
            calls: own.calls.map_or(host.calls, |calls| calls.min(host.calls)),
            tokens: stricter(own.tokens, host.tokens),
            wall_clock: stricter(own.seconds, host.wall_clock.map(|limit| limit.as_secs()))
                .map(std::time::Duration::from_secs),
            ..host.clone()
        }
    }
}

fn refused(message: String, hint: &str) -> Result<(), AgentError> {
    Err(AgentError::new(ErrorKind::Configuration, message).hint(hint))
}
