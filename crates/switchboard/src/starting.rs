//! Servers that one command starts and waits for: what is said of each until it works, or is known not to.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use switchboard_agent::ServerName;
use switchboard_agent::exposure::FailedServer;
use switchboard_agent::journal::{Discovery, Journal};
use switchboard_agent::supervisor::{
    RequiredServer, ServerConfig, ServerState, ServerStatus, ServerTarget, Supervisor,
};
use switchboard_client::Era;

use crate::era;
use crate::failure::{Exit, Failure, LOGIN};
use crate::screen::Screen;
use crate::servers;

/// For how long a command waits: every server has a limit of its own.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a program may take to start before a word is said about what it may be doing.
const UNNOTICED: Duration = Duration::from_secs(2);
/// How the first request of this program to a server is called, that asks which revisions it speaks.
const FIRST_QUESTION: &str = "\"server/discover\"";

/// Servers that are watched.
struct Starting<'a> {
    supervisor: &'a Supervisor,
    journal: &'a Journal,
    screen: &'a Screen,
    since: Instant,
    known: HashMap<ServerName, Known>,
}

/// How far a server is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Connecting,
    Settled,
}

/// Waits until every server works or is known not to, and gives those that do not, of which the person is warned.
///
/// # Errors
/// When none works, or one without which nothing does.
pub(crate) async fn settled(
    supervisor: &Supervisor,
    journal: &Journal,
    screen: &Screen,
) -> Result<Vec<FailedServer>, Failure> {
    let known = HashMap::new();
    let mut starting = Starting { supervisor, journal, screen, since: Instant::now(), known };
    let required = starting.wait().await;
    starting.verdict(required)
}

impl Starting<'_> {
    async fn wait(&mut self) -> Result<(), RequiredServer> {
        let mut changes = self.supervisor.changes();
        let (ready, noticed) = (self.supervisor.ready(PATIENCE), tokio::time::sleep(UNNOTICED));
        tokio::pin!(ready, noticed);
        let mut told = false;
        loop {
            self.look();
            tokio::select! {
                required = &mut ready => {
                    self.look();
                    return required;
                }
                Ok(()) = changes.changed() => {}
                () = &mut noticed, if !told => {
                    told = true;
                    self.tell_of_fetching();
                }
            }
        }
    }

    /// Writes down what is new.
    fn look(&mut self) {
        let took_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        for status in self.supervisor.status() {
            let failed = is_failed(&status);
            let works = status.state == ServerState::Ready;
            if !failed && !works && status.state != ServerState::Starting {
                continue;
            }
            let server = &status.name;
            if !self.known.contains_key(server) {
                self.journal.record(Discovery::Connecting { server: server.clone() });
                self.known.insert(server.clone(), Known::Connecting);
            }
            if !failed && !works || self.known.insert(server.clone(), Known::Settled) == Some(Known::Settled)
            {
                continue;
            }
            let server = server.clone();
            if works {
                self.tell_of_detour(&status);
                let session = is_in_session(&status);
                let revision = status.revision.unwrap_or_default();
                self.journal.record(Discovery::Opened { server, revision, session, took_ms });
            } else {
                let error = status.last_error.unwrap_or_default();
                self.journal.record(Discovery::Failed { server, error, took_ms });
            }
        }
    }

    /// A program that opened a session late, as it was asked for a modern revision first.
    fn tell_of_detour(&self, status: &ServerStatus) {
        let Some(config) = self.config(&status.name) else { return };
        if config.era != Era::Auto || !config.target.is_command() || !is_in_session(status) {
            return;
        }
        // Of one that was spoken to before it is remembered how.
        let wire = self.supervisor.wire(&status.name, usize::MAX).unwrap_or_default();
        if wire.iter().any(|line| line.sent && line.text.contains(FIRST_QUESTION))
            && let Some(note) = era::detour(&status.name, self.since.elapsed())
        {
            self.screen.note(&note);
        }
    }

    fn tell_of_fetching(&self) {
        let is_fetched = |status: &ServerStatus| {
            status.state == ServerState::Starting
                && self.config(&status.name).is_some_and(|config| fetcher(&config.target).is_some())
        };
        let fetched: Vec<ServerName> =
            self.supervisor.status().into_iter().filter(is_fetched).map(|status| status.name).collect();
        if !fetched.is_empty() {
            self.screen.note(&still(self.supervisor, &fetched));
        }
    }

    fn config(&self, name: &ServerName) -> Option<std::sync::Arc<ServerConfig>> {
        self.supervisor.configs().into_iter().find(|config| config.name == *name)
    }

    fn verdict(&self, required: Result<(), RequiredServer>) -> Result<Vec<FailedServer>, Failure> {
        let (failed, others): (Vec<_>, Vec<_>) = self.supervisor.status().into_iter().partition(is_failed);
        if let Err(RequiredServer { server, message, unauthorized }) = required {
            let known = failed.iter().find(|status| status.name == server);
            return Err(known.map_or_else(
                || {
                    let exit = if unauthorized { Exit::Login } else { Exit::Unreachable };
                    Failure::new(exit, message, "see `switchboard servers status`").on_server(server.as_str())
                },
                failure,
            ));
        }
        let works = |status: &ServerStatus| status.state != ServerState::Disabled;
        let none_works = !failed.is_empty() && !others.iter().any(works);
        let mut failures = failed.iter().map(failure);
        let first = if none_works { failures.next() } else { None };
        for failure in failures {
            let server = failure.server().unwrap_or_default().to_owned();
            let ending = if none_works { String::new() } else { format!("; going on without {server}") };
            self.screen.warning(&format!("{failure}{ending}"));
            // It may be what the program wrote last.
            self.screen.hint(failure.hint());
        }
        match first {
            Some(first) => Err(first),
            None => Ok(failed
                .into_iter()
                .map(|status| FailedServer {
                    server: status.name,
                    message: status.last_error.unwrap_or_default(),
                })
                .collect()),
        }
    }
}

/// Whether it does not work now. One that is tried again does not, either.
fn is_failed(status: &ServerStatus) -> bool {
    let restarting = status.state == ServerState::Restarting && status.last_error.is_some();
    restarting || matches!(status.state, ServerState::Failed | ServerState::Stopped)
}

fn is_in_session(status: &ServerStatus) -> bool {
    status.era.as_deref() == Some("legacy")
}

/// Why a server does not work, and what to do.
fn failure(status: &ServerStatus) -> Failure {
    let (exit, hint) = if status.login_needed {
        (Exit::Login, LOGIN.to_owned())
    } else {
        (Exit::Unreachable, era::in_options(status.next_step.as_deref().unwrap_or_default()))
    };
    let message = status.last_error.clone().unwrap_or_else(|| "it does not work".to_owned());
    Failure::new(exit, message, hint).on_server(status.name.as_str())
}

/// That these are still starting, and what may be fetching them.
pub(crate) fn still(supervisor: &Supervisor, names: &[ServerName]) -> String {
    let configs = supervisor.configs();
    let mut meant = configs.iter().filter(|config| names.contains(&config.name));
    let launcher = meant.find_map(|config| fetcher(&config.target));
    let (are, them) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    let names = names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let fetched = launcher.map(|launcher| format!(" ({launcher} may be fetching {them})"));
    format!("{names} {are} still starting{}", fetched.unwrap_or_default())
}

/// The program that fetches others before it starts them, if it is one.
fn fetcher(target: &ServerTarget) -> Option<&'static str> {
    let ServerTarget::Command { program, args, .. } = target else { return None };
    let program = Path::new(program).file_stem()?.to_string_lossy().into_owned();
    servers::fetcher(&program, args)
}
