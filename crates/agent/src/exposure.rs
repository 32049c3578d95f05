//! Compiles the tools of all servers for a model: names, schemas, order.
//!
//! The third stage of a call. What a server wrote is never changed: the model sees a copy in the dialect of its
//! provider, the arguments are validated against the original, and a tool that cannot be offered is left out with a
//! reason while all others stay. Where to look next: `exposure/names.rs` for the names, `exposure/lower.rs` for the
//! schemas, `exposure/order.rs` for the order, `exposure/tool.rs` for one tool.

mod cost;
mod filter;
mod json;
mod left_out;
mod lost;
mod lower;
mod names;
mod nulls;
mod order;
mod tolerant;
mod tool;

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{HashMap, HashSet};

use switchboard_llm::{SchemaDialect, ToolDefinition};
use switchboard_protocol::model::tool::{InvalidTool, Tool};

use crate::identity::Identity;
use crate::name::ServerName;

pub use self::filter::ToolFilter;
pub use self::left_out::{LeftOut, LeftOutCause};
pub use self::lost::Lost;
pub use self::names::{MAX_TOOL_NAME, exposed_name};
pub use self::tool::ExposedTool;

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

/// For whom tools are compiled, and which.
#[derive(Clone, Debug, Default)]
pub struct ExposureOptions<'a> {
    /// Which schemas the model's provider takes.
    pub dialect: SchemaDialect,
    /// The order in which tools were offered before, by the names that the model uses: see [`Exposure::offered`].
    /// New ones come after them.
    pub offered: &'a [String],
    /// What a person configured, by server.
    pub filters: BTreeMap<ServerName, ToolFilter>,
    /// The longest description of a tool, in characters, if the dialect's own limit is not the right one.
    pub max_description: Option<usize>,
}

/// The tools that a model may choose from, in a canonical order: by server, then by tool, unless some were offered
/// before.
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
    dialect: SchemaDialect,
    tools: Vec<ExposedTool>,
    by_name: HashMap<String, usize>,
    offered: Vec<String>,
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

/// A tool that has its name and is not compiled yet.
struct Named {
    server: ServerName,
    tool: Tool,
    name: String,
}

impl Exposure {
    /// Compiles what the servers declare for a model that nobody knows. The order in which they come, and in which
    /// they list their tools, changes nothing.
    pub fn compile(servers: impl IntoIterator<Item = (ServerName, Declared)>) -> Self {
        Self::compile_for(servers, &ExposureOptions::default())
    }

    /// Compiles what the servers declare. The order in which they come, and in which they list their tools, changes
    /// nothing.
    pub fn compile_for(
        servers: impl IntoIterator<Item = (ServerName, Declared)>,
        options: &ExposureOptions<'_>,
    ) -> Self {
        let mut exposure = Self { dialect: options.dialect, ..Self::default() };
        let sorted = exposure.sorted(servers);
        for named in exposure.named(sorted, options) {
            match ExposedTool::compile(named.server, (named.tool, named.name), options) {
                Ok((tool, unchecked)) => {
                    exposure.unchecked.extend(unchecked);
                    exposure.tools.push(tool);
                }
                Err(left_out) => exposure.left_out.push(left_out),
            }
        }
        exposure.arrange(options.offered);
        exposure
    }

    /// About how many tokens a model is sent of these tools. Their schemas are not made ready to check arguments with,
    /// which takes far more room than what is sent.
    pub(crate) fn token_cost_for(
        servers: impl IntoIterator<Item = (ServerName, Declared)>,
        options: &ExposureOptions<'_>,
    ) -> usize {
        let mut exposure = Self { dialect: options.dialect, ..Self::default() };
        let sorted = exposure.sorted(servers);
        let named = exposure.named(sorted, options).into_iter();
        named.map(|named| ExposedTool::cost((&named.tool, &named.name), options)).sum()
    }

    /// The valid definitions, in their canonical order.
    fn sorted(
        &mut self,
        servers: impl IntoIterator<Item = (ServerName, Declared)>,
    ) -> BTreeMap<(ServerName, String), Tool> {
        let mut sorted = BTreeMap::new();
        for (server, declared) in servers {
            for invalid in declared.invalid {
                self.leave_out(&server, invalid.name, (LeftOutCause::Invalid, invalid.reason));
            }
            for tool in declared.tools {
                match sorted.entry((server.clone(), tool.name.clone())) {
                    Entry::Vacant(entry) => {
                        entry.insert(tool);
                    }
                    Entry::Occupied(_) => {
                        let reason = "the server lists this name twice; the first definition is used";
                        self.leave_out(&server, tool.name, (LeftOutCause::Clash, reason.to_owned()));
                    }
                }
            }
        }
        sorted
    }

    /// The tools to offer, each with a name of its own. A name that a person gave gives way to one that is a tool's
    /// own.
    fn named(
        &mut self,
        sorted: BTreeMap<(ServerName, String), Tool>,
        options: &ExposureOptions<'_>,
    ) -> Vec<Named> {
        let mut taken: HashMap<String, (ServerName, String)> = HashMap::new();
        let (mut named, mut renamed): (Vec<Named>, Vec<Named>) = (Vec::new(), Vec::new());
        for ((server, _), tool) in sorted {
            let filter = options.filters.get(&server);
            if tool.name.chars().nth(LONGEST_OWN_NAME).is_some() {
                let reason = format!("its name is longer than {LONGEST_OWN_NAME} characters");
                self.leave_out(&server, tool.name, (LeftOutCause::Invalid, reason));
            } else if let Some(reason) = filter.and_then(|filter| filter.hides(&tool.name)) {
                self.leave_out(&server, tool.name, (LeftOutCause::Filtered, reason));
            } else if let Some(name) = filter.and_then(|filter| filter.rename.get(&tool.name)) {
                let name = exposed_name(server.as_str(), name);
                renamed.push(Named { server, tool, name });
            } else {
                let name = exposed_name(server.as_str(), &tool.name);
                named.push(Named { server, tool, name });
            }
        }
        let mut kept: Vec<Named> = Vec::with_capacity(named.len() + renamed.len());
        for candidate in named.into_iter().chain(renamed) {
            if let Some((server, tool)) = taken.get(&candidate.name) {
                let reason = format!("its name for models, {}, is that of {server}/{tool}", candidate.name);
                self.leave_out(&candidate.server, candidate.tool.name, (LeftOutCause::Clash, reason));
                continue;
            }
            taken.insert(candidate.name.clone(), (candidate.server.clone(), candidate.tool.name.clone()));
            kept.push(candidate);
        }
        kept.sort_by(|one, other| (&one.server, &one.tool.name).cmp(&(&other.server, &other.tool.name)));
        kept
    }

    /// A long name is cut: it is only named, and may be as long as a message.
    fn leave_out(&mut self, server: &ServerName, mut tool: String, (cause, reason): (LeftOutCause, String)) {
        if let Some((end, _)) = tool.char_indices().nth(LONGEST_OWN_NAME) {
            tool.truncate(end);
            tool.push('…');
        }
        self.left_out.push(LeftOut { server: server.clone(), tool, cause, reason });
    }

    fn arrange(&mut self, before: &[String]) {
        let names: Vec<&str> = self.tools.iter().map(ExposedTool::name).collect();
        let (order, offered) = order::ordered(&names, before);
        let mut place = vec![0; order.len()];
        for (at, from) in order.into_iter().enumerate() {
            place[from] = at;
        }
        let mut placed: Vec<(usize, ExposedTool)> =
            place.into_iter().zip(std::mem::take(&mut self.tools)).collect();
        placed.sort_by_key(|(at, _)| *at);
        self.tools = placed.into_iter().map(|(_, tool)| tool).collect();
        self.by_name = self.tools.iter().enumerate().map(|(at, tool)| (tool.name().to_owned(), at)).collect();
        self.offered = offered;
    }

    /// The same tools for another dialect, in the same order. What could not be lowered for this one stays left out.
    #[must_use]
    pub fn for_dialect(&self, dialect: SchemaDialect) -> Self {
        let options = ExposureOptions { dialect, ..ExposureOptions::default() };
        let mut exposure = Self {
            dialect,
            left_out: self.left_out.clone(),
            unchecked: self.unchecked.clone(),
            servers: self.servers.clone(),
            failed: self.failed.clone(),
            ..Self::default()
        };
        for tool in &self.tools {
            match tool.again(&options) {
                Ok(tool) => exposure.tools.push(tool),
                Err(left_out) => exposure.left_out.push(left_out),
            }
        }
        exposure.arrange(&self.offered);
        exposure
    }

    /// For which dialect the tools were compiled.
    pub fn dialect(&self) -> SchemaDialect {
        self.dialect
    }

    /// The tools, in their order.
    pub fn tools(&self) -> &[ExposedTool] {
        &self.tools
    }

    /// The table of names: what a model calls a tool, its server, and what that calls it.
    pub fn names(&self) -> impl Iterator<Item = (&str, &ServerName, &str)> {
        self.tools.iter().map(|tool| (tool.name(), tool.server(), tool.tool().name.as_str()))
    }

    /// The names that were ever offered, in their order, for [`ExposureOptions::offered`] of the next time. Those of
    /// tools that are gone stay in it: a server that comes back finds its tools where they were.
    pub fn offered(&self) -> &[String] {
        &self.offered
    }

    /// The tools that are not offered, those that a person filtered out among them.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The tools that are offered although their arguments cannot be checked here, because their schema is in
    /// a dialect that is not supported. Their servers check them.
    pub fn unchecked(&self) -> &[LeftOut] {
        &self.unchecked
    }

    /// About how many tokens the tools of a server cost in every request.
    pub fn token_cost(&self, server: &ServerName) -> usize {
        self.tools.iter().filter(|tool| tool.server() == server).map(ExposedTool::token_cost).sum()
    }

    /// About how many tokens all tools cost in every request.
    pub fn total_token_cost(&self) -> usize {
        self.tools.iter().map(ExposedTool::token_cost).sum()
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
        self.tools.iter().find(|exposed| exposed.server() == server && exposed.tool().name == tool)
    }

    /// The definitions for a model, in their order.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|tool| tool.definition().clone()).collect()
    }

    /// The servers that have tools here, offered or not, each once.
    pub fn server_names(&self) -> Vec<&ServerName> {
        let offered = self.tools.iter().map(ExposedTool::server);
        let listed = self.servers.iter().map(|(server, _)| server);
        let mut seen = HashSet::new();
        let all = listed.chain(offered).chain(self.left_out.iter().map(|left| &left.server));
        all.filter(|server| seen.insert(server.as_str())).collect()
    }
}

#[cfg(test)]
mod tests;
