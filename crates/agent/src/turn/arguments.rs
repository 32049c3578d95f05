//! Reads and checks what a model wrote as a call: the tool's name and its arguments.
//!
//! Nothing is guessed: arguments are an object, that object written as a string, or nothing at all, which means
//! an empty object. `null` for a member that need not be there means that it is not there (`arguments/nulls.rs`).
//! Everything else goes back to the model with what is wrong.

mod nulls;

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_llm::{CallDefect, ToolCallRequest};

use super::offer::Offer;
use crate::exposure::ExposedTool;
use crate::visible;

/// Names listed at most when a tool is unknown.
const NAMED: usize = 30;

/// A schema up to this size, in bytes, is repeated to a model that did not fit it.
const REPEATED_SCHEMA: usize = 4 * 1024;

/// The most characters of a malformed text that are shown back.
const SHOWN_CHARS: usize = 200;

/// Arguments that fit the tool's own schema.
#[derive(Debug)]
pub(super) struct Arguments {
    /// As they will be sent.
    pub(super) raw: Box<RawValue>,
    pub(super) value: Value,
}

/// Reads arguments as those of a model's call are read, whatever the tool's schema says of them.
///
/// # Errors
/// What is wrong with them, to be read behind "the arguments".
pub fn read_arguments(text: &str) -> Result<Value, &'static str> {
    read(text).map(|arguments| arguments.value)
}

/// The tool and the arguments of a call, or what to tell the model.
pub(super) fn check<'a>(
    request: &ToolCallRequest,
    offer: &'a Offer,
) -> Result<(&'a ExposedTool, Arguments), String> {
    if let Some(defect @ (CallDefect::Truncated | CallDefect::Nameless)) = request.defect {
        return Err(defect.explanation().to_owned());
    }
    let tool = offer.by_name(&request.name).ok_or_else(|| unknown(&request.name, offer))?;
    Ok((tool, checked(tool, &request.arguments)?))
}

/// The arguments of a call of this tool, or what to tell the model.
pub(super) fn checked(tool: &ExposedTool, text: &str) -> Result<Arguments, String> {
    let arguments = read(text).map_err(|problem| {
        let shown = visible::quoted(text, SHOWN_CHARS);
        format!("The call was not executed: its arguments {problem}. They were {shown}. {}", schema(tool))
    })?;
    nulls::fitted(tool, arguments).map_err(|violations| {
        let list: Vec<String> = violations.iter().map(|violation| format!("- {violation}")).collect();
        let list = list.join("\n");
        format!(
            "The call was not executed: its arguments do not fit the tool's schema.\n{list}\n{}",
            schema(tool)
        )
    })
}

/// Arguments that fit the tool's own schema, or what is wrong with them, for people.
pub(super) fn fit(tool: &ExposedTool, text: &str) -> Result<Box<RawValue>, String> {
    let arguments = read(text).map_err(|problem| format!("the arguments {problem}"))?;
    match nulls::fitted(tool, arguments) {
        Ok(arguments) => Ok(arguments.raw),
        Err(violations) => {
            let list: Vec<String> = violations.iter().map(ToString::to_string).collect();
            Err(format!("the arguments do not fit the schema of {}: {}", tool.tool().name, list.join("; ")))
        }
    }
}

fn unknown(name: &str, offer: &Offer) -> String {
    let mut names: Vec<&str> = offer.tools().take(NAMED).map(ExposedTool::name).collect();
    if offer.tools().nth(NAMED).is_some() {
        names.push("…");
    }
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "The call was not executed: no tool is called {}. The tools are: {names}.",
        visible::quoted(name, SHOWN_CHARS)
    )
}

fn schema(tool: &ExposedTool) -> String {
    let schema = tool.definition().parameters.get();
    if schema.len() > REPEATED_SCHEMA {
        return "Make the call again with arguments that fit the tool's schema.".to_owned();
    }
    format!("Make the call again with a JSON object that fits this schema: {schema}")
}

fn read(text: &str) -> Result<Arguments, &'static str> {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return object("{}");
    }
    if trimmed.starts_with('"') {
        // The object, written as a string once more.
        let inner: String = serde_json::from_str(trimmed).map_err(|_| "are not JSON")?;
        return if inner.trim().is_empty() { object("{}") } else { object(inner.trim()) };
    }
    object(trimmed)
}

fn object(text: &str) -> Result<Arguments, &'static str> {
    let value: Value = serde_json::from_str(text).map_err(|_| "are not JSON")?;
    if !value.is_object() {
        return Err("are not a JSON object");
    }
    // What is validated must be what the server reads. With a name given twice, that is anybody's guess.
    let mut deserializer = serde_json::Deserializer::from_str(text);
    if NamesOnce.deserialize(&mut deserializer).is_err() {
        return Err("give one name twice");
    }
    let raw = RawValue::from_string(text.to_owned()).map_err(|_| "are not JSON")?;
    Ok(Arguments { raw, value })
}

/// Walks a JSON text and fails at the first object that has a name twice.
struct NamesOnce;

impl<'de> DeserializeSeed<'de> for NamesOnce {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NamesOnce {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a name is given twice"));
            }
            map.next_value_seed(Self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
