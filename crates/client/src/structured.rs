//! A tool's result as a Rust value: from `structuredContent`, from JSON text, or from plain text where
//! a string will do.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::CallToolResult;

use crate::error::{CallError, Delivery, Error, Kind, ToolFailure, excerpt};

/// Decodes a result; `checked` is what its output schema says of it.
pub(crate) fn decode<O>(result: CallToolResult, checked: Result<(), String>) -> Result<O, CallError>
where
    O: for<'de> Deserialize<'de>,
{
    if result.is_error() {
        return Err(CallError::Tool(ToolFailure(Box::new(result))));
    }
    checked.map_err(|why| {
        Error::server_fault(format!("the result does not match the tool's output schema: {why}"))
    })?;
    let why = match result.structured_content.as_deref().map(|content| from_json(content.get())) {
        Some(Ok(value)) => return Ok(value),
        Some(Err(why)) => Some(why),
        None => None,
    };
    // Servers that wrap a text for a program to read give it as it is beside that.
    from_content(&result).map_err(|of_content| {
        let why = why.unwrap_or(of_content);
        let unreadable = Error::new(Kind::Unreadable, Delivery::MaybeExecuted, why);
        CallError::Failed(unreadable.hint("use `call` for the result as it is"))
    })
}

/// Reads the value from what the tool said to people and models, or says why not.
fn from_content<O>(result: &CallToolResult) -> Result<O, String>
where
    O: for<'de> Deserialize<'de>,
{
    let is_text = |block: &ContentBlock| matches!(block, ContentBlock::Text(_));
    let only_text = result.content.iter().all(is_text);
    if !result.content.is_empty() && !result.content.iter().any(is_text) {
        return Err("the tool returned neither structured content nor text".to_owned());
    }
    let text = result.text();
    // Nothing at all is `()`, `None` or an empty text.
    let of_json = if only_text && text.is_empty() { from_json("null") } else { from_json(&text) };
    let Err(why) = of_json else { return of_json };
    let of_string = O::deserialize(Value::String(text.clone()));
    of_string.map_err(|_| {
        if text.is_empty() {
            "the tool returned nothing".to_owned()
        } else if serde_json::from_str::<IgnoredAny>(&text).is_ok() {
            why
        } else {
            format!("the tool returned text that is not JSON: {}", excerpt(&text))
        }
    })
}

fn from_json<O>(text: &str) -> Result<O, String>
where
    O: for<'de> Deserialize<'de>,
{
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        format!("the result is not what was expected, at {}: {}", error.path(), error.inner())
    })?;
    // `12 apples` begins with a number and is none.
    deserializer.end().map_err(|error| format!("the result is not what was expected: {error}"))?;
    Ok(value)
}
