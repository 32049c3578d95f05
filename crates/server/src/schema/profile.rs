//! The profile in which generated schemas are published: 2020-12 that every client and model provider
//! reads.
//!
//! Definitions are inlined unless they are recursive; the type's name is no title; an optional argument
//! is simply not required (its `null` is accepted all the same); number formats that only Rust knows are
//! dropped. Nothing in here changes what is enforced.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// Subschemas that inlining may produce; beyond that the definitions stay where they are.
const INLINED_NODES: usize = 4_000;

/// The published form of an argument schema: always an object schema.
pub(crate) fn input(generated: &Value, type_name: &str) -> Map<String, Value> {
    let mut root = match inlined(generated, type_name) {
        Value::Object(root) => root,
        _ => Map::new(),
    };
    root.entry("type").or_insert_with(|| json!("object"));
    if root.get("type") == Some(&json!("object")) {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    walk(&mut root, &mut |schema| {
        optional(schema);
        plain_numbers(schema);
    });
    root
}

/// The published form of an output schema.
pub(crate) fn output(generated: &Value, type_name: &str) -> Value {
    let mut schema = inlined(generated, type_name);
    if let Value::Object(root) = &mut schema {
        walk(root, &mut plain_numbers);
    }
    schema
}

fn inlined(generated: &Value, type_name: &str) -> Value {
    let Value::Object(root) = generated else { return generated.clone() };
    let mut root = root.clone();
    root.remove("$schema");
    if root.get("title").is_some_and(|title| title == type_name) {
        root.remove("title");
    }
    let Some(Value::Object(definitions)) = root.remove("$defs") else { return Value::Object(root) };
    let recursive = recursive_of(&definitions);
    let mut inliner = Inliner { definitions: &definitions, recursive: &recursive, budget: INLINED_NODES };
    let mut small = root.clone();
    inliner.schema(&mut small);
    let mut kept = Map::new();
    for name in &recursive {
        let Some(Value::Object(definition)) = definitions.get(name) else { continue };
        let mut definition = definition.clone();
        inliner.schema(&mut definition);
        kept.insert(name.clone(), Value::Object(definition));
    }
    if inliner.budget == 0 {
        root.insert("$defs".into(), Value::Object(definitions));
        return Value::Object(root);
    }
    if !kept.is_empty() {
        small.insert("$defs".into(), Value::Object(kept));
    }
    Value::Object(small)
}

struct Inliner<'a> {
    definitions: &'a Map<String, Value>,
    recursive: &'a HashSet<String>,
    budget: usize,
}

impl Inliner<'_> {
    fn schema(&mut self, schema: &mut Map<String, Value>) {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(definition_name);
        if let Some(name) = name.filter(|name| !self.recursive.contains(*name))
            && let Some(Value::Object(definition)) = self.definitions.get(name)
        {
            schema.remove("$ref");
            for (keyword, value) in definition {
                // What stands beside the reference is about this place: it wins.
                schema.entry(keyword.clone()).or_insert_with(|| value.clone());
            }
            if self.budget > 0 {
                self.budget -= 1;
                self.schema(schema);
            }
            return;
        }
        children(schema, &mut |child| {
            if self.budget > 0 {
                self.budget -= 1;
                self.schema(child);
            }
        });
    }
}

fn definition_name(reference: &str) -> Option<&str> {
    reference.strip_prefix("#/$defs/")
}

/// The definitions that lead back to themselves.
fn recursive_of(definitions: &Map<String, Value>) -> HashSet<String> {
    let leads_back = |start: &String| {
        let mut open = vec![start.as_str()];
        let mut seen = HashSet::new();
        while let Some(name) = open.pop() {
            let Some(definition) = definitions.get(name) else { continue };
            let mut names = Vec::new();
            references(definition, &mut names);
            for next in names {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    };
    definitions.keys().filter(|name| leads_back(name)).cloned().collect()
}

fn references<'a>(value: &'a Value, names: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            names.extend(members.get("$ref").and_then(Value::as_str).and_then(definition_name));
            members.values().for_each(|member| references(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Visits the schema and every schema within it.
fn walk(schema: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    visit(schema);
    children(schema, &mut |child| walk(child, visit));
}

/// Visits the schemas directly within a schema: only where a schema may stand, so that a property that is
/// called `items` is not taken for the keyword.
fn children(schema: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    for (keyword, value) in schema.iter_mut() {
        match (keyword.as_str(), value) {
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                Value::Object(child),
            ) => visit(child),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(items)) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(&mut *visit);
            }
            ("properties" | "patternProperties" | "$defs" | "dependentSchemas", Value::Object(named)) => {
                named.values_mut().filter_map(Value::as_object_mut).for_each(&mut *visit);
            }
            _ => {}
        }
    }
}

/// Writes the optional properties of an object as what they are when they are given.
fn optional(schema: &mut Map<String, Value>) {
    let required: Vec<Value> = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        if let Value::Object(property) = property
            && !required.iter().any(|required| required == name)
        {
            not_null(property);
        }
    }
}

fn not_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    let Some(Value::Array(options)) = property.get_mut("anyOf") else { return };
    options.retain(|option| *option != json!({ "type": "null" }));
    if let [Value::Object(only)] = options.as_slice() {
        let only = only.clone();
        property.remove("anyOf");
        for (keyword, value) in only {
            property.entry(keyword).or_insert(value);
        }
    }
}

/// Drops the formats that name Rust's number types.
fn plain_numbers(schema: &mut Map<String, Value>) {
    let rust_number = schema.get("format").and_then(Value::as_str).is_some_and(|format| {
        matches!(format, "float" | "double" | "int" | "uint")
            || format
                .strip_prefix('u')
                .unwrap_or(format)
                .strip_prefix("int")
                .is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|digit| digit.is_ascii_digit()))
    });
    if rust_number {
        schema.remove("format");
    }
}
