//! What a connection does for the session of its client.

use std::ops::ControlFlow;
use std::task::{Context, Poll};

use bytes::Bytes;
use switchboard_protocol::ProtocolError;
use switchboard_protocol::frame::RequestFrame;
use switchboard_protocol::session::InSession;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Connection;
use super::work::Source;
use crate::legacy::{Event, Exchange, Step, split_batch};

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Connection<R, W> {
    /// Takes a request, if it is of the legacy era, and gives back what is not.
    pub(super) fn run_in_session<'a>(
        &mut self,
        request: RequestFrame<'a>,
        line: &Bytes,
        cx: &mut Context<'_>,
    ) -> ControlFlow<(), RequestFrame<'a>> {
        if self.legacy.is_modern(&self.server, &request) {
            return ControlFlow::Continue(request);
        }
        let id = request.id.clone();
        let was_open = self.legacy.session().is_some();
        match self.legacy.take(&self.server, request, line) {
            Step::Ready(answer) => {
                self.session.respond(&id, |_, out| out.extend_from_slice(&answer));
            }
            Step::Running(exchange) => self.start(exchange, cx),
        }
        if !was_open && self.legacy.session().is_some() {
            self.session.open_session(self.legacy.takes_batches());
        }
        ControlFlow::Break(())
    }

    fn start(&mut self, mut exchange: Exchange, cx: &mut Context<'_>) {
        let id = exchange.id().clone();
        while self.has_room() {
            match exchange.poll_event(cx) {
                Poll::Ready(Event::Message(message)) => self.notify(&id, &message),
                Poll::Ready(Event::Reply(answer)) => {
                    self.session.respond(&id, |_, out| out.extend_from_slice(&answer));
                    return;
                }
                Poll::Ready(Event::Cancelled) => return,
                Poll::Pending => break,
            }
        }
        self.work.add(id, Source::Session(Box::new(exchange)));
    }

    /// Takes what only a session has.
    pub(super) fn take_in_session(&mut self, message: InSession<'_>, line: &Bytes, cx: &mut Context<'_>) {
        let Some(session) = self.legacy.session() else { return };
        match message {
            InSession::Response(response) => {
                session.handle_response(response);
            }
            InSession::Notification(notification) => session.handle_notification(&notification),
            InSession::Batch(_) => self.take_batch(line, cx),
        }
    }

    /// Takes the messages of a batch one by one: each is answered as if it had come alone.
    fn take_batch(&mut self, line: &Bytes, cx: &mut Context<'_>) {
        let messages = match split_batch(line, self.server.limits().batch_messages) {
            Ok(messages) => messages,
            Err(error) => return self.session.refuse(&error),
        };
        for message in messages {
            if message.starts_with(b"[") {
                let error = ProtocolError::invalid_request("A batch holds messages, not batches");
                self.session.refuse(&error);
            } else {
                self.take_line(&message, cx);
            }
        }
    }

    /// What the session says of its own accord, for as long as the client takes it. Says whether that was
    /// all.
    pub(super) fn say_changes(&mut self, cx: &mut Context<'_>) -> bool {
        while self.has_room() {
            let Poll::Ready(message) = self.legacy.poll_change(cx) else { return true };
            self.session.say(|out| out.extend_from_slice(&message));
        }
        false
    }
}
