//! Answers to a form: defaults filled in, and every field checked against what was asked
//! [spec: client/elicitation].
//!
//! The schema of a form is a flat object of primitives, so the check is code; no validator is
//! compiled for it.

use serde_json::{Map, Value};
use switchboard_protocol::model::elicitation::{ElicitSchema, Options, PrimitiveSchema};

/// Fills in the defaults of the fields that the answer lacks.
pub(crate) fn fill_defaults(schema: &ElicitSchema, content: &mut Map<String, Value>) {
    for (name, field) in &schema.properties.0 {
        if content.get(name).is_none_or(Value::is_null) {
            match field.default_value() {
                Some(value) => drop(content.insert(name.clone(), value)),
                // A field without a value is one that was not filled in.
                None => drop(content.remove(name)),
            }
        }
    }
}

/// Checks an answer.
///
/// # Errors
/// The first field that does not fit, and why.
pub(crate) fn check(schema: &ElicitSchema, content: &Map<String, Value>) -> Result<(), String> {
    for name in schema.required.iter().flatten() {
        if !content.contains_key(name) {
            return Err(format!("the field {name:?} is required and has no value"));
        }
    }
    for (name, value) in content {
        let Some((_, field)) = schema.properties.0.iter().find(|(known, _)| known == name) else {
            return Err(format!("the form has no field {name:?}"));
        };
        check_field(field, value).map_err(|why| format!("the field {name:?} {why}"))?;
    }
    Ok(())
}

fn check_field(field: &PrimitiveSchema, value: &Value) -> Result<(), String> {
    match (field, value) {
        (PrimitiveSchema::String { min_length, max_length, format, .. }, Value::String(text)) => {
            check_text(text, (*min_length, *max_length), format.as_deref())
        }
        (PrimitiveSchema::Number { integer, minimum, maximum, .. }, Value::Number(number)) => {
            if *integer && !is_integer(number) {
                return Err("must be an integer".into());
            }
            let of = |bound: &Option<serde_json::Number>| bound.as_ref().and_then(serde_json::Number::as_f64);
            let given = number.as_f64().unwrap_or(f64::NAN);
            if of(minimum).is_some_and(|least| given < least) {
                return Err(format!("must be at least {}", shown(minimum.as_ref())));
            }
            if of(maximum).is_some_and(|most| given > most) {
                return Err(format!("must be at most {}", shown(maximum.as_ref())));
            }
            Ok(())
        }
        (PrimitiveSchema::Boolean { .. }, Value::Bool(_)) => Ok(()),
        (PrimitiveSchema::Choice { options, .. }, Value::String(choice)) => check_choice(options, choice),
        (PrimitiveSchema::MultiChoice { options, min_items, max_items, .. }, Value::Array(choices)) => {
            let count = choices.len() as u64;
            if min_items.is_some_and(|least| count < least) || max_items.is_some_and(|most| count > most) {
                return Err(format!("has {count} choices, which is too few or too many"));
            }
            choices.iter().try_for_each(|choice| match choice {
                Value::String(choice) => check_choice(options, choice),
                _ => Err("must be a list of strings".into()),
            })
        }
        (field, _) => Err(format!("must be {}", kind(field))),
    }
}

fn check_text(text: &str, bounds: (Option<u64>, Option<u64>), format: Option<&str>) -> Result<(), String> {
    let length = text.chars().count() as u64;
    if let Some(least) = bounds.0.filter(|least| length < *least) {
        return Err(format!("must have at least {least} characters"));
    }
    if let Some(most) = bounds.1.filter(|most| length > *most) {
        return Err(format!("must have at most {most} characters"));
    }
    // Formats are checked as far as a typing error goes; the server has the last word.
    let fits = match format {
        Some("email") => {
            text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
        }
        Some("uri") => url::Url::parse(text).is_ok(),
        Some("date") => is_date(text),
        Some("date-time") => text.split_once(['T', 't', ' ']).is_some_and(|(date, _)| is_date(date)),
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("is no valid {}", format.unwrap_or_default())) }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let digits =
        |part: &str, count: usize| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2)
        && (1..=12).contains(&month.parse().unwrap_or(0))
        && (1..=31).contains(&day.parse().unwrap_or(0)))
}

fn is_integer(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

fn shown(bound: Option<&serde_json::Number>) -> String {
    bound.map(ToString::to_string).unwrap_or_default()
}

fn check_choice(options: &Options, choice: &str) -> Result<(), String> {
    if options.values().any(|value| value == choice) {
        return Ok(());
    }
    let known: Vec<_> = options.values().take(10).collect();
    Err(format!("must be one of {}", known.join(", ")))
}

fn kind(field: &PrimitiveSchema) -> &'static str {
    match field {
        PrimitiveSchema::String { .. } | PrimitiveSchema::Choice { .. } => "a string",
        PrimitiveSchema::Number { integer: true, .. } => "an integer",
        PrimitiveSchema::Number { .. } => "a number",
        PrimitiveSchema::Boolean { .. } => "true or false",
        PrimitiveSchema::MultiChoice { .. } => "a list of strings",
    }
}

#[cfg(test)]
mod tests;
