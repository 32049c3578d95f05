//! `switchboard tools`: what tools there are, what one looks like, and one call of it, through the same policy as any
//! other.
//!
//! Where to look next: `tools/lint.rs`, `tools/cost.rs` and `tools/hidden.rs` for what models see of them.

mod cost;
mod hidden;
mod lint;

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use switchboard_agent::exposure::{ExposedTool, Exposure, FailedServer, LeftOut};
use switchboard_agent::{Identity, ServerName, render, visible};
use switchboard_llm::SchemaDialect;
use switchboard_protocol::model::tool::{CallToolResult, Tool};

use crate::cli::at_least_one;
use crate::consent::ConsentArgs;
use crate::failure::{Exit, Failure};
use crate::model::Answering;
use crate::output;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::session::{Options, Session};
use crate::settings::Settings;
use crate::stdin;
use crate::time_limit::{self, TimeLimit};

/// The most characters of a description in a list.
const SUMMARY_CHARS: usize = 80;

/// The widest column of names, in characters. A longer name is shown whole and has its summary behind it.
const NAME_COLUMN: usize = 60;

/// How like a name must be to one that exists to be offered for it, from 0 to 1.
const ALIKE: f64 = 0.75;

/// The shortest part of a name that is taken for it, in bytes.
const SHORTEST_PART: usize = 4;

/// Why a tool may be missing where the person cannot be asked.
const MORE_ON_A_TERMINAL: &str = " (some servers show more tools on a terminal, where they can ask you)";

/// List tools, show one, or call one
#[derive(Args, Debug)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    servers: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools of all servers; the same as no action
    List {
        #[command(flatten)]
        servers: ServerArgs,
    },
    /// Show everything that a server says about a tool
    Show {
        /// The tool: NAME, or SERVER/NAME
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        servers: ServerArgs,
    },
    /// Say what models do not see of the tools, and what their authors could do about it
    Lint {
        #[command(flatten)]
        lint: lint::LintArgs,

        #[command(flatten)]
        servers: ServerArgs,
    },
    /// Say about how many tokens the tools cost in every request to a model
    Cost {
        #[command(flatten)]
        cost: cost::CostArgs,

        #[command(flatten)]
        servers: ServerArgs,
    },
    /// Say why a model does not see a tool, or may not call it
    WhyHidden {
        #[command(flatten)]
        hidden: hidden::HiddenArgs,

        #[command(flatten)]
        consent: ConsentArgs,

        #[command(flatten)]
        servers: ServerArgs,
    },
    /// Call a tool and print its result
    Call {
        /// The tool: NAME, or SERVER/NAME
        #[arg(value_name = "NAME")]
        name: String,

        /// The arguments, a JSON object; '-' reads it from stdin
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,

        #[command(flatten)]
        consent: ConsentArgs,

        /// End with exit code 6 after this time, whatever is waited for. Without it there is no limit, but a request
        /// to the server ends after 60 s of silence
        #[arg(long, value_name = "SECONDS", value_parser = at_least_one)]
        timeout: Option<u32>,

        #[command(flatten)]
        servers: ServerArgs,
    },
}

/// A tool with `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolEntry<'a> {
    server: &'a str,
    name: &'a str,
    /// What a language model calls it.
    exposed_as: &'a str,
    definition: &'a Tool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolList<'a> {
    servers: Vec<ServerEntry<'a>>,
    tools: Vec<ToolEntry<'a>>,
    left_out: Vec<LeftOutEntry<'a>>,
    failed_servers: Vec<FailedEntry>,
}

/// A server that listed its tools, with `--json`.
#[derive(Serialize)]
struct ServerEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    implementation: Option<&'a str>,
    revision: &'a str,
    /// Whether that revision takes a session: a legacy one does.
    session: bool,
}

/// A server that a command went on without, with `--json`.
#[derive(Serialize)]
pub(crate) struct FailedEntry {
    server: String,
    message: String,
}

impl From<&FailedServer> for FailedEntry {
    fn from(failed: &FailedServer) -> Self {
        Self { server: failed.server.to_string(), message: failed.message.clone() }
    }
}

#[derive(Serialize)]
struct LeftOutEntry<'a> {
    server: &'a str,
    name: &'a str,
    reason: &'a str,
}

impl<'a> From<&'a (ServerName, Identity)> for ServerEntry<'a> {
    fn from((name, identity): &'a (ServerName, Identity)) -> Self {
        let Identity { implementation, revision, session } = identity;
        let implementation = implementation.as_deref();
        Self { name: name.as_str(), implementation, revision, session: *session }
    }
}

impl<'a> From<&'a ExposedTool> for ToolEntry<'a> {
    fn from(tool: &'a ExposedTool) -> Self {
        let definition = &**tool.tool();
        Self { server: tool.server().as_str(), name: &definition.name, exposed_as: tool.name(), definition }
    }
}

impl<'a> From<&'a LeftOut> for LeftOutEntry<'a> {
    fn from(left_out: &'a LeftOut) -> Self {
        Self { server: left_out.server.as_str(), name: &left_out.tool, reason: &left_out.reason }
    }
}

/// Runs the command.
pub(crate) async fn command(
    args: ToolsArgs,
    (json, verbose): (bool, bool),
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    let outer = args.servers;
    let view = View { json, verbose, settings, screen };
    match args.action {
        None => view.list(outer).await,
        Some(Action::List { servers }) => view.list(outer.and(servers)).await,
        Some(Action::Show { name, servers }) => view.show(&name, outer.and(servers).for_tool(&name)).await,
        Some(Action::Lint { lint, servers }) => view.lint(&lint, outer.and(servers)).await,
        Some(Action::Cost { cost, servers }) => view.cost(&cost, outer.and(servers)).await,
        Some(Action::WhyHidden { hidden, consent, servers }) => {
            view.why_hidden(&hidden, &consent, outer.and(servers)).await
        }
        Some(Action::Call { name, arguments, consent, timeout, servers }) => {
            let time_limit = timeout.map(|seconds| TimeLimit::new(Duration::from_secs(seconds.into())));
            let servers = outer.and(servers).for_tool(&name);
            view.call((&name, &arguments), (&consent, time_limit), servers).await
        }
    }
}

/// How results are to be shown.
struct View<'a> {
    json: bool,
    verbose: bool,
    settings: &'a Settings,
    screen: &'a Screen,
}

impl View<'_> {
    async fn list(&self, servers: ServerArgs) -> Result<(), Failure> {
        let (exposure, failed_servers) = self.exposure(servers).await?;
        if self.json {
            return output::json(&ToolList {
                servers: exposure.servers().iter().map(ServerEntry::from).collect(),
                tools: exposure.tools().iter().map(ToolEntry::from).collect(),
                left_out: exposure.left_out().iter().map(LeftOutEntry::from).collect(),
                failed_servers,
            });
        }
        // With -v, it was said when it was found out.
        for (server, identity) in exposure.servers().iter().filter(|_| !self.verbose) {
            self.screen.note(&format!("{server}: {identity}"));
        }
        for left_out in exposure.left_out().iter().filter(|left_out| left_out.cause.is_fault()) {
            let LeftOut { server, tool, reason, .. } = left_out;
            self.screen.warning(&format!("{server}/{} is left out: {reason}", visible::name(tool)));
        }
        output::text(&table(exposure.tools()))
    }

    async fn show(&self, name: &str, servers: ServerArgs) -> Result<(), Failure> {
        let (exposure, _) = self.exposure(servers).await?;
        let tool = find(&exposure, name)?;
        if self.json {
            return output::json(&ToolEntry::from(tool));
        }
        let server = exposure.servers().iter().find(|(server, _)| server == tool.server());
        output::text(&page(tool, server.map(|(_, identity)| identity)))
    }

    /// The tools of all servers, without keeping the connections.
    async fn exposure(&self, servers: ServerArgs) -> Result<(Arc<Exposure>, Vec<FailedEntry>), Failure> {
        let session = self.open(&servers, None, None).await?;
        let exposure = session.run(session.tools()).await;
        let failed = session.failed().iter().map(FailedEntry::from).collect();
        let listed = exposure.map(|exposure| (exposure, failed));
        session.close().await;
        listed
    }

    /// The dialect that was named, or that of the model that would answer.
    async fn dialect(&self, named: Option<SchemaDialect>) -> SchemaDialect {
        match named {
            Some(dialect) => dialect,
            None => Answering::dialect(self.settings).await,
        }
    }

    async fn call(
        &self,
        (name, arguments): (&str, &str),
        (consent, time_limit): (&ConsentArgs, Option<TimeLimit>),
        servers: ServerArgs,
    ) -> Result<(), Failure> {
        let arguments = stdin::text(arguments, ("the arguments", time_limit)).await?;
        let session = self.open(&servers, Some(consent), time_limit).await?;
        let called = self.called(&session, name, &arguments).await;
        session.close().await;
        let result = called?;
        if self.json { output::whole_json(&result) } else { output::whole_text(&render::result(&result)) }
    }

    async fn called(
        &self,
        session: &Session,
        name: &str,
        arguments: &str,
    ) -> Result<CallToolResult, Failure> {
        let exposure = session.run(session.tools()).await?;
        let tool = find(&exposure, name)?;
        let arguments = object(arguments, tool)?;
        let called = session.run(session.agent().call(tool.server(), &tool.tool().name, arguments)).await;
        called.map_err(|failure| {
            failure.map_hint(|hint| time_limit::in_options(&hint)).hint_for(
                Exit::Usage,
                &format!(
                    "see its arguments with: switchboard tools show {} (and the same server)",
                    argument(tool)
                ),
            )
        })
    }

    async fn open(
        &self,
        servers: &ServerArgs,
        consent: Option<&ConsentArgs>,
        time_limit: Option<TimeLimit>,
    ) -> Result<Session, Failure> {
        let options =
            Options { settings: self.settings, servers, consent, verbose: self.verbose, time_limit };
        Session::open(&options, self.screen).await
    }
}

fn object(text: &str, tool: &ExposedTool) -> Result<Box<RawValue>, Failure> {
    let refused = |why: String| {
        Failure::usage(
            format!("the arguments are no JSON object: {why}"),
            format!("write them like {}", visible::argument(&example(&tool.schema()))),
        )
    };
    let arguments: Box<RawValue> = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
    if arguments.get().starts_with('{') {
        Ok(arguments)
    } else {
        Err(refused("it is another JSON value".into()))
    }
}

/// Arguments that a tool could have: its first required parameter, else its first.
fn example(schema: &Value) -> String {
    let required = schema["required"].as_array().and_then(|names| names.first()).and_then(Value::as_str);
    let first = || schema["properties"].as_object().and_then(|all| all.keys().next()).map(String::as_str);
    let Some(name) = required.or_else(first) else { return "{}".to_owned() };
    let property = &schema["properties"][name];
    let listed = || property["examples"].get(0).or_else(|| property["enum"].get(0));
    let value =
        property.get("default").or_else(listed).cloned().unwrap_or_else(|| match property["type"].as_str() {
            Some("integer" | "number") => 1.into(),
            Some("boolean") => true.into(),
            Some("array") => Value::Array(Vec::new()),
            Some("object") => Value::Object(Map::new()),
            _ => "…".into(),
        });
    let member = RawValue::from_string(Value::Object(Map::from_iter([(name.to_owned(), value)])).to_string());
    member.map_or_else(|_| "{}".to_owned(), |raw| visible::line(raw.get()))
}

/// The name of a tool that is most like this one.
fn nearest(exposure: &Exposure, name: &str) -> Option<String> {
    let wanted = name.to_lowercase();
    let likeness = |tool: &ExposedTool| {
        let full = full_name(tool).to_lowercase();
        strsim::jaro_winkler(&full, &wanted)
            .max(strsim::jaro_winkler(&tool.tool().name.to_lowercase(), &wanted))
    };
    let tools = exposure.tools().iter().map(|tool| (likeness(tool), tool));
    let (likeness, tool) = tools.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    // A part of a name means the name, if there is but one.
    let holds = |tool: &&ExposedTool| tool.tool().name.to_lowercase().contains(&wanted);
    let mut holding = exposure.tools().iter().filter(holds);
    match (holding.next().filter(|_| wanted.len() >= SHORTEST_PART), holding.next()) {
        _ if likeness >= ALIKE => Some(argument(tool)),
        (Some(only), None) => Some(argument(only)),
        _ => None,
    }
}

/// The one tool that this names, with or without its server.
pub(crate) fn find<'a>(exposure: &'a Exposure, name: &str) -> Result<&'a ExposedTool, Failure> {
    if let Some((server, tool)) = name.split_once('/')
        && let Ok(server) = ServerName::new(server)
        && let Some(found) = exposure.by_origin(&server, tool)
    {
        return Ok(found);
    }
    let called = |tool: &&ExposedTool| tool.tool().name == name || tool.name() == name;
    let found: Vec<&ExposedTool> = exposure.tools().iter().filter(called).collect();
    match found.as_slice() {
        [tool] => Ok(tool),
        [] => Err(Failure::usage(
            format!("no server has a tool {}", visible::quoted(name, 100)),
            match nearest(exposure, name) {
                Some(nearest) => format!("did you mean {nearest}? See all with: switchboard tools list"),
                None => "see what there is with: switchboard tools list".to_owned(),
            } + if stdin::can_ask() { "" } else { MORE_ON_A_TERMINAL },
        )),
        several => {
            let names: Vec<String> = several.iter().map(|tool| argument(tool)).collect();
            Err(Failure::usage(
                format!("several servers have a tool {}", visible::quoted(name, 100)),
                format!("name one of {}", names.join(", ")),
            ))
        }
    }
}

fn full_name(tool: &ExposedTool) -> String {
    format!("{}/{}", tool.server(), visible::name(&tool.tool().name))
}

/// The same as a shell takes it.
fn argument(tool: &ExposedTool) -> String {
    visible::argument(&format!("{}/{}", tool.server(), tool.tool().name))
}

/// One line a tool, names in one column.
fn table(tools: &[ExposedTool]) -> String {
    let rows: Vec<(String, String)> =
        tools.iter().map(|tool| (full_name(tool), summary(tool.tool()))).collect();
    let widths = rows.iter().map(|(name, _)| name.chars().count()).filter(|width| *width <= NAME_COLUMN);
    let width = widths.max().unwrap_or_default();
    let lines: Vec<String> = rows
        .iter()
        .map(|(name, summary)| format!("{}  {summary}", visible::padded(name, width)).trim_end().to_owned())
        .collect();
    if lines.is_empty() { "no tools".to_owned() } else { lines.join("\n") }
}

/// The title, or the beginning of the description.
fn summary(tool: &Tool) -> String {
    let words = tool.title.as_deref().or(tool.description.as_deref()).unwrap_or_default();
    let line = words.lines().next().unwrap_or_default();
    match line.char_indices().nth(SUMMARY_CHARS) {
        Some((end, _)) => format!("{}…", visible::line(line[..end].trim_end())),
        None => visible::line(line),
    }
}

/// Everything about one tool.
fn page(tool: &ExposedTool, server: Option<&Identity>) -> String {
    let definition = tool.tool();
    let mut page = format!("{}\n", full_name(tool));
    let mut row = |label: &str, text: &str| page.push_str(&format!("  {label:<10} {text}\n"));
    if let Some(title) = &definition.title {
        row("title", &visible::line(title));
    }
    if let Some(server) = server {
        row("server", &server.to_string());
    }
    row("model sees", tool.name());
    row("claims", &claims(definition));
    row("digest", &tool.digest().short(16));
    if let Some(description) = &definition.description {
        let lines: Vec<String> = description.lines().map(visible::line).collect();
        page.push_str(&format!("\n{}\n", lines.join("\n")));
    }
    page.push_str(&format!("\narguments\n{}\n", visible::json(&definition.input_schema)));
    if let Some(schema) = &definition.output_schema {
        page.push_str(&format!("\nresult\n{}\n", visible::json(schema)));
    }
    page
}

/// What the server says that the tool does to the world.
fn claims(tool: &Tool) -> String {
    let hints = tool.annotations.clone().unwrap_or_default();
    let said = [
        (hints.read_only_hint, "read-only", "changes something"),
        (hints.destructive_hint, "may destroy", "destroys nothing"),
        (hints.idempotent_hint, "twice is like once", "twice is not like once"),
        (hints.open_world_hint, "reaches the outside world", "stays inside"),
    ];
    let said: Vec<&str> =
        said.iter().filter_map(|(hint, yes, no)| hint.map(|hint| if hint { *yes } else { *no })).collect();
    if said.is_empty() {
        return "nothing about what it does to the world".to_owned();
    }
    format!("{} (says the server, unverified)", said.join(", "))
}
