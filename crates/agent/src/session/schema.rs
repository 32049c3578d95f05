//! The answer as one JSON value that fits a schema.

use serde_json::Value;
use switchboard_schema::{SchemaLimits, Validator};

use crate::error::{AgentError, ErrorKind};
use crate::visible;

/// Problems that the model is told of at once.
const TOLD: usize = 8;

/// Reads the answer as JSON and checks it.
///
/// # Errors
/// What is wrong, for the model and for people.
pub(super) fn fit(answer: &str, schema: &Value) -> Result<Value, String> {
    let text = unfenced(answer.trim());
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON ({error})"))?;
    let validator = compile(schema).map_err(|error| error.message().to_owned())?;
    validator.validate(&value).map_err(|violations| {
        let told = violations.iter().take(TOLD).map(ToString::to_string);
        format!("it does not fit the schema: {}", told.collect::<Vec<_>>().join("; "))
    })?;
    Ok(value)
}

/// A schema that can be checked against.
///
/// # Errors
/// When it cannot.
pub(super) fn compile(schema: &Value) -> Result<Validator, AgentError> {
    Validator::compile(schema, &SchemaLimits::default()).map_err(|error| {
        let message =
            format!("the schema of the answer cannot be used: {}", visible::line(&error.to_string()));
        AgentError::new(ErrorKind::Configuration, message).hint("correct output_schema")
    })
}

/// Models like to wrap JSON into a fence of markdown.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.and_then(|rest| rest.split_once('\n')).map_or(text, |(_, body)| body.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fit;

    #[test]
    fn an_answer_is_json_that_fits_or_says_why_not() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        for (answer, expected) in [
            (r#"{"n": 1}"#, Ok(json!({"n": 1}))),
            ("```json\n{\"n\": 2}\n```", Ok(json!({"n": 2}))),
            ("  {\"n\": 3}\n", Ok(json!({"n": 3}))),
            ("The answer is 3", Err("it is no JSON")),
            (r#"{"n": "x"}"#, Err("it does not fit the schema: ")),
            ("{}", Err("it does not fit the schema: ")),
        ] {
            match (fit(answer, &schema), expected) {
                (Ok(value), Ok(expected)) => assert_eq!(value, expected),
                (Err(problem), Err(expected)) => assert!(problem.starts_with(expected), "{problem}"),
                (got, expected) => panic!("{answer}: {got:?}, not {expected:?}"),
            }
        }
    }
}
