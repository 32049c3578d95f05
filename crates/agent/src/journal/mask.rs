//! Masks secrets before anything is written or shown: for the journal, for logs, and for the screen.
//!
//! Three nets: members whose name says that they hold a secret; texts that look like a bearer token or a known
//! kind of key (`keys.rs`); and the very texts that the host knows to be secret (`known.rs`), in the forms of `forms.rs`.
//! The first two are guesses. They are for what is only read later: not for questions, whose words somebody consents to,
//! and not for our own words. Masking changes what is written only, never what is sent.

mod forms;
mod keys;
mod known;

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

use super::authorization::Authorization;
use super::declaration::{Declaration, Exposed};
use super::event::{Discovery, Event, Execution, Integration, Invocation, ResultEvent, RunEvent, Selection};
use forms::Finder;
pub(crate) use forms::MASK;

/// A known secret shorter than this, in bytes, is not searched for.
const SHORTEST_SECRET: usize = 6;

/// Names of members and words that we, or the protocol, write: a secret that is in one of them is not searched for, or
/// nothing could be read any more. One a line; what is shorter than a secret may be is left out.
const WORDS: &str = include_str!("mask/words.txt");

/// Names of members that hold secrets, without case, `-` and `_`.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "clientsecret",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "bearer",
    "authorization",
    "proxyauthorization",
    "apikey",
    "xapikey",
    "privatekey",
    "cookie",
    "setcookie",
    "credential",
    "credentials",
    "pin",
    "otp",
];

/// Knows what must not be written.
#[derive(Clone, Default)]
pub struct Masker {
    secrets: Vec<String>,
    /// Made of them when it is needed.
    finder: OnceLock<Finder>,
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masker({} secrets)", self.secrets.len())
    }
}

impl Masker {
    /// Why this text is not masked, though it is secret: it would tear holes into everything else. Whoever keeps such a
    /// secret should be told. Nothing is said of an empty one, which hides nothing.
    #[must_use]
    pub fn spares(secret: &str) -> Option<&'static str> {
        match secret.len() {
            0 => None,
            1..SHORTEST_SECRET => Some("it is shorter than 6 bytes"),
            _ if WORDS.lines().any(|word| word.contains(secret)) => {
                Some("it is a word that Switchboard or the protocol uses itself")
            }
            _ => None,
        }
    }

    /// Masks this text wherever it appears, as it is and in other forms; but for one that it [spares](Self::spares).
    pub fn add(&mut self, secret: impl Into<String>) {
        let secret = secret.into();
        let is_masked = !secret.is_empty() && Self::spares(&secret).is_none();
        if is_masked && !self.secrets.contains(&secret) {
            self.secrets.push(secret);
            self.finder = OnceLock::new();
        }
    }

    fn finder(&self) -> &Finder {
        self.finder.get_or_init(|| Finder::new(&self.secrets))
    }

    /// Up to which byte of a text, to which more will be added, nothing is the beginning of a known secret.
    pub(super) fn settled(&self, text: &str) -> usize {
        self.finder().settled(text)
    }

    /// Masks what looks like a secret where a person, a model or a server wrote it, and known secrets everywhere.
    pub(super) fn mask(&self, event: &mut Event) {
        self.guessed(event);
        if let Some(masked) = self.known_in(event) {
            *event = masked;
        }
    }

    /// Masks what looks like a secret, where others than we wrote it.
    fn guessed(&self, event: &mut Event) {
        match event {
            Event::Declaration(Declaration::Tool { title: Some(text), .. })
            | Event::Exposure(
                Exposed::LeftOut { reason: text, .. } | Exposed::Unchecked { reason: text, .. },
            )
            | Event::Discovery(
                Discovery::Failed { error: text, .. }
                | Discovery::State { error: Some(text), .. }
                | Discovery::Connected { implementation: Some(text), .. },
            ) => self.text(text),
            // The names of tools are what everything is found by.
            Event::Declaration(_) | Event::Exposure(_) => {}
            Event::Discovery(_) => {}
            Event::Selection(selection) => self.selection(selection),
            // What a person consents to is shown as it will be sent: of that nothing is masked that only looks like a
            // secret.
            Event::Authorization(Authorization::Requested { .. }) => {}
            Event::Authorization(Authorization::Asked { arguments, .. }) => self.known_value(arguments),
            Event::Invocation(Invocation::Started { arguments, .. }) => self.value(arguments),
            Event::Authorization(Authorization::Elicited { message, fields, host, .. }) => {
                std::iter::once(message).chain(fields).chain(host).for_each(|text| self.text(text));
            }
            // Those are our own words.
            Event::Authorization(_) => {}
            Event::Execution(Execution::Wire { message, .. }) => self.value(message),
            Event::Execution(Execution::WireLeftOut { .. } | Execution::Cancelled { .. }) => {}
            Event::Execution(Execution::Progress { message, .. }) => {
                if let Some(message) = message {
                    self.text(message);
                }
            }
            Event::Result { outcome: ResultEvent::Returned { result, .. }, .. } => self.value(result),
            Event::Result { outcome: ResultEvent::Failed { message, .. }, .. } => self.text(message),
            Event::Integration(
                Integration::Added { text, .. }
                | Integration::Finished { text, .. }
                | Integration::Stopped { reason: text },
            ) => self.text(text),
            Event::Run(RunEvent::Begun { question: text } | RunEvent::Ended { error: Some(text), .. }) => {
                self.text(text);
            }
            Event::Run(_) => {}
        }
    }

    fn selection(&self, selection: &mut Selection) {
        match selection {
            Selection::Question { text }
            | Selection::TextDelta { text }
            | Selection::ThinkingDelta { text }
            | Selection::Note { text } => self.text(text),
            Selection::Answered { text, calls, .. } => {
                self.text(text);
                calls.iter_mut().for_each(|call| self.value(&mut call.arguments));
            }
            Selection::Corrected { problem, .. } => self.text(problem),
            Selection::Asked { .. }
            | Selection::FirstToken { .. }
            | Selection::CallStarted { .. }
            | Selection::Empty { .. }
            | Selection::Repeated { .. } => {}
        }
    }

    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                self.known_names(members);
                for (name, member) in members {
                    if is_secret_name(name) && matches!(member, Value::String(_) | Value::Number(_)) {
                        *member = Value::String(MASK.to_owned());
                    } else {
                        self.value(member);
                    }
                }
            }
            Value::Number(number) if self.finder().is_in(&number.to_string()) => {
                *value = Value::String(MASK.to_owned());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(crate) fn text(&self, text: &mut String) {
        // A tool's answer is often JSON inside a text.
        if text.trim_start().starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            let mut masked = value.clone();
            self.value(&mut masked);
            if masked != value {
                *text = masked.to_string();
            }
            return;
        }
        if let Some(masked) = self.finder().masked(text) {
            *text = masked;
        }
        keys::mask(text);
    }
}

fn is_secret_name(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(|character| !matches!(character, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect();
    SECRET_NAMES.contains(&plain.as_str())
}
