//! The client's driver for a pipe: opens exchanges on it and hands each what the server says about it.
//!
//! One task reads, writes and keeps the time; callers encode their requests themselves, straight
//! into the session's buffer. Nothing here decides what a message means. Where to look next:
//! `driver.rs` is the loop, `mailbox.rs` what waits for a slow reader.

mod driver;
mod exchange;
#[cfg(feature = "legacy")]
mod legacy;
mod mailbox;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_protocol::RequestId;
use switchboard_protocol::model::notification::LoggingMessage;
use switchboard_protocol::session::{self, ClientLimits, ClientSession, ExchangeId, Opening};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::memory::Pipe;
use mailbox::Mailbox;

pub use exchange::{Message, PipeExchange};
#[cfg(feature = "legacy")]
pub use legacy::{Unsolicited, UnsolicitedSink};
pub use mailbox::MailboxLimits;

/// Takes log messages that belong to no exchange in particular. It is called from the task that
/// reads, so it must not block.
pub type LogSink = Arc<dyn Fn(LoggingMessage) + Send + Sync>;

/// Bounds and sinks of a connection.
#[derive(Clone)]
pub struct PipeOptions {
    /// Bytes of one line of the server; 8 MiB by default. A longer one ends the connection.
    pub line_bytes: usize,
    /// Bytes that may wait to be written before [`PipeClient::open`] waits; 1 MiB by default.
    pub unsent_bytes: usize,
    /// Bounds of the session.
    pub session: ClientLimits,
    /// What may wait for the reader of one exchange.
    pub mailbox: MailboxLimits,
    /// Log messages that belong to no exchange in particular; dropped by default.
    pub on_log: Option<LogSink>,
}

impl Default for PipeOptions {
    fn default() -> Self {
        Self {
            line_bytes: 8 * 1024 * 1024,
            unsent_bytes: 1024 * 1024,
            session: ClientLimits::default(),
            mailbox: MailboxLimits::default(),
            on_log: None,
        }
    }
}

impl fmt::Debug for PipeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipeOptions")
            .field("line_bytes", &self.line_bytes)
            .field("unsent_bytes", &self.unsent_bytes)
            .finish_non_exhaustive()
    }
}

/// Why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disconnected {
    /// This side closed it.
    #[error("The connection was closed from this side")]
    Closed,
    /// The server closed its output.
    #[error("The server closed its output")]
    EndOfStream,
    /// The server sent a line that is longer than [`PipeOptions::line_bytes`].
    #[error(
        "The server sent a message longer than the limit of {limit} bytes; raise the limit if that is expected"
    )]
    LineTooLong {
        /// In bytes.
        limit: usize,
    },
    /// Reading or writing failed.
    #[error("The connection to the server broke: {0}")]
    Broken(String),
    /// The server's process has ended, as its status says.
    #[error("The server's process has ended ({0})")]
    Exited(String),
}

/// Why an exchange could not be opened. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The connection has ended.
    #[error("{0}")]
    Disconnected(Disconnected),
    /// The session refuses.
    #[error(transparent)]
    Refused(#[from] session::OpenError),
    /// The server did not read its input for as long as the request might have taken.
    #[error("The server does not read its input; {unsent} bytes wait to be written")]
    Congested {
        /// In bytes.
        unsent: usize,
    },
}

/// A connection to a server over a pipe. Cheap to clone; the connection closes when the last clone
/// and the last exchange are dropped.
#[derive(Clone)]
pub struct PipeClient {
    handle: Arc<Handle>,
}

/// Closes the connection when nobody can use it any more.
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// What the driver and the callers share. The lock is held only between two awaits.
struct Shared {
    state: Mutex<State>,
    options: PipeOptions,
    /// There is something to write, or the connection is to be closed.
    wake: Notify,
    /// Something was written.
    room: Notify,
    /// The connection has ended.
    ended: Notify,
}

struct State {
    session: ClientSession,
    mailboxes: HashMap<ExchangeId, Arc<Mutex<Mailbox>>>,
    closing: bool,
    /// Ends the connection without waiting for anything.
    abort: Option<Disconnected>,
    /// The server is a process, whose end will be told.
    has_process: bool,
    /// How that process ended.
    exit: Option<Disconnected>,
    end: Option<Disconnected>,
    /// The rule that the server broke last, as far as it is short.
    broken_rule: Option<String>,
    #[cfg(feature = "legacy")]
    unsolicited: Option<UnsolicitedSink>,
}

impl Shared {
    // Nothing panics between taking a lock and leaving it, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what is queued, then closes the server's input.
    fn close(&self) {
        self.lock().closing = true;
        self.wake.notify_one();
    }

    fn abort(&self, reason: Disconnected) {
        self.lock().abort = Some(reason);
        self.wake.notify_one();
    }

    /// Waits until the connection has ended.
    async fn disconnected(&self) -> Disconnected {
        loop {
            let ended = self.ended.notified();
            if let Some(end) = self.lock().end.clone() {
                return end;
            }
            ended.await;
        }
    }
}

impl PipeClient {
    /// Starts to drive a connection, in a task of its own.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn new(pipe: Pipe, options: PipeOptions) -> Self {
        let state = State {
            session: ClientSession::new(options.session),
            mailboxes: HashMap::new(),
            closing: false,
            abort: None,
            has_process: false,
            exit: None,
            end: None,
            broken_rule: None,
            #[cfg(feature = "legacy")]
            unsolicited: None,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            options,
            wake: Notify::new(),
            room: Notify::new(),
            ended: Notify::new(),
        });
        tokio::spawn(driver::drive(Arc::clone(&shared), pipe));
        Self { handle: Arc::new(Handle { shared }) }
    }

    /// Opens an exchange: `encode` appends the request under the id that it is given; if the
    /// request carries a progress token, that is the id too. Waits while too much is unsent.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing was sent.
    pub async fn open(
        &self,
        opening: Opening,
        encode: impl FnOnce(&RequestId, &mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> Result<PipeExchange, OpenError> {
        self.wait_for_room(opening).await?;
        let shared = &self.handle.shared;
        let mailbox = Arc::new(Mutex::new(Mailbox::new(shared.options.mailbox)));
        let id = {
            let mut state = shared.lock();
            if state.end.is_some() || state.closing {
                let end = state.end.clone().unwrap_or(Disconnected::Closed);
                return Err(OpenError::Disconnected(end));
            }
            let id = state.session.open(Instant::now().into_std(), opening, encode)?;
            state.mailboxes.insert(id, Arc::clone(&mailbox));
            id
        };
        shared.wake.notify_one();
        Ok(PipeExchange::new(id, mailbox, self.clone()))
    }

    async fn wait_for_room(&self, opening: Opening) -> Result<(), OpenError> {
        let shared = &self.handle.shared;
        let patience = opening.idle.into_iter().chain(opening.total).min();
        let wait = async {
            loop {
                let room = shared.room.notified();
                {
                    let state = shared.lock();
                    let over = state.end.is_some() || state.closing;
                    if over || state.session.unsent() <= shared.options.unsent_bytes {
                        return;
                    }
                }
                room.await;
            }
        };
        match patience {
            None => wait.await,
            Some(patience) if tokio::time::timeout(patience, wait).await.is_ok() => {}
            Some(_) => return Err(OpenError::Congested { unsent: shared.lock().session.unsent() }),
        }
        Ok(())
    }

    /// Writes what is queued, then closes the server's input, which asks a server on a pipe to
    /// leave. Answers that still come are delivered.
    pub fn close(&self) {
        self.handle.shared.close();
    }

    /// Ends the connection at once; everything open ends with this reason.
    pub fn abort(&self, reason: Disconnected) {
        self.handle.shared.abort(reason);
    }

    /// Waits until the connection has ended, without keeping it open.
    pub fn disconnected(&self) -> impl Future<Output = Disconnected> + Send + use<> {
        let shared = Arc::clone(&self.handle.shared);
        async move { shared.disconnected().await }
    }

    /// Why the connection has ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<Disconnected> {
        self.handle.shared.lock().end.clone()
    }

    /// The beginning of what the server wrote that is no message, and how many lines that were:
    /// worth showing when a server does not start.
    #[must_use]
    pub fn noise(&self) -> (String, u64) {
        let state = self.handle.shared.lock();
        (state.session.noise().sample().into_owned(), state.session.noise().lines())
    }

    /// What was dropped so far, by kind.
    #[must_use]
    pub fn counters(&self) -> session::Counters {
        self.handle.shared.lock().session.counters()
    }

    /// How many exchanges are open.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.handle.shared.lock().session.pending()
    }

    /// Makes this the connection to a process; the handle does not keep the connection open.
    #[cfg(feature = "process")]
    pub(crate) fn process(&self) -> ProcessEnd {
        self.handle.shared.lock().has_process = true;
        ProcessEnd(Arc::clone(&self.handle.shared))
    }
}

/// The connection as the supervisor of the server's process sees it.
#[cfg(feature = "process")]
pub(crate) struct ProcessEnd(Arc<Shared>);

#[cfg(feature = "process")]
impl ProcessEnd {
    pub(crate) fn close(&self) {
        self.0.close();
    }

    /// The process has ended; what it wrote before may still be on its way.
    pub(crate) fn exited(&self, status: String) {
        self.0.lock().exit = Some(Disconnected::Exited(status));
        self.0.wake.notify_one();
    }

    /// Ends the connection although somebody else holds it open.
    pub(crate) fn abort(&self) {
        let exit = self.0.lock().exit.clone();
        self.0.abort(exit.unwrap_or(Disconnected::EndOfStream));
    }

    /// Waits until the connection has ended.
    pub(crate) async fn disconnected(&self) {
        self.0.disconnected().await;
    }
}

impl fmt::Debug for PipeClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipeClient").field("pending", &self.pending()).finish_non_exhaustive()
    }
}
