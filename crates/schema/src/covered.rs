//! When a Rust type already enforces all that its generated schema says.
//!
//! Arguments are decoded into a type anyway. Where the schema was generated from that type and says
//! nothing that decoding does not check, running the compiled validator too would only cost time. This
//! module recognises such schemas. It is conservative: a keyword it does not know says more.
//!
//! Decoding is more lenient than the schema in two places, so that schemas with either say more: a struct
//! inside may be given as an array of its fields, and a variant that carries nothing as an object around
//! `null`. What is encoded has neither form. The outermost object is looked at by whoever takes the message.
//!
//! What it cannot see: attributes that make the schema contradict the type without adding a keyword, such
//! as `#[schemars(required)]` on an `Option`.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Nesting that is looked into; a deeper schema counts as saying more.
const MAX_DEPTH: usize = 64;

/// Keywords that tell, and assert nothing.
const ANNOTATIONS: [&str; 8] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"];

/// Whether `schema`, as schemars generates it from a Rust type, says no more than `serde` enforces when
/// it decodes into that type.
///
/// ```
/// use serde_json::json;
/// use switchboard_schema::is_covered_by_type;
///
/// let plain = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
/// assert!(is_covered_by_type(&plain));
/// let bounded = json!({ "type": "object", "properties": { "city": { "type": "string", "maxLength": 80 } } });
/// assert!(!is_covered_by_type(&bounded));
/// ```
#[must_use]
pub fn is_covered_by_type(schema: &Value) -> bool {
    is_covered(schema, true)
}

/// Whether `schema`, as schemars generates it from a Rust type, says no more than `serde` keeps to when it
/// encodes a value of that type.
#[must_use]
pub fn is_covered_when_encoded(schema: &Value) -> bool {
    is_covered(schema, false)
}

fn is_covered(schema: &Value, decodes: bool) -> bool {
    let Value::Object(root) = schema else { return *schema == Value::Bool(true) };
    if root.get("$schema").is_some_and(|dialect| dialect != "https://json-schema.org/draft/2020-12/schema") {
        return false;
    }
    let definitions = match root.get("$defs") {
        None => None,
        Some(Value::Object(definitions)) => Some(definitions),
        Some(_) => return false,
    };
    Check { definitions, visited: HashSet::new(), decodes }.root(root)
}

struct Check<'a> {
    definitions: Option<&'a Map<String, Value>>,
    visited: HashSet<&'a str>,
    /// Whether values come from others.
    decodes: bool,
}

impl<'a> Check<'a> {
    fn root(&mut self, root: &'a Map<String, Value>) -> bool {
        self.members(root, 0, |keyword| matches!(keyword, "$schema" | "$defs"))
    }

    fn schema(&mut self, schema: &'a Value, depth: usize) -> bool {
        match schema {
            Value::Bool(anything) => *anything,
            Value::Object(members) => depth < MAX_DEPTH && self.members(members, depth, |_| false),
            _ => false,
        }
    }

    fn members(&mut self, members: &'a Map<String, Value>, depth: usize, known: fn(&str) -> bool) -> bool {
        if self.decodes && depth > 0 && is_struct(members) {
            return false;
        }
        members.iter().all(|(keyword, value)| {
            if known(keyword) || ANNOTATIONS.contains(&keyword.as_str()) {
                return true;
            }
            match keyword.as_str() {
                "type" => is_type(value),
                "properties" => value.as_object().is_some_and(|properties| {
                    properties.values().all(|property| self.schema(property, depth + 1))
                }),
                "required" => requires_known(members, value),
                "items" => self.schema(value, depth + 1),
                // The values of a map. With properties beside it, it would be a flattened map, where
                // the same name can belong to either.
                "additionalProperties" => {
                    *value == Value::Bool(true)
                        || (value.is_object()
                            && !members.contains_key("properties")
                            && self.schema(value, depth + 1))
                }
                "anyOf" => self.optional(value, depth),
                "$ref" => value.as_str().is_some_and(|reference| self.reference(reference, depth)),
                "format" => is_number_format(members, value),
                "minimum" | "maximum" => is_bound_of_format(members, keyword, value),
                _ => false,
            }
        })
    }

    /// `anyOf` of one schema and null: an `Option`.
    fn optional(&mut self, value: &'a Value, depth: usize) -> bool {
        match value.as_array().map(Vec::as_slice) {
            Some([inner, null]) => is_null(null) && self.schema(inner, depth + 1),
            _ => false,
        }
    }

    fn reference(&mut self, reference: &'a str, depth: usize) -> bool {
        if reference == "#" {
            return !self.decodes;
        }
        let Some(name) = reference.strip_prefix("#/$defs/").filter(|name| !name.contains(['~', '%', '/']))
        else {
            return false;
        };
        if !self.visited.insert(name) {
            return true;
        }
        match self.definitions.and_then(|definitions| definitions.get(name)) {
            Some(definition) => {
                (!self.decodes && is_unit_enum(definition)) || self.schema(definition, depth + 1)
            }
            None => false,
        }
    }
}

/// Whether an object has fields, or is one of none: the values of a map are described by
/// `additionalProperties` alone.
fn is_struct(members: &Map<String, Value>) -> bool {
    let is_object = match members.get("type") {
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(name) => name == "object",
        None => false,
    };
    members.contains_key("properties") || (is_object && !members.contains_key("additionalProperties"))
}

fn is_type(value: &Value) -> bool {
    let known = |name: &Value| {
        name.as_str().is_some_and(|name| {
            matches!(name, "object" | "array" | "string" | "integer" | "number" | "boolean" | "null")
        })
    };
    match value {
        // `["string", "null"]` is an `Option`; any other union is not what one Rust type decodes.
        Value::Array(names) => {
            names.len() == 2 && names.iter().all(known) && names.iter().any(|name| name == "null")
        }
        name => known(name),
    }
}

fn is_null(schema: &Value) -> bool {
    schema
        .as_object()
        .is_some_and(|members| members.len() == 1 && members.get("type").is_some_and(|name| name == "null"))
}

fn requires_known(members: &Map<String, Value>, required: &Value) -> bool {
    let properties = members.get("properties").and_then(Value::as_object);
    required.as_array().is_some_and(|names| {
        names.iter().all(|name| {
            name.as_str().is_some_and(|name| properties.is_some_and(|known| known.contains_key(name)))
        })
    })
}

/// An enum whose variants carry nothing. Only as a definition: there it can only come from a Rust enum,
/// whereas `enum` on a field may have been added to a `String` by an attribute.
fn is_unit_enum(definition: &Value) -> bool {
    let Some(members) = definition.as_object() else { return false };
    let only = |allowed: &[&str]| {
        members
            .keys()
            .all(|keyword| allowed.contains(&keyword.as_str()) || ANNOTATIONS.contains(&keyword.as_str()))
    };
    let is_string = |members: &Map<String, Value>| members.get("type").is_some_and(|name| name == "string");
    let is_variant = |variant: &Value| {
        variant.as_object().is_some_and(|variant| {
            let strings = ["const", "enum"].iter().all(|keyword| match variant.get(*keyword) {
                None => true,
                Some(Value::Array(values)) => values.iter().all(Value::is_string),
                Some(value) => value.is_string(),
            });
            let known = variant.keys().all(|keyword| {
                matches!(keyword.as_str(), "type" | "const" | "enum")
                    || ANNOTATIONS.contains(&keyword.as_str())
            });
            let names = variant.contains_key("const") || variant.contains_key("enum");
            is_string(variant) && strings && known && names
        })
    };
    match (members.get("enum"), members.get("const"), members.get("oneOf")) {
        (Some(Value::Array(_)), None, None) => only(&["type", "enum"]) && is_variant(definition),
        (None, Some(Value::String(_)), None) => only(&["type", "const"]) && is_variant(definition),
        (None, None, Some(Value::Array(variants))) => only(&["oneOf"]) && variants.iter().all(is_variant),
        _ => false,
    }
}

/// The range that a format of schemars names, if the format belongs to a Rust number.
fn range_of(format: &str) -> Option<(Option<i64>, Option<i64>)> {
    Some(match format {
        "int8" => (Some(i64::from(i8::MIN)), Some(i64::from(i8::MAX))),
        "int16" => (Some(i64::from(i16::MIN)), Some(i64::from(i16::MAX))),
        "int32" | "int64" | "int128" | "int" | "float" | "double" => (None, None),
        "uint8" => (Some(0), Some(i64::from(u8::MAX))),
        "uint16" => (Some(0), Some(i64::from(u16::MAX))),
        "uint32" | "uint64" | "uint128" | "uint" => (Some(0), None),
        _ => return None,
    })
}

fn is_number_format(members: &Map<String, Value>, format: &Value) -> bool {
    let Some(format) = format.as_str() else { return false };
    let wanted = if matches!(format, "float" | "double") { "number" } else { "integer" };
    let is_wanted = match members.get("type") {
        Some(Value::Array(names)) => names.iter().any(|name| name == wanted),
        Some(name) => name == wanted,
        None => false,
    };
    is_wanted && range_of(format).is_some()
}

/// A bound is enforced by the type only if it is exactly the bound of the type.
fn is_bound_of_format(members: &Map<String, Value>, keyword: &str, bound: &Value) -> bool {
    let Some((minimum, maximum)) = members.get("format").and_then(Value::as_str).and_then(range_of) else {
        return false;
    };
    let own = if keyword == "minimum" { minimum } else { maximum };
    own.is_some_and(|own| bound.as_i64() == Some(own))
}
