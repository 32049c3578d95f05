//! The servers of a command that looks at tools, or calls one that a person names: a host with an agent on it, from the
//! first connection to the last goodbye.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use switchboard_agent::exposure::{Exposure, FailedServer};
use switchboard_agent::journal::Journal;
use switchboard_agent::supervisor::Offers;
use switchboard_agent::{Agent, Interrupt, ServerName};

use crate::ask::TerminalConsent;
use crate::consent::ConsentArgs;
use crate::elicit::Person;
use crate::failure::Failure;
use crate::hosting::{Hosting, HostingOptions, Keeps};
use crate::interrupt::{self, Stop};
use crate::known::Known;
use crate::progress::Bars;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::settings::Settings;
use crate::stages::{Approvals, Declined, Stages};
use crate::starting;
use crate::stdin;
use crate::time_limit::{self, TimeLimit};
use crate::wire::Wire;

/// How long calls get to end once they are cancelled.
const GOODBYE: Duration = Duration::from_secs(5);

/// What the command is like.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) servers: &'a ServerArgs,
    /// Nothing is called without it.
    pub(crate) consent: Option<&'a ConsentArgs>,
    pub(crate) verbose: bool,
    pub(crate) time_limit: Option<TimeLimit>,
}

impl Options<'_> {
    /// Whether a server may ask the person something. What is not going to be called is listed as for a call: a server
    /// may leave tools out for those who cannot be asked.
    fn take_questions(&self) -> bool {
        self.consent.map_or_else(stdin::can_ask, ConsentArgs::takes_questions)
    }

    fn hosting<'a>(&'a self, wire: Option<&'a Wire>) -> HostingOptions<'a> {
        let asks = self.take_questions();
        HostingOptions {
            consent: self.consent,
            keeps: if self.consent.is_some() { Keeps::WhatIsConfigured } else { Keeps::Servers },
            offers: Offers { forms: asks, urls: asks, ..Offers::none() },
            trusts_demo: self.consent.is_some_and(ConsentArgs::nothing_said),
            time_limit: self.time_limit,
            needs_servers: true,
            verbose: self.verbose,
            wire,
            ..HostingOptions::new(self.settings, self.servers)
        }
    }
}

/// An agent and what must be ended with it.
pub(crate) struct Session {
    agent: Agent,
    interrupt: Interrupt,
    stop: Stop,
    hosting: Hosting,
    /// Servers that do not work.
    failed: Vec<FailedServer>,
    known: Known,
    time_limit: Option<TimeLimit>,
}

impl Session {
    /// Connects to all servers and makes the agent.
    ///
    /// # Errors
    /// When no server can be reached, the options contradict each other, or the person stops it.
    pub(crate) async fn open(options: &Options<'_>, screen: &Screen) -> Result<Self, Failure> {
        let stop = Stop::listen()?;
        let wire = options.verbose.then(Wire::default);
        let hosting = stop.unless(Hosting::open(&options.hosting(wire.as_ref()), screen)).await?;
        hosting.tell_of_demo(options.consent, screen);
        let declined = Declined::default();
        let journal = journal(options.verbose, screen).with_sink(declined.clone());
        hosting.secrets().for_each(|secret| journal.mask(secret));
        if let Some(wire) = wire {
            wire.write_into(&journal);
        }
        let settled = tokio::select! {
            // Before what ends at the same moment because of it.
            biased;
            failure = time_limit::reached(options.time_limit) => Err(failure),
            settled = stop.unless(starting::settled(&hosting.supervisor, &journal, screen)) => settled,
        };
        let interrupt = Interrupt::default();
        let agent = || {
            let builder = hosting.host.agent()?;
            builder
                .consent(TerminalConsent::new(screen.clone()))
                .questions(Arc::new(Person::new(&journal, screen)))
                .journal(journal.clone())
                .interrupt(interrupt.clone())
                .build()
        };
        let opened = settled.and_then(|failed| Ok((failed, agent()?)));
        let (failed, agent) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                hosting.close().await;
                return Err(failure);
            }
        };
        let about = (options.take_questions(), declined, options.verbose);
        let known = Known::of(&hosting.supervisor, about);
        Ok(Self { agent, interrupt, stop, hosting, failed, known, time_limit: options.time_limit })
    }

    /// The agent.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The tools of all servers that work.
    ///
    /// # Errors
    /// The agent's own.
    pub(crate) async fn tools(&self) -> Result<Arc<Exposure>, Failure> {
        Ok(self.agent.tools().await?)
    }

    /// The servers that the command goes on without.
    pub(crate) fn failed(&self) -> &[FailedServer] {
        &self.failed
    }

    /// Servers of the configuration that the command has nothing to do with.
    pub(crate) fn absent(&self) -> &[ServerName] {
        &self.hosting.absent
    }

    /// Waits for something that the agent does. Ctrl-c cancels its calls at their servers.
    ///
    /// # Errors
    /// The agent's own.
    pub(crate) async fn run<T>(
        &self,
        work: impl Future<Output = Result<T, impl Into<Failure>>>,
    ) -> Result<T, Failure> {
        tokio::pin!(work);
        let failure = tokio::select! {
            biased;
            failure = time_limit::reached(self.time_limit) => failure,
            () = self.stop.requested() => Failure::interrupted(),
            result = &mut work => return result.map_err(|error| self.known.explain(error.into())),
        };
        interrupt::end_at_the_next();
        self.interrupt.trigger();
        // The agent ends its calls and writes into the journal that it was stopped.
        let _ = tokio::time::timeout(GOODBYE, work).await;
        Err(failure)
    }

    /// Ends all connections, children and demo servers in order.
    pub(crate) async fn close(self) {
        let Self { agent, hosting, .. } = self;
        drop(agent);
        hosting.close().await;
    }
}

fn journal(verbose: bool, screen: &Screen) -> Journal {
    let journal = if verbose {
        Journal::new().with_sink(Stages::new(screen.clone()))
    } else {
        Journal::new().with_sink(Approvals::new(screen.clone()))
    };
    if screen.is_terminal() { journal.with_sink(Bars::new(screen.clone())) } else { journal }
}
