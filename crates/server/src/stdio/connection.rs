//! One client on a pipe: reads whole lines, runs calls, writes many answers at once.
//!
//! A handler is polled where its request was read; most are ready at once, and their answers go into
//! one buffer and out with one write. Only those that wait are kept, in `work.rs`. There is no task and
//! no channel per call; dropping a handler is its cancellation.

#[cfg(feature = "legacy")]
mod legacy;
mod work;

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Extensions;
use switchboard_protocol::frame::RequestFrame;
use switchboard_protocol::session::{Incoming, ServerLimits, ServerSession};
use switchboard_protocol::{ProtocolError, RequestId};
use switchboard_transport::Lines;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Sleep, sleep};

use crate::call::Call;
use crate::exchange::{Dispatch, ExchangeEvent};
use crate::reply::Reply;
use crate::server::Server;
use work::{Said, Source, Work};

/// A client that reads no answers is not read from while more than this waits for it.
const UNSENT_BYTES: usize = 1024 * 1024;
/// How long running calls may go on after the end of the input.
const LAST_REPLIES: Duration = Duration::from_millis(500);

/// The driver of one connection.
pub(super) struct Connection<R, W> {
    server: Server,
    reader: R,
    writer: W,
    lines: Lines,
    session: ServerSession,
    work: Work,
    #[cfg(feature = "legacy")]
    legacy: crate::legacy::Peer,
    /// Asks for a graceful end.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Set once nothing is read any more: when to stop waiting for what still runs.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Something was written and not flushed yet.
    dirty: bool,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Connection<R, W> {
    pub(super) fn new(
        server: Server,
        (reader, writer): (R, W),
        end: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Self {
        let limits = server.limits();
        Self {
            lines: Lines::new(limits.line_bytes),
            session: ServerSession::new(ServerLimits { open: limits.concurrent_exchanges }),
            work: Work::new(server.listens().clone()),
            #[cfg(feature = "legacy")]
            legacy: crate::legacy::Peer::default(),
            server,
            reader,
            writer,
            end: Some(end),
            deadline: None,
            dirty: false,
        }
    }

    /// Serves until the client or the server has had enough.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.poll_until_done(cx) {
            // A client that is gone is the ordinary end of a connection.
            Poll::Ready(Err(error)) if is_of_the_peer(&error) => Poll::Ready(Ok(())),
            other => other,
        }
    }

    fn poll_until_done(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.end.as_mut().is_some_and(|end| end.as_mut().poll(cx).is_ready()) {
            self.stop_reading(self.server.limits().shutdown_grace);
        }
        loop {
            let all_said = self.take_lines(cx) & self.run_work(cx);
            let written = self.poll_write(cx)?;
            if self.has_room() {
                if !all_said {
                    continue;
                }
                if self.deadline.is_none() {
                    let read = pin!(self.lines.fill(&mut self.reader)).poll(cx);
                    match read? {
                        Poll::Ready(0) => self.end_of_input(cx),
                        Poll::Ready(_) => {}
                        Poll::Pending => return Poll::Pending,
                    }
                    continue;
                }
                if written.is_ready() && self.work.is_empty() {
                    return Poll::Ready(Ok(()));
                }
            }
            let Some(deadline) = &mut self.deadline else { return Poll::Pending };
            ready!(deadline.as_mut().poll(cx));
            tracing::debug!(running = self.session.open(), "calls that still ran are dropped");
            return Poll::Ready(Ok(()));
        }
    }

    fn has_room(&self) -> bool {
        self.session.unsent() < UNSENT_BYTES
    }

    /// Every complete line that has arrived, for as long as the client takes the answers. Says
    /// whether that was all.
    fn take_lines(&mut self, cx: &mut Context<'_>) -> bool {
        while self.has_room() {
            match self.lines.next_line() {
                Ok(Some(line)) => self.take_line(&line, cx),
                Ok(None) => return true,
                Err(error) => {
                    self.session.handle_unreadable(&ProtocolError::invalid_request(error.to_string()));
                }
            }
        }
        false
    }

    fn take_line(&mut self, line: &Bytes, cx: &mut Context<'_>) {
        let Ok(text) = std::str::from_utf8(line) else { return self.session.handle_invalid_utf8(line) };
        match self.session.handle_message(text) {
            Incoming::Request(request) => self.run(request, line, cx),
            Incoming::Cancel(id) => {
                self.work.cancel(&id);
                #[cfg(feature = "legacy")]
                self.legacy.cancel(&id);
            }
            #[cfg(feature = "legacy")]
            Incoming::InSession(message) => self.take_in_session(message, line, cx),
            _ => {}
        }
    }

    fn run(&mut self, request: RequestFrame<'_>, line: &Bytes, cx: &mut Context<'_>) {
        #[cfg(feature = "legacy")]
        let std::ops::ControlFlow::Continue(request) = self.run_in_session(request, line, cx) else { return };
        let id = request.id.clone();
        let call = match Call::from_frame(request, line, Extensions::new()) {
            Ok(call) => call,
            Err(refusal) => return self.reply(&id, refusal.into_reply()),
        };
        match self.server.dispatch(call) {
            Dispatch::Ready(reply) => self.reply(&id, reply),
            Dispatch::Running(mut exchange) => {
                while self.has_room() {
                    match exchange.poll_event(cx) {
                        Poll::Ready(ExchangeEvent::Notification(message)) => self.notify(&id, &message),
                        Poll::Ready(ExchangeEvent::Reply(reply)) => return self.reply(&id, reply),
                        Poll::Pending => break,
                    }
                }
                self.work.add(id, Source::Exchange(Box::new(exchange)));
            }
            Dispatch::Listen(request) => match self.work.listen(request, &**self.server.bus()) {
                Some(listen) => self.work.add(id, listen),
                None => {
                    let limit = self.server.limits().listen_streams;
                    let message =
                        format!("{limit} subscriptions are open, which is the limit of this server");
                    self.refuse(&id, message);
                }
            },
        }
    }

    /// What the handlers that wait have to say by now, likewise.
    fn run_work(&mut self, cx: &mut Context<'_>) -> bool {
        while self.has_room() {
            match self.work.poll_next(cx) {
                Poll::Ready(Some((id, Said::Notification(message)))) => self.notify(&id, &message),
                Poll::Ready(Some((id, Said::Reply(reply)))) => {
                    self.work.forget(&id);
                    self.reply(&id, reply);
                }
                Poll::Ready(Some((id, Said::Result(message)))) => {
                    self.work.forget(&id);
                    self.session.respond(&id, |_, out| out.extend_from_slice(&message));
                }
                #[cfg(feature = "legacy")]
                Poll::Ready(None) | Poll::Pending => return self.say_changes(cx),
                #[cfg(not(feature = "legacy"))]
                Poll::Ready(None) | Poll::Pending => return true,
            }
        }
        false
    }

    fn notify(&mut self, id: &RequestId, message: &Bytes) {
        self.session.notify(id, |out| out.extend_from_slice(message));
    }

    fn reply(&mut self, id: &RequestId, reply: Reply) {
        self.session.respond(id, |id, out| reply.encode(out, id));
    }

    fn refuse(&mut self, id: &RequestId, message: String) {
        use switchboard_protocol::error::Origin;
        self.reply(id, Reply::error(ProtocolError::internal(message), Origin::Transport));
    }

    /// Ready once everything is written and flushed.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(bytes) = self.session.poll_transmit() {
            let count = ready!(Pin::new(&mut self.writer).poll_write(cx, bytes))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.session.handle_transmitted(count);
            self.dirty = true;
        }
        if self.dirty {
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.dirty = false;
        }
        Poll::Ready(Ok(()))
    }

    fn end_of_input(&mut self, cx: &mut Context<'_>) {
        if let Some(line) = self.lines.remainder() {
            self.take_line(&line, cx);
        }
        self.stop_reading(LAST_REPLIES);
    }

    /// Subscriptions end with their result; whatever else runs has until the deadline.
    fn stop_reading(&mut self, grace: Duration) {
        self.end = None;
        self.work.end_subscriptions();
        self.deadline.get_or_insert_with(|| Box::pin(sleep(grace)));
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionReset)
}
