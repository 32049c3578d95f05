//! `switchboard chat`: a conversation on the terminal.
//!
//! A view of a session: what is typed becomes a run, what happens is read from its journal, and what waits for the
//! person is asked here. Where to look next: `chat/reader.rs` for the line that is typed, `chat/view.rs` for what is
//! shown, `questions` for what is asked, `chat/commands.rs` for what begins with `/`, `chat/prompts.rs` for the
//! prompts of servers, `chat/news.rs` for what is said of servers.

mod attach;
mod commands;
mod late;
mod markdown;
mod news;
mod prompts;
mod reader;
mod view;

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt as _;
use switchboard_agent::desk::Question;
use switchboard_agent::journal::{Authorization, Entry, Event, RunEvent};
use switchboard_agent::session::RunPolicy;
use switchboard_agent::{AgentError, Attachment, CallId, RunId, RunRequest, ServerName, Session};
use tokio::task::JoinHandle;

use self::commands::Command;
use self::news::{Line, News};
use self::reader::{Kind, Read, Reader};
use self::view::View;
use crate::answering;
use crate::cli::EXIT_CODES;
use crate::consent::ConsentArgs;
use crate::failure::Failure;
use crate::first_steps;
use crate::hosting::{Hosting, HostingOptions, Keeps};
use crate::interrupt::{self, Interrupts};
use crate::model::ModelArgs;
use crate::questions;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::settings::Settings;
use crate::stages::Stages;
use crate::stdin;

/// Talk with a model that uses the tools of your servers
///
/// The servers of the configuration are started beside each other; the conversation can begin at once. Every call is
/// shown before it is made. Ctrl-c ends what runs, ctrl-d leaves. /help lists what else can be typed.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ChatArgs {
    /// The first question
    #[arg(value_name = "QUESTION")]
    question: Option<String>,

    #[command(flatten)]
    servers: ServerArgs,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    /// Go on with an earlier session: the last one, or the one of this ID
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    resume: Option<String>,

    /// Forget everything at the end
    #[arg(long, conflicts_with = "resume")]
    ephemeral: bool,
}

/// How long servers may take before the first question is asked for.
const PATIENCE: Duration = Duration::from_millis(400);

/// A conversation.
struct Chat {
    hosting: Hosting,
    session: Session,
    screen: Screen,
    reader: Arc<Reader>,
    view: View,
    news: News,
    verbose: bool,
    /// The last journal entry that was shown.
    seen: u64,
    /// What was chosen for the questions to come.
    model: Option<String>,
    servers: Option<Vec<String>>,
    /// Those that were waited for when a question was asked.
    waited_for: Vec<ServerName>,
    /// Tools that are not to be called, as patterns.
    off: Vec<String>,
    /// The look for what can be completed.
    looking: Option<JoinHandle<()>>,
    interrupts: Interrupts,
}

/// Runs the command.
pub(crate) async fn command(
    args: ChatArgs,
    verbose: bool,
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    if !stdin::can_ask() || !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a conversation needs a terminal",
            "ask one question with switchboard run, or open the page of switchboard serve",
        ));
    }
    // Who ends this process while a line is typed would leave a terminal behind that shows nothing.
    let _as_before = stdin::AsBefore::now();
    let options = HostingOptions {
        model: Some(&args.model),
        consent: Some(&args.consent),
        keeps: if args.ephemeral { Keeps::Nothing } else { Keeps::Everything },
        ..HostingOptions::new(settings, &args.servers)
    };
    let (interrupts, terminated) = (Interrupts::listen()?, interrupt::terminated()?);
    let hosting = Hosting::open(&options, screen).await?;
    if hosting.supervisor.configs().is_empty() {
        screen.hint(&first_steps::hint(settings));
    }
    let history = settings.paths().ok().map(|paths| paths.data_dir.join("history"));
    let reader = Arc::new(Reader::start(history.filter(|_| !args.ephemeral))?);
    stdin::read_with(Arc::clone(&reader) as Arc<dyn stdin::Lines>);
    let session = match hosting.session(args.resume.as_deref(), true) {
        Ok(session) => session,
        Err(failure) => {
            hosting.close().await;
            return Err(failure);
        }
    };
    let mut chat = Chat::new((hosting, session, reader), interrupts, (screen, verbose));
    chat.watch();
    let talked = tokio::select! {
        talked = chat.talk(args.question) => talked,
        () = terminated => Err(Failure::interrupted()),
    };
    chat.hosting.close().await;
    talked
}

impl Chat {
    fn new(
        (hosting, session, reader): (Hosting, Session, Arc<Reader>),
        interrupts: Interrupts,
        (screen, verbose): (&Screen, bool),
    ) -> Self {
        Self {
            view: View::new(screen),
            screen: screen.clone(),
            news: News::default(),
            seen: 0,
            model: None,
            servers: None,
            waited_for: Vec::new(),
            off: Vec::new(),
            looking: None,
            interrupts,
            hosting,
            session,
            reader,
            verbose,
        }
    }

    /// Shows each stage of a call, with `-v`.
    fn watch(&self) {
        if self.verbose {
            let _ = self.session.journal().clone().with_sink(Stages::new(self.screen.clone()));
        }
    }

    /// Reads and answers until the person leaves.
    async fn talk(&mut self, first: Option<String>) -> Result<(), Failure> {
        self.greet().await;
        self.catch_up().await?;
        let mut next = first;
        loop {
            let read = match next.take() {
                Some(question) => Read::Line(question),
                None => self.read().await,
            };
            match read {
                Read::Line(line) if line.trim().is_empty() => {}
                Read::Line(line) => {
                    if self.take(line.trim()).await? {
                        return Ok(());
                    }
                }
                Read::Interrupted => self.screen.note("ctrl-d or /quit leaves"),
                Read::End => return Ok(()),
            }
        }
    }

    async fn greet(&mut self) {
        let servers = self.hosting.supervisor.configs().len();
        let servers = match servers {
            0 => "no servers yet".to_owned(),
            1 => "1 server".to_owned(),
            servers => format!("{servers} servers"),
        };
        self.screen.note(&format!("{servers}; /help lists what can be typed, ctrl-d leaves"));
        // Who is quick is told of at once. The others join later.
        let quick = self.hosting.supervisor.ready(PATIENCE);
        let _ = tokio::time::timeout(PATIENCE, quick).await;
    }

    /// Shows what was said before, and goes on with what was interrupted.
    async fn catch_up(&mut self) -> Result<(), Failure> {
        self.view.past(true);
        loop {
            let store = self.hosting.host.store();
            let page = store.entries(self.session.id(), self.seen, 256).map_err(AgentError::from)?;
            let Some(last) = page.last() else { break };
            self.seen = last.seq;
            page.iter().for_each(|entry| self.view.show(entry));
        }
        self.view.past(false);
        let Some(current) = self.session.current().filter(|view| !view.status.is_over()) else {
            return Ok(());
        };
        self.tell();
        answering::chosen(&self.hosting, &self.session, None).await?;
        self.wait_for_servers().await;
        self.screen.note(if current.requests.is_empty() {
            "the last question was interrupted; going on with it"
        } else {
            "the last question waits for your answer"
        });
        self.session.resume();
        let waiting = current.requests.into_iter().map(|request| request.id).collect();
        self.follow(&current.id, waiting).await
    }

    /// The next line. What happens to servers meanwhile is said above it.
    async fn read(&mut self) -> Read {
        let mut changes = self.hosting.supervisor.changes();
        self.tell();
        self.complete();
        let reader = Arc::clone(&self.reader);
        let prompt = self.screen.strong("› ");
        let mut line = pin!(reader.read(&prompt, Kind::Talk));
        loop {
            tokio::select! {
                read = &mut line => return read,
                Ok(()) = changes.changed() => {
                    for line in self.news.of(&self.hosting.supervisor.status()) {
                        if !reader.say_above(format!("{}\n", self.shown(&line))) {
                            self.say(&line);
                        }
                    }
                    self.complete();
                }
                // Where lines are edited, the editor reads ctrl-c itself.
                () = self.interrupts.next() => self.screen.note("ctrl-d or /quit leaves"),
            }
        }
    }

    /// Says what is new of servers.
    fn tell(&mut self) {
        let lines = self.news.of(&self.hosting.supervisor.status());
        lines.iter().for_each(|line| self.say(line));
    }

    fn say(&self, line: &Line) {
        self.screen.line(&self.shown(line));
    }

    fn shown(&self, line: &Line) -> String {
        match line {
            Line::Good(text) => self.screen.dim(text),
            Line::Bad(text) => self.screen.warned(text),
            Line::Hint(text) => self.screen.hinted(text),
        }
    }

    /// Looks up what can be completed. Nobody waits for it.
    fn complete(&mut self) {
        let (host, words) = (self.hosting.host.clone(), self.reader.words());
        let looking = tokio::spawn(async move {
            let found = commands::words(&host).await;
            *words.lock().unwrap_or_else(PoisonError::into_inner) = found;
        });
        if let Some(earlier) = self.looking.replace(looking) {
            earlier.abort();
        }
    }

    /// Takes what was typed. `true` to leave.
    async fn take(&mut self, line: &str) -> Result<bool, Failure> {
        match Command::parse(line) {
            None => self.ask(line).await.map(|()| false),
            Some(command) => self.command(command).await,
        }
    }

    /// Asks, and shows what comes of it. What goes wrong is said; the conversation goes on.
    async fn ask(&mut self, question: &str) -> Result<(), Failure> {
        let servers: Vec<_> =
            self.hosting.supervisor.configs().iter().map(|config| config.name.clone()).collect();
        self.ask_with(question, attach::mentioned(question, &servers)).await
    }

    async fn ask_with(&mut self, question: &str, attachments: Vec<Attachment>) -> Result<(), Failure> {
        self.wait_for_servers().await;
        let rules: Vec<String> = self.off.iter().map(|pattern| format!("deny {pattern}")).collect();
        let policy = (!rules.is_empty()).then(|| RunPolicy { rules, ..RunPolicy::default() });
        let (model, servers) = (self.model.clone(), self.servers.clone());
        let request = RunRequest { model, servers, policy, attachments, ..RunRequest::new(question) };
        match self.session.ask(request) {
            Ok(run) => self.follow(&run, VecDeque::new()).await,
            Err(error) => {
                self.complain(error);
                Ok(())
            }
        }
    }

    /// Shows a run until it is over, and asks what it has to ask; what is `waiting` already comes first. Ctrl-c ends it.
    async fn follow(&mut self, run: &RunId, mut waiting: VecDeque<String>) -> Result<(), Failure> {
        let session = self.session.clone();
        let mut events = session.events(self.seen);
        // Servers have something else to do now.
        if let Some(looking) = self.looking.take() {
            looking.abort();
        }
        let _quiet = stdin::quiet();
        // The call that the last answer was about, until that counts: it may answer other questions, too.
        let mut deciding = None;
        loop {
            if deciding.is_none() {
                deciding = self.ask_waiting(run, &mut waiting).await;
            }
            let entry: Arc<Entry> = tokio::select! {
                entry = events.next() => match entry {
                    Some(entry) => entry,
                    None => return Ok(()),
                },
                () = self.interrupts.next() => {
                    session.cancel(run);
                    continue;
                }
            };
            self.seen = entry.seq;
            self.view.show(&entry);
            match &entry.event {
                Event::Authorization(Authorization::Requested { request, .. }) => {
                    waiting.push_back(request.clone());
                }
                Event::Authorization(
                    Authorization::Granted { call, .. } | Authorization::Denied { call, .. },
                ) if deciding == Some(*call) => {
                    deciding = None;
                }
                Event::Run(RunEvent::Ended { .. }) if entry.run.as_ref() == Some(run) => {
                    // The entry is written a moment before the run is over.
                    let ended = session.ended(run).await;
                    self.view.end(ended.as_ref());
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// Asks what waits, up to the first call that needs consent.
    async fn ask_waiting(&self, run: &RunId, waiting: &mut VecDeque<String>) -> Option<CallId> {
        while let Some(request) = waiting.pop_front() {
            let pending = self.session.pending().into_iter().find(|pending| pending.id == request);
            let Some(pending) = pending else { continue };
            if !questions::answer(&self.session, &pending, &self.screen).await {
                self.session.cancel(run);
                waiting.clear();
            }
            if let Question::Approval(approval) = &pending.question {
                return Some(approval.call);
            }
        }
        None
    }

    fn complain(&self, error: AgentError) {
        Failure::from(error).report(&self.screen, false);
    }
}
