//! `switchboard tools lint`: what each dialect of schemas loses of each tool, which tools are left out, and what a
//! model will stumble over.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use switchboard_agent::exposure::{ExposedTool, Exposure, LeftOut, Lost};
use switchboard_agent::visible;
use switchboard_llm::SchemaDialect;

use super::{FailedEntry, View};
use crate::failure::Failure;
use crate::output;
use crate::servers::ServerArgs;

/// A description longer than this fills the window, in characters.
const LONG_DESCRIPTION: usize = 4_000;

/// The options of the command.
#[derive(Args, Debug)]
pub(super) struct LintArgs {
    /// The dialect to look at: openai, openai-strict, anthropic, gemini, generic, or all
    #[arg(long, value_name = "DIALECT", default_value = "all")]
    dialect: DialectArg,

    /// End with exit code 1 if a tool cannot be offered. Otherwise the exit code is 0, whatever is found
    #[arg(long)]
    deny: bool,
}

/// One dialect, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DialectArg(Option<SchemaDialect>);

impl std::str::FromStr for DialectArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self(None)),
            name => name.parse().map(|dialect| Self(Some(dialect))).map_err(|_| {
                let names: Vec<&str> = SchemaDialect::ALL.iter().map(|dialect| dialect.name()).collect();
                format!("it must be one of {}, or all", names.join(", "))
            }),
        }
    }
}

impl DialectArg {
    fn dialects(self) -> Vec<SchemaDialect> {
        self.0.map_or_else(|| SchemaDialect::ALL.to_vec(), |one| vec![one])
    }
}

/// Everything about one tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    server: String,
    name: String,
    /// What a model calls it; absent if it is left out everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    exposed_as: Option<String>,
    /// What is lost, by dialect; dialects that lose nothing are absent.
    lost: BTreeMap<&'static str, Vec<LostEntry>>,
    /// Why it is not offered, by dialect; under `all` if it is offered in none.
    left_out: BTreeMap<&'static str, LeftOutEntry>,
    warnings: Vec<Warning>,
}

#[derive(Serialize)]
struct LostEntry {
    #[serde(flatten)]
    lost: Lost,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<&'static str>,
}

#[derive(Serialize)]
struct LeftOutEntry {
    cause: switchboard_agent::exposure::LeftOutCause,
    reason: String,
    next: &'static str,
}

/// What a model stumbles over in any dialect.
#[derive(Serialize)]
struct Warning {
    problem: String,
    suggestion: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    dialects: Vec<&'static str>,
    tools: Vec<Finding>,
    /// How many tools there are that a model gets, in the dialect in which it gets the fewest.
    offered: usize,
    failed_servers: Vec<FailedEntry>,
}

impl View<'_> {
    /// Says what is lost of the tools.
    pub(super) async fn lint(&self, args: &LintArgs, servers: ServerArgs) -> Result<(), Failure> {
        let (exposure, failed_servers) = self.exposure(servers).await?;
        let dialects = args.dialect.dialects();
        let compiled: Vec<Exposure> = dialects.iter().map(|dialect| exposure.for_dialect(*dialect)).collect();
        let report = Report {
            dialects: dialects.iter().map(|dialect| dialect.name()).collect(),
            tools: findings(&exposure, &compiled),
            offered: compiled.iter().map(|exposure| exposure.tools().len()).min().unwrap_or_default(),
            failed_servers,
        };
        let left_out = report.tools.iter().filter(|tool| !tool.left_out.is_empty()).count();
        if self.json {
            output::json(&report)?;
        } else {
            output::text(&shown(&report, exposure.tools().len()))?;
        }
        if args.deny && left_out > 0 {
            let tools = if left_out == 1 { "1 tool" } else { &format!("{left_out} tools") };
            return Err(Failure::usage(
                format!("{tools} cannot be offered"),
                "correct them in their servers, or leave out --deny",
            ));
        }
        Ok(())
    }
}

/// All tools about which there is something to say, in their order, and then those that nobody is offered.
fn findings(exposure: &Exposure, compiled: &[Exposure]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for tool in exposure.tools() {
        let mut finding = Finding {
            server: tool.server().to_string(),
            name: tool.tool().name.clone(),
            exposed_as: Some(tool.name().to_owned()),
            lost: BTreeMap::new(),
            left_out: BTreeMap::new(),
            warnings: warnings(tool),
        };
        for exposure in compiled {
            let dialect = exposure.dialect().name();
            match exposure.by_name(tool.name()) {
                Some(tool) if tool.lost().is_empty() => {}
                Some(tool) => {
                    let lost = tool
                        .lost()
                        .iter()
                        .map(|lost| LostEntry { suggestion: lost.suggestion(), lost: lost.clone() });
                    finding.lost.insert(dialect, lost.collect());
                }
                None => {
                    let is_it =
                        |left: &&LeftOut| left.server == *tool.server() && left.tool == tool.tool().name;
                    if let Some(left) = exposure.left_out().iter().find(is_it) {
                        finding.left_out.insert(dialect, left_out(left));
                    }
                }
            }
        }
        findings.push(finding);
    }
    let nowhere = exposure.left_out().iter().filter(|left| left.cause.is_fault());
    findings.extend(nowhere.map(|left| Finding {
        server: left.server.to_string(),
        name: left.tool.clone(),
        exposed_as: None,
        lost: BTreeMap::new(),
        left_out: BTreeMap::from([("all", left_out(left))]),
        warnings: Vec::new(),
    }));
    findings.retain(|finding| {
        !(finding.lost.is_empty() && finding.left_out.is_empty() && finding.warnings.is_empty())
    });
    findings
}

fn left_out(left: &LeftOut) -> LeftOutEntry {
    LeftOutEntry { cause: left.cause, reason: left.reason.clone(), next: left.cause.next_action() }
}

/// What is odd about a tool, whatever the dialect.
fn warnings(tool: &ExposedTool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |problem: String, suggestion| warnings.push(Warning { problem, suggestion });
    let definition = tool.tool();
    if tool.name() != format!("{}__{}", tool.server(), definition.name) {
        warn(
            format!("its name for models is {}", tool.name()),
            "use at most 64 letters, digits, '_' and '-' for the server and the tool together, or `rename` it",
        );
    }
    let description = definition.description.as_deref().unwrap_or_default();
    if description.trim().is_empty() {
        warn(
            "it has no description".to_owned(),
            "say what it does and when to use it: a model picks it by that",
        );
    }
    let length = description.chars().count();
    if length > LONG_DESCRIPTION {
        warn(
            format!("its description has {length} characters, which every request pays for"),
            "say it in fewer words",
        );
    }
    if description
        .chars()
        .any(|character| visible::is_invisible(character) && !character.is_ascii_whitespace())
    {
        warn(
            "its description holds characters that nobody sees".to_owned(),
            "look at it with `switchboard tools show`; a model reads what you do not",
        );
    }
    let undescribed = undescribed(tool);
    if !undescribed.is_empty() {
        warn(
            format!("these parameters have no description: {}", undescribed.join(", ")),
            "say what each is for",
        );
    }
    warnings
}

/// Required parameters without a word about them.
fn undescribed(tool: &ExposedTool) -> Vec<String> {
    let schema = tool.schema();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(|name| name.as_str());
    let silent = |name: &&str| {
        schema["properties"].get(name).is_some_and(|property| {
            ["description", "title", "enum", "const", "$ref"].iter().all(|word| property.get(word).is_none())
        })
    };
    required.filter(silent).take(8).map(visible::name).collect()
}

/// The report for people: what several dialects lose is said once.
fn shown(report: &Report, tools: usize) -> String {
    let mut out: Vec<String> = Vec::new();
    for finding in &report.tools {
        out.push(format!("{}/{}", finding.server, visible::name(&finding.name)));
        for (dialect, left) in &finding.left_out {
            out.push(format!("  not offered ({dialect}): {}", visible::line(&left.reason)));
            out.push(format!("    {}", left.next));
        }
        for warning in &finding.warnings {
            out.push(format!("  {}", visible::line(&warning.problem)));
            out.push(format!("    {}", warning.suggestion));
        }
        let mut lines: Vec<(&LostEntry, Vec<&str>)> = Vec::new();
        for (dialect, lost) in &finding.lost {
            for entry in lost {
                match lines.iter_mut().find(|(known, _)| known.lost == entry.lost) {
                    Some((_, dialects)) => dialects.push(dialect),
                    None => lines.push((entry, vec![dialect])),
                }
            }
        }
        for (entry, dialects) in lines {
            let whose = if dialects.len() == report.dialects.len() && dialects.len() > 1 {
                "all".to_owned()
            } else {
                dialects.join(", ")
            };
            let narrower =
                if entry.lost.narrows { " (a model cannot write all that the tool takes)" } else { "" };
            out.push(format!("  {} [{whose}]{narrower}", entry.lost));
            out.extend(entry.suggestion.map(|suggestion| format!("    {suggestion}")));
        }
    }
    let remarks = report.tools.len();
    let count = |number: usize, one: &str, many: &str| {
        if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
    };
    out.push(format!(
        "{}, {} to say about {}",
        count(tools, "tool is offered", "tools are offered"),
        if remarks == 0 { "nothing" } else { "something" },
        if remarks == 0 { "any".to_owned() } else { count(remarks, "tool", "tools") },
    ));
    out.join("\n")
}
