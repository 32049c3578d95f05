//! The parameters of a tool, read from its schema as far as the router needs them.

use serde_json::Value;

/// References followed at most.
const MAX_REFERENCES: usize = 8;

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) required: bool,
    pub(super) kind: Kind,
    pub(super) format: Option<String>,
    pub(super) default: Option<Value>,
}

/// What a parameter takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Text,
    Number,
    Integer,
    Flag,
    /// One of these values.
    OneOf(Vec<Value>),
    /// Something that is not read from a question: an object, a list.
    Other,
}

/// The parameters, the required ones first, in the order of the schema within each.
pub(super) fn parameters(schema: &Value) -> Vec<Parameter> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let mut parameters: Vec<Parameter> = properties
        .iter()
        .map(|(name, property)| {
            let resolved = resolve(property, schema);
            let text = |member: &str| {
                property[member].as_str().or_else(|| resolved[member].as_str()).map(str::to_owned)
            };
            Parameter {
                name: name.clone(),
                description: text("description").or_else(|| text("title")),
                required: required.contains(&name.as_str()),
                kind: kind(resolved, schema),
                format: text("format"),
                default: property.get("default").or_else(|| resolved.get("default")).cloned(),
            }
        })
        .collect();
    parameters.sort_by_key(|parameter| {
        (!parameter.required, required.iter().position(|name| *name == parameter.name))
    });
    parameters
}

/// What a reference within the schema points to. Nothing is fetched.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCES {
        let target = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

fn kind(schema: &Value, root: &Value) -> Kind {
    if let Some(values) = values(schema, root) {
        return Kind::OneOf(values);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    match types.iter().find(|name| **name != "null") {
        Some(&"string") => Kind::Text,
        Some(&"number") => Kind::Number,
        Some(&"integer") => Kind::Integer,
        Some(&"boolean") => Kind::Flag,
        Some(_) => Kind::Other,
        None => alternatives(schema)
            .map(|alternative| kind(resolve(alternative, root), root))
            .find(|kind| *kind != Kind::Other)
            .unwrap_or(Kind::Other),
    }
}

/// The values that are allowed, if the schema lists them, whether as `enum`, `const`, or alternatives of these.
fn values(schema: &Value, root: &Value) -> Option<Vec<Value>> {
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.iter().filter(|value| !value.is_null()).cloned().collect());
    }
    if let Some(value) = schema.get("const") {
        return Some(vec![value.clone()]);
    }
    let listed: Option<Vec<Vec<Value>>> = alternatives(schema)
        .map(|alternative| resolve(alternative, root))
        .filter(|alternative| alternative["type"] != "null")
        .map(|alternative| values(alternative, &Value::Null))
        .collect();
    listed.map(|lists| lists.concat()).filter(|values| !values.is_empty())
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|name| schema[name].as_array()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_are_read_through_references_and_alternatives() {
        let schema = json!({
            "type": "object",
            "required": ["b"],
            "properties": {
                "a": {"$ref": "#/$defs/Units", "default": "metric"},
                "b": {"type": ["string", "null"], "description": "B"},
                "c": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "d": {"type": "array"},
                "e": {"enum": ["x", 1]}
            },
            "$defs": {"Units": {"oneOf": [{"const": "metric", "description": "SI"}, {"const": "imperial"}]}}
        });
        let read: Vec<_> =
            parameters(&schema).into_iter().map(|parameter| (parameter.name, parameter.kind)).collect();
        let expected = [
            ("b".to_owned(), Kind::Text),
            ("a".to_owned(), Kind::OneOf(vec![json!("metric"), json!("imperial")])),
            ("c".to_owned(), Kind::Integer),
            ("d".to_owned(), Kind::Other),
            ("e".to_owned(), Kind::OneOf(vec![json!("x"), json!(1)])),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let schema =
            json!({"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "https://h.example"}}});
        assert!(parameters(&schema).iter().all(|parameter| parameter.kind == Kind::Other));
    }
}
