//! `switchboard sessions`: what was asked before.
//!
//! Nothing here starts a server or asks a model but `resume`. What a session is, and what is written of it, is
//! `switchboard_agent`.

mod list;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use switchboard_agent::desk::{PendingView, Question};
use switchboard_agent::host::{ModelChoice, OneModel};
use switchboard_agent::{AgentError, Host, Router, RunId, RunRequest, RunView, Session};

pub(crate) use self::list::overview;
use self::list::{Listed, list};
use crate::answering;
use crate::cli::EXIT_CODES;
use crate::consent::ConsentArgs;
use crate::failure::Failure;
use crate::follow::{self, Unanswered};
use crate::hosting::{Hosting, HostingOptions};
use crate::interrupt::{self, Stop};
use crate::kept;
use crate::model::ModelArgs;
use crate::output;
use crate::private_file;
use crate::progress::Bars;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::settings::Settings;
use crate::stages::Approvals;
use crate::starting;

/// List, show, go on with, copy and remove earlier sessions
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List the sessions, the newest first: how each stands, and what was asked in it last
    List,
    /// Show what was said and done in a session
    Show {
        /// The session
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Go on with what was interrupted in a session, or ask a further question
    Resume(Box<ResumeArgs>),
    /// Make a new session out of what one held after a run, or after its last
    Fork {
        /// The session
        #[arg(value_name = "ID")]
        id: String,
        /// The run after which it goes its own way; `show --json` names them
        #[arg(long, value_name = "RUN")]
        after: Option<String>,
    },
    /// Write a session with all that belongs to it as JSON, or what was said in it as Markdown
    Export {
        /// The session
        #[arg(value_name = "ID")]
        id: String,
        /// Whole, or for people
        #[arg(long, value_enum, default_value_t = Format::Json)]
        format: Format,
        /// Where to; stdout without it
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Remove sessions with all that belongs to them
    ///
    /// Nothing of them is left in the file, whose place on the disk is given back, unless another process has the file open
    /// just then: what is left goes with the next removal. Results that a fork has, too, stay with it. What a disk or a copy
    /// of it keeps of files is out of reach.
    Delete {
        /// The sessions
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
}

#[derive(Args, Debug)]
struct ResumeArgs {
    /// The session
    #[arg(value_name = "ID")]
    id: String,

    /// A further question; without it the run goes on that was interrupted
    #[arg(value_name = "QUESTION")]
    question: Option<String>,

    #[command(flatten)]
    servers: ServerArgs,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    consent: ConsentArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Json,
    Markdown,
}

/// A session with its runs.
#[derive(Serialize)]
struct Shown<'a> {
    session: Listed<'a>,
    runs: Vec<RunView>,
}

/// Runs the command.
pub(crate) async fn command(
    args: SessionsArgs,
    json: bool,
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    match args.command {
        SessionsCommand::List => list(&host(settings)?, json, screen),
        SessionsCommand::Show { id } => show(&host(settings)?, &id, json),
        SessionsCommand::Resume(args) => Box::pin(resume(*args, json, (settings, screen))).await,
        SessionsCommand::Fork { id, after } => {
            let after = after.map(RunId::from);
            let fork = host(settings)?.fork(&id, after.as_ref()).map_err(failure)?;
            if json { output::json(&Listed::from(&fork)) } else { output::text(&fork.id) }
        }
        SessionsCommand::Export { id, format, output } => {
            export(&host(settings)?, (&id, format), output.as_deref())
        }
        SessionsCommand::Delete { ids } => {
            let host = host(settings)?;
            ids.iter().try_for_each(|id| host.delete(id)).map_err(failure)
        }
    }
}

/// A host that starts nothing: it only reads and writes what is kept.
fn host(settings: &Settings) -> Result<Host, Failure> {
    let nobody = OneModel(ModelChoice::other(Router::new()));
    Ok(Host::builder(nobody).store(kept::store(settings)?).build())
}

fn failure(error: AgentError) -> Failure {
    Failure::from(error)
}

fn show(host: &Host, id: &str, json: bool) -> Result<(), Failure> {
    if !json {
        let mut transcript = Vec::new();
        host.transcript(id, &mut transcript).map_err(failure)?;
        return output::text(&String::from_utf8_lossy(&transcript));
    }
    let runs = host.runs(id).map_err(failure)?;
    let sessions = host.sessions().map_err(failure)?;
    match sessions.iter().find(|session| session.id == id) {
        Some(session) => output::json(&Shown { session: session.into(), runs }),
        None => Err(Failure::usage(format!("there is no session {id}"), "switchboard sessions list")),
    }
}

fn export(host: &Host, (id, format): (&str, Format), to: Option<&Path>) -> Result<(), Failure> {
    let write = |out: &mut dyn Write| match format {
        Format::Json => host.export(id, out),
        Format::Markdown => host.transcript(id, out),
    };
    let written = match to {
        Some(path) => {
            let file = private_file::create(path).map_err(|error| {
                Failure::usage(format!("{} cannot be written: {error}", path.display()), "check --output")
            })?;
            let mut file = BufWriter::new(file);
            write(&mut file).map_err(failure)?;
            file.flush()
        }
        None => {
            let mut stdout = output::stdout();
            write(&mut stdout).map_err(failure)?;
            stdout.flush()
        }
    };
    written.map_err(|error| {
        Failure::usage(format!("the export cannot be written: {error}"), "check where it goes")
    })
}

async fn resume(
    args: ResumeArgs,
    json: bool,
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    let options = HostingOptions {
        model: Some(&args.model),
        consent: Some(&args.consent),
        // What nobody answers here waits for whoever comes later.
        page: true,
        ..HostingOptions::new(settings, &args.servers)
    };
    let stop = Stop::listen()?;
    let hosting = stop.unless(Hosting::open(&options, screen)).await?;
    let view = tokio::select! {
        view = go_on(&hosting, &args, screen) => view,
        () = stop.requested() => Err(Failure::interrupted()),
    };
    interrupt::end_at_the_next();
    hosting.close().await;
    report(&view?, json, screen)
}

/// Until the run is over, or waits for somebody who is not here. It waits on then: nothing is lost with this process.
async fn go_on(hosting: &Hosting, args: &ResumeArgs, screen: &Screen) -> Result<RunView, Failure> {
    let session = hosting.session(Some(&args.id), true)?;
    let journal = session.journal().clone().with_sink(Approvals::new(screen.clone()));
    if screen.is_terminal() {
        let _ = journal.with_sink(Bars::new(screen.clone()));
    }
    let servers = starting::settled(&hosting.supervisor, session.journal(), screen);
    tokio::try_join!(answering::chosen(hosting, &session, Some(screen)), servers)?;
    let run = match (&args.question, session.current()) {
        (Some(question), _) => session.ask(RunRequest::new(question.as_str())).map_err(failure)?,
        (None, Some(current)) => {
            take_up(&session, &current);
            current.id
        }
        (None, None) => {
            return Err(Failure::usage(
                "nothing was interrupted in this session",
                "add a question to go on with it",
            ));
        }
    };
    let here = args.consent.takes_questions();
    let view = follow::to_the_end((&session, &run), (here, Unanswered::Waits), screen).await;
    view.ok_or_else(|| Failure::usage("the session was removed meanwhile", "switchboard sessions list"))
}

/// Goes on with a run that an earlier process left. Whether its calls may be made is decided anew, by the rules of now;
/// what a server asked is asked first, since its answer takes the run up.
fn take_up(session: &Session, run: &RunView) {
    let is_call = |request: &PendingView| matches!(request.question, Question::Approval(_));
    if run.requests.iter().all(is_call) {
        for request in &run.requests {
            session.desk().withdraw(&request.id, "it is decided anew");
        }
        session.resume();
    }
}

fn report(view: &RunView, json: bool, screen: &Screen) -> Result<(), Failure> {
    view.outcome.notes.iter().for_each(|note| screen.note(note));
    if let Some(request) = view.requests.first() {
        let here = "; it waits on, also for the page of switchboard serve";
        return Err(failure(request.question.unanswered()).map_hint(|hint| hint + here));
    }
    if let Some(error) = &view.outcome.error {
        return Err(failure(AgentError::from(error.clone())));
    }
    if json {
        return output::json(view);
    }
    output::text(view.outcome.answer.as_deref().unwrap_or_default())
}
