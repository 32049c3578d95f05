//! Where two values differ, in words.

use std::collections::BTreeSet;

use serde_json::Value;

/// How many differences are told: the first ones show the kind.
const TOLD: usize = 6;

/// The places where `seen` is not what is `expected`.
pub(super) fn differences(expected: &Value, seen: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(expected, seen, &mut String::new(), &mut found);
    found.truncate(TOLD);
    found
}

fn walk(expected: &Value, seen: &Value, at: &mut String, found: &mut Vec<String>) {
    let length = at.len();
    match (expected, seen) {
        (Value::Object(wanted), Value::Object(had)) => {
            for name in wanted.keys().chain(had.keys()).collect::<BTreeSet<_>>() {
                at.push('/');
                at.push_str(name);
                step(wanted.get(name), had.get(name), at, found);
                at.truncate(length);
            }
        }
        (Value::Array(wanted), Value::Array(had)) => {
            for index in 0..wanted.len().max(had.len()) {
                at.push_str(&format!("/{index}"));
                step(wanted.get(index), had.get(index), at, found);
                at.truncate(length);
            }
        }
        _ if expected == seen => {}
        _ => found.push(format!("{at} is {seen}, not {expected}")),
    }
}

fn step(expected: Option<&Value>, seen: Option<&Value>, at: &mut String, found: &mut Vec<String>) {
    match (expected, seen) {
        (Some(expected), Some(seen)) => walk(expected, seen, at, found),
        (Some(expected), None) => found.push(format!("{at} is not there; it should be {expected}")),
        (None, Some(seen)) => found.push(format!("{at} is {seen}, which should not be there")),
        (None, None) => {}
    }
}
