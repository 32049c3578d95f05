//! Something of a project, whole, for whoever decides whether to trust it: every line of it, with what looks like a
//! secret masked, and everything that it would be given.

use serde_json::Value;

use crate::expand::mentions;
use crate::origin::OriginKind;
use crate::shown;

/// What the command line or the address shows already.
const SHOWN: [&str; 3] = ["command", "args", "url"];
/// How names end that sound like secrets, and only say where one is.
const PLACES: [&str; 3] = ["_file", "file", "_env_var"];

/// The lines of a server, besides its command line or address.
pub(crate) fn server<'t>(
    written: &Value,
    kind: OriginKind,
    texts: impl IntoIterator<Item = &'t str>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, value) in written.as_object().into_iter().flatten() {
        if !SHOWN.contains(&key.as_str()) {
            flat(key, key, value, &mut lines);
        }
    }
    lines.extend(given(kind, texts));
    lines
}

/// The lines of everything else that a file says.
pub(crate) fn settings(parts: &[(&str, Value)], kind: OriginKind) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, value) in parts {
        flat(key, key, value, &mut lines);
    }
    let mut all = Vec::new();
    parts.iter().for_each(|(_, value)| texts(value, &mut all));
    lines.extend(given(kind, all));
    lines
}

/// All texts in a value.
pub(crate) fn texts<'v>(value: &'v Value, all: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(elements) => elements.iter().for_each(|element| texts(element, all)),
        Value::Object(members) => members.values().for_each(|member| texts(member, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A table has a line for each of its members.
fn flat(path: &str, name: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                flat(&format!("{path}.{name}"), name, value, lines);
            }
        }
        Value::Array(elements) if elements.iter().any(Value::is_object) => {
            for element in elements {
                lines.push(format!("{path} has {}", masked(name, element)));
            }
        }
        _ => match masked(name, value) {
            Value::String(text) => lines.push(format!("{path} = {text}")),
            value => lines.push(format!("{path} = {value}")),
        },
    }
}

fn masked(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text_of(name, text)),
        Value::Array(elements) => elements.iter().map(|element| masked(name, element)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), masked(name, value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn text_of(name: &str, text: &str) -> String {
    let is_place = PLACES.iter().any(|ending| name.to_lowercase().ends_with(ending));
    if is_place || !shown::is_secret(name) { shown::address(text) } else { shown::references(text) }
}

/// What would be put in, by the names that it has in the file.
fn given<'t>(kind: OriginKind, texts: impl IntoIterator<Item = &'t str>) -> Option<String> {
    let mut given: Vec<String> = Vec::new();
    for mention in texts.into_iter().flat_map(|text| mentions(text, kind)) {
        if !given.contains(&mention.written) {
            given.push(mention.written);
        }
    }
    (!given.is_empty()).then(|| format!("it is given {}", given.join(", ")))
}
