//! Compiles the tools of all servers for a model: names, schemas, order.
//!
//! The third stage of a call. What a server wrote is never changed: the model sees a copy, the arguments are
//! validated against the original, and a tool that cannot be offered is left out with a reason while all
//! others stay. Where to look next: `exposure/names.rs` for the names, `exposure/copy.rs` for the schema that
//! the model sees.

mod copy;
mod names;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_llm::ToolDefinition;
use switchboard_protocol::model::tool::{InvalidTool, Tool};
use switchboard_schema::{SchemaLimits, Validator, Violation};

use crate::digest::Digest;
use crate::identity::Identity;
use crate::name::ServerName;

pub use self::names::{MAX_TOOL_NAME, exposed_name};

/// The longest name that a tool may have on its server, in characters [spec: server/tools, tool names].
const LONGEST_OWN_NAME: usize = 128;

/// What one server declares.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// Its tools.
    pub tools: Vec<Tool>,
    /// Its definitions that are invalid, with reasons.
    pub invalid: Vec<InvalidTool>,
}

/// The tools that a model may choose from, in a canonical order: by server, then by tool.
///
/// ```
/// use switchboard_agent::exposure::{Declared, Exposure};
/// use switchboard_agent::ServerName;
///
/// let tool = serde_json::from_str(r#"{"name": "get_climate", "inputSchema": {"type": "object"}}"#)?;
/// let station = Declared { tools: vec![tool], invalid: vec![] };
/// let exposure = Exposure::compile([(ServerName::new("station")?, station)]);
/// assert_eq!(exposure.tools()[0].name(), "station__get_climate");
/// assert_eq!(exposure.tools()[0].definition().parameters.get(), r#"{"type":"object","properties":{}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Exposure {
    tools: Vec<ExposedTool>,
    by_name: HashMap<String, usize>,
    left_out: Vec<LeftOut>,
    unchecked: Vec<LeftOut>,
    servers: Vec<(ServerName, Identity)>,
    failed: Vec<FailedServer>,
}

/// A server that did not list its tools, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedServer {
    /// Which.
    pub server: ServerName,
    /// Why, and what to do.
    pub message: String,
}

/// A tool as the host knows it and as a model sees it.
#[derive(Debug)]
pub struct ExposedTool {
    server: ServerName,
    tool: Arc<Tool>,
    definition: ToolDefinition,
    schema: Value,
    validator: Option<Validator>,
    digest: Digest,
}

/// A tool that is not offered, or not checked, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Whose it is.
    pub server: ServerName,
    /// The tool's own name, cut after 128 characters.
    pub tool: String,
    /// Why.
    pub reason: String,
}

impl Exposure {
    /// Compiles what the servers declare. The order in which they come, and in which they list their tools,
    /// changes nothing.
    pub fn compile(servers: impl IntoIterator<Item = (ServerName, Declared)>) -> Self {
        let mut exposure = Self::default();
        let mut sorted = BTreeMap::new();
        for (server, declared) in servers {
            for invalid in declared.invalid {
                exposure.leave_out(&server, invalid.name, invalid.reason);
            }
            for tool in declared.tools {
                match sorted.entry((server.clone(), tool.name.clone())) {
                    std::collections::btree_map::Entry::Vacant(entry) => {
                        entry.insert(tool);
                    }
                    std::collections::btree_map::Entry::Occupied(_) => {
                        let reason = "the server lists this name twice; the first definition is used";
                        exposure.leave_out(&server, tool.name, reason.to_owned());
                    }
                }
            }
        }
        for ((server, _), tool) in sorted {
            exposure.add(&server, tool);
        }
        exposure
    }

    fn add(&mut self, server: &ServerName, tool: Tool) {
        if tool.name.chars().nth(LONGEST_OWN_NAME).is_some() {
            let reason = format!("its name is longer than {LONGEST_OWN_NAME} characters");
            self.leave_out(server, tool.name, reason);
            return;
        }
        let name = exposed_name(server.as_str(), &tool.name);
        if let Some(other) = self.by_name.get(&name).map(|at| &self.tools[*at]) {
            let reason =
                format!("its shortened name is the same as that of {}/{}", other.server, other.tool.name);
            self.leave_out(server, tool.name, reason);
            return;
        }
        match ExposedTool::compile(server.clone(), tool, name) {
            Ok((tool, unchecked)) => {
                self.unchecked.extend(unchecked);
                self.by_name.insert(tool.definition.name.clone(), self.tools.len());
                self.tools.push(tool);
            }
            Err(left_out) => self.left_out.push(left_out),
        }
    }

    /// A long name is cut: it is only named, and may be as long as a message.
    fn leave_out(&mut self, server: &ServerName, mut tool: String, reason: String) {
        if let Some((end, _)) = tool.char_indices().nth(LONGEST_OWN_NAME) {
            tool.truncate(end);
            tool.push('…');
        }
        self.left_out.push(LeftOut { server: server.clone(), tool, reason });
    }

    /// The tools, in their canonical order.
    pub fn tools(&self) -> &[ExposedTool] {
        &self.tools
    }

    /// The tools that are not offered.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The tools that are offered although their arguments cannot be checked here, because their schema is in
    /// a dialect that is not supported. Their servers check them.
    pub fn unchecked(&self) -> &[LeftOut] {
        &self.unchecked
    }

    /// The servers that listed their tools, and what is known of them.
    pub fn servers(&self) -> &[(ServerName, Identity)] {
        &self.servers
    }

    pub(crate) fn listed_by(mut self, servers: Vec<(ServerName, Identity)>) -> Self {
        self.servers = servers;
        self
    }

    /// The servers that did not list their tools. The others go on without them.
    pub fn failed_servers(&self) -> &[FailedServer] {
        &self.failed
    }

    pub(crate) fn without(mut self, failed: Vec<FailedServer>) -> Self {
        self.failed = failed;
        self
    }

    /// The tool that a model calls `name`.
    pub fn by_name(&self, name: &str) -> Option<&ExposedTool> {
        self.by_name.get(name).map(|at| &self.tools[*at])
    }

    /// The tool that a server calls `tool`.
    pub fn by_origin(&self, server: &ServerName, tool: &str) -> Option<&ExposedTool> {
        self.tools.iter().find(|exposed| exposed.server == *server && exposed.tool.name == tool)
    }

    /// The definitions for a model, in their canonical order.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|tool| tool.definition.clone()).collect()
    }
}

impl ExposedTool {
    /// The second value says why the arguments cannot be checked, where that is so.
    fn compile(server: ServerName, tool: Tool, name: String) -> Result<(Self, Option<LeftOut>), LeftOut> {
        let left_out = |reason: String| LeftOut { server: server.clone(), tool: tool.name.clone(), reason };
        let schema: Value =
            serde_json::from_str(tool.input_schema.get()).map_err(|error| left_out(error.to_string()))?;
        let (validator, unchecked) = match Validator::compile(&schema, &SchemaLimits::default()) {
            Ok(validator) => (Some(validator), None),
            Err(error) if error.is_unsupported_dialect() => (None, Some(left_out(error.to_string()))),
            Err(error) => return Err(left_out(error.to_string())),
        };
        let parameters = copy::for_model(&tool.input_schema).map_err(left_out)?;
        let description = tool.description.as_deref().filter(|text| !text.is_empty());
        let description = description.or(tool.title.as_deref()).unwrap_or_default().to_owned();
        let definition = ToolDefinition { name, description, parameters };
        let digest = definition_digest(&server, &tool);
        Ok((Self { server, tool: Arc::new(tool), definition, schema, validator, digest }, unchecked))
    }

    /// The name that a model uses.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Whose it is.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// The definition as the server wrote it.
    pub fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    /// The definition as a model sees it.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// The original schema of the arguments, parsed.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Binds decisions to the definition: any change of it gives another digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Checks arguments against the original schema.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, arguments: &Value) -> Result<(), Vec<Violation>> {
        self.validator.as_ref().map_or(Ok(()), |validator| validator.validate(arguments))
    }
}

/// Everything of a definition that a person or a model decides by.
fn definition_digest(server: &ServerName, tool: &Tool) -> Digest {
    let text = |raw: &Option<Box<RawValue>>| raw.as_ref().map(|raw| raw.get().to_owned()).unwrap_or_default();
    let annotations = tool.annotations.as_ref().and_then(|hints| serde_json::to_vec(hints).ok());
    Digest::of(&[
        server.as_str().as_bytes(),
        tool.name.as_bytes(),
        tool.title.as_deref().unwrap_or_default().as_bytes(),
        tool.description.as_deref().unwrap_or_default().as_bytes(),
        tool.input_schema.get().as_bytes(),
        text(&tool.output_schema).as_bytes(),
        annotations.as_deref().unwrap_or_default(),
    ])
}

#[cfg(test)]
mod tests;
