//! Masks what the host knows to be secret, and nothing else: in texts, in JSON, and in whatever is made of JSON.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{MASK, Masker};

/// What is masked in JSON beside texts.
#[derive(Clone, Copy, PartialEq)]
enum Names {
    /// Names of members, too.
    Masked,
    /// They stay, for what is read again by names that are not ours.
    Kept,
}

impl Masker {
    /// Whether a known secret is in it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.finder().is_in(text)
    }

    /// Masks the known secrets only.
    #[must_use]
    pub fn known(&self, text: String) -> String {
        self.finder().masked(&text).unwrap_or(text)
    }

    /// As [`known`](Self::known), for JSON. Texts are masked one by one, as what they mean; names of members stay, and
    /// so does everything that is no text, or it could not be read again.
    pub(crate) fn known_json(&self, json: String) -> String {
        self.json(json, Names::Kept)
    }

    /// As [`known`](Self::known), for JSON that is only shown: texts and names of members. It stays as it is laid out.
    #[must_use]
    pub fn shown_json(&self, json: String) -> String {
        self.json(json, Names::Masked)
    }

    fn json(&self, json: String, names: Names) -> String {
        if self.secrets.is_empty() {
            return json;
        }
        let (mut out, mut rest) = (String::with_capacity(json.len()), json.as_str());
        while let Some(begin) = rest.find('"') {
            let Some(length) = text_length(&rest[begin..]) else { break };
            let (before, literal) = (&rest[..begin], &rest[begin..begin + length]);
            out.push_str(before);
            rest = &rest[begin + length..];
            let stays = names == Names::Kept && rest.trim_start().starts_with(':');
            match serde_json::from_str::<String>(literal) {
                Ok(text) if !stays => {
                    let masked = self.known(text.clone());
                    if masked == text {
                        out.push_str(literal)
                    } else {
                        out.push_str(&Value::String(masked).to_string())
                    }
                }
                _ => out.push_str(literal),
            }
        }
        out.push_str(rest);
        out
    }

    /// As [`known`](Self::known), for every text, name and number in a value.
    pub fn known_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(masked) = self.finder().masked(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.known_value(item)),
            Value::Object(members) => {
                self.known_names(members);
                members.values_mut().for_each(|member| self.known_value(member));
            }
            Value::Number(number) if self.is_in(&number.to_string()) => {
                *value = Value::String(MASK.to_owned());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn known_names(&self, members: &mut serde_json::Map<String, Value>) {
        if members.keys().any(|name| self.is_in(name)) {
            let named = std::mem::take(members).into_iter();
            members.extend(named.map(|(name, member)| (self.known(name), member)));
        }
    }

    /// The same without known secrets in any text; nothing if there is none in it. It stays as it is where it could not be
    /// read any more, which is where the person has called a server like a secret.
    pub(crate) fn known_in<T: Serialize + DeserializeOwned>(&self, shown: &T) -> Option<T> {
        if self.secrets.is_empty() {
            return None;
        }
        let json = serde_json::to_string(shown).ok()?;
        let masked = self.shown_json(json.clone());
        (masked != json).then(|| serde_json::from_str(&masked).ok()).flatten()
    }

    /// As [`known`](Self::known), for bytes that may be text.
    pub(crate) fn known_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.finder().masked_bytes(bytes)
    }
}

/// How long a text is in JSON, from one quotation mark to the other.
fn text_length(json: &str) -> Option<usize> {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map(|end| end + 2)
}
