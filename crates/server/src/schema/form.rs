//! Forms: the flat schemas of elicitation, made from a type, and answers held against them.
//!
//! A form has primitive fields only [spec: client/elicitation, Requested Schema]; a type that is not flat
//! is a problem that `build()` reports.

use schemars::JsonSchema;
use serde_json::{Map, Number, Value};
use switchboard_protocol::model::elicitation::{ElicitSchema, PrimitiveSchema};

use super::arguments;

/// The form of a type.
pub(crate) fn form_of<T: JsonSchema>() -> Result<ElicitSchema, String> {
    let mut schema = arguments::<T>().published;
    schema.remove("description");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(titled);
    }
    serde_json::from_value(Value::Object(schema)).map_err(|error| {
        format!(
            "{} is no form: {error}; a form is a struct of texts, numbers, booleans and enums without fields",
            T::schema_name()
        )
    })
}

/// An enum whose variants are described is generated as `oneOf` of constants; a form wants a title there.
fn titled(property: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = property.get_mut("oneOf") else { return };
    for option in options.iter_mut().filter_map(Value::as_object_mut) {
        let title = option.get("title").or_else(|| option.get("description")).or_else(|| option.get("const"));
        if let Some(title) = title.cloned() {
            option.insert("title".into(), title);
        }
        option.retain(|keyword, _| keyword == "const" || keyword == "title");
    }
    property.entry("type").or_insert_with(|| "string".into());
}

/// An answer to be held against its form.
pub(crate) struct Form<'a>(pub(crate) &'a ElicitSchema);

impl Form<'_> {
    /// The first thing that is wrong with the fields of an answer. Fields that were not asked for are
    /// ignored.
    pub(crate) fn check(&self, content: &Map<String, Value>) -> Result<(), String> {
        let required = self.0.required.as_deref().unwrap_or_default();
        for (name, field) in &self.0.properties.0 {
            match content.get(name).filter(|value| !value.is_null()) {
                None if required.contains(name) => return Err(format!("{name} is missing")),
                None => {}
                Some(value) => check_field(field, value).map_err(|what| format!("{name}: {what}"))?,
            }
        }
        Ok(())
    }
}

fn check_field(field: &PrimitiveSchema, value: &Value) -> Result<(), String> {
    match field {
        PrimitiveSchema::Boolean { .. } => expect(value.is_boolean(), || "not a boolean".into()),
        PrimitiveSchema::String { min_length, max_length, .. } => {
            let Some(text) = value.as_str() else { return Err("not a text".into()) };
            within(text.chars().count(), *min_length, *max_length)
        }
        PrimitiveSchema::Number { integer, minimum, maximum, .. } => {
            let Some(number) = value.as_f64() else { return Err("not a number".into()) };
            expect(!integer || number.fract() == 0.0, || "not an integer".into())?;
            let least = minimum.as_ref().and_then(Number::as_f64);
            let most = maximum.as_ref().and_then(Number::as_f64);
            let fits = least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most);
            expect(fits, || "out of range".into())
        }
        PrimitiveSchema::Choice { options, .. } => {
            let chosen = value.as_str();
            expect(options.values().any(|option| Some(option) == chosen), || "none of the choices".into())
        }
        PrimitiveSchema::MultiChoice { options, min_items, max_items, .. } => {
            let Some(chosen) = value.as_array() else { return Err("not a list of choices".into()) };
            let known = |item: &Value| options.values().any(|option| Some(option) == item.as_str());
            expect(chosen.iter().all(known), || "not only choices".into())?;
            within(chosen.len(), *min_items, *max_items)
        }
    }
}

fn within(count: usize, least: Option<u64>, most: Option<u64>) -> Result<(), String> {
    let count = count as u64;
    expect(least.is_none_or(|least| count >= least), || "too short".into())?;
    expect(most.is_none_or(|most| count <= most), || "too long".into())
}

fn expect(fits: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if fits { Ok(()) } else { Err(otherwise()) }
}
