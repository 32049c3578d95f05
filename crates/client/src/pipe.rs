//! Pipes, the client's side: a child process over its standard streams, or a server in this process.
//!
//! The connection itself is the transport crate's. What is added here: a child that crashed is started
//! again for the next request, within a budget, and errors carry the end of what it wrote to stderr.

mod tap;
mod traces;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use switchboard_protocol::session::{self, End};
use switchboard_transport::child::{Child, ChildCommand};
use switchboard_transport::{
    Disconnected, LogSink, Message, OpenError, Pipe, PipeClient, PipeExchange, PipeOptions,
};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::{Delivery, Error, Kind};
use crate::limits::Limits;
use crate::link::{Opening, Said};
use crate::wire::Tap;

pub(crate) use traces::Traces;

/// The time over which restarts are counted.
const BUDGET_TIME: Duration = Duration::from_secs(60);
/// How long a server in this process may take to leave.
const GOODBYE: Duration = Duration::from_secs(1);
/// How long the last words of a process may take once its connection has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Where the other end of the pipe comes from.
pub(crate) enum Source {
    /// A program, which can be started again.
    Child(Box<ChildCommand>),
    /// A pipe that is open already; when it ends, that was it.
    Pipe(Option<Pipe>),
}

/// The way to a server behind a pipe.
pub(crate) struct PipeLink {
    state: Mutex<State>,
    options: PipeOptions,
    tap: Tap,
    is_child: bool,
    restarts: usize,
    /// Whether it ever answered. What ends before that would end again.
    served: Arc<AtomicBool>,
}

struct State {
    source: Source,
    connection: Option<Connection>,
    started: VecDeque<Instant>,
    closed: bool,
}

/// One connection: what its link opens again when it has ended.
#[derive(Clone)]
pub(crate) struct Connection {
    client: PipeClient,
    child: Option<Arc<Child>>,
    served: Arc<AtomicBool>,
}

impl Connection {
    /// Opens an exchange on it.
    pub(crate) async fn open(self, opening: &Opening<'_>) -> Result<PipeStream, Error> {
        let described = session::Opening {
            idle: None,
            total: None,
            progress: opening.progress,
            log: opening.log,
            listen: opening.listen,
            unannounced: opening.unannounced,
        };
        match self.client.open(described, |id, out| (opening.encode)(id, out)).await {
            Ok(exchange) => Ok(PipeStream { exchange, connection: self }),
            Err(error) => Err(self.refused(error).await),
        }
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn client(&self) -> &PipeClient {
        &self.client
    }

    /// Why nothing was sent.
    pub(crate) async fn refused(&self, error: OpenError) -> Error {
        let text = error.to_string();
        match error {
            OpenError::Disconnected(_) | OpenError::Refused(session::OpenError::Closed) => {
                with_stderr(Error::new(Kind::Lost, Delivery::NotSent, text), self).await
            }
            OpenError::Congested { .. } | OpenError::Refused(session::OpenError::TooManyPending { .. }) => {
                Error::new(Kind::Limit, Delivery::NotSent, text)
            }
            OpenError::Refused(session::OpenError::Encode(error)) => Error::misuse(text).source(error),
        }
    }
}

impl PipeLink {
    pub(crate) fn new(source: Source, limits: &Limits, ears: (Tap, Option<LogSink>)) -> Self {
        let (tap, on_log) = ears;
        let options = PipeOptions { line_bytes: limits.message_bytes, on_log, ..PipeOptions::default() };
        let is_child = matches!(source, Source::Child(_));
        let state = State { source, connection: None, started: VecDeque::new(), closed: false };
        Self {
            state: Mutex::new(state),
            options,
            tap,
            is_child,
            restarts: limits.restarts,
            served: Arc::new(AtomicBool::new(false)),
        }
    }

    pub(crate) fn is_child(&self) -> bool {
        self.is_child
    }

    pub(crate) async fn open(&self, opening: &Opening<'_>) -> Result<PipeStream, Error> {
        self.connection().await?.open(opening).await
    }

    /// The open connection, or a new one.
    pub(crate) async fn connection(&self) -> Result<Connection, Error> {
        let mut state = self.state.lock().await;
        if state.closed {
            return Err(crate::core::closed());
        }
        match state.connection.take() {
            Some(connection) => match connection.client.end() {
                None => {
                    state.connection = Some(connection.clone());
                    return Ok(connection);
                }
                Some(end) => self.may_restart(&mut state, &connection, &end).await?,
            },
            None => state.started.clear(),
        }
        let connection = self.start(&mut state)?;
        state.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Forgets a child that has ended, so that it is started once more although it never answered.
    #[cfg(feature = "legacy")]
    pub(crate) async fn renew_if_ended(&self) {
        let mut state = self.state.lock().await;
        let ended = state.connection.as_ref().is_some_and(|connection| connection.client.end().is_some());
        if ended && self.is_child {
            state.connection = None;
        }
    }

    /// Whether a connection that ended may be replaced.
    async fn may_restart(
        &self,
        state: &mut State,
        connection: &Connection,
        end: &Disconnected,
    ) -> Result<(), Error> {
        let now = Instant::now();
        while state.started.front().is_some_and(|started| now - *started > BUDGET_TIME) {
            state.started.pop_front();
        }
        let (kind, why) = match &state.source {
            Source::Pipe(_) => (Kind::Gone, "it cannot be opened again".to_owned()),
            Source::Child(_) if !self.served.load(Ordering::Relaxed) => {
                (Kind::Gone, "it never answered".to_owned())
            }
            Source::Child(_) if state.started.len() > self.restarts => {
                (Kind::Lost, format!("it was started {} times within a minute", state.started.len()))
            }
            Source::Child(_) => {
                tracing::warn!(%end, "the server ended; it is started again");
                return Ok(());
            }
        };
        let error = Error::new(kind, Delivery::NotSent, format!("{end}, and {why}"));
        // The next request finds the same.
        state.connection = Some(connection.clone());
        Err(with_stderr(error, connection).await)
    }

    fn start(&self, state: &mut State) -> Result<Connection, Error> {
        state.started.push_back(Instant::now());
        let options = self.options.clone();
        let served = Arc::clone(&self.served);
        match &mut state.source {
            Source::Pipe(pipe) => {
                let pipe = pipe.take().ok_or_else(crate::core::closed)?;
                let client = PipeClient::new(tap::tapped(pipe, &self.tap), options);
                Ok(Connection { client, child: None, served })
            }
            Source::Child(command) => {
                let started = command.clone().connect_through(options, |pipe| tap::tapped(pipe, &self.tap));
                let (client, child) = started.map_err(|error| {
                    Error::new(Kind::Unreachable, Delivery::NotSent, error.to_string()).source(error)
                })?;
                Ok(Connection { client, child: Some(Arc::new(child)), served })
            }
        }
    }

    /// Waits until a child was silent on its stderr, too, for as long as this; for ever where there
    /// is no child.
    pub(crate) async fn quiet(&self, patience: Duration) {
        if !self.is_child {
            return std::future::pending().await;
        }
        traces::quiet(patience, || async {
            let state = self.state.lock().await;
            let child = state.connection.as_ref().and_then(|connection| connection.child.as_ref());
            child.and_then(|child| child.last_stderr())
        })
        .await;
    }

    /// Waits until the connection that is open now has ended, and says how; for ever where there is none.
    pub(crate) async fn ended(&self) -> String {
        let connection = self.state.lock().await.connection.clone();
        let Some(connection) = connection else { return std::future::pending().await };
        let end = connection.client.disconnected().await;
        let Some(child) = &connection.child else { return end.to_string() };
        let exited = tokio::time::timeout(LAST_WORDS, child.exited()).await;
        match exited.ok().flatten() {
            Some(status) => format!("The server ended ({status})"),
            None => end.to_string(),
        }
    }

    /// The process that runs now, if the server is one.
    pub(crate) async fn process_id(&self) -> Option<u32> {
        let state = self.state.lock().await;
        state.connection.as_ref().and_then(|connection| connection.child.as_ref()).map(|child| child.id())
    }

    /// What can be seen of a server that gave no answer.
    pub(crate) async fn traces(&self) -> Traces {
        let connection = self.state.lock().await.connection.clone();
        let Some(connection) = connection else { return Traces::default() };
        let end = connection.client.end();
        if let (Some(child), true) = (&connection.child, end.is_some()) {
            let _ = tokio::time::timeout(LAST_WORDS, child.last_words()).await;
        }
        let (noise, lines) = connection.client.noise();
        Traces {
            end,
            status: connection.child.as_ref().and_then(|child| child.status()),
            stderr: connection.child.as_ref().map(|child| traces::tail(&child.stderr())),
            noise: (noise.lines().next().unwrap_or_default().to_owned(), lines),
        }
    }

    /// Closes the pipe, and waits for a child until it is gone.
    pub(crate) async fn close(&self) {
        let connection = {
            let mut state = self.state.lock().await;
            state.closed = true;
            if let Source::Pipe(pipe) = &mut state.source {
                *pipe = None;
            }
            state.connection.take()
        };
        let Some(connection) = connection else { return };
        connection.client.close();
        match &connection.child {
            Some(child) => drop(child.shutdown().await),
            None => {
                // What is queued still goes out; a server that does not take it is left behind.
                let _ = tokio::time::timeout(GOODBYE, connection.client.disconnected()).await;
                connection.client.abort(Disconnected::Closed);
            }
        }
    }
}

/// One exchange over a pipe.
pub(crate) struct PipeStream {
    exchange: PipeExchange,
    connection: Connection,
}

impl PipeStream {
    pub(crate) async fn next(&mut self) -> Result<Said, Error> {
        match self.exchange.next().await {
            Some(Message::Progress(progress)) => Ok(Said::Progress(progress)),
            Some(Message::Log(message)) => Ok(Said::Log(message)),
            Some(Message::Subscription { method, params }) => Ok(Said::Subscription(method, Some(params))),
            Some(Message::Lagged { .. }) => Ok(Said::Missed),
            Some(Message::Ended(end)) => self.ended(end).await,
            None => Err(Error::server_fault("the exchange had ended before")),
        }
    }

    /// The rule that the server broke last, if it broke any.
    pub(crate) fn broken_rule(&self) -> Option<String> {
        self.exchange.broken_rule()
    }

    async fn ended(&self, end: End) -> Result<Said, Error> {
        let (delivery, why) = match end {
            End::Result(result) => {
                self.connection.served.store(true, Ordering::Relaxed);
                return Ok(Said::Result(result));
            }
            End::Error(error) => {
                self.connection.served.store(true, Ordering::Relaxed);
                return Err(Error::protocol(error));
            }
            End::Malformed(what) => {
                return Err(Error::server_fault(format!(
                    "the server's answer is no valid response: {}",
                    crate::error::excerpt(&what)
                )));
            }
            // The session is given no clocks; those above run out first.
            End::TimedOut(_) => return Err(Error::timeout("the request", Duration::ZERO, true)),
            End::TornDown(reason) => {
                let reason = reason.map(|reason| format!(": {}", crate::error::excerpt(&reason)));
                (
                    Delivery::MaybeExecuted,
                    format!("the server ended the subscription{}", reason.unwrap_or_default()),
                )
            }
            End::ConnectionLost(session::Delivery::NotSent) => (Delivery::NotSent, self.end()),
            End::ConnectionLost(session::Delivery::MaybeExecuted) => {
                (Delivery::MaybeExecuted, format!("{}; the request may have been executed", self.end()))
            }
        };
        if let Some(end @ Disconnected::LineTooLong { .. }) = self.exchange.disconnected() {
            return Err(Error::new(Kind::Limit, Delivery::MaybeExecuted, end.to_string())
                .hint("ask for less, or raise the limit message_bytes"));
        }
        Err(with_stderr(Error::new(Kind::Lost, delivery, why), &self.connection).await)
    }

    fn end(&self) -> String {
        match self.exchange.disconnected() {
            Some(end) => end.to_string(),
            None => "The connection to the server has ended".to_owned(),
        }
    }
}

/// What a person needs who wonders why a server ended: what it said last.
async fn with_stderr(error: Error, connection: &Connection) -> Error {
    let Some(child) = &connection.child else { return error };
    // The process is about to be gone; its last words come with that.
    let _ = tokio::time::timeout(LAST_WORDS, child.last_words()).await;
    let stderr = child.stderr();
    let (noise, _) = connection.client.noise();
    let said = traces::tail(if stderr.trim().is_empty() { &noise } else { &stderr });
    if said.is_empty() {
        return error.hint("start the program by hand to see why it ended; it wrote nothing to stderr");
    }
    error.hint(format!("the last it wrote was:\n{said}"))
}

impl fmt::Debug for PipeLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipeLink").field("options", &self.options).finish_non_exhaustive()
    }
}
