//! A response body that arrives in given pieces and ends as the script says.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;

use super::script::Ending;

pub(super) struct ScriptedBody {
    pieces: VecDeque<Bytes>,
    ending: Ending,
    /// How many pieces are sent before the rest waits for this.
    gate: Option<(usize, BoxFuture<'static, ()>)>,
    /// Comes again without end.
    last: Bytes,
    /// Between two pieces the task yields once, so that each is written on its own.
    rested: bool,
}

impl ScriptedBody {
    pub(super) fn new(pieces: impl IntoIterator<Item = Bytes>, ending: Ending) -> Self {
        let pieces: VecDeque<Bytes> = pieces.into_iter().collect();
        let last = pieces.back().cloned().unwrap_or_default();
        Self { pieces, ending, gate: None, last, rested: true }
    }

    /// Waits for `gate` once `pieces` pieces have been sent.
    pub(super) fn held(mut self, pieces: usize, gate: BoxFuture<'static, ()>) -> Self {
        self.gate = Some((pieces, gate));
        self
    }

    pub(super) fn json(status: StatusCode, value: &Value) -> Response<Self> {
        let mut response = Response::new(Self::new([Bytes::from(value.to_string())], Ending::End));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if !std::mem::replace(&mut this.rested, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some((before, gate)) = &mut this.gate {
            if *before > 0 {
                *before -= 1;
            } else if gate.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            } else {
                this.gate = None;
            }
        }
        if let Some(piece) = this.pieces.pop_front() {
            this.rested = false;
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match this.ending {
            Ending::End => Poll::Ready(None),
            Ending::Abort => Poll::Ready(Some(Err(io::Error::other("the script aborts here")))),
            // Nothing wakes it: it ends with the connection.
            Ending::Hang => Poll::Pending,
            Ending::Flood => {
                this.rested = false;
                Poll::Ready(Some(Ok(Frame::data(this.last.clone()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && matches!(self.ending, Ending::End)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
