//! Opens one connection to a server: what it is told, what it may ask, how long it may take, and which revision it
//! spoke the last time.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use switchboard_client::{
    ChildCommand, Client, ClientBuilder, Connect, Elicit, ElicitAction, ElicitReply, EraVerdict, Error,
    ErrorCode, Limits, Refused, Root,
};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::config::{ServerConfig, ServerTarget};
use super::logs::Logs;
use super::options::SupervisorOptions;
use super::routing::{Flight, Router};
use super::status::LogStream;
use crate::policy::{Listing, UpstreamError, exchange};

/// Lines of stderr that wait to be kept; a server that writes faster loses lines here, not time.
const WAITING_LINES: usize = 1024;
/// The kind of document that a verdict is kept as.
pub(super) const VERDICT: &str = "verdict";

/// A connection that works.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) client: Client,
    pub(super) router: Arc<Router>,
}

/// Why there is no connection.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) message: String,
    pub(super) next_step: Option<String>,
    pub(super) unauthorized: bool,
    /// Whether it may work later without anybody doing something.
    pub(super) transient: bool,
}

impl Broken {
    pub(super) fn of(error: &Error) -> Self {
        Self {
            message: error.cause().to_owned(),
            next_step: error.next_action().map(str::to_owned),
            unauthorized: error.is_unauthorized(),
            transient: error.is_transient(),
        }
    }

    pub(super) fn upstream_error(&self) -> UpstreamError {
        let message = match &self.next_step {
            Some(next) => format!("{}; {next}", self.message),
            None => self.message.clone(),
        };
        UpstreamError { message, unauthorized: self.unauthorized }
    }
}

/// What a connection is made of, and where what it says goes.
pub(super) struct Opening<'a> {
    pub(super) config: &'a ServerConfig,
    pub(super) options: &'a SupervisorOptions,
    pub(super) logs: &'a Arc<Logs>,
}

/// Opens one connection as a supervisor would, with the same logs and what is remembered of the server, for a person who
/// looks at it by hand. Nobody decides about what is asked on it: what a model asks for goes through a host.
///
/// # Errors
/// When the server cannot be reached, or speaks no revision that this client speaks.
pub async fn connect(config: &ServerConfig, options: &SupervisorOptions) -> Result<Client, Error> {
    let logs = Arc::new(Logs::new(config, options.log.clone()));
    let (live, _) = Opening { config, options, logs: &logs }.reach(false).await?;
    Ok(live.client)
}

impl Opening<'_> {
    /// Connects, and learns what the server is and has.
    pub(super) async fn open(&self) -> Result<(Live, Listing, Duration), Error> {
        let (live, listed) = self.reach(true).await?;
        let (listing, took) = listed.unwrap_or_default();
        Ok((live, listing, took))
    }

    /// Connects, and asks for the tools where that is wanted. What was found out about the server's era before is
    /// believed once; if that fails, it is found out anew.
    async fn reach(&self, lists: bool) -> Result<(Live, Option<(Listing, Duration)>), Error> {
        let verdict = self.stored_verdict();
        let believed = verdict.is_some();
        let opened = match self.attempt(verdict, lists).await {
            Err(error) if believed && self.may_have_changed(&error) => {
                self.keep_verdict(None);
                self.logs.host(format!("what was known of its revision no longer holds ({})", error.cause()));
                self.attempt(None, lists).await
            }
            other => other,
        }?;
        self.keep_verdict(Some(opened.0.client.verdict()));
        Ok(opened)
    }

    /// Whether a failure may come from what was believed: an address that cannot be reached says nothing.
    fn may_have_changed(&self, error: &Error) -> bool {
        !error.is_unauthorized() && (self.config.target.is_bounded() || !error.is_transient())
    }

    async fn attempt(
        &self,
        verdict: Option<EraVerdict>,
        lists: bool,
    ) -> Result<(Live, Option<(Listing, Duration)>), Error> {
        let tap = self.options.wire.clone().map(|tap| (self.config.name.clone(), tap));
        let router = Router::new(Arc::clone(self.logs), tap);
        let client = self.connect(verdict, &router).await?;
        // With a verdict nobody has asked yet what the server is.
        if client.server_info().is_none() {
            match client.discover().await {
                Ok(_) => {}
                Err(error) if error.code() == Some(ErrorCode::METHOD_NOT_FOUND) => {}
                Err(error) => return self.give_up(client, error).await,
            }
        }
        if !lists {
            return Ok((Live { client, router }, None));
        }
        let asked = Instant::now();
        match tools(&client, self.logs).await {
            Ok(listing) => Ok((Live { client, router }, Some((listing, asked.elapsed())))),
            Err(error) => self.give_up(client, error).await,
        }
    }

    async fn give_up<T>(&self, client: Client, error: Error) -> Result<T, Error> {
        client.close().await;
        Err(error)
    }

    fn connect(&self, verdict: Option<EraVerdict>, router: &Arc<Router>) -> Connect {
        let (name, version) = &self.options.implementation;
        let mut builder = Client::builder()
            .info(name.as_str(), version.as_str())
            .server_name(self.config.name.as_str())
            .era(self.config.era)
            .limits(limits(self.config));
        if let Some(idle) = self.config.idle_timeout {
            builder = builder.timeout(idle);
        }
        if let Some(hard) = self.config.hard_timeout {
            builder = builder.max_total(hard);
        }
        if let Some(verdict) = verdict {
            builder = builder.verdict(verdict);
        }
        let tap = Arc::clone(router);
        builder = answering(builder.on_wire(move |message| tap.see(message)), router, self);
        match &self.config.target {
            ServerTarget::Http { url, headers } => {
                let with = |builder: ClientBuilder, (name, value): &(String, super::Secret)| {
                    builder.header(name, value.reveal())
                };
                headers.iter().fold(builder, with).http(url)
            }
            ServerTarget::InProcess(local) => builder.pipe(local.connect()),
            ServerTarget::Command { .. } => builder.child(self.command().stderr_lines(self.stderr())),
        }
    }

    /// The program with everything that is its own; an empty one where the server is no program.
    pub(super) fn command(&self) -> ChildCommand {
        command(&self.config.target)
    }

    /// Keeps the lines of one process.
    fn stderr(&self) -> mpsc::Sender<String> {
        let (lines, mut arriving) = mpsc::channel(WAITING_LINES);
        let logs = Arc::clone(self.logs);
        tokio::spawn(async move {
            while let Some(line) = arriving.recv().await {
                logs.line(LogStream::Stderr, line);
            }
        });
        lines
    }

    fn stored_verdict(&self) -> Option<EraVerdict> {
        if !self.config.is_kept() {
            return None;
        }
        let stored = self.options.store.document(VERDICT, &self.config.hash);
        let text = stored.inspect_err(|error| tracing::debug!(%error, "no verdict can be read")).ok()??;
        let verdict: EraVerdict = serde_json::from_str(&text).ok()?;
        verdict.holds_at(SystemTime::now()).then_some(verdict)
    }

    fn keep_verdict(&self, verdict: Option<EraVerdict>) {
        if !self.config.is_kept() {
            return;
        }
        let text = verdict.and_then(|verdict| serde_json::to_string(&verdict).ok());
        // Without it, the next start takes one request more.
        if let Err(error) = self.options.store.put_document(VERDICT, &self.config.hash, text.as_deref()) {
            tracing::warn!(%error, server = %self.config.name, "what was found out about a server is not kept");
        }
    }
}

/// The program of a target.
pub(super) fn command(target: &ServerTarget) -> ChildCommand {
    let ServerTarget::Command { program, args, env, env_remove, cwd } = target else {
        return ChildCommand::new("");
    };
    let mut command = ChildCommand::new(program).args(args);
    for name in env_remove {
        command = command.env_remove(name);
    }
    for (name, value) in env {
        command = command.env(name, value.reveal());
    }
    match cwd {
        Some(cwd) => command.directory(cwd),
        None => command,
    }
}

/// The tools of a server; one that does not say that it has any need not know the method.
pub(super) async fn tools(client: &Client, logs: &Logs) -> Result<Listing, Error> {
    let promised = client.capabilities().is_some_and(|said| said.tools.is_some());
    match exchange::list(client).await {
        Err(error) if error.code() == Some(ErrorCode::METHOD_NOT_FOUND) && !promised => {
            Ok(Listing::new(crate::identity::Identity::of(client), Arc::default(), Arc::default()))
        }
        other => other.map(|listing| logs.without_secrets(listing)),
    }
}

fn limits(config: &ServerConfig) -> Limits {
    let mut limits = Limits::default();
    limits.message_bytes = crate::MESSAGE_BYTES;
    // Starting again is decided here, where the waits and the budget are.
    limits.restarts = 0;
    if let Some(startup) = config.startup_timeout {
        (limits.connect_time, limits.start_time) = (startup, startup);
    }
    limits
}

/// Declares what servers may ask, and brings each question to the call that it belongs to.
fn answering(builder: ClientBuilder, router: &Arc<Router>, opening: &Opening<'_>) -> ClientBuilder {
    let offers = opening.options.offers;
    let mut builder = builder;
    if offers.forms {
        let router = Arc::clone(router);
        builder = builder.on_elicit(move |form| elicit(router.asking(), Elicit::Form(form)));
    }
    if offers.urls {
        let router = Arc::clone(router);
        builder = builder.on_elicit_url(move |url| elicit(router.asking(), Elicit::Url(url)));
    }
    if offers.sampling {
        let router = Arc::clone(router);
        builder = builder.on_sampling(move |asked| {
            let flight = router.asking();
            async move {
                match flight {
                    Some(flight) => flight.questions.sample(&flight.server, flight.call, asked).await,
                    None => Err(Refused("no call of this host made the server ask".to_owned())),
                }
            }
        });
    }
    if !opening.config.roots.is_empty() {
        let (router, usual) = (Arc::clone(router), opening.config.roots.clone());
        builder = builder.on_roots(move || roots(router.asking(), usual.clone()));
    }
    builder
}

async fn elicit(flight: Option<Arc<Flight>>, asked: Elicit) -> ElicitReply {
    let Some(flight) = flight else { return ElicitReply::Decline };
    let answer = flight.questions.elicit(&flight.server, flight.call, asked).await;
    match answer.action {
        ElicitAction::Accept => {
            ElicitReply::Accept(answer.content.map_or(serde_json::Value::Null, serde_json::Value::Object))
        }
        ElicitAction::Decline => ElicitReply::Decline,
        ElicitAction::Cancel => ElicitReply::Cancel,
    }
}

async fn roots(flight: Option<Arc<Flight>>, usual: Vec<Root>) -> Vec<Root> {
    match flight {
        Some(flight) => flight.questions.roots(&flight.server).await.roots,
        None => usual,
    }
}
