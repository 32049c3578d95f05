//! The handlers and subscriptions of a connection that wait for something.

use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::stream::{AbortHandle, Abortable, SelectAll, Stream};
use switchboard_protocol::RequestId;
use tokio::sync::watch;

use crate::bus::ChangeBus;
use crate::exchange::{Exchange, ExchangeEvent, ListenRequest};
use crate::listen::{ListenStream, Slot, Slots};
use crate::reply::Reply;

/// Whatever runs, by the id of its request. Only what was woken is polled.
pub(super) struct Work {
    running: SelectAll<Abortable<Running>>,
    handles: HashMap<RequestId, AbortHandle>,
    listens: Slots,
    /// True once subscriptions are to end.
    end: watch::Sender<bool>,
}

/// What something that runs says next.
pub(super) enum Said {
    /// A notification, encoded.
    Notification(Bytes),
    /// The reply of a handler.
    Reply(Reply),
    /// The end, encoded.
    Result(Bytes),
}

/// Something that says messages until its end.
pub(super) enum Source {
    Exchange(Box<Exchange>),
    Listen(Box<Listen>),
    #[cfg(feature = "legacy")]
    Session(Box<crate::legacy::Exchange>),
}

/// A subscription that is open, and its place among those that may be.
pub(super) struct Listen {
    stream: ListenStream,
    _slot: Slot,
}

struct Running {
    id: RequestId,
    source: Option<Source>,
}

impl Work {
    pub(super) fn new(listens: Slots) -> Self {
        Self { running: SelectAll::new(), handles: HashMap::new(), listens, end: watch::Sender::new(false) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn add(&mut self, id: RequestId, source: Source) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(id.clone(), handle);
        self.running.push(Abortable::new(Running { id, source: Some(source) }, registration));
    }

    /// Opens a subscription, unless too many are open.
    pub(super) fn listen(&self, request: ListenRequest, bus: &dyn ChangeBus) -> Option<Source> {
        let slot = self.listens.take()?;
        let mut end = self.end.subscribe();
        let stream = ListenStream::open(request, bus, async move {
            // The sender lives as long as the subscription, so this is no error.
            let _ = end.wait_for(|end| *end).await;
        });
        Some(Source::Listen(Box::new(Listen { stream, _slot: slot })))
    }

    /// Drops whatever runs for this request, which stops it.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        if let Some(handle) = self.handles.remove(id) {
            handle.abort();
        }
    }

    /// To be called when a request has ended by itself.
    pub(super) fn forget(&mut self, id: &RequestId) {
        self.handles.remove(id);
    }

    pub(super) fn end_subscriptions(&self) {
        self.end.send_replace(true);
    }

    /// What is said next; `None` if nothing runs.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(RequestId, Said)>> {
        Pin::new(&mut self.running).poll_next(cx)
    }
}

impl Stream for Running {
    type Item = (RequestId, Said);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        let said = match source {
            Source::Exchange(exchange) => match ready!(exchange.poll_event(cx)) {
                ExchangeEvent::Notification(message) => Said::Notification(message),
                ExchangeEvent::Reply(reply) => Said::Reply(reply),
            },
            Source::Listen(listen) => match ready!(listen.stream.poll_message(cx)) {
                Some(message) if listen.stream.has_ended() => Said::Result(message),
                Some(message) => Said::Notification(message),
                None => return Poll::Ready(None),
            },
            #[cfg(feature = "legacy")]
            Source::Session(exchange) => match ready!(exchange.poll_event(cx)) {
                crate::legacy::Event::Message(message) => Said::Notification(message),
                crate::legacy::Event::Reply(answer) => Said::Result(answer.into()),
                crate::legacy::Event::Cancelled => return Poll::Ready(None),
            },
        };
        if matches!(said, Said::Reply(_) | Said::Result(_)) {
            self.source = None;
        }
        Poll::Ready(Some((self.id.clone(), said)))
    }
}
