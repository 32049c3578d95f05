//! Event streams of sessions as bodies of answers: events that can be asked for again, comments that keep
//! the connection alive, and an end of the connection now and then, where the client comes back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard_protocol::era::legacy::Features;
use switchboard_sse::{EventRef, encode_comment, encode_event_with};
use tokio::time::Sleep;

use super::live::Live;
use super::log::{EventId, Next, Reader};
use super::sse::Reading;
use crate::http::KeepAlive;
use crate::limits::Limits;
use crate::listen::Slot;

/// Enough for one write; what is ready beyond it comes with the next chunk.
const CHUNK_BYTES: usize = 16 * 1024;

/// A service that ends its streams.
pub(crate) type Closing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An event stream of a session.
pub(crate) struct Stream {
    source: Source,
    /// What comes first.
    head: BytesMut,
    keep_alive: KeepAlive,
    /// When the connection ends, although the stream does not.
    cut: Option<Cut>,
    /// Holds the place of a stream that no request has one for.
    _slot: Option<Slot>,
}

enum Source {
    /// What a request leads to.
    Request(Reader),
    /// What no request leads to.
    Standing(Standing),
    /// All that a client of HTTP+SSE hears.
    Peer(Box<Reading>),
    Ended,
}

/// The stream of a session that belongs to no request.
pub(super) struct Standing {
    pub(super) reader: Reader,
    pub(super) live: Arc<Live>,
    pub(super) closing: Closing,
}

struct Cut {
    timer: Pin<Box<Sleep>>,
    retry: Duration,
}

impl Stream {
    /// The stream of a request, from its beginning.
    pub(super) fn of_request(reader: Reader, (features, limits): (&Features, &Limits)) -> Self {
        let position = reader.position();
        Self::new(Source::Request(reader), limits, None).primed(position, (features, limits))
    }

    /// The stream of a request, taken up again.
    pub(super) fn resumed(reader: Reader, slot: Slot, (features, limits): (&Features, &Limits)) -> Self {
        Self::new(Source::Request(reader), limits, Some(slot)).cut_off(features, limits)
    }

    pub(super) fn standing(standing: Standing, slot: Slot, (features, limits): (&Features, &Limits)) -> Self {
        let position = standing.reader.position();
        let source = Source::Standing(standing);
        Self::new(source, limits, Some(slot)).primed(position, (features, limits))
    }

    pub(super) fn peer(reading: Reading, slot: Slot, limits: &Limits) -> Self {
        Self::new(Source::Peer(Box::new(reading)), limits, Some(slot))
    }

    fn new(source: Source, limits: &Limits, slot: Option<Slot>) -> Self {
        let keep_alive = KeepAlive::new(limits.keep_alive);
        Self { source, head: BytesMut::new(), keep_alive, cut: None, _slot: slot }
    }

    /// Lets the client know from where to take the stream up before anything was said in it.
    fn primed(mut self, position: EventId, (features, limits): (&Features, &Limits)) -> Self {
        if features.priming_event {
            let id = position.to_string();
            let retry = Some(limits.sessions.retry);
            put(&mut self.head, &EventRef { event: None, id: Some(&id), retry, data: Some(b"") });
        }
        self.cut_off(features, limits)
    }

    fn cut_off(mut self, features: &Features, limits: &Limits) -> Self {
        if features.priming_event {
            let timer = Box::pin(tokio::time::sleep(limits.sessions.stream_time));
            self.cut = Some(Cut { timer, retry: limits.sessions.retry });
        }
        self
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut out = std::mem::take(&mut self.head);
        let mut is_over = self.poll_cut(cx, &mut out).is_ready();
        while !is_over && out.len() < CHUNK_BYTES {
            match self.source.poll(cx, &mut out) {
                Poll::Ready(Some(())) => {}
                Poll::Ready(None) => is_over = true,
                Poll::Pending => break,
            }
        }
        if is_over {
            self.source = Source::Ended;
            self.cut = None;
        }
        if out.is_empty() {
            if is_over {
                return Poll::Ready(None);
            }
            ready!(self.keep_alive.poll(cx));
            encode_comment(&mut out, "");
        }
        self.keep_alive.restart();
        Poll::Ready(Some(out.freeze()))
    }

    /// Ready when the connection has carried the stream for long enough.
    fn poll_cut(&mut self, cx: &mut Context<'_>, out: &mut BytesMut) -> Poll<()> {
        let Some(cut) = &mut self.cut else { return Poll::Pending };
        ready!(cut.timer.as_mut().poll(cx));
        put(out, &EventRef { retry: Some(cut.retry), ..EventRef::default() });
        Poll::Ready(())
    }
}

impl Source {
    /// Writes the next event; `None` at the end.
    fn poll(&mut self, cx: &mut Context<'_>, out: &mut BytesMut) -> Poll<Option<()>> {
        match self {
            Self::Request(reader) => poll_reader(reader, cx, out),
            Self::Standing(standing) => standing.poll(cx, out),
            Self::Peer(reading) => reading.poll(cx, out),
            Self::Ended => Poll::Ready(None),
        }
    }
}

impl Standing {
    fn poll(&mut self, cx: &mut Context<'_>, out: &mut BytesMut) -> Poll<Option<()>> {
        if self.closing.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        loop {
            if let Poll::Ready(next) = poll_reader(&mut self.reader, cx, out) {
                return Poll::Ready(next);
            }
            let message = ready!(self.live.session().poll_change(cx));
            self.reader.log().push(message);
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.live.session().leave_changes();
        // From now on it is idle.
        self.live.settle();
    }
}

fn poll_reader(reader: &mut Reader, cx: &mut Context<'_>, out: &mut BytesMut) -> Poll<Option<()>> {
    match ready!(reader.poll_next(cx)) {
        Next::End => Poll::Ready(None),
        Next::Event(id, message) => {
            let id = id.to_string();
            put(out, &EventRef { id: Some(&id), data: Some(&message), ..EventRef::default() });
            Poll::Ready(Some(()))
        }
    }
}

/// Writes an event whose fields are ours, and have no line ends.
pub(super) fn put(out: &mut BytesMut, event: &EventRef<'_>) {
    let done = encode_event_with(out, event);
    debug_assert!(done.is_ok(), "{event:?}");
}

#[cfg(test)]
mod tests;
