//! One tool, as the host knows it and as a model sees it.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use switchboard_llm::ToolDefinition;
use switchboard_protocol::model::tool::Tool;
use switchboard_schema::{SchemaError, SchemaLimits, Validator, Violation};

use super::left_out::{LeftOut, LeftOutCause};
use super::lost::Lost;
use super::lower::{Lowered, lower};
use super::tolerant::without_nulls;
use super::{ExposureOptions, cost, nulls};
use crate::digest::Digest;
use crate::name::ServerName;
use crate::policy::definition_digest;

/// A tool as the host knows it and as a model sees it.
#[derive(Debug)]
pub struct ExposedTool {
    server: ServerName,
    tool: Arc<Tool>,
    definition: ToolDefinition,
    /// Shared by what was compiled of the tool for several dialects.
    checks: Arc<Checks>,
    digest: Digest,
    lost: Vec<Lost>,
    nulls: HashSet<String>,
    token_cost: usize,
}

/// Checks the arguments of a tool. What is compiled takes ten times the room of the schema, and most tools are never
/// called: it is made with the first call.
#[derive(Debug)]
struct Checks {
    /// Whether the schema can be compiled. That was tried before.
    is_possible: bool,
    compiled: OnceLock<Option<Validator>>,
}

impl ExposedTool {
    /// The second value says why the arguments cannot be checked, where that is so.
    pub(super) fn compile(
        server: ServerName,
        (tool, name): (Tool, String),
        options: &ExposureOptions<'_>,
    ) -> Result<(Self, Option<LeftOut>), LeftOut> {
        let left_out = |cause, reason: String| LeftOut {
            server: server.clone(),
            tool: tool.name.clone(),
            cause,
            reason,
        };
        let invalid = |reason| left_out(LeftOutCause::Invalid, reason);
        let schema: Value =
            serde_json::from_str(tool.input_schema.get()).map_err(|error| invalid(error.to_string()))?;
        let unchecked = match validator(&schema) {
            Ok(_) => None,
            Err(error) if error.is_unsupported_dialect() => {
                Some(left_out(LeftOutCause::UnknownDialect, error.to_string()))
            }
            Err(error) => return Err(invalid(error.to_string())),
        };
        drop(schema);
        let (definition, lowered) = definition(&tool, &name, options)
            .map_err(|reason| left_out(LeftOutCause::NotLowerable, reason))?;
        let digest = definition_digest(&server, &tool);
        let token_cost = cost::tokens(&definition);
        let Seen { lost, nulls } = lowered;
        let tool = Arc::new(tool);
        let checks = Arc::new(Checks { is_possible: unchecked.is_none(), compiled: OnceLock::new() });
        Ok((Self { server, tool, definition, checks, digest, lost, nulls, token_cost }, unchecked))
    }

    /// About how many tokens the definition of a tool costs; none, where it cannot be said in the dialect.
    pub(super) fn cost((tool, name): (&Tool, &str), options: &ExposureOptions<'_>) -> usize {
        definition(tool, name, options).map_or(0, |(definition, _)| cost::tokens(&definition))
    }

    /// The same tool for another dialect.
    pub(super) fn again(&self, options: &ExposureOptions<'_>) -> Result<Self, LeftOut> {
        let (definition, Seen { lost, nulls }) =
            definition(&self.tool, self.name(), options).map_err(|reason| LeftOut {
                server: self.server.clone(),
                tool: self.tool.name.clone(),
                cause: LeftOutCause::NotLowerable,
                reason,
            })?;
        Ok(Self {
            server: self.server.clone(),
            tool: Arc::clone(&self.tool),
            checks: Arc::clone(&self.checks),
            digest: self.digest,
            token_cost: cost::tokens(&definition),
            definition,
            lost,
            nulls,
        })
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

    /// The original schema of the arguments, parsed anew: it takes much more room than its text.
    pub fn schema(&self) -> Value {
        // It was parsed when the tool was compiled.
        serde_json::from_str(self.tool.input_schema.get()).unwrap_or_default()
    }

    /// What the schema says and the model does not see.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// About how many tokens the definition costs in every request.
    pub fn token_cost(&self) -> usize {
        self.token_cost
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
        if !self.checks.is_possible {
            return Ok(());
        }
        let compiled = self.checks.compiled.get_or_init(|| validator(&self.schema()).ok());
        compiled.as_ref().map_or(Ok(()), |validator| validator.validate(arguments))
    }

    /// The places in the arguments (JSON pointers) where `null` stands for what is absent: a strict schema requires
    /// every property, and has `null` for those that the original does not require.
    pub fn absent(&self, arguments: &Value) -> Vec<String> {
        if self.nulls.is_empty() {
            return Vec::new();
        }
        nulls::absent(&self.definition.parameters, &self.nulls, arguments)
    }
}

/// What is known of a definition beside what a model sees.
struct Seen {
    lost: Vec<Lost>,
    nulls: HashSet<String>,
}

/// What a model sees, or why it can see nothing.
fn definition(
    tool: &Tool,
    name: &str,
    options: &ExposureOptions<'_>,
) -> Result<(ToolDefinition, Seen), String> {
    let description = tool.description.as_deref().filter(|text| !text.is_empty());
    let description = description.or(tool.title.as_deref()).unwrap_or_default();
    let lowered = lower((&tool.input_schema, description), options.dialect, options.max_description)?;
    let Lowered { description, parameters, lost, strict, nulls } = lowered;
    let definition = ToolDefinition { strict, ..ToolDefinition::new(name, description, parameters) };
    Ok((definition, Seen { lost, nulls }))
}

/// A keyword that is `null` counts as absent where the schema would be unusable otherwise.
fn validator(schema: &Value) -> Result<Validator, SchemaError> {
    let limits = SchemaLimits::default();
    Validator::compile(schema, &limits).or_else(|error| match without_nulls(schema) {
        Some(schema) => Validator::compile(&schema, &limits),
        None => Err(error),
    })
}
