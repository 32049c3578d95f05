//! `switchboard run`: a question becomes an answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_agent::exposure::Exposure;
use switchboard_agent::{Answer, CallRecord, CallStatus, LanguageModel, Limits, ToolOutcome};
use switchboard_llm::Usage;
use switchboard_protocol::model::tool::CallToolResult;

use crate::ask;
use crate::cli::{EXIT_CODES, at_least_one};
use crate::consent::ConsentArgs;
use crate::failure::Failure;
use crate::interrupt::unless_interrupted;
use crate::model::{self, ModelArgs};
use crate::output;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::session::{Options, Session};
use crate::stdin;
use crate::time_limit::{self, TimeLimit};
use crate::tools::FailedEntry;

/// Ask a question; tools answer it
///
/// A language model picks the tools: the one that --model and --base-url name, else one whose key is in the
/// environment (OPENAI_API_KEY with OPENAI_BASE_URL, OPENROUTER_API_KEY), else one that a server on this machine
/// offers (Ollama, llama-server, LM Studio, vLLM; SWITCHBOARD_NO_LOCAL_MODELS=1 does not look for them). Without any,
/// the words of the question are matched against the tools, and that is said. The choice and its reason are on
/// stderr.
///
/// Every call needs consent. On a terminal you are shown the whole call and asked. In a pipe the run ends with exit
/// code 2 and says what to add, with one exception: the --demo servers are this program's own and only read (the
/// station is simulated, city weather asks Open-Meteo), so in a pipe the demo policy allows their read-only tools,
/// unless --on-ask says otherwise.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    /// The question; '-' reads it from stdin
    #[arg(value_name = "QUESTION")]
    question: String,

    #[command(flatten)]
    servers: ServerArgs,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    /// How often the model may be asked
    #[arg(long, value_name = "N", value_parser = at_least_one, default_value_t = Limits::default().steps)]
    max_steps: u32,

    /// How many calls may be made
    #[arg(long, value_name = "N", value_parser = at_least_one, default_value_t = Limits::default().calls)]
    max_calls: u32,

    /// End the run after this time with exit code 6, whatever it waits for. Without it there is no limit, but a
    /// request to a server ends after 60 s of silence
    #[arg(long, value_name = "SECONDS", value_parser = at_least_one)]
    timeout: Option<u32>,

    /// Write everything that happens to FILE, one JSON object a line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// The result with `--json`.
#[derive(Serialize)]
struct RunResult<'a> {
    answer: &'a str,
    /// `null` if no language model was asked.
    model: Option<&'a str>,
    notes: &'a [String],
    calls: Vec<CallResult<'a>>,
    steps: u32,
    usage: Usage,
    /// Servers that the run went on without.
    #[serde(rename = "failedServers")]
    failed_servers: Vec<FailedEntry>,
}

/// One call in it.
#[derive(Serialize)]
struct CallResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a CallToolResult>,
}

impl<'a> From<&'a CallRecord> for CallResult<'a> {
    fn from(record: &'a CallRecord) -> Self {
        let (server, tool) = match &record.tool {
            Some((server, tool)) => (Some(server.as_str()), tool.as_str()),
            None => (None, record.name.as_str()),
        };
        let (status, result) = status(&record.status);
        Self { server, tool, arguments: record.arguments.as_deref(), status, result }
    }
}

fn status(status: &CallStatus) -> (&'static str, Option<&CallToolResult>) {
    match status {
        CallStatus::Made(outcome) => match &**outcome {
            ToolOutcome::Result(result) if result.is_error() => ("tool_error", Some(result)),
            ToolOutcome::Result(result) => ("ok", Some(result)),
            ToolOutcome::Failed(_) => ("failed", None),
        },
        CallStatus::Denied(_) => ("denied", None),
        CallStatus::Invalid => ("invalid", None),
        CallStatus::Repeated => ("repeated", None),
        CallStatus::OverLimit => ("over_limit", None),
        CallStatus::Interrupted => ("interrupted", None),
    }
}

/// Runs the command.
pub(crate) async fn command(
    args: RunArgs,
    (json, verbose): (bool, bool),
    screen: &Screen,
) -> Result<(), Failure> {
    let question = stdin::question(&args.question).await?;
    let timeout = args.timeout.map(|seconds| Duration::from_secs(seconds.into()));
    let options = Options {
        servers: &args.servers,
        consent: Some(&args.consent),
        limits: Limits { steps: args.max_steps, calls: args.max_calls, ..Limits::default() },
        trace: args.trace.as_deref(),
        verbose,
        time_limit: timeout.map(TimeLimit::new),
    };
    let model = unless_interrupted(model::choose(&args.model, screen)).await?;
    let by_model = model.is_some();
    let session = match model {
        Some(model) => Session::open(LanguageModel::new(model), &options, screen).await?,
        None => Session::open(ask::router(screen), &options, screen).await?,
    };
    let asked = async {
        let exposure = session.tools(screen).await?;
        warn_of_left_out(&exposure, screen);
        let answered = session.agent().run(&question).await;
        let answer = answered.map_err(|error| Failure::from(error).map_hint(|hint| in_options(&hint)))?;
        Ok::<_, Failure>((answer, session.failed(&exposure).map(FailedEntry::from).collect::<Vec<_>>()))
    };
    let answered = session.run(asked).await;
    session.close().await;
    let (answer, failed) = answered.map_err(|failure| args.model.explain(failure))?;
    report(&answer, (by_model, failed), json, screen)
}

/// The library does not know the options.
fn in_options(hint: &str) -> String {
    time_limit::in_options(hint)
        .replace("the limit of steps", "--max-steps")
        .replace("the limit of calls", "--max-calls")
}

/// One line for each server of which not all tools can be used.
fn warn_of_left_out(exposure: &Exposure, screen: &Screen) {
    let mut counts = BTreeMap::new();
    for left_out in exposure.left_out() {
        *counts.entry(&left_out.server).or_insert(0_usize) += 1;
    }
    for (server, count) in counts {
        let tools = if count == 1 { "1 tool is" } else { &format!("{count} tools are") };
        screen.warning(&format!("{tools} left out of {server}; switchboard tools list says why"));
    }
}

fn report(
    answer: &Answer,
    (by_model, failed_servers): (bool, Vec<FailedEntry>),
    json: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    for note in &answer.notes {
        screen.note(note);
    }
    if json {
        return output::json(&RunResult {
            answer: &answer.text,
            model: by_model.then_some(&answer.selector),
            notes: &answer.notes,
            calls: answer.calls.iter().map(|record| CallResult::from(&**record)).collect(),
            steps: answer.steps,
            usage: answer.usage,
            failed_servers,
        });
    }
    if screen.is_terminal() && output::is_terminal() {
        screen.line("");
    }
    output::text(&answer.text)
}
