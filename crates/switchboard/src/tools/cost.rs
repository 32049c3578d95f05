//! `switchboard tools cost`: about how many tokens tools cost in every request, by server and by tool.

use clap::Args;
use serde::Serialize;
use switchboard_agent::exposure::Exposure;
use switchboard_agent::{ServerName, visible};
use switchboard_llm::SchemaDialect;

use super::View;
use crate::failure::Failure;
use crate::output;
use crate::servers::ServerArgs;

/// The options of the command.
#[derive(Args, Debug)]
pub(super) struct CostArgs {
    /// The dialect that the schemas are written in: openai, openai-strict, anthropic, gemini or generic [default: that of
    /// the model that would answer]
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<SchemaDialect>,

    /// The tokens of the model's context window, to say which share of it the tools fill
    #[arg(long, value_name = "N", value_parser = crate::cli::at_least_one)]
    context: Option<u32>,
}

#[derive(Serialize)]
struct ToolCost<'a> {
    name: &'a str,
    tokens: usize,
}

#[derive(Serialize)]
struct ServerCost<'a> {
    name: &'a ServerName,
    tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// The dearest first.
    tools: Vec<ToolCost<'a>>,
}

#[derive(Serialize)]
struct Report<'a> {
    dialect: &'static str,
    tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// The dearest first.
    servers: Vec<ServerCost<'a>>,
}

impl View<'_> {
    /// Says what the tools cost.
    pub(super) async fn cost(&self, args: &CostArgs, servers: ServerArgs) -> Result<(), Failure> {
        let (exposure, _) = self.exposure(servers).await?;
        let exposure = exposure.for_dialect(self.dialect(args.dialect).await);
        let report = report(&exposure, args.context);
        if self.json { output::json(&report) } else { output::text(&shown(&report)) }
    }
}

fn report(exposure: &Exposure, context: Option<u32>) -> Report<'_> {
    let share = |tokens: usize| context.map(|context| percent(tokens, context));
    let mut servers: Vec<ServerCost<'_>> = exposure
        .server_names()
        .into_iter()
        .map(|name| {
            let own = exposure.tools().iter().filter(|tool| tool.server() == name);
            let mut tools: Vec<ToolCost<'_>> =
                own.map(|tool| ToolCost { name: &tool.tool().name, tokens: tool.token_cost() }).collect();
            tools.sort_by_key(|tool| std::cmp::Reverse(tool.tokens));
            let tokens = exposure.token_cost(name);
            ServerCost { name, tokens, share: share(tokens), tools }
        })
        .collect();
    servers.sort_by_key(|server| std::cmp::Reverse(server.tokens));
    let tokens = exposure.total_token_cost();
    Report { dialect: exposure.dialect().name(), tokens, context, share: share(tokens), servers }
}

/// The share of a window in percent, to one place.
fn percent(tokens: usize, context: u32) -> f64 {
    let tokens = f64::from(u32::try_from(tokens).unwrap_or(u32::MAX));
    (tokens * 1_000.0 / f64::from(context)).round() / 10.0
}

fn shown(report: &Report<'_>) -> String {
    let share = |share: Option<f64>| share.map(|share| format!("  {share} %")).unwrap_or_default();
    let mut rows: Vec<(String, usize, String)> = Vec::new();
    for server in &report.servers {
        rows.push((server.name.to_string(), server.tokens, share(server.share)));
        for tool in &server.tools {
            rows.push((format!("  {}", visible::name(tool.name)), tool.tokens, String::new()));
        }
    }
    rows.push((format!("all tools ({})", report.dialect), report.tokens, share(report.share)));
    let width =
        rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or_default().min(super::NAME_COLUMN);
    let mut out: Vec<String> = rows
        .iter()
        .map(|(name, tokens, share)| format!("{}  {tokens:>7}{share}", visible::padded(name, width)))
        .collect();
    out.insert(0, format!("{}   tokens", " ".repeat(width)));
    if let Some(context) = report.context {
        out.push(format!("shares are of a window of {context} tokens; all numbers are estimates"));
    } else {
        out.push("all numbers are estimates".to_owned());
    }
    out.join("\n")
}
