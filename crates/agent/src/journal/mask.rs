//! Masks secrets before anything is written.
//!
//! Three nets: members whose name says that they hold a secret; texts that look like a bearer token or a known
//! kind of key; and the very texts that the host knows to be secret. Masking changes the journal only, never
//! what is sent.

use serde_json::Value;

use super::authorization::Authorization;
use super::event::{Discovery, Event, Execution, Integration, Invocation, ResultEvent, Selection};

/// What stands in the place of a secret.
const MASK: &str = "***";

/// A known secret shorter than this, in bytes, is not searched for.
const SHORTEST_SECRET: usize = 6;

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

/// Beginnings of well-known keys. The rest of the word is masked.
const KEY_PREFIXES: &[&str] =
    &["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ"];

/// The fewest characters after a prefix that make it a key.
const SHORTEST_KEY_REST: usize = 12;

/// Knows what must not be written.
#[derive(Clone, Debug, Default)]
pub struct Masker {
    secrets: Vec<String>,
}

impl Masker {
    /// Masks this text wherever it appears.
    pub fn add(&mut self, secret: String) {
        if secret.len() >= SHORTEST_SECRET && !self.secrets.contains(&secret) {
            self.secrets.push(secret);
            // The longest first, so that a secret inside another leaves nothing of the longer one.
            self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Masks everything in an event that came from a person, a model or a server.
    pub(super) fn mask(&self, event: &mut Event) {
        match event {
            Event::Declaration(_) | Event::Exposure(_) => {}
            Event::Discovery(Discovery::Failed { error, .. }) => self.text(error),
            Event::Discovery(
                Discovery::Connecting { .. } | Discovery::Opened { .. } | Discovery::Connected { .. },
            ) => {}
            Event::Selection(selection) => self.selection(selection),
            Event::Authorization(Authorization::Asked { arguments, .. })
            | Event::Invocation(Invocation::Started { arguments, .. }) => self.value(arguments),
            Event::Authorization(Authorization::Elicited { message, .. }) => self.text(message),
            Event::Authorization(_) => {}
            Event::Execution(Execution::Wire { message, .. }) => self.value(message),
            Event::Execution(Execution::WireLeftOut { .. }) => {}
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
            | Selection::CallStarted { .. }
            | Selection::Empty { .. }
            | Selection::Repeated { .. } => {}
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                for (name, member) in members {
                    if is_secret_name(name) && matches!(member, Value::String(_) | Value::Number(_)) {
                        *member = Value::String(MASK.to_owned());
                    } else {
                        self.value(member);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&self, text: &mut String) {
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
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), MASK);
            }
        }
        mask_words(text);
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

/// Masks words that look like keys, and the word after `Bearer`.
fn mask_words(text: &mut String) {
    let names_bearer = text.as_bytes().windows(6).any(|word| word.eq_ignore_ascii_case(b"bearer"));
    if !names_bearer && !KEY_PREFIXES.iter().any(|prefix| text.contains(prefix)) {
        return;
    }
    let is_word = |character: char| character.is_ascii_alphanumeric() || "-_.~+/=".contains(character);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut bearer = false;
    while !rest.is_empty() {
        let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let key = KEY_PREFIXES
            .iter()
            .find(|prefix| word.strip_prefix(**prefix).is_some_and(|tail| tail.len() >= SHORTEST_KEY_REST));
        match key {
            _ if bearer && !word.is_empty() => out.push_str(MASK),
            Some(prefix) => {
                out.push_str(prefix);
                out.push_str(MASK);
            }
            None => out.push_str(word),
        }
        if !word.is_empty() {
            bearer = word.eq_ignore_ascii_case("bearer");
        }
        let gap = after.find(is_word).unwrap_or(after.len());
        out.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    *text = out;
}
