//! `null` where a member may be absent: models write it for "nothing", and most schemas have no room for it.
//!
//! A `null` that the schema allows stays, because it may mean something. One that does not fit is left out, and the
//! rest must fit then; if it does not, what is reported is what was wrong with the arguments as they came.

use std::fmt::Write as _;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_schema::Violation;

use super::Arguments;
use crate::exposure::ExposedTool;

/// Rounds of leaving out nulls that do not fit: a check names a bounded number of them at once.
const ROUNDS: usize = 16;

/// The arguments as they will be sent.
pub(super) fn fitted(tool: &ExposedTool, arguments: Arguments) -> Result<Arguments, Vec<Violation>> {
    // In strict mode a model cannot leave anything out: it has to write null instead, and means nothing by it.
    let absent = tool.absent(&arguments.value);
    let absent: Vec<&str> = absent.iter().map(String::as_str).collect();
    let mut arguments = without(&arguments.raw, &absent).unwrap_or(arguments);
    let Err(violations) = tool.check(&arguments.value) else { return Ok(arguments) };
    let mut found = violations.clone();
    for _ in 0..ROUNDS {
        let is_null = |path: &&str| arguments.value.pointer(path).is_some_and(Value::is_null);
        let nulls: Vec<&str> =
            found.iter().map(|violation| violation.path.as_str()).filter(is_null).collect();
        let Some(cleaned) = without(&arguments.raw, &nulls) else { break };
        match tool.check(&cleaned.value) {
            Ok(()) => return Ok(cleaned),
            Err(more) => (arguments, found) = (cleaned, more),
        }
    }
    Err(violations)
}

fn without(raw: &RawValue, nulls: &[&str]) -> Option<Arguments> {
    if nulls.is_empty() {
        return None;
    }
    let mut text = String::new();
    copy(raw, nulls, &mut String::new(), &mut text)?;
    let value = serde_json::from_str(&text).ok()?;
    Some(Arguments { raw: RawValue::from_string(text).ok()?, value })
}

/// Copies a value without the members at these places. Order and spelling stay. The depth is bounded: the value was
/// parsed whole before.
fn copy(raw: &RawValue, nulls: &[&str], path: &mut String, out: &mut String) -> Option<()> {
    let text = raw.get();
    let length = path.len();
    if text.starts_with('{') {
        let mut separator = '{';
        for (name, member) in members(text)? {
            // Writing to a String cannot fail.
            let _ = write!(path, "/{}", name.replace('~', "~0").replace('/', "~1"));
            if !nulls.contains(&path.as_str()) {
                let _ = write!(out, "{separator}{}:", Value::String(name));
                separator = ',';
                copy(member, nulls, path, out)?;
            }
            path.truncate(length);
        }
        out.push_str(if separator == '{' { "{}" } else { "}" });
    } else if text.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        out.push('[');
        for (index, item) in items.into_iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            let _ = write!(path, "/{index}");
            copy(item, nulls, path, out)?;
            path.truncate(length);
        }
        out.push(']');
    } else {
        out.push_str(text);
    }
    Some(())
}

/// The members of an object, in their order.
fn members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_str(text).deserialize_map(Members).ok()
}
