//! What comes back for one request: one message, or a stream that may break off and be taken up again
//! where it was [spec: basic/transports, Resumability and Redelivery].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderValue;
use reqwest::Response;
use switchboard_protocol::frame::Frame;
use switchboard_sse::DEFAULT_EVENT_NAME;
use tokio::time::sleep;

use super::batch::split;
use super::id;
use super::way::Way;
use crate::backoff::Backoff;
use crate::error::{Delivery, Error, Kind};
use crate::http::body::{Body, EventStream, lost, whole};

/// The longest wait before a stream is taken up again that a server can ask for.
pub(super) const LONGEST_RETRY: Duration = Duration::from_secs(5 * 60);
/// How often in a row the attempt to take up a stream may fail.
const FAILED_RESUMPTIONS: usize = 5;
/// How often in a row a stream that was taken up may end with nothing new on it.
const IDLE_RESUMPTIONS: usize = 100;
/// The shortest wait before a stream that was taken up already is taken up again, whatever the server asks for.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// The messages that come back for one request, in order, until whoever asked has heard enough.
pub(super) struct Answer {
    way: Arc<Way>,
    state: State,
    /// What came in one piece with what was handed out last.
    ready: VecDeque<Bytes>,
    cursor: Cursor,
}

enum State {
    Json(BoxFuture<'static, Result<Bytes, Error>>),
    Events(Box<EventStream>),
    Resuming(BoxFuture<'static, Result<EventStream, Error>>),
    Ended,
}

/// Where a stream is, and how it has been going.
#[derive(Default)]
struct Cursor {
    id: Option<HeaderValue>,
    retry: Option<Duration>,
    /// Something came since the stream was opened.
    fresh: bool,
    /// It was taken up before.
    again: bool,
    /// How many streams in a row brought nothing.
    idle: usize,
}

impl Answer {
    pub(super) fn new(way: &Arc<Way>, response: Response) -> Result<Self, Error> {
        let state = match Body::of(response, way.link.limits())? {
            Body::Json(response, limit) => State::Json(Box::pin(whole(response, limit))),
            Body::Events(events) => State::Events(events),
            Body::Ended => State::Ended,
        };
        Ok(Self { way: Arc::clone(way), state, ready: VecDeque::new(), cursor: Cursor::default() })
    }

    pub(super) fn way(&self) -> &Way {
        &self.way
    }

    /// What came together with the last message, which nobody waits for any more.
    pub(super) fn rest(&mut self) -> VecDeque<Bytes> {
        std::mem::take(&mut self.ready)
    }

    /// The next message. Nothing is lost when this is dropped.
    ///
    /// # Errors
    /// When there will be none any more.
    pub(super) async fn next(&mut self) -> Result<Bytes, Error> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                self.way.link.tap().received(&message);
                return Ok(message);
            }
            if let Err(error) = self.step().await {
                self.state = State::Ended;
                return Err(error);
            }
        }
    }

    async fn step(&mut self) -> Result<(), Error> {
        match &mut self.state {
            State::Json(message) => {
                let message = message.await?;
                self.state = State::Ended;
                self.ready = split(message, self.way.batches());
            }
            State::Events(events) => match events.next().await {
                Ok(Some(event)) => {
                    self.cursor.fresh = true;
                    if event.name() == DEFAULT_EVENT_NAME {
                        self.ready = split(event.data, self.way.batches());
                    }
                }
                Ok(None) => self.broke_off(lost("the event stream ended before the response"))?,
                Err(error) if error.kind() == Kind::Lost => self.broke_off(error)?,
                Err(error) => return Err(error),
            },
            State::Resuming(resumed) => {
                let events = resumed.await?;
                self.state = State::Events(Box::new(events));
            }
            State::Ended => return Err(lost("the server's answer holds no response")),
        }
        Ok(())
    }

    /// The connection has ended, and not with the response.
    fn broke_off(&mut self, why: Error) -> Result<(), Error> {
        let State::Events(mut events) = std::mem::replace(&mut self.state, State::Ended) else {
            return Err(why);
        };
        self.cursor.read(&events);
        let resumable = self.cursor.id.clone();
        // Where the stream goes on, an event without an end comes again; but a response is the end.
        let unfinished = events.unfinished().filter(|message| resumable.is_none() || is_response(message));
        if let Some(message) = unfinished {
            self.ready = split(message, self.way.batches());
            return Ok(());
        }
        let Some(after) = resumable else { return Err(why) };
        let wait = self.cursor.wait()?;
        self.state =
            State::Resuming(Box::pin(resume(Arc::clone(&self.way), after, (wait, self.cursor.retry))));
        Ok(())
    }
}

impl Cursor {
    /// Takes over what a stream that has ended said about itself.
    fn read(&mut self, events: &EventStream) {
        let decoder = events.decoder();
        if let Some(id) = id::last_event(decoder) {
            self.fresh |= self.id.as_ref() != Some(&id);
            self.id = Some(id);
        }
        if let Some(retry) = decoder.retry() {
            self.retry = Some(retry.min(LONGEST_RETRY));
        }
    }

    /// How long to wait before the stream is taken up again.
    fn wait(&mut self) -> Result<Duration, Error> {
        let asked = self.retry.unwrap_or_default();
        self.idle = if std::mem::take(&mut self.fresh) { 0 } else { self.idle + 1 };
        if self.idle > IDLE_RESUMPTIONS {
            return Err(lost("the server ended the event stream again and again with nothing new on it"));
        }
        let again = std::mem::replace(&mut self.again, true);
        Ok(if again { asked.max(SHORTEST_POLL) } else { asked })
    }
}

/// Takes a stream up again after the event with this id.
async fn resume(
    way: Arc<Way>,
    after: HeaderValue,
    (mut wait, retry): (Duration, Option<Duration>),
) -> Result<EventStream, Error> {
    let mut backoff = Backoff::new(way.link.limits().reconnect_wait);
    let mut failures = 0;
    loop {
        sleep(wait).await;
        let error = match way.get(Some(&after)).await {
            Ok(events) => return Ok(events),
            Err(error) => error,
        };
        failures += 1;
        if !error.is_transient() || failures >= FAILED_RESUMPTIONS {
            return Err(given_up(&error));
        }
        tracing::debug!(%error, "an event stream cannot be taken up again yet");
        let asked = error.retry_after().or(retry).unwrap_or_default().min(LONGEST_RETRY);
        wait = backoff.next().max(asked);
    }
}

/// The request was sent, and its answer is nowhere to be had.
fn given_up(error: &Error) -> Error {
    let what = format!("the event stream broke off and cannot be taken up again: {}", error.cause());
    let lost = Error::new(
        Kind::Lost,
        Delivery::MaybeExecuted,
        format!("{what}; the request may have been executed"),
    );
    match error.http_status() {
        Some(status) => lost.status(status, error.retry_after()),
        None => lost,
    }
}

fn is_response(message: &[u8]) -> bool {
    matches!(Frame::decode(message), Ok(Frame::Response(_)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Cursor, IDLE_RESUMPTIONS, SHORTEST_POLL};

    #[test]
    fn a_stream_is_not_taken_up_again_at_once_nor_with_nothing_new_for_ever() {
        let (short, long) = (Duration::from_millis(1), Duration::from_secs(1));
        for (retry, first, later) in [
            (None, Duration::ZERO, SHORTEST_POLL),
            (Some(short), short, SHORTEST_POLL),
            (Some(long), long, long),
        ] {
            let mut cursor = Cursor { retry, ..Cursor::default() };
            assert_eq!(cursor.wait().unwrap(), first, "{retry:?}");
            cursor.fresh = true;
            assert_eq!(cursor.wait().unwrap(), later, "{retry:?}");
        }
        let mut cursor = Cursor::default();
        for _ in 0..IDLE_RESUMPTIONS {
            cursor.wait().unwrap();
        }
        assert!(cursor.wait().unwrap_err().to_string().contains("nothing new"));
        cursor.fresh = true;
        cursor.wait().unwrap();
        assert!(cursor.wait().is_ok());
    }
}
