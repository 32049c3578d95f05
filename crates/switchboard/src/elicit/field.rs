//! One field of a form: how it is shown, and how a typed line becomes its value.

use serde_json::{Number, Value};
use switchboard_agent::visible;
use switchboard_protocol::model::elicitation::{Label, Options, PrimitiveSchema};

/// The most choices that are listed. The others can be given by their value.
const MOST_LISTED: usize = 100;

/// The typed answer for an empty list.
const NONE: &str = "-";

/// What a line is for a field.
#[derive(Debug, PartialEq)]
pub(super) enum Typed {
    Value(Value),
    /// The field is left out.
    Nothing,
    /// It is no value of this field, and why.
    Wrong(String),
}

/// The lines above the prompt: name, meaning, choices.
pub(super) fn describe(name: &str, field: &PrimitiveSchema, required: bool) -> Vec<String> {
    let Label { title, description } = field.label();
    let name = visible::line(name);
    let title =
        title.as_deref().map_or_else(|| name.clone(), |title| format!("{} ({name})", visible::line(title)));
    let must = if required { "required" } else { "optional" };
    let mut lines = vec![format!("  │ {title}, {must}")];
    if let Some(description) = description {
        lines.extend(description.lines().map(|line| format!("  │ {}", visible::line(line))));
    }
    if let PrimitiveSchema::Choice { options, .. } | PrimitiveSchema::MultiChoice { options, .. } = field {
        let choices = choices(options);
        for (number, (value, title)) in (1..).zip(&choices).take(MOST_LISTED) {
            let value = visible::line(value);
            let title = title.map(|title| format!("  {}", visible::line(title))).unwrap_or_default();
            lines.push(format!("  │ {number:>3}  {value}{title}"));
        }
        if choices.len() > MOST_LISTED {
            let more = choices.len() - MOST_LISTED;
            lines.push(format!("  ({more} more; they can be given by their value)"));
        }
    }
    lines
}

/// What to type, with the default in brackets.
pub(super) fn prompt(field: &PrimitiveSchema) -> String {
    let what = match field {
        PrimitiveSchema::String { format, min_length, max_length, .. } => {
            let kind = match format.as_deref() {
                Some("date") => "a date, such as 2026-07-28",
                Some("date-time") => "a time, such as 2026-07-28T12:00:00Z",
                Some("email") => "an email address",
                Some("uri") => "an address, such as https://example.com",
                _ => "text",
            };
            format!(
                "{kind}{}",
                bounds((shown(min_length.as_ref()), shown(max_length.as_ref())), " characters")
            )
        }
        PrimitiveSchema::Number { integer, minimum, maximum, .. } => {
            let kind = if *integer { "a whole number" } else { "a number" };
            format!("{kind}{}", bounds((shown(minimum.as_ref()), shown(maximum.as_ref())), ""))
        }
        PrimitiveSchema::Boolean { .. } => "y or n".to_owned(),
        PrimitiveSchema::Choice { .. } => "a number of the list".to_owned(),
        PrimitiveSchema::MultiChoice { min_items, max_items, .. } => {
            let many = bounds((shown(min_items.as_ref()), shown(max_items.as_ref())), " of them");
            format!("numbers of the list, with commas between them, {NONE} for none{many}")
        }
    };
    match field.default_value() {
        Some(value) => format!("{what} [{}]", plain(&value)),
        None => what,
    }
}

/// The value that a line stands for. An empty line is the default, or nothing.
pub(super) fn read(field: &PrimitiveSchema, line: &str) -> Typed {
    let text = line.trim();
    if text.is_empty() {
        return field.default_value().map_or(Typed::Nothing, Typed::Value);
    }
    match field {
        PrimitiveSchema::String { .. } => Typed::Value(Value::String(text.to_owned())),
        PrimitiveSchema::Number { .. } => number(text),
        PrimitiveSchema::Boolean { .. } => match text.to_lowercase().as_str() {
            "y" | "yes" | "true" => Typed::Value(Value::Bool(true)),
            "n" | "no" | "false" => Typed::Value(Value::Bool(false)),
            _ => Typed::Wrong("Answer y or n.".to_owned()),
        },
        PrimitiveSchema::Choice { options, .. } => {
            choice(options, text).map_or_else(Typed::Wrong, Typed::Value)
        }
        PrimitiveSchema::MultiChoice { .. } if text == NONE => Typed::Value(Value::Array(Vec::new())),
        PrimitiveSchema::MultiChoice { options, .. } => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            match parts.map(|part| choice(options, part)).collect::<Result<Vec<_>, _>>() {
                Ok(values) => Typed::Value(Value::Array(values)),
                Err(problem) => Typed::Wrong(problem),
            }
        }
    }
}

fn number(text: &str) -> Typed {
    match serde_json::from_str::<Number>(text) {
        Ok(number) => Typed::Value(Value::Number(number)),
        Err(_) => Typed::Wrong(format!("{} is no number.", visible::quoted(text, 60))),
    }
}

/// By its number in the list, else by its value or its title.
fn choice(options: &Options, text: &str) -> Result<Value, String> {
    let choices = choices(options);
    let numbered = text.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    let named = || {
        choices.iter().find(|(value, title)| {
            *value == text || title.is_some_and(|title| title.eq_ignore_ascii_case(text))
        })
    };
    match numbered.or_else(named) {
        Some((value, _)) => Ok(Value::String((*value).to_owned())),
        None => Err(format!("{} is none of them.", visible::quoted(text, 60))),
    }
}

/// Values, with titles where they have them.
fn choices(options: &Options) -> Vec<(&str, Option<&str>)> {
    let titles: Vec<&str> = match options {
        Options::Untitled(_) => Vec::new(),
        Options::Named(_, names) => names.iter().map(String::as_str).collect(),
        Options::Titled(titled) => titled.iter().map(|option| option.title.as_str()).collect(),
    };
    options.values().enumerate().map(|(index, value)| (value, titles.get(index).copied())).collect()
}

/// A value as a person would type it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => visible::line(text),
        Value::Bool(yes) => if *yes { "y" } else { "n" }.to_owned(),
        Value::Array(values) if values.is_empty() => NONE.to_owned(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn shown(bound: Option<&impl ToString>) -> Option<String> {
    bound.map(ToString::to_string)
}

fn bounds(bounds: (Option<String>, Option<String>), unit: &str) -> String {
    match bounds {
        (None, None) => String::new(),
        (Some(least), None) => format!(", at least {least}{unit}"),
        (None, Some(most)) => format!(", at most {most}{unit}"),
        (Some(least), Some(most)) => format!(", {least} to {most}{unit}"),
    }
}
