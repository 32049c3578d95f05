//! Reads a request body: at most so many bytes, within so much time, without a copy where one frame
//! carries all of it.
//!
//! No timer is made for a body that is there already, which is the usual case.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use tokio::time::Sleep;

/// A client that announces more has to send this much before the rest is reserved.
const FIRST_RESERVE: usize = 64 * 1024;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectError {
    /// More bytes than allowed.
    TooLarge,
    /// It did not arrive in time.
    TimedOut,
    /// The connection or its framing broke.
    Broken,
}

/// Reads the whole body.
pub(crate) async fn collect<B: Body>(
    body: B,
    limit: usize,
    timeout: Duration,
) -> Result<Bytes, CollectError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut body = pin!(body);
    let mut timer = None;
    if announced > limit {
        drain(body, &mut timer, (limit, timeout)).await;
        return Err(CollectError::TooLarge);
    }
    let Some(mut first) = next_data(body.as_mut(), &mut timer, timeout).await? else {
        return Ok(Bytes::new());
    };
    if first.remaining() > limit {
        return Err(CollectError::TooLarge);
    }
    if body.is_end_stream() {
        return Ok(first.copy_to_bytes(first.remaining()));
    }
    let mut whole = BytesMut::with_capacity(announced.min(FIRST_RESERVE).max(first.remaining()));
    whole.put(first);
    while let Some(data) = next_data(body.as_mut(), &mut timer, timeout).await? {
        if data.remaining() > limit - whole.len() {
            drain(body, &mut timer, (limit, timeout)).await;
            return Err(CollectError::TooLarge);
        }
        if data.remaining() > whole.capacity() - whole.len() {
            whole.reserve(announced.saturating_sub(whole.len()).max(data.remaining()));
        }
        whole.put(data);
    }
    Ok(whole.freeze())
}

/// Throws away what follows, up to another `limit` bytes: a client that is still writing would else see
/// the connection break before it reads why.
async fn drain<B: Body>(
    mut body: Pin<&mut B>,
    timer: &mut Option<Pin<Box<Sleep>>>,
    (limit, timeout): (usize, Duration),
) {
    let mut left = limit;
    while let Ok(Some(data)) = next_data(body.as_mut(), timer, timeout).await {
        match left.checked_sub(data.remaining()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

async fn next_data<B: Body>(
    mut body: Pin<&mut B>,
    timer: &mut Option<Pin<Box<Sleep>>>,
    timeout: Duration,
) -> Result<Option<B::Data>, CollectError> {
    poll_fn(|cx| poll_data(body.as_mut(), cx, timer, timeout)).await
}

// The time runs from the first moment that the body made us wait.
fn poll_data<B: Body>(
    mut body: Pin<&mut B>,
    cx: &mut Context<'_>,
    timer: &mut Option<Pin<Box<Sleep>>>,
    timeout: Duration,
) -> Poll<Result<Option<B::Data>, CollectError>> {
    loop {
        match body.as_mut().poll_frame(cx) {
            Poll::Ready(None) => return Poll::Ready(Ok(None)),
            Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(CollectError::Broken)),
            Poll::Ready(Some(Ok(frame))) => match Frame::into_data(frame) {
                Ok(data) => return Poll::Ready(Ok(Some(data))),
                // Trailers say nothing here.
                Err(_) => continue,
            },
            Poll::Pending => {
                let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
                ready!(timer.as_mut().poll(cx));
                return Poll::Ready(Err(CollectError::TimedOut));
            }
        }
    }
}
