//! A rule that protects nothing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Rule;
use crate::exposure::{ExposedTool, Exposure};
use crate::name::ServerName;
use crate::visible;

/// Tools named at most in an error.
const NAMED: usize = 12;
/// How like a name must be to be offered, from 0 to 1.
const ALIKE: f32 = 0.6;

/// What may stand in a schema and bring arguments that are not among its `properties`.
const OTHER_WAYS: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
];

/// A rule that matches no known tool, or tests an argument that no tool has which it matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{rule}` {problem}; correct or remove it. {known}")]
pub struct UnmatchedRule {
    rule: String,
    problem: String,
    known: String,
}

impl UnmatchedRule {
    /// The rule as one line.
    pub(crate) fn rule(&self) -> &str {
        &self.rule
    }

    /// `absent` are servers whose tools are not known now.
    pub(in crate::policy) fn no_tool(rule: &Rule, exposure: &Exposure, absent: &[ServerName]) -> Self {
        let name = |tool: &ExposedTool| format!("{}/{}", tool.server(), visible::line(&tool.tool().name));
        let tools: Vec<String> = exposure.tools().iter().map(name).collect();
        let servers = exposure.servers().iter().map(|(server, _)| server);
        let of_tools = exposure.tools().iter().map(ExposedTool::server);
        let servers: BTreeSet<&ServerName> = servers.chain(of_tools).chain(absent).collect();
        Self::with(rule, servers, &tools)
    }

    /// `tools` are those that are known, as `SERVER/TOOL`.
    fn with<'a>(rule: &Rule, servers: impl IntoIterator<Item = &'a ServerName>, tools: &[String]) -> Self {
        let servers: Vec<&ServerName> = servers.into_iter().collect();
        let names_one = servers.iter().any(|server| rule.names_server(server));
        let (why, meant) = if names_one {
            let meant = nearest(&format!("{}/{}", rule.server, rule.tool), tools.iter().map(String::as_str));
            (format!("{} has no such tool", visible::line(&rule.server)), meant)
        } else {
            let meant = nearest(&rule.server, servers.iter().map(|server| server.as_str()));
            let meant = meant.map(|server| format!("{server}/{}", visible::line(&rule.tool)));
            (format!("no server is called {}", visible::line(&rule.server)), meant)
        };
        // Of a pattern nobody can say which of its names is wrong.
        let why = if rule.has_server_pattern() { String::new() } else { format!(": {why}") };
        let meant = meant.map_or_else(String::new, |meant| format!("Did you mean {meant}? "));
        let known = listed(tools.iter().cloned());
        Self {
            rule: rule.to_string(),
            problem: format!("matches no tool{why}"),
            known: format!("{meant}The tools are: {known}"),
        }
    }

    /// An error if a test looks into an argument that none of the tools takes.
    pub(in crate::policy) fn no_argument(rule: &Rule, tools: &[&ExposedTool]) -> Option<Self> {
        let missing = rule.arguments().iter().filter_map(super::ArgumentTest::argument).find(|argument| {
            !tools.is_empty() && tools.iter().all(|tool| !may_take(&tool.schema(), argument))
        })?;
        let schemas: Vec<Value> = tools.iter().map(|tool| tool.schema()).collect();
        let names = schemas.iter().filter_map(|schema| schema.get("properties")?.as_object());
        let known = listed(names.flat_map(|properties| properties.keys().map(|name| visible::line(name))));
        Some(Self {
            rule: rule.to_string(),
            problem: format!(
                "tests the argument {}, which no tool has that it matches",
                visible::quoted(missing, 100)
            ),
            known: format!("The arguments are: {known}"),
        })
    }
}

impl Rule {
    /// Refuses a rule that is sure to match nothing: it names one server that is not among these, or a tool that this
    /// server, whose tools are known, does not have.
    ///
    /// # Errors
    /// Which name is wrong, and the one that was meant.
    pub fn is_about(&self, servers: &[(ServerName, Option<Vec<String>>)]) -> Result<(), UnmatchedRule> {
        let named = servers.iter().find(|(server, _)| self.names_server(server));
        let is_known = match named {
            Some((server, Some(tools))) => tools.iter().any(|tool| self.names(server, tool)),
            Some((_, None)) => true,
            None => false,
        };
        if is_known || self.has_server_pattern() {
            return Ok(());
        }
        let tools = named.into_iter().flat_map(|(server, tools)| {
            tools.iter().flatten().map(move |tool| format!("{server}/{}", visible::line(tool)))
        });
        let mut tools: Vec<String> = tools.collect();
        if tools.is_empty() {
            // Those of all others say nothing about a server that is not there.
            let more = servers.iter().map(|(server, _)| format!("{server}/*"));
            tools.extend(more);
        }
        Err(UnmatchedRule::with(self, servers.iter().map(|(server, _)| server), &tools))
    }

    fn has_server_pattern(&self) -> bool {
        self.server.contains(['*', '?'])
    }
}

/// The name that is most like this one, if one is like it at all.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.collect();
    similar::get_close_matches(name, &known, 1, ALIKE).first().map(|&name| name.to_owned())
}

fn may_take(schema: &Value, argument: &str) -> bool {
    let Some(schema) = schema.as_object() else { return true };
    let named = schema.get("properties").and_then(Value::as_object);
    // A tool that names no arguments may take any.
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        return schema.get("additionalProperties") != Some(&Value::Bool(false));
    };
    named.contains_key(argument)
        || OTHER_WAYS.iter().any(|way| schema.contains_key(*way))
        || schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut more = 0_usize;
    for name in names {
        if known.len() == NAMED {
            more += 1;
        } else if !known.contains(&name) {
            known.push(name);
        }
    }
    if known.is_empty() {
        return "none".to_owned();
    }
    if more > 0 {
        known.push(format!("and {more} more"));
    }
    known.join(", ")
}
