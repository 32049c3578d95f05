//! `switchboard run`: a question becomes an answer.

use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_agent::exposure::FailedServer;
use switchboard_agent::journal::{Journal, JsonLines};
use switchboard_agent::supervisor::Offers;
use switchboard_agent::{
    Answer, CallRecord, CallStatus, ErrorKind, Limits, RunId, RunRequest, RunView, Session, ToolOutcome,
};
use switchboard_llm::Usage;
use switchboard_protocol::model::tool::CallToolResult;

use crate::answering;
use crate::cli::{EXIT_CODES, at_least_one};
use crate::consent::ConsentArgs;
use crate::failure::Failure;
use crate::follow::{self, Unanswered};
use crate::hosting::{self, Hosting, HostingOptions, Keeps};
use crate::interrupt::{self, Stop};
use crate::known::Known;
use crate::model::ModelArgs;
use crate::output;
use crate::progress::Bars;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::settings::Settings;
use crate::stages::{self, Approvals, Declined, LeftOut, Stages};
use crate::starting;
use crate::stdin;
use crate::time_limit::{self, TimeLimit};
use crate::tools::FailedEntry;
use crate::wire::Wire;

/// What the router says where a language model would help.
const WITH_A_MODEL: &str = "start it with a language model: `switchboard run --help` says how";
/// How long a run gets to end once it is cancelled.
const GOODBYE: Duration = Duration::from_secs(5);

/// Ask a question; tools answer it
///
/// A language model picks the tools: the one that --model and --base-url name, else one whose key is in the
/// environment (OPENAI_API_KEY with OPENAI_BASE_URL, ANTHROPIC_API_KEY, OPENROUTER_API_KEY and the like), else one that a server on this machine
/// offers (Ollama, llama-server, LM Studio, vLLM; SWITCHBOARD_NO_LOCAL_MODELS=1 does not look for them). Without any,
/// the words of the question are matched against the tools, and that is said. The choice and its reason are on
/// stderr.
///
/// The session is kept: `switchboard sessions list` shows it, and --resume=ID asks further in it.
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

    /// How often the model may be asked: as configured, else 16
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    max_steps: Option<u32>,

    /// How many calls may be made: as configured, else 64
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    max_calls: Option<u32>,

    /// End the run after this time with exit code 6, whatever it waits for. Without it there is no limit, but a
    /// request to a server ends after 60 s of silence
    #[arg(long, value_name = "SECONDS", value_parser = at_least_one)]
    timeout: Option<u32>,

    /// Write everything that happens to FILE, one JSON object a line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Go on with an earlier session: the last one, or the one of this ID
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    resume: Option<String>,

    /// Forget everything at the end
    #[arg(long, conflicts_with = "resume")]
    ephemeral: bool,
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
    session: &'a str,
    run: &'a str,
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
        CallStatus::Cancelled => ("cancelled", None),
        CallStatus::Unknown => ("outcome_unknown", None),
    }
}

/// A run in its session.
struct Asking<'a> {
    hosting: &'a Hosting,
    session: Session,
    known: Known,
    /// Whether the person can be asked here.
    here: bool,
    verbose: bool,
    screen: &'a Screen,
    /// The run, once it has begun.
    run: OnceLock<RunId>,
}

/// What came of it.
struct Asked {
    view: RunView,
    answer: Arc<Result<Answer, switchboard_agent::AgentError>>,
    by_model: bool,
    failed: Vec<FailedServer>,
}

type Trace = JsonLines<BufWriter<std::fs::File>>;

/// Runs the command.
pub(crate) async fn command(
    args: RunArgs,
    (json, verbose): (bool, bool),
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    let stop = Stop::listen()?;
    let time_limit = args.timeout.map(|seconds| TimeLimit::new(Duration::from_secs(seconds.into())));
    let question = stdin::question(&args.question, time_limit).await?;
    let trace = args.trace.as_deref().map(stages::trace).transpose()?;
    let wire = (verbose || trace.is_some()).then(Wire::default);
    let options = options(&args, (settings, time_limit), (verbose, wire.as_ref()));
    let hosting = stop.unless(Hosting::open(&options, screen)).await?;
    hosting.tell_of_demo(Some(&args.consent), screen);
    let asked = async {
        let asking = Asking::open(&args, &hosting, (verbose, screen), (trace, wire.as_ref()))?;
        let failure = tokio::select! {
            // Before what ends at the same moment because of it.
            biased;
            failure = time_limit::reached(time_limit) => failure,
            () = stop.requested() => Failure::interrupted(),
            asked = asking.ask(question) => return asked,
        };
        interrupt::end_at_the_next();
        asking.cancel().await;
        Err(failure)
    };
    let asked = asked.await;
    hosting.close().await;
    report(asked.map_err(|failure| args.model.explain(failure))?, json, screen)
        .map_err(|failure| args.model.explain(failure))
}

fn options<'a>(
    args: &'a RunArgs,
    (settings, time_limit): (&'a Settings, Option<TimeLimit>),
    (verbose, wire): (bool, Option<&'a Wire>),
) -> HostingOptions<'a> {
    let asks = args.consent.takes_questions();
    let limits = hosting::limits(settings);
    HostingOptions {
        model: Some(&args.model),
        consent: Some(&args.consent),
        keeps: if args.ephemeral { Keeps::Nothing } else { Keeps::Everything },
        offers: if asks { Offers::default() } else { Offers::none() },
        limits: Limits {
            steps: args.max_steps.unwrap_or(limits.steps),
            calls: args.max_calls.unwrap_or(limits.calls),
            ..limits
        },
        trusts_demo: args.consent.nothing_said(),
        time_limit,
        needs_servers: true,
        verbose,
        wire,
        ..HostingOptions::new(settings, &args.servers)
    }
}

impl<'a> Asking<'a> {
    /// Opens the session, and shows what happens in it.
    fn open(
        args: &RunArgs,
        hosting: &'a Hosting,
        (verbose, screen): (bool, &'a Screen),
        (trace, wire): (Option<Trace>, Option<&Wire>),
    ) -> Result<Self, Failure> {
        let here = args.consent.takes_questions();
        let session = hosting.session(args.resume.as_deref(), here)?;
        if let Some(left) = session.current() {
            let (id, model) = (session.id(), args.model.words(answering::asked(hosting, &left)));
            let failure = match left.requests.first() {
                Some(request) => Failure::from(request.question.unanswered()),
                None => Failure::usage(format!("the last question of the session {id} was interrupted"), ""),
            };
            let hint = format!("go on with it first: switchboard sessions resume {id}{model}");
            return Err(failure.map_hint(|_| hint));
        }
        let declined = Declined::default();
        let _ = show(session.journal(), (verbose, screen), trace).with_sink(declined.clone());
        if let Some(wire) = wire {
            wire.write_into(session.journal());
        }
        let known = Known::of(&hosting.supervisor, (here, declined, verbose));
        Ok(Self { hosting, session, known, here, verbose, screen, run: OnceLock::new() })
    }

    /// Asks once the servers are there, and waits for the end.
    async fn ask(&self, question: String) -> Result<Asked, Failure> {
        let supervisor = &self.hosting.supervisor;
        let servers = starting::settled(supervisor, self.session.journal(), self.screen);
        let model = answering::chosen(self.hosting, &self.session, (!self.verbose).then_some(self.screen));
        let (by_model, failed) = tokio::try_join!(model, servers)?;
        let run = self.session.ask(RunRequest::new(question))?;
        let run = self.run.get_or_init(|| run);
        let unanswered = (self.here, Unanswered::Withdrawn);
        let view = follow::to_the_end((&self.session, run), unanswered, self.screen).await;
        let answer = self.session.result(run);
        let (Some(view), Some(answer)) = (view, answer) else {
            return Err(Failure::usage("the session was removed meanwhile", "switchboard sessions list"));
        };
        if let Err(error) = &*answer {
            if let (ErrorKind::Storage, Some(text)) = (error.kind(), &view.outcome.answer) {
                // What was finished is not lost.
                output::text(text)?;
            }
            let failure = self.known.explain(error.into());
            return Err(failure.map_hint(|hint| in_options(&hint)));
        }
        Ok(Asked { view, answer, by_model, failed })
    }

    /// Ends the run, if it has begun. Its calls are cancelled at their servers, and the journal says so.
    async fn cancel(&self) {
        let Some(run) = self.run.get() else { return };
        self.session.cancel(run);
        let _ = tokio::time::timeout(GOODBYE, self.session.ended(run)).await;
    }
}

/// Shows what happens: on the screen, and in a file.
fn show(journal: &Journal, (verbose, screen): (bool, &Screen), trace: Option<Trace>) -> Journal {
    let mut journal = journal.clone().with_sink(LeftOut::new(screen.clone()));
    if let Some(trace) = trace {
        journal = journal.with_sink(trace);
    }
    journal = if verbose {
        journal.with_sink(Stages::new(screen.clone()))
    } else {
        journal.with_sink(Approvals::new(screen.clone()))
    };
    if screen.is_terminal() { journal.with_sink(Bars::new(screen.clone())) } else { journal }
}

/// The library does not know the options.
fn in_options(hint: &str) -> String {
    time_limit::in_options(hint)
        .replace("the limit of steps", "--max-steps")
        .replace("the limit of calls", "--max-calls")
        .replace(WITH_A_MODEL, "name a language model with --base-url and --model")
}

fn report(asked: Asked, json: bool, screen: &Screen) -> Result<(), Failure> {
    let Asked { view, answer, by_model, failed } = asked;
    let answer = (*answer).as_ref().map_err(Failure::from)?;
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
            failed_servers: failed.iter().map(FailedEntry::from).collect(),
            session: &view.session,
            run: view.id.as_str(),
        });
    }
    if screen.is_terminal() && output::is_terminal() {
        screen.line("");
    }
    output::text(&answer.text)
}
