//! Event streams: what an exchange or a subscription says, as events, with comments in between that
//! keep the connection alive.
//!
//! Nothing is produced ahead of the reader: one chunk holds what was ready when it was asked for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard_sse::{encode_comment, encode_event};
use tokio::time::{Instant, Sleep};

use crate::exchange::{Exchange, ExchangeEvent};
use crate::listen::{ListenStream, Slot};

/// Enough for one write; what is ready beyond it comes with the next chunk.
const CHUNK_BYTES: usize = 16 * 1024;

/// A running exchange or subscription as the body of an answer.
pub(crate) struct EventStream {
    source: Source,
    /// What was said before the answer became a stream.
    first: Option<Bytes>,
    keep_alive: KeepAlive,
    /// Holds the place of the exchange until its end.
    _slot: Slot,
}

enum Source {
    Exchange(Exchange),
    Listen(ListenStream),
    Ended,
}

/// Comments that keep a connection alive.
pub(crate) struct KeepAlive {
    interval: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl EventStream {
    /// Goes on with an exchange after its first notification, or after it was silent for long.
    pub(crate) fn exchange(
        exchange: Exchange,
        first: Option<Bytes>,
        (slot, interval): (Slot, Duration),
    ) -> Self {
        Self { source: Source::Exchange(exchange), first, keep_alive: KeepAlive::new(interval), _slot: slot }
    }

    /// Carries a subscription.
    pub(crate) fn listen(listen: ListenStream, (slot, interval): (Slot, Duration)) -> Self {
        Self {
            source: Source::Listen(listen),
            first: None,
            keep_alive: KeepAlive::new(interval),
            _slot: slot,
        }
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut out = BytesMut::new();
        if let Some(first) = self.first.take() {
            encode_event(&mut out, &first);
        }
        while out.len() < CHUNK_BYTES {
            match self.source.poll_message(cx) {
                Poll::Ready(Some(message)) => encode_event(&mut out, &message),
                Poll::Ready(None) if out.is_empty() => return Poll::Ready(None),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        if out.is_empty() {
            std::task::ready!(self.keep_alive.poll(cx));
            encode_comment(&mut out, "");
        }
        self.keep_alive.restart();
        Poll::Ready(Some(out.freeze()))
    }
}

impl Source {
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Ended => Poll::Ready(None),
            Self::Listen(listen) => listen.poll_message(cx),
            Self::Exchange(exchange) => match std::task::ready!(exchange.poll_event(cx)) {
                ExchangeEvent::Notification(message) => Poll::Ready(Some(message)),
                ExchangeEvent::Reply(reply) => {
                    let mut message = Vec::new();
                    reply.encode(&mut message, &exchange.id);
                    *self = Self::Ended;
                    Poll::Ready(Some(message.into()))
                }
            },
        }
    }
}

impl KeepAlive {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, timer: None }
    }

    /// Ready once the stream was silent for the interval.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let interval = self.interval;
        self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(interval))).as_mut().poll(cx)
    }

    pub(crate) fn restart(&mut self) {
        if let Some(timer) = &mut self.timer {
            let now = Instant::now();
            timer.as_mut().reset(now.checked_add(self.interval).unwrap_or(now));
        }
    }
}
