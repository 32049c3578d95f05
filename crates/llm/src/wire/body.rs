//! Reads one answer from the bytes of a response body, however they are cut, without doing any IO.
//!
//! It finds out itself whether the body is an event stream or one JSON value: some endpoints answer a stream
//! request with plain JSON, and some name the wrong content type. What an answer means is its [`Reply`]'s business.

use bytes::{Bytes, BytesMut};
use switchboard_sse::Decoder;

use super::Reply;
use super::failure::{Failure, shorten};
use crate::config::Limits;
use crate::error::{Kind, ModelError};
use crate::model::ModelEvent;

const DONE: &[u8] = b"[DONE]";

/// One answer in the making.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    mode: Mode,
    limits: Limits,
    received: usize,
    reply: R,
    done: bool,
}

#[derive(Debug)]
enum Mode {
    /// Nothing but white space has arrived.
    Unknown,
    Stream(Box<Decoder>),
    Whole(BytesMut),
}

impl<R: Reply> Reader<R> {
    pub(crate) fn new(reply: R, limits: Limits) -> Self {
        Self { mode: Mode::Unknown, limits, received: 0, reply, done: false }
    }

    /// Takes the next bytes of the body. Events that were complete before an error are still to be polled.
    pub(crate) fn push(&mut self, bytes: Bytes) -> Result<(), ModelError> {
        if self.done {
            return Ok(());
        }
        self.received = self.received.saturating_add(bytes.len());
        if self.received > self.limits.max_answer_bytes {
            return Err(too_large("an answer", "max_answer_bytes", self.limits.max_answer_bytes));
        }
        if matches!(self.mode, Mode::Unknown) {
            match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return Ok(()),
                Some(b'{' | b'[') => self.mode = Mode::Whole(BytesMut::new()),
                Some(_) => self.mode = Mode::Stream(Box::new(Decoder::new(self.limits.max_event_bytes))),
            }
        }
        match &mut self.mode {
            Mode::Whole(body) => {
                body.extend_from_slice(&bytes);
                Ok(())
            }
            Mode::Stream(decoder) => {
                decoder.push(bytes);
                self.read_stream()
            }
            Mode::Unknown => Ok(()),
        }
    }

    /// The body has ended in good order.
    pub(crate) fn finish(&mut self) -> Result<(), ModelError> {
        match &mut self.mode {
            _ if self.done => Ok(()),
            Mode::Unknown => Err(malformed::<R>("the endpoint answered with an empty body")),
            Mode::Whole(body) => {
                let body = body.split();
                self.reply.take_whole(&body)?;
                self.end(true)
            }
            Mode::Stream(decoder) => {
                // Some servers forget the blank line after their last event.
                decoder.push(Bytes::from_static(b"\n\n"));
                self.read_stream()?;
                if self.done { Ok(()) } else { self.end(false) }
            }
        }
    }

    /// The next event, if the bytes so far hold one.
    pub(crate) fn poll_event(&mut self) -> Option<ModelEvent> {
        self.reply.events().pop_front()
    }

    /// Whether the endpoint has said that the answer is complete; what follows does not matter.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the endpoint has given its reason for stopping. Only the usage may still come.
    pub(crate) fn has_finish_reason(&self) -> bool {
        self.reply.has_finish_reason()
    }

    /// What reads the answer.
    pub(crate) fn reply(&self) -> &R {
        &self.reply
    }

    fn read_stream(&mut self) -> Result<(), ModelError> {
        let Mode::Stream(decoder) = &mut self.mode else {
            return Ok(());
        };
        loop {
            let event = match decoder.next_event() {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(()),
                Err(error) => {
                    return Err(
                        too_large("an event of an answer", "max_event_bytes", error.limit).with_source(error)
                    );
                }
            };
            if event.data.trim_ascii() == DONE {
                return self.end(true);
            }
            if event.name() == "error" {
                return Err(interrupted(&Failure::read(&event.data)));
            }
            if self.reply.take_event(event.name(), &event.data)? {
                return self.end(true);
            }
        }
    }

    fn end(&mut self, terminated: bool) -> Result<(), ModelError> {
        self.done = true;
        self.reply.finish(terminated)
    }
}

/// The answer cannot be understood as one of this wire.
pub(crate) fn malformed<R: Reply>(message: impl Into<String>) -> ModelError {
    ModelError::new(Kind::Malformed, message).with_hint(R::HINT)
}

/// What was sent is no answer; `data` is quoted in part.
pub(crate) fn no_answer<R: Reply>(what: &str, data: &[u8], source: serde_json::Error) -> ModelError {
    let quote = shorten(&String::from_utf8_lossy(&data[..data.len().min(200)]));
    malformed::<R>(format!("the endpoint sent what is no {what}: {quote}")).with_source(source)
}

/// The endpoint reported an error where the answer should be.
pub(crate) fn interrupted(failure: &Failure) -> ModelError {
    ModelError::new(
        Kind::Interrupted,
        format!("the endpoint reported an error in its answer: {}", failure.words()),
    )
    .with_hint("ask again, or look into the endpoint's own log")
    .transient(failure.is_transient())
}

fn too_large(what: &str, limit: &str, bytes: usize) -> ModelError {
    ModelError::new(Kind::TooLarge, format!("{what} exceeds {limit} ({bytes} bytes)"))
        .with_hint("ask for less, or raise that limit")
}
