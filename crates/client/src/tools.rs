//! The tools of one server as this client sees them: the definitions that are valid, those that are
//! left out and why, and what follows from a schema for a call.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_protocol::http::param_headers::ParamHeaders;
use switchboard_protocol::model::tool::{CallToolResult, InvalidTool, Tool};
use switchboard_schema::{SchemaLimits, Validator};

use crate::error::{Error, excerpt};

/// How many findings of the output check are told.
const SHOWN_VIOLATIONS: usize = 3;

/// The tools of one server.
pub(crate) struct ToolSet {
    pub(crate) tools: Arc<[Tool]>,
    pub(crate) excluded: Arc<[InvalidTool]>,
    by_name: HashMap<String, Entry>,
}

struct Entry {
    place: usize,
    headers: ParamHeaders,
    /// Compiled when the first structured result arrives.
    output: OnceLock<Option<Validator>>,
}

impl ToolSet {
    /// Sorts the definitions of a list. Over HTTP, one whose header annotations are invalid must be
    /// left out [spec: basic/transports/streamable-http, Schema Extension].
    pub(crate) fn new(definitions: Vec<Result<Tool, InvalidTool>>, over_http: bool) -> Self {
        let mut tools = Vec::new();
        let mut excluded = Vec::new();
        let mut by_name = HashMap::new();
        for definition in definitions {
            let headers = definition.and_then(|tool| match param_headers(&tool) {
                Ok(headers) => Ok((tool, headers)),
                Err(_) if !over_http => Ok((tool, ParamHeaders::default())),
                Err(reason) => Err(InvalidTool { name: tool.name, reason }),
            });
            match headers {
                Ok((tool, headers)) => {
                    let entry = Entry { place: tools.len(), headers, output: OnceLock::new() };
                    by_name.insert(tool.name.clone(), entry);
                    tools.push(tool);
                }
                Err(invalid) => excluded.push(invalid),
            }
        }
        Self { tools: tools.into(), excluded: excluded.into(), by_name }
    }

    /// The headers that mirror the arguments of a call; none for a tool that is not listed.
    ///
    /// # Errors
    /// When the tool's definition is invalid, so that it must not be called.
    pub(crate) fn param_headers(&self, tool: &str, arguments: Option<&RawValue>) -> Result<HeaderMap, Error> {
        let Some(entry) = self.by_name.get(tool) else {
            return match self.excluded.iter().find(|invalid| invalid.name == tool) {
                Some(invalid) => Err(Error::misuse(invalid.to_string())
                    .hint("report the definition to the author of the server")),
                None => Ok(HeaderMap::new()),
            };
        };
        let Some(arguments) = arguments else { return Ok(HeaderMap::new()) };
        let headers = entry
            .headers
            .headers_for(arguments)
            .map_err(|error| Error::misuse(format!("the arguments of {tool:?} cannot be sent: {error}")))?;
        Ok(headers.into_iter().collect())
    }

    /// Checks a structured result against the tool's output schema.
    ///
    /// # Errors
    /// What does not fit. A schema that cannot be compiled finds nothing.
    pub(crate) fn check_output(&self, tool: &str, result: &CallToolResult) -> Result<(), String> {
        let Some(entry) = self.by_name.get(tool) else { return Ok(()) };
        let schema = self.tools.get(entry.place).and_then(|tool| tool.output_schema.as_deref());
        let (Some(schema), false) = (schema, result.is_error()) else { return Ok(()) };
        let Some(content) = result.structured_content.as_deref() else {
            return Err("the tool has an output schema, but the result has no structuredContent".into());
        };
        let Some(validator) = entry.output.get_or_init(|| compile(tool, schema)) else { return Ok(()) };
        let content: Value = serde_json::from_str(content.get()).map_err(|error| error.to_string())?;
        validator.validate(&content).map_err(|violations| {
            let shown: Vec<_> = violations.iter().take(SHOWN_VIOLATIONS).map(ToString::to_string).collect();
            excerpt(&shown.join("; "))
        })
    }
}

fn param_headers(tool: &Tool) -> Result<ParamHeaders, String> {
    let schema = tool.input_schema.get();
    // Nearly every schema has none, and then it need not be parsed.
    if !schema.contains("x-mcp-header") && !schema.contains("\\u") {
        return Ok(ParamHeaders::default());
    }
    let schema: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
    ParamHeaders::from_schema(&schema).map_err(|error| error.to_string())
}

fn compile(tool: &str, schema: &RawValue) -> Option<Validator> {
    let compiled =
        serde_json::from_str::<Value>(schema.get()).map_err(|error| error.to_string()).and_then(|schema| {
            Validator::compile(&schema, &SchemaLimits::default()).map_err(|error| error.to_string())
        });
    compiled
        .inspect_err(|error| {
            tracing::warn!(%tool, %error, "the output schema cannot be compiled; results are not checked");
        })
        .ok()
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSet")
            .field("tools", &self.tools.len())
            .field("excluded", &self.excluded)
            .finish_non_exhaustive()
    }
}
