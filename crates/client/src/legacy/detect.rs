//! Finds out that a server is of the legacy era, and opens the first session with it
//! [spec: basic/transports/stdio and streamable-http of the modern revision, Backward Compatibility].
//!
//! Over HTTP the modern request comes first, then `initialize` by POST, then the event stream of HTTP+SSE.
//! Over a pipe `initialize` follows an error, or goes out beside the modern request after a silence, and
//! the first valid answer wins; a child that ended is started once more. One clock bounds the whole, and an
//! error names everything that was tried. Only the table of evidence leads from one step to the next.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use switchboard_protocol::era::legacy::name::INITIALIZE;
use switchboard_protocol::era::{Evidence, Verdict};
use switchboard_protocol::error::ErrorCode;
use switchboard_protocol::{Era as Family, Method, Revision};
use tokio::time::{Instant, sleep};

use super::{Keeper, Transport};
use crate::core::{Core, Run};
use crate::era::Era;
use crate::error::{Delivery, Error, Kind};
use crate::no_answer;
use crate::params::Ask;
use crate::verdict::EraVerdict;

/// The step that looks for an event stream.
const EVENT_STREAM: &str = "GET for HTTP+SSE";

/// Finds out what the server is and connects, where a session may be opened.
pub(crate) async fn connect(core: &Arc<Core>, era: Era, known: Option<EraVerdict>) -> Result<(), Error> {
    let plan = match (era, known) {
        (Era::Pinned(newest), _) => Plan::Session(newest),
        (Era::Legacy, _) => Plan::Session(Revision::NEWEST_LEGACY),
        (_, Some(known)) if known.is_modern() => {
            core.legacy.assume();
            core.legacy.allow(Revision::NEWEST_LEGACY);
            return core.connect(Era::Modern, Some(known)).await;
        }
        (_, Some(known)) if is_legacy(&known) && known.holds_at(SystemTime::now()) => Plan::Remembered(known),
        _ => Plan::Find,
    };
    Detection::new(core).bounded(plan).await
}

fn is_legacy(known: &EraVerdict) -> bool {
    known.revision().is_some_and(|revision| revision.era() == Family::Legacy)
}

impl Core {
    /// What a failed request says about a modern verdict that a host stored: the server is asked once. Says
    /// whether the request may be sent again, in a session. Boxed, since asking sends requests, which fail.
    pub(crate) fn reconsider<'a>(self: &'a Arc<Self>, ask: &'a Ask, error: &'a Error) -> Reconsidered<'a> {
        let doubtful = match self.evidence(error).verdict() {
            Verdict::Legacy => true,
            Verdict::Modern => legacy_among(error).is_some(),
            Verdict::None => legacy_among(error).is_some() && described(error),
        };
        if !doubtful || self.is_legacy() || !self.legacy.doubt() {
            return Box::pin(std::future::ready(false));
        }
        Box::pin(async move {
            tracing::debug!(server = %self.name, %error, "the verdict may no longer hold; the server is asked");
            if let Err(error) = Detection::new(self).bounded(Plan::Again).await {
                tracing::debug!(server = %self.name, %error, "what the server is was not found out");
            }
            let safe = ask.is_read() || error.delivery() != Delivery::MaybeExecuted;
            self.is_legacy() && safe
        })
    }
}

type Reconsidered<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// What is known before the first request.
enum Plan {
    Find,
    /// Something was known, and failed.
    Again,
    Session(Revision),
    Remembered(EraVerdict),
}

/// What was tried, for the error that ends it all.
#[derive(Default)]
struct Tried(Vec<(&'static str, Option<String>)>);

impl Tried {
    fn begin(&mut self, step: &'static str) {
        self.0.push((step, None));
    }

    fn failed(&mut self, step: &str, error: &Error) {
        if let Some((_, outcome)) = self.0.iter_mut().rev().find(|(known, _)| *known == step) {
            *outcome = Some(crate::error::excerpt(error.cause()));
        }
    }

    /// The steps by name.
    fn steps(&self) -> String {
        let mut steps: Vec<&str> = Vec::new();
        for (step, _) in &self.0 {
            if !steps.contains(step) {
                steps.push(step);
            }
        }
        match steps.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            steps => steps.concat(),
        }
    }

    /// What came of all steps but the last.
    fn before(&self) -> Option<String> {
        let (_, earlier) = self.0.split_last()?;
        let told: Vec<_> = earlier
            .iter()
            .filter_map(|(step, outcome)| Some(format!("{step}: {}", outcome.as_deref()?)))
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

struct Detection<'a> {
    core: &'a Arc<Core>,
    tried: Tried,
    restarted: bool,
}

impl<'a> Detection<'a> {
    fn new(core: &'a Arc<Core>) -> Self {
        Self { core, tried: Tried::default(), restarted: false }
    }

    /// Follows the plan within the time that the first answer may take.
    async fn bounded(mut self, plan: Plan) -> Result<(), Error> {
        let core = self.core;
        let (patience, bound) = (core.limits.connect_time, core.start_bound());
        let started = Instant::now();
        let outcome = tokio::select! {
            biased;
            outcome = self.follow(plan) => outcome,
            () = core.link.quiet(patience) => Err(Error::timeout("the first answer", patience, true)),
            () = sleep(bound) => Err(Error::timeout("the first answer", bound, true)),
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(self.explain(error, started.elapsed()).await.at(&core.name)),
        }
    }

    async fn follow(&mut self, plan: Plan) -> Result<(), Error> {
        self.core.legacy.allow(match &plan {
            Plan::Session(newest) => *newest,
            _ => Revision::NEWEST_LEGACY,
        });
        match plan {
            Plan::Find => self.find().await,
            Plan::Again => {
                if self.core.link.is_child() {
                    self.core.link.renew_if_ended().await;
                }
                self.find().await
            }
            Plan::Session(newest) => self.session(newest).await,
            Plan::Remembered(known) => self.remembered(known.http_sse).await,
        }
    }

    async fn find(&mut self) -> Result<(), Error> {
        if self.core.link.is_http() { self.over_http().await } else { self.over_a_pipe().await }
    }

    /// Opens a session without a modern request before it.
    async fn session(&mut self, newest: Revision) -> Result<(), Error> {
        if self.core.link.is_http() {
            self.session_over_http(newest).await
        } else {
            self.open(INITIALIZE, Transport::Pipe, newest).await
        }
    }

    /// A server that answers otherwise than it did is asked from the beginning.
    async fn remembered(&mut self, http_sse: bool) -> Result<(), Error> {
        let (step, transport) = match (self.core.link.is_http(), http_sse) {
            (false, _) => (INITIALIZE, Transport::Pipe),
            (true, false) => (INITIALIZE, Transport::Http),
            (true, true) => (EVENT_STREAM, Transport::Sse),
        };
        let Err(error) = self.open(step, transport, Revision::NEWEST_LEGACY).await else { return Ok(()) };
        let answered = error.protocol_error().is_some() || error.kind() == Kind::Incompatible;
        if answered || self.core.evidence(&error).verdict() != Verdict::None {
            self.find().await
        } else {
            Err(error)
        }
    }

    async fn open(
        &mut self,
        step: &'static str,
        transport: Transport,
        newest: Revision,
    ) -> Result<(), Error> {
        self.tried.begin(step);
        match Keeper::open_first(self.core, transport, newest).await {
            Ok(keeper) => {
                self.core.legacy.keep(keeper);
                Ok(())
            }
            Err(error) => {
                let error = no_session(error, newest);
                self.tried.failed(step, &error);
                Err(error)
            }
        }
    }

    async fn over_http(&mut self) -> Result<(), Error> {
        self.tried.begin(Method::Discover.name());
        let (ask, mut run) = first_request();
        let Err(error) = self.core.discover_first(&ask, &mut run).await else { return Ok(()) };
        self.tried.failed(Method::Discover.name(), &error);
        match self.newest_to_offer(&error) {
            Some(newest) => self.session_over_http(newest).await,
            None => Err(error),
        }
    }

    async fn session_over_http(&mut self, newest: Revision) -> Result<(), Error> {
        let Err(error) = self.open(INITIALIZE, Transport::Http, newest).await else { return Ok(()) };
        let evidence = self.core.evidence(&error);
        if matches!(evidence, Evidence::Status(..)) && evidence.verdict() == Verdict::Legacy {
            return self.open(EVENT_STREAM, Transport::Sse, newest).await;
        }
        Err(error)
    }

    /// Which revision a handshake offers after this failure of a modern request; `None` if none may follow. A
    /// server that has a modern revision, but none in common, is offered a legacy one only if it names one.
    fn newest_to_offer(&self, error: &Error) -> Option<Revision> {
        match self.core.evidence(error).verdict() {
            Verdict::Legacy => Some(legacy_among(error).unwrap_or(Revision::NEWEST_LEGACY)),
            Verdict::Modern => legacy_among(error),
            Verdict::None => legacy_among(error).filter(|_| described(error)),
        }
    }

    async fn over_a_pipe(&mut self) -> Result<(), Error> {
        let core = Arc::clone(self.core);
        self.tried.begin(Method::Discover.name());
        let (ask, mut run) = first_request();
        let mut probe = Box::pin(core.discover_first(&ask, &mut run));
        let early = tokio::select! {
            biased;
            answer = &mut probe => Some(answer),
            () = sleep(core.limits.probe_time) => None,
        };
        match early {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                self.tried.failed(Method::Discover.name(), &error);
                self.after_probe(error).await
            }
            None => {
                let raced = self.race(&core, &mut probe).await;
                // Nobody waits for the other answer any more, and nobody is told.
                drop(probe);
                match raced {
                    Raced::Done => Ok(()),
                    Raced::Failed(error) => Err(error),
                    Raced::Ended(error) => self.after_probe(error).await,
                }
            }
        }
    }

    /// The modern request was answered with an error, or its server ended.
    async fn after_probe(&mut self, error: Error) -> Result<(), Error> {
        let ended = matches!(self.core.evidence(&error), Evidence::Exit);
        if ended && (!self.core.link.is_child() || std::mem::replace(&mut self.restarted, true)) {
            return Err(error);
        }
        let Some(newest) = self.newest_to_offer(&error) else { return Err(error) };
        if ended {
            self.core.link.renew_if_ended().await;
        }
        self.open(INITIALIZE, Transport::Pipe, newest).await
    }

    /// The handshake beside a modern request that is not answered: the first valid answer wins.
    async fn race(
        &mut self,
        core: &Arc<Core>,
        probe: &mut (impl Future<Output = Result<(), Error>> + Unpin),
    ) -> Raced {
        self.tried.begin(INITIALIZE);
        let mut handshake = Box::pin(Keeper::open_first(core, Transport::Pipe, Revision::NEWEST_LEGACY));
        let (mut refused, mut unanswered) = (None, None);
        loop {
            tokio::select! {
                biased;
                answer = &mut *probe, if refused.is_none() => match answer {
                    Ok(()) => {
                        // The server got the handshake, too, and may hold this process for a session.
                        core.legacy.assume();
                        return Raced::Done;
                    }
                    Err(error) => {
                        self.tried.failed(Method::Discover.name(), &error);
                        if self.newest_to_offer(&error).is_none() {
                            return Raced::Failed(error);
                        }
                        refused = Some(error);
                    }
                },
                opened = &mut handshake, if unanswered.is_none() => match opened {
                    Ok(keeper) => {
                        core.legacy.keep(keeper);
                        return Raced::Done;
                    }
                    Err(error) => {
                        self.tried.failed(INITIALIZE, &error);
                        unanswered = Some(error);
                    }
                },
            }
            if refused.is_some()
                && let Some(error) = &unanswered
            {
                return match core.evidence(error) {
                    Evidence::Exit => Raced::Ended(error.clone()),
                    _ => Raced::Failed(error.clone()),
                };
            }
        }
    }

    /// The error for whoever wants to connect: the cause, and what was tried before.
    async fn explain(&self, error: Error, waited: Duration) -> Error {
        let (core, steps) = (self.core, self.tried.steps());
        // A program that ended twice says the same twice.
        let again = self.restarted && matches!(core.evidence(&error), Evidence::Exit);
        let explained = match (core.evidence(&error), core.link.url()) {
            // Something was answered: the time ran out in a later step.
            (Evidence::Silence, _) if self.tried.before().is_some() => error,
            (Evidence::Silence, _) => {
                no_answer::silent(&error, core.shown_wait(waited), &core.link.traces().await, Some(&steps))
            }
            (Evidence::Exit, _) => no_answer::ended(&error, &core.link.traces().await, Some(&steps)),
            (Evidence::Status(status, None), Some(url))
                if core.evidence(&error).verdict() == Verdict::Legacy =>
            {
                no_answer::nothing_there(&error, status, url, Some(&steps))
            }
            _ => error,
        };
        match self.tried.before() {
            Some(before) if !again => explained.after(&before),
            _ => explained,
        }
    }
}

/// How a race ended that nobody won, or that somebody did.
enum Raced {
    Done,
    Failed(Error),
    /// The process ended.
    Ended(Error),
}

/// The newest legacy revision among those that the server names in its refusal.
fn legacy_among(error: &Error) -> Option<Revision> {
    let named = error.protocol_error().and_then(|refusal| refusal.supported_versions());
    let offered = error.offered_revisions().iter();
    named.iter().flatten().chain(offered).filter_map(|date| Revision::legacy(date)).max()
}

/// A server that refuses a handshake with its revisions has none of those that were offered.
fn no_session(error: Error, newest: Revision) -> Error {
    let Some((refusal, offered)) = error
        .protocol_error()
        .filter(|refusal| refusal.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION)
        .and_then(|refusal| Some((refusal.clone(), refusal.supported_versions()?)))
    else {
        return error;
    };
    let ours: Vec<_> = Revision::LEGACY
        .iter()
        .filter(|revision| **revision <= newest)
        .map(|revision| revision.date())
        .collect();
    let why = format!(
        "the server opens no session: it offers {}, this client speaks {}",
        crate::error::excerpt(&offered.join(", ")),
        ours.join(", ")
    );
    let none = Error::new(Kind::Incompatible, Delivery::Rejected, why)
        .hint("let this client speak more revisions (Era::Auto)")
        .offering(offered)
        .made_from(refusal);
    match error.http_status() {
        Some(status) => none.status(status, error.retry_after()),
        None => none,
    }
}

/// Whether the server described itself, with no revision in common. Of what says nothing about the era, only
/// that counts: whoever refuses a request for another reason may write what they like.
fn described(error: &Error) -> bool {
    error.kind() == Kind::Incompatible && error.http_status().is_none()
}

/// The first modern request; the clock around all steps is the only one.
fn first_request() -> (Ask, Run) {
    let ask = Ask { unannounced: true, ..Ask::new(Method::Discover) };
    (ask, Run::new((Duration::MAX, Duration::MAX), None))
}
