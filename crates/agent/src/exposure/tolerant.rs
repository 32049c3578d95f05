//! Schemas as sloppy servers write them: `null` for a keyword that is not there.

use serde_json::Value;

/// Keywords that hold one schema.
const ONE: [&str; 12] = [
    "items",
    "additionalProperties",
    "additionalItems",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
];
/// Keywords that hold a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that hold schemas by name.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords for which `null` is a value.
const VALUES: [&str; 2] = ["default", "const"];

/// The schema without keywords whose value is `null`, if there are any.
pub(super) fn without_nulls(schema: &Value) -> Option<Value> {
    let mut copy = schema.clone();
    prune(&mut copy).then_some(copy)
}

/// Whether something was removed. The depth is that of the document.
fn prune(schema: &mut Value) -> bool {
    let Value::Object(keywords) = schema else { return false };
    let before = keywords.len();
    keywords.retain(|name, value| !value.is_null() || VALUES.contains(&name.as_str()));
    let mut pruned = keywords.len() < before;
    for (name, value) in keywords {
        let name = name.as_str();
        match value {
            Value::Array(list) if LISTS.contains(&name) || name == "items" => {
                list.iter_mut().for_each(|schema| pruned |= prune(schema));
            }
            Value::Object(map) if MAPS.contains(&name) => {
                map.values_mut().for_each(|schema| pruned |= prune(schema));
            }
            Value::Object(_) if ONE.contains(&name) => pruned |= prune(value),
            _ => {}
        }
    }
    pruned
}
