//! A tool's result as a Rust value: from `structuredContent`, or from a JSON text block where a
//! server has only that.

use serde::Deserialize;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::CallToolResult;

use crate::error::{CallError, Error, ToolFailure};

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
    let text = match &result.structured_content {
        Some(content) => content.get(),
        None => only_text(&result).ok_or_else(|| {
            Error::server_fault("the result has neither structuredContent nor one text block")
                .hint("use `call` for the result as it is")
        })?,
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        CallError::Failed(
            Error::server_fault(format!(
                "the result is not what was expected, at {}: {}",
                error.path(),
                error.inner()
            ))
            .hint("use `call` for the result as it is"),
        )
    })
}

fn only_text(result: &CallToolResult) -> Option<&str> {
    let mut texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    texts.next().filter(|_| texts.next().is_none())
}
