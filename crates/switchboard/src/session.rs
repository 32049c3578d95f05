//! One run of the program against its servers: the agent with its policy, its views and its connections, from the
//! first connection to the last goodbye.

use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use switchboard_agent::journal::{Discovery, Journal, WireDirection};
use switchboard_agent::policy::{Mode, Policy};
use switchboard_agent::{Agent, AgentError, Interrupt, Limits, Selector, ServerName};
use switchboard_client::{Client, Direction};

use crate::ask::TerminalConsent;
use crate::connect;
use crate::consent::ConsentArgs;
use crate::demo;
use crate::elicit::Desk;
use crate::failure::Failure;
use crate::interrupt::{self, unless_interrupted};
use crate::progress::Bars;
use crate::screen::Screen;
use crate::servers::{ServerArgs, ServerSpec, Target};
use crate::stages::{self, Approvals, Stages};

/// How long servers get to say goodbye.
const GOODBYE: Duration = Duration::from_secs(5);

/// What a run is like, apart from who selects the calls.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    pub(crate) servers: &'a ServerArgs,
    /// Nothing is called without it.
    pub(crate) consent: Option<&'a ConsentArgs>,
    pub(crate) limits: Limits,
    pub(crate) trace: Option<&'a Path>,
    pub(crate) verbose: bool,
}

/// An agent and what must be ended with it.
#[derive(Debug)]
pub(crate) struct Session {
    agent: Agent,
    interrupt: Interrupt,
    clients: Vec<Client>,
    demo: Option<demo::Running>,
}

/// What was opened so far; ended in order also where opening goes wrong half-way.
#[derive(Debug, Default)]
struct Opened {
    clients: Vec<(ServerName, Client)>,
    demo: Option<demo::Running>,
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
        let journal = journal(options, screen)?;
        let mut opened = Opened::default();
        let policy =
            match unless_interrupted(opened.open(&mut specs, (policy, options), (&journal, screen))).await {
                Ok(policy) => policy,
                Err(failure) => {
                    opened.close().await;
                    return Err(failure);
                }
            };
        let interrupt = Interrupt::default();
        let mut builder = Agent::builder(selector)
            .policy(policy)
            .consent(TerminalConsent::new(screen.clone()))
            .limits(options.limits.clone())
            .journal(journal)
            .interrupt(interrupt.clone());
        for (name, client) in &opened.clients {
            builder = builder.server(name.clone(), client.clone());
        }
        let clients = opened.clients.into_iter().map(|(_, client)| client).collect();
        Ok(Self { agent: builder.build()?, interrupt, clients, demo: opened.demo })
    }

    /// The agent.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Waits for something that the agent does. Ctrl-c cancels its calls at their servers.
    ///
    /// # Errors
    /// The agent's own.
    pub(crate) async fn run<T>(
        &self,
        work: impl Future<Output = Result<T, AgentError>>,
    ) -> Result<T, Failure> {
        let signal = interrupt::signal()?;
        tokio::pin!(work);
        tokio::select! {
            result = &mut work => return result.map_err(Failure::from),
            () = signal => {}
        }
        interrupt::end_at_the_next();
        self.interrupt.trigger();
        // The agent ends its calls and writes into the journal that it was stopped.
        let _ = tokio::time::timeout(GOODBYE, work).await;
        Err(Failure::interrupted())
    }

    /// Ends all connections, children and demo servers in order.
    pub(crate) async fn close(self) {
        let Self { agent, clients, demo, .. } = self;
        drop(agent);
        goodbye(&clients, demo).await;
    }
}

impl Opened {
    /// Starts the demo where that is wanted and connects to everything, side by side.
    async fn open(
        &mut self,
        specs: &mut Vec<ServerSpec>,
        (mut policy, options): (Policy, &Options<'_>),
        (journal, screen): (&Journal, &Screen),
    ) -> Result<Policy, Failure> {
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
            if trusted {
                screen.note(
                    "nobody can be asked here: the demo policy allows the demo servers' read-only tools",
                );
            }
        }
        self.connect(specs, options, (journal, screen)).await?;
        Ok(policy)
    }

    /// A server that cannot be reached is left out, unless there is no other.
    async fn connect(
        &mut self,
        specs: &[ServerSpec],
        options: &Options<'_>,
        (journal, screen): (&Journal, &Screen),
    ) -> Result<(), Failure> {
        let watched = options.verbose || options.trace.is_some();
        let asks = options.consent.is_some_and(ConsentArgs::takes_questions);
        let connecting = specs.iter().map(|spec| async move {
            let since = Instant::now();
            let mut builder = connect::builder().server_name(spec.name.as_str());
            if watched {
                let (journal, name) = (journal.clone(), spec.name.clone());
                builder = builder.on_wire(move |message| {
                    journal.wire(&name, direction(message.direction), message.bytes);
                });
            }
            if asks {
                builder = Desk::new(&spec.name, journal, screen).open(builder);
            }
            let connected = connect::connect(&spec.target, builder).await;
            (
                spec.name.clone(),
                connected.map_err(|failure| failure.on_server(spec.name.as_str())),
                since.elapsed(),
            )
        });
        let mut failures = Vec::new();
        let connected = join_all(connecting).await;
        let some = connected.iter().any(|(_, connected, _)| connected.is_ok());
        for (server, connected, took) in connected {
            match connected {
                Ok(client) => self.clients.push((server, client)),
                Err(failure) => {
                    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                    if some {
                        screen.warning(&format!("{failure}; going on without {server}"));
                    }
                    journal.record(Discovery::Failed { server, error: failure.to_string(), took_ms });
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
        let clients: Vec<Client> = self.clients.into_iter().map(|(_, client)| client).collect();
        goodbye(&clients, self.demo).await;
    }
}

async fn goodbye(clients: &[Client], demo: Option<demo::Running>) {
    let goodbye = async {
        join_all(clients.iter().map(Client::close)).await;
        if let Some(demo) = demo {
            demo.shutdown().await;
        }
    };
    // Whoever does not leave in time is ended with this process.
    let _ = tokio::time::timeout(GOODBYE, goodbye).await;
}

fn demo_spec(named: &demo::Named) -> Result<ServerSpec, Failure> {
    let broken = |why: String| Failure::usage(format!("the demo server {}: {why}", named.name), "report it");
    let url = named.url.parse().map_err(|error: url::ParseError| broken(error.to_string()))?;
    let name = ServerName::new(named.name).map_err(|error| broken(error.to_string()))?;
    Ok(ServerSpec { name, target: Target::Http(url) })
}

fn direction(direction: Direction) -> WireDirection {
    match direction {
        Direction::Sent => WireDirection::Sent,
        Direction::Received => WireDirection::Received,
    }
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
