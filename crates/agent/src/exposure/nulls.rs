//! Where `null` in arguments stands for what is absent, because a strict schema had no other way to say it.
//!
//! A null that the original allows is not among them: it may mean something. Where to look next: `lower/strict.rs`,
//! which adds them, and `turn/arguments/nulls.rs`, which takes them out.

use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// References followed in a row. A strict schema that was made here has none that lead in a circle.
const LONGEST_CHAIN: usize = 16;

/// The places in `arguments` of the nulls that were added to the schema at `added`.
pub(super) fn absent(schema: &RawValue, added: &HashSet<String>, arguments: &Value) -> Vec<String> {
    let Ok(root) = serde_json::from_str::<Value>(schema.get()) else { return Vec::new() };
    let mut walk = Walk { root: &root, added, found: Vec::new() };
    walk.value((&root, String::new()), (arguments, String::new()));
    walk.found
}

struct Walk<'a> {
    root: &'a Value,
    added: &'a HashSet<String>,
    found: Vec<String>,
}

impl<'a> Walk<'a> {
    /// A value, and the schema that it was written by, each with its place. The depth is that of the arguments.
    fn value(&mut self, (schema, at): (&'a Value, String), (value, path): (&Value, String)) {
        let Some((schema, at)) = self.settled(schema, at, value) else { return };
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let step = name.replace('~', "~0").replace('/', "~1");
                    let (at, path) = (format!("{at}/properties/{step}"), format!("{path}/{step}"));
                    let Some(property) = schema.get("properties").and_then(|all| all.get(name)) else {
                        continue;
                    };
                    if member.is_null() && self.added.contains(&at) {
                        self.found.push(path);
                    } else {
                        self.value((property, at), (member, path));
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.get("items") else { return };
                for (index, item) in items.iter().enumerate() {
                    self.value((schema, format!("{at}/items")), (item, format!("{path}/{index}")));
                }
            }
            _ => {}
        }
    }

    /// The schema itself, past references and with the alternative chosen that the value was written by.
    fn settled(&self, schema: &'a Value, at: String, value: &Value) -> Option<(&'a Value, String)> {
        let (mut schema, mut at) = (schema, at);
        for _ in 0..LONGEST_CHAIN {
            if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
                pointer.strip_prefix('#')?.clone_into(&mut at);
                schema = self.root.pointer(&at)?;
            } else if let Some(list) = schema.get("anyOf").and_then(Value::as_array) {
                let index = list.iter().position(|branch| self.may_be(branch, value, LONGEST_CHAIN))?;
                at = format!("{at}/anyOf/{index}");
                schema = list.get(index)?;
            } else {
                return Some((schema, at));
            }
        }
        None
    }

    /// Whether a value may have been written by a schema: strict objects have exactly their properties.
    fn may_be(&self, schema: &'a Value, value: &Value, chain: usize) -> bool {
        let Some(chain) = chain.checked_sub(1) else { return false };
        if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
            let target = pointer.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.is_some_and(|target| self.may_be(target, value, chain));
        }
        if let Some(list) = schema.get("anyOf").and_then(Value::as_array) {
            return list.iter().any(|branch| self.may_be(branch, value, chain));
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values.contains(value);
        }
        if !has_type(schema, value) {
            return false;
        }
        match value {
            Value::Object(members) => self.has_members(schema, members, chain),
            Value::Array(items) => schema
                .get("items")
                .is_none_or(|schema| items.iter().all(|item| self.may_be(schema, item, chain))),
            _ => true,
        }
    }

    fn has_members(&self, schema: &'a Value, members: &Map<String, Value>, chain: usize) -> bool {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return members.is_empty();
        };
        properties.len() == members.len()
            && members.iter().all(|(name, member)| {
                properties.get(name).is_some_and(|property| self.may_be(property, member, chain))
            })
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    let fits = |name: &Value| match (name.as_str(), value) {
        (Some("object"), Value::Object(_))
        | (Some("array"), Value::Array(_))
        | (Some("string"), Value::String(_))
        | (Some("number"), Value::Number(_))
        | (Some("boolean"), Value::Bool(_))
        | (Some("null"), Value::Null) => true,
        (Some("integer"), Value::Number(number)) => number.as_f64().is_some_and(|float| float.fract() == 0.0),
        _ => false,
    };
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(fits),
        Some(name) => fits(name),
        None => true,
    }
}
