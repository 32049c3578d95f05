//! The published schema, and which keys there are at a place of a file.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::file::NativeFile;

/// The JSON Schema of our own file.
#[must_use]
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let generator = SchemaSettings::draft2020_12().into_generator();
        generator.into_root_schema_for::<NativeFile>().to_value()
    })
}

/// The keys that a table at this path may hold; none if it may hold any.
pub(super) fn keys_at(path: &[String]) -> Vec<&'static str> {
    let root = schema();
    let mut places = vec![root];
    for key in path {
        places = places.into_iter().flat_map(forms).filter_map(|form| below(form, key)).collect();
    }
    let properties =
        places.into_iter().flat_map(forms).filter_map(|form| form.get("properties")?.as_object());
    properties.flat_map(|properties| properties.keys().map(String::as_str)).collect()
}

/// What a schema may stand for: itself, what it refers to, and each of its choices.
fn forms(schema: &'static Value) -> Vec<&'static Value> {
    let mut forms = vec![schema];
    let target = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|target| self::schema().get("$defs")?.get(target.strip_prefix("#/$defs/")?));
    forms.extend(target);
    let choices = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    forms.extend(choices.flat_map(self::forms));
    forms
}

fn below(schema: &'static Value, key: &str) -> Option<&'static Value> {
    let named = schema.get("properties").and_then(|properties| properties.get(key));
    let other = || schema.get("additionalProperties").filter(|schema| schema.is_object());
    let element = || schema.get("items").filter(|_| key.parse::<usize>().is_ok());
    named.or_else(other).or_else(element)
}
