//! Errors as endpoints word them, in every shape seen: an object or a text under `error`, `detail` as text or as
//! a list, a bare `message`, a list of errors, plain text, a web page, nothing.

use serde_json::Value;

/// How much of an endpoint's own words is passed on, in characters.
const MAX_WORDS: usize = 500;

/// What an endpoint says went wrong.
#[derive(Debug, PartialEq)]
pub(crate) struct Failure {
    /// Empty if it says nothing.
    pub(crate) message: String,
    /// The endpoint's code or type, empty if there is none.
    pub(crate) code: String,
}

impl Failure {
    pub(crate) fn read(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::from_json(&value),
            Err(_) => Self { message: plain(&String::from_utf8_lossy(body)), code: String::new() },
        }
    }

    fn from_json(value: &Value) -> Self {
        // The wrappers in the order in which they are looked for. Each unwrapping goes one level down, so the
        // depth of the value, which the parser bounds, bounds this.
        match value {
            Value::Array(items) => {
                let failures: Vec<Self> = items.iter().map(Self::from_json).collect();
                let messages: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
                Self {
                    message: shorten(&messages.join("; ")),
                    code: failures.into_iter().next().map(|failure| failure.code).unwrap_or_default(),
                }
            }
            Value::Object(members) => {
                let inner = ["error", "detail", "message", "msg"]
                    .iter()
                    .find_map(|name| members.get(*name).filter(|inner| !inner.is_null()));
                let mut failure = inner.map_or_else(Self::silent, Self::from_json);
                // A validation error names the field beside its message.
                if let Some(place) = members.get("loc").and_then(Value::as_array) {
                    let path: Vec<String> = place.iter().map(scalar).collect();
                    failure.message = shorten(&format!("{}: {}", path.join("."), failure.message));
                }
                if failure.code.is_empty() {
                    failure.code = ["code", "type"]
                        .iter()
                        .map(|name| shorten(&members.get(*name).map(scalar).unwrap_or_default()))
                        .find(|code| !code.is_empty())
                        .unwrap_or_default();
                }
                failure
            }
            other => Self { message: shorten(&scalar(other)), code: String::new() },
        }
    }

    fn silent() -> Self {
        Self { message: String::new(), code: String::new() }
    }

    /// Whether it may go better next time, as far as the code says so.
    pub(crate) fn is_transient(&self) -> bool {
        const CODES: [&str; 9] = [
            "overloaded_error",
            "rate_limit_error",
            "rate_limit_exceeded",
            "api_error",
            "server_error",
            "overloaded",
            "429",
            "502",
            "503",
        ];
        CODES.contains(&self.code.as_str())
    }

    /// The endpoint's words with its code, for people.
    pub(crate) fn words(&self) -> String {
        match (self.message.is_empty(), self.code.is_empty()) {
            (true, true) => "no reason given".to_owned(),
            (true, false) => self.code.clone(),
            (false, true) => self.message.clone(),
            (false, false) => format!("{} ({})", self.message, self.code),
        }
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn plain(text: &str) -> String {
    let trimmed = text.trim_start();
    if trimmed.starts_with('<') { "the answer is a web page".to_owned() } else { shorten(trimmed) }
}

/// One line of bounded length without control characters.
pub(crate) fn shorten(text: &str) -> String {
    let clean: String = text
        .split(|c: char| c.is_control() || c == ' ')
        .filter(|word| !word.is_empty())
        .fold(String::new(), |mut line, word| {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            line
        });
    match clean.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}
