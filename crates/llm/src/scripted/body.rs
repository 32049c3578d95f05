//! A response body that arrives in given pieces and ends as the script says.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;

use super::script::Ending;

#[derive(Debug)]
pub(super) struct ScriptedBody {
    pieces: VecDeque<Bytes>,
    ending: Ending,
    /// Between two pieces the task yields once, so that each is written on its own.
    rested: bool,
}

impl ScriptedBody {
    pub(super) fn new(pieces: impl IntoIterator<Item = Bytes>, ending: Ending) -> Self {
        Self { pieces: pieces.into_iter().collect(), ending, rested: true }
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
        if let Some(piece) = this.pieces.pop_front() {
            this.rested = false;
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match this.ending {
            Ending::End => Poll::Ready(None),
            Ending::Abort => Poll::Ready(Some(Err(io::Error::other("the script aborts here")))),
            // Nothing wakes it: it ends with the connection.
            Ending::Hang => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && matches!(self.ending, Ending::End)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
