//! Reads one answer from the bytes of a response body, however they are cut, without doing any IO.
//!
//! It finds out itself whether the body is an event stream or one JSON value: some endpoints answer a stream
//! request with plain JSON, and some name the wrong content type. What an answer means is in `reply`.

use bytes::{Bytes, BytesMut};
use switchboard_sse::Decoder;

use super::failure::{Failure, shorten};
use super::reply::{Context, Reply};
use super::wire::Chunk;
use super::{Limits, ThinkingField};
use crate::error::{Kind, ModelError};
use crate::model::ModelEvent;

const DONE: &[u8] = b"[DONE]";

/// One answer in the making.
#[derive(Debug)]
pub(super) struct Reader {
    mode: Mode,
    limits: Limits,
    received: usize,
    reply: Reply,
    done: bool,
}

#[derive(Debug)]
enum Mode {
    /// Nothing but white space has arrived.
    Unknown,
    Stream(Box<Decoder>),
    Whole(BytesMut),
}

impl Reader {
    pub(super) fn new(context: Context, limits: Limits) -> Self {
        Self { mode: Mode::Unknown, limits, received: 0, reply: Reply::new(context), done: false }
    }

    /// Takes the next bytes of the body. Events that were complete before an error are still to be polled.
    pub(super) fn push(&mut self, bytes: Bytes) -> Result<(), ModelError> {
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
    pub(super) fn finish(&mut self) -> Result<(), ModelError> {
        match &mut self.mode {
            _ if self.done => Ok(()),
            Mode::Unknown => Err(malformed("the endpoint answered with an empty body")),
            Mode::Whole(body) => {
                let body = body.split();
                let chunk = read_chunk(&body)?;
                self.reply.take(chunk, true)?;
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
    pub(super) fn poll_event(&mut self) -> Option<ModelEvent> {
        self.reply.events().pop_front()
    }

    /// Whether the endpoint has said that the answer is complete; what follows does not matter.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the endpoint has given its reason for stopping. Only the usage may still come.
    pub(super) fn has_finish_reason(&self) -> bool {
        self.reply.has_finish_reason()
    }

    /// The field in which this endpoint delivers thinking, if it did.
    pub(super) fn thinking_field(&self) -> Option<ThinkingField> {
        self.reply.thinking_field()
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
            self.reply.take(read_chunk(&event.data)?, false)?;
        }
    }

    fn end(&mut self, terminated: bool) -> Result<(), ModelError> {
        self.done = true;
        self.reply.finish(terminated)
    }
}

/// Decodes one chunk, or the error that stands in its place.
fn read_chunk(data: &[u8]) -> Result<Chunk, ModelError> {
    let chunk = match serde_json::from_slice::<Chunk>(data) {
        Ok(chunk) => chunk,
        // A list of errors is no chunk, but it is an error with words.
        Err(_) if data.trim_ascii_start().starts_with(b"[") => return Err(interrupted(&Failure::read(data))),
        Err(error) => {
            let quote = shorten(&String::from_utf8_lossy(&data[..data.len().min(200)]));
            return Err(malformed(format!("the endpoint sent what is no chat completion: {quote}"))
                .with_source(error));
        }
    };
    let bare = chunk.choices.is_none()
        && (chunk.object.as_deref() == Some("error") || chunk.detail.is_some() || chunk.message.is_some());
    if chunk.error.is_some() || bare {
        return Err(interrupted(&Failure::read(data)));
    }
    Ok(chunk)
}

pub(super) fn malformed(message: impl Into<String>) -> ModelError {
    ModelError::new(Kind::Malformed, message)
        .with_hint("check that the base URL is one of an OpenAI-compatible API (it usually ends in /v1)")
}

fn interrupted(failure: &Failure) -> ModelError {
    ModelError::new(
        Kind::Interrupted,
        format!("the endpoint reported an error in its answer: {}", failure.words()),
    )
    .with_hint("ask again, or look into the endpoint's own log")
}

fn too_large(what: &str, limit: &str, bytes: usize) -> ModelError {
    ModelError::new(Kind::TooLarge, format!("{what} exceeds {limit} ({bytes} bytes)"))
        .with_hint("ask for less, or raise that limit")
}
