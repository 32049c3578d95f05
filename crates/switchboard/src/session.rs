//! One run of the program against its servers: the agent with its policy, its views and its connections, from the
//! first connection to the last goodbye.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use switchboard_agent::exposure::{Exposure, FailedServer};
use switchboard_agent::journal::{Discovery, Journal};
use switchboard_agent::policy::{Mode, Policy};
use switchboard_agent::{Agent, AgentBuilder, ErrorKind, Identity, Interrupt, Limits, Selector, ServerName};
use switchboard_client::Client;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::ask::TerminalConsent;
use crate::auth::Headers;
use crate::child_log;
use crate::connect;
use crate::consent::ConsentArgs;
use crate::demo;
use crate::elicit::Desk;
use crate::failure::{Exit, Failure};
use crate::interrupt::{self, unless_interrupted};
use crate::progress::Bars;
use crate::screen::Screen;
use crate::servers::{ServerArgs, ServerSpec, Target};
use crate::stages::{self, Approvals, Declined, Stages};
use crate::stdin;
use crate::time_limit::{self, TimeLimit};

/// How long servers get to say goodbye.
const GOODBYE: Duration = Duration::from_secs(5);
/// What a tool means that speaks of elicitation where nobody can be asked, and what to do.
const UNASKED: &str = "the tool wants to ask the person something, and nobody can be asked here";
const ASK_IN_A_TERMINAL: &str = "run it in a terminal, where the question can be shown and answered";
/// What to do where a tool failed because the person did not answer it.
const DECLINED: &str = "the tool's question was not answered: run it again to be asked again";
/// What to do where a program is gone.
const BY_HAND: &str = "start the program by hand to see why it ended";
const BY_HAND_OR_V: &str =
    "start the program by hand to see why it ended, or add -v to see all that it writes to stderr";
/// How long what a child wrote last may take to arrive, once it is gone.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a run is like, apart from who selects the calls.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    pub(crate) servers: &'a ServerArgs,
    /// Nothing is called without it.
    pub(crate) consent: Option<&'a ConsentArgs>,
    pub(crate) limits: Limits,
    pub(crate) trace: Option<&'a Path>,
    pub(crate) verbose: bool,
    pub(crate) time_limit: Option<TimeLimit>,
}

impl Options<'_> {
    /// Whether a server may ask the person something. What is not going to be called is listed as for a call: a server
    /// may leave tools out for those who cannot be asked.
    fn take_questions(&self) -> bool {
        self.consent.map_or_else(stdin::can_ask, ConsentArgs::takes_questions)
    }
}

/// What all connections of a run share.
struct Run<'a> {
    options: &'a Options<'a>,
    headers: &'a Headers,
    journal: &'a Journal,
    screen: &'a Screen,
}

/// An agent and what must be ended with it.
#[derive(Debug)]
pub(crate) struct Session {
    agent: Agent,
    interrupt: Interrupt,
    opened: Opened,
    time_limit: Option<TimeLimit>,
    /// Whether servers were told that the person can be asked.
    takes_questions: bool,
    /// Whether the person did not answer what a tool asked.
    declined: Declined,
    /// The servers that are programs.
    programs: Vec<ServerName>,
    verbose: bool,
}

/// What was opened so far; ended in order also where opening goes wrong half-way.
#[derive(Debug, Default)]
struct Opened {
    clients: Vec<(ServerName, Client)>,
    /// Servers that could not be reached, and why.
    failed: Vec<FailedServer>,
    demo: Option<demo::Running>,
    /// Those who show what children write to stderr.
    relays: Vec<JoinHandle<()>>,
}

impl Session {
    /// Connects to all servers and makes the agent.
    ///
    /// # Errors
    /// When no server can be reached, the options contradict each other, or the person stops it.
    pub(crate) async fn open(
        selector: impl Selector + 'static,
        options: &Options<'_>,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let mut specs = options.servers.specs()?;
        if specs.is_empty() && !options.servers.demo {
            return Err(Failure::usage(
                "no server is named",
                "add --demo for the demo servers, --server NAME=URL, or -- CMD ARGS for a server over stdio",
            ));
        }
        let policy = options.consent.map_or_else(|| Ok(Policy::new(Mode::Fail)), ConsentArgs::policy)?;
        let over_http = specs.iter().filter(|spec| spec.target.is_http()).map(|spec| spec.name.as_str());
        let headers = options.servers.auth.headers(&over_http.collect::<Vec<_>>(), screen)?;
        let declined = Declined::default();
        let journal = journal(options, screen)?.with_sink(declined.clone());
        headers.secrets().for_each(|secret| journal.mask(secret));
        let run = Run { options, headers: &headers, journal: &journal, screen };
        let mut opened = Opened::default();
        let result = tokio::select! {
            result = unless_interrupted(opened.open(&mut specs, policy, &run)) => result,
            failure = time_limit::reached(options.time_limit) => Err(failure),
        };
        let (opened, policy) = opened.keep(result).await?;
        let interrupt = Interrupt::default();
        let builder = Agent::builder(selector)
            .policy(policy)
            .consent(TerminalConsent::new(screen.clone()))
            .limits(options.limits.clone())
            .journal(journal)
            .interrupt(interrupt.clone());
        let (time_limit, takes_questions) = (options.time_limit, options.take_questions());
        let programs =
            specs.into_iter().filter(|spec| !spec.target.is_http()).map(|spec| spec.name).collect();
        let agent = opened.introduce(builder).build()?;
        Ok(Self {
            agent,
            interrupt,
            opened,
            time_limit,
            takes_questions,
            declined,
            programs,
            verbose: options.verbose,
        })
    }

    /// The agent.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The tools of all servers that list them, and a warning for each that does not.
    ///
    /// # Errors
    /// The agent's own.
    pub(crate) async fn tools(&self, screen: &Screen) -> Result<Arc<Exposure>, Failure> {
        let exposure = self.agent.tools().await?;
        for FailedServer { server, message } in exposure.failed_servers() {
            screen.warning(&format!("{server}: {message}; going on without {server}"));
        }
        Ok(exposure)
    }

    /// All servers that the run goes on without: those that could not be reached, then those that do not list
    /// their tools.
    pub(crate) fn failed<'a>(&'a self, exposure: &'a Exposure) -> impl Iterator<Item = &'a FailedServer> {
        self.opened.failed.iter().chain(exposure.failed_servers())
    }

    /// Waits for something that the agent does. Ctrl-c cancels its calls at their servers.
    ///
    /// # Errors
    /// The agent's own.
    pub(crate) async fn run<T>(
        &self,
        work: impl Future<Output = Result<T, impl Into<Failure>>>,
    ) -> Result<T, Failure> {
        let signal = interrupt::signal()?;
        tokio::pin!(work);
        let failure = tokio::select! {
            result = &mut work => return result.map_err(|error| self.explain(error.into())),
            () = signal => Failure::interrupted(),
            failure = time_limit::reached(self.time_limit) => failure,
        };
        interrupt::end_at_the_next();
        self.interrupt.trigger();
        // The agent ends its calls and writes into the journal that it was stopped.
        let _ = tokio::time::timeout(GOODBYE, work).await;
        Err(failure)
    }

    /// What is known here about a failure: what the person was asked, and what the server is.
    fn explain(&self, failure: Failure) -> Failure {
        let is_program = || self.programs.iter().any(|name| Some(name.as_str()) == failure.server());
        // A tool that could not ask the person only says so in its own words in a session.
        let unasked = || !self.takes_questions && failure.cause().to_lowercase().contains("elicitation");
        if failure.is(Exit::Tool) && self.declined.is_so() {
            failure.turned_into(ErrorKind::Denied, DECLINED)
        } else if failure.is(Exit::Tool) && unasked() {
            failure.explained(UNASKED).turned_into(ErrorKind::InputNeeded, ASK_IN_A_TERMINAL)
        } else if failure.is(Exit::Unreachable) && is_program() {
            failure.hint_for(Exit::Unreachable, if self.verbose { BY_HAND } else { BY_HAND_OR_V })
        } else {
            failure
        }
    }

    /// Ends all connections, children and demo servers in order.
    pub(crate) async fn close(self) {
        let Self { agent, opened, .. } = self;
        drop(agent);
        opened.close().await;
    }
}

impl Opened {
    /// Closes everything if it cannot be used.
    async fn keep<T>(self, result: Result<T, Failure>) -> Result<(Self, T), Failure> {
        match result {
            Ok(kept) => Ok((self, kept)),
            Err(failure) => {
                self.close().await;
                Err(failure)
            }
        }
    }

    /// Makes all servers known to an agent, those that cannot be reached, too.
    fn introduce(&self, mut agent: AgentBuilder) -> AgentBuilder {
        for (name, client) in &self.clients {
            agent = agent.server(name.clone(), client.clone());
        }
        for failed in &self.failed {
            agent = agent.absent(failed.server.clone());
        }
        agent
    }

    /// Starts the demo where that is wanted and connects to everything, side by side.
    async fn open(
        &mut self,
        specs: &mut Vec<ServerSpec>,
        mut policy: Policy,
        run: &Run<'_>,
    ) -> Result<Policy, Failure> {
        let Run { options, screen, .. } = run;
        if options.servers.demo {
            let demo = demo::Running::start(options.servers.city_api.as_ref()).await?;
            let trusted = options.consent.is_some_and(ConsentArgs::nothing_said);
            for named in demo.named() {
                let spec = demo_spec(&named)?;
                if trusted {
                    policy = policy.trust(spec.name.clone());
                }
                specs.push(spec);
            }
            self.demo = Some(demo);
            if options.consent.is_some() {
                screen.note("the demo's weather station is simulated: nobody measured its values");
            }
            if trusted {
                screen.note(
                    "nobody can be asked here: the demo policy allows the demo servers' read-only tools",
                );
            }
        }
        self.connect(specs, run).await?;
        Ok(policy)
    }

    /// A server that cannot be reached is left out, unless there is no other.
    async fn connect(&mut self, specs: &[ServerSpec], run: &Run<'_>) -> Result<(), Failure> {
        let Run { options, journal, screen, .. } = run;
        let connecting: Vec<_> = specs
            .iter()
            .map(|spec| {
                let lines = (options.verbose && !spec.target.is_http()).then(|| {
                    let (lines, relay) = child_log::relay(spec.name.as_str(), screen);
                    self.relays.push(relay);
                    lines
                });
                async move {
                    let since = Instant::now();
                    journal.record(Discovery::Connecting { server: spec.name.clone() });
                    let connected = run.connect(spec, lines).await;
                    run.connected(spec, &connected, since.elapsed());
                    (spec.name.clone(), connected)
                }
            })
            .collect();
        let mut failures = Vec::new();
        let connected = join_all(connecting).await;
        let some = connected.iter().any(|(_, connected)| connected.is_ok());
        for (server, connected) in connected {
            match connected {
                Ok(client) => self.clients.push((server, client)),
                Err(failure) => {
                    if some {
                        screen.warning(&format!("{failure}; going on without {server}"));
                    }
                    let message = failure.cause().to_owned();
                    self.failed.push(FailedServer { server, message });
                    failures.push(failure);
                }
            }
        }
        if self.clients.is_empty()
            && let Some(first) = failures.into_iter().next()
        {
            return Err(first);
        }
        Ok(())
    }

    async fn close(self) {
        let Self { clients, failed: _, demo, relays } = self;
        let goodbye = async {
            join_all(clients.iter().map(|(_, client)| client.close())).await;
            // A relay ends when the last one lets go of what it relays.
            drop(clients);
            let _ = tokio::time::timeout(LAST_WORDS, join_all(relays)).await;
            if let Some(demo) = demo {
                demo.shutdown().await;
            }
        };
        // Whoever does not leave in time is ended with this process.
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
}

impl Run<'_> {
    /// What became of a connection, for whoever watches, at the moment when it is known.
    fn connected(&self, spec: &ServerSpec, connected: &Result<Client, Failure>, took: Duration) {
        let Self { options, screen, .. } = self;
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let server = spec.name.clone();
        self.journal.record(match connected {
            Ok(client) => {
                let Identity { revision, session, .. } = Identity::of(client);
                if session
                    && !spec.target.is_http()
                    && let Some(note) = options.servers.era.detour(&server, took)
                {
                    screen.note(&note);
                }
                Discovery::Opened { server, revision, session, took_ms }
            }
            Err(failure) => Discovery::Failed { server, error: failure.cause().to_owned(), took_ms },
        });
    }

    async fn connect(
        &self,
        spec: &ServerSpec,
        stderr: Option<mpsc::Sender<String>>,
    ) -> Result<Client, Failure> {
        let Self { options, headers, journal, screen } = self;
        let name = spec.name.as_str();
        let mut builder = connect::builder(options.servers.era).server_name(name);
        if let Some(limit) = options.time_limit {
            builder = builder.timeout(limit.after()).max_total(limit.after());
        }
        if options.verbose || options.trace.is_some() {
            builder = builder.on_wire(journal.tap(spec.name.clone()));
        }
        if options.take_questions() {
            builder = Desk::new(&spec.name, journal, screen).open(builder);
        }
        let connected = connect::connect((name, &spec.target), builder, headers, stderr).await;
        connected.map_err(|failure| failure.on_server(name))
    }
}

fn demo_spec(named: &demo::Named) -> Result<ServerSpec, Failure> {
    let broken = |why: String| Failure::usage(format!("the demo server {}: {why}", named.name), "report it");
    let url = named.url.parse().map_err(|error: url::ParseError| broken(error.to_string()))?;
    let name = ServerName::new(named.name).map_err(|error| broken(error.to_string()))?;
    Ok(ServerSpec { name, target: Target::Http(url) })
}

fn journal(options: &Options<'_>, screen: &Screen) -> Result<Journal, Failure> {
    let mut journal = Journal::new();
    if let Some(path) = options.trace {
        journal = journal.with_sink(stages::trace(path)?);
    }
    journal = if options.verbose {
        journal.with_sink(Stages::new(screen.clone()))
    } else {
        journal.with_sink(Approvals::new(screen.clone()))
    };
    if screen.is_terminal() {
        journal = journal.with_sink(Bars::new(screen.clone()));
    }
    Ok(journal)
}
