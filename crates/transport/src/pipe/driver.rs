//! The loop that drives a client's session over a pipe: reads, writes, keeps the time.

use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::model::notification::LoggingMessage;
use switchboard_protocol::session::{Event, ExchangeId, PeerFault};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::exchange::Message;
use super::mailbox::Mailbox;
use super::{Disconnected, Shared, State};
use crate::lines::Lines;
use crate::memory::Pipe;

type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// How long a server that was asked to leave, or that does not read any more, may go on talking.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// How long the status of a process may come after the end of its output.
const STATUS_WAIT: Duration = Duration::from_millis(500);
/// So many faults of a server are worth a warning; the rest would only repeat it.
const WARNINGS: u64 = 8;
/// So much of a broken rule is kept for whoever waits in vain.
const RULE_CHARS: usize = 300;

/// Runs until the connection has ended, and then ends everything that is open on it.
pub(super) async fn drive(shared: Arc<Shared>, pipe: Pipe) {
    let end = run(&shared, pipe).await;
    tracing::debug!(reason = %end, "a connection over a pipe has ended");
    {
        let mut state = shared.lock();
        state.end = Some(end);
        state.session.handle_closed();
    }
    deliver(&shared);
    shared.ended.notify_waiters();
    shared.room.notify_waiters();
}

async fn run(shared: &Shared, pipe: Pipe) -> Disconnected {
    let Pipe { mut reader, writer } = pipe;
    let mut writer = Some(writer);
    let mut lines = Lines::new(shared.options.line_bytes);
    let mut leaving: Option<(Instant, Disconnected)> = None;
    loop {
        let (deadline, closing) = {
            let mut state = shared.lock();
            if let Some(reason) = state.abort.take() {
                return reason;
            }
            (state.session.poll_timeout(), state.closing && state.session.unsent() == 0)
        };
        if closing && let Some(mut writer) = writer.take() {
            // A peer that is gone already needs no goodbye.
            let _ = writer.shutdown().await;
            leaving = Some((Instant::now() + LAST_WORDS, Disconnected::Closed));
        }
        tokio::select! {
            read = lines.fill(&mut reader) => match read {
                Ok(0) => {
                    lines.remainder().iter().for_each(|line| handle_line(shared, line));
                    return end_of_stream(shared, leaving.map(|(_, reason)| reason)).await;
                }
                Ok(_) => if let Err(end) = handle_lines(shared, &mut lines) {
                    return end;
                },
                Err(error) => return Disconnected::Broken(error.to_string()),
            },
            written = write(shared, writer.as_mut()) => match written {
                Ok(()) => shared.room.notify_waiters(),
                Err(error) => {
                    // What the server said before it closed its input is still to be read.
                    writer = None;
                    shared.lock().closing = true;
                    shared.room.notify_waiters();
                    leaving = Some((Instant::now() + LAST_WORDS, Disconnected::Broken(error.to_string())));
                }
            },
            () = shared.wake.notified() => {}
            () = until(deadline.map(Instant::from_std)) => {
                shared.lock().session.handle_timeout(Instant::now().into_std());
                deliver(shared);
            }
            () = until(leaving.as_ref().map(|(at, _)| *at)) => if let Some((_, reason)) = leaving {
                return reason;
            },
        }
    }
}

/// Why the stream has ended. A process closes its streams a moment before its status can be had,
/// which says more than that, and more than an error of writing to it.
async fn end_of_stream(shared: &Shared, leaving: Option<Disconnected>) -> Disconnected {
    if leaving == Some(Disconnected::Closed) {
        return Disconnected::Closed;
    }
    let status = async {
        loop {
            let (exit, has_process) = {
                let state = shared.lock();
                (state.exit.clone(), state.has_process)
            };
            if exit.is_some() || !has_process {
                return exit;
            }
            shared.wake.notified().await;
        }
    };
    let status = timeout(STATUS_WAIT, status).await.ok().flatten();
    status.or(leaving).unwrap_or(Disconnected::EndOfStream)
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => pending().await,
    }
}

/// Every complete line of a read, before anything else is done.
fn handle_lines(shared: &Shared, lines: &mut Lines) -> Result<(), Disconnected> {
    loop {
        match lines.next_line() {
            Ok(Some(line)) => handle_line(shared, &line),
            Ok(None) => return Ok(()),
            Err(error) => return Err(Disconnected::LineTooLong { limit: error.limit }),
        }
    }
}

fn handle_line(shared: &Shared, line: &Bytes) {
    {
        let mut state = shared.lock();
        match std::str::from_utf8(line) {
            Ok(text) => state.session.handle_message(Instant::now().into_std(), text),
            Err(_) => state.session.handle_invalid_utf8(line),
        }
    }
    deliver(shared);
}

/// Hands every event to whom it concerns. Whatever runs somebody else's code (wakers, sinks) does
/// so after the lock is free, because that code may come back here.
fn deliver(shared: &Shared) {
    loop {
        let next = next_notice(&mut shared.lock());
        let Some(notice) = next else { return };
        match notice {
            Notice::Wake(waker) => waker.into_iter().for_each(Waker::wake),
            Notice::Log(message) => match &shared.options.on_log {
                Some(sink) => sink(message),
                None => tracing::debug!(?message, "a log message of no exchange in particular"),
            },
            #[cfg(feature = "legacy")]
            Notice::Unsolicited(sink, message) => sink(message),
            Notice::Warn(fault) => tracing::warn!("{fault}"),
            Notice::Debug(fault) => tracing::debug!("{fault}"),
        }
    }
}

/// What is left to do about an event once the lock is free.
enum Notice {
    Wake(Option<Waker>),
    Log(LoggingMessage),
    #[cfg(feature = "legacy")]
    Unsolicited(super::UnsolicitedSink, super::Unsolicited),
    Warn(PeerFault),
    Debug(PeerFault),
}

fn next_notice(state: &mut State) -> Option<Notice> {
    Some(Notice::Wake(match state.session.poll_event()? {
        Event::Progress { id, progress } => state.push(id, Message::Progress(progress)),
        Event::Log { id: Some(id), message } => state.push(id, Message::Log(message)),
        Event::Log { id: None, message } => return Some(Notice::Log(message)),
        Event::Subscription { id, method, params } => {
            state.push(id, Message::Subscription { method, params })
        }
        Event::Ended { id, end } => state.mailboxes.remove(&id).and_then(|mailbox| lock(&mailbox).end(end)),
        #[cfg(feature = "legacy")]
        Event::Agreed(revision) => return state.unsolicited(super::Unsolicited::Agreed(revision)),
        #[cfg(feature = "legacy")]
        Event::Request { id, method, params } => {
            return state.unsolicited(super::Unsolicited::Request { id, method, params });
        }
        #[cfg(feature = "legacy")]
        Event::Notification { method, params } => {
            return state.unsolicited(super::Unsolicited::Notification { method, params });
        }
        Event::Fault(fault) => return Some(state.fault(fault)),
    }))
}

/// The beginning of what was broken: it repeats what the server said, which may be long.
fn shown(fault: &PeerFault) -> String {
    fault.to_string().chars().take(RULE_CHARS).collect()
}

impl State {
    fn fault(&mut self, fault: PeerFault) -> Notice {
        self.broken_rule = Some(shown(&fault));
        // These often mean that every call is going to time out: a server that changes the type of
        // ids, or that waits for an answer.
        let grave = matches!(fault, PeerFault::ForeignAnswer { .. } | PeerFault::ServerRequest { .. });
        let counters = self.session.counters();
        let few = counters.foreign + counters.requests <= WARNINGS;
        if grave && few { Notice::Warn(fault) } else { Notice::Debug(fault) }
    }

    fn push(&mut self, id: ExchangeId, message: Message) -> Option<Waker> {
        self.mailboxes.get(&id).and_then(|mailbox| lock(mailbox).push(message))
    }

    /// Without a sink nobody is there to take it, which is as good as having nothing left to do.
    #[cfg(feature = "legacy")]
    fn unsolicited(&self, message: super::Unsolicited) -> Option<Notice> {
        Some(match &self.unsolicited {
            Some(sink) => Notice::Unsolicited(Arc::clone(sink), message),
            None => Notice::Wake(None),
        })
    }
}

fn lock(mailbox: &Mutex<Mailbox>) -> MutexGuard<'_, Mailbox> {
    mailbox.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One write of whatever waits, flushed when that was all. Pending while there is nothing.
fn write<'a>(
    shared: &'a Shared,
    writer: Option<&'a mut Writer>,
) -> impl Future<Output = io::Result<()>> + 'a {
    let mut writer = writer;
    std::future::poll_fn(move |cx| match writer.as_mut() {
        Some(writer) => poll_write(shared, writer, cx),
        None => Poll::Pending,
    })
}

fn poll_write(shared: &Shared, writer: &mut Writer, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    let mut state = shared.lock();
    let Some(bytes) = state.session.poll_transmit() else { return Poll::Pending };
    let count = ready!(Pin::new(&mut *writer).poll_write(cx, bytes))?;
    if count == 0 {
        return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
    }
    state.session.handle_transmitted(count);
    if state.session.unsent() == 0 {
        // A pipe has nothing to flush; a buffered writer goes on by itself the next time.
        let _ = Pin::new(writer).poll_flush(cx)?;
    }
    Poll::Ready(Ok(()))
}
