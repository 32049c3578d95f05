//! The decoder: chunks in, events out.
//!
//! It follows the WHATWG event-stream grammar with one deliberate difference: an event whose data is empty is
//! not handed out, even if it has a `data` line. Servers send such events only to set the last event id and
//! the reconnect delay, and a caller that parses every event as JSON must not trip over them.
//!
//! The encoder is in `encode`.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::mem;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};

use crate::DEFAULT_EVENT_NAME;

const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// One dispatched event. Its data is never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event's name. `None` stands for `message`, whether the stream said so or said nothing.
    pub event: Option<String>,
    /// The `data` lines joined by LF. The bytes are as sent: the decoder does not check that they are UTF-8.
    pub data: Bytes,
    /// The `id` that this event carried itself. See [`Decoder::last_event_id`] for the one in force.
    pub id: Option<String>,
    /// The reconnect delay that this event carried itself. See [`Decoder::retry`] for the one in force.
    pub retry: Option<Duration>,
}

impl Event {
    /// The event's name, `message` by default.
    pub fn name(&self) -> &str {
        self.event.as_deref().unwrap_or(DEFAULT_EVENT_NAME)
    }
}

/// An event on the stream is larger than the decoder was told to hold.
///
/// The stream cannot be read any further: what follows the limit is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTooLarge {
    /// The limit that was exceeded, in bytes.
    pub limit: usize,
}

impl fmt::Display for EventTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an event of the stream exceeds max_event_bytes ({} bytes); close the stream, or open it with a \
             larger limit",
            self.limit
        )
    }
}

impl Error for EventTooLarge {}

/// An incremental event-stream decoder.
///
/// Push a chunk, then call [`next_event`](Self::next_event) until it returns `Ok(None)`. What the decoder holds
/// is then at most `max_event_bytes` of a partial line and `max_event_bytes` of data, whatever the peer sends.
/// Comments are dropped as they arrive and never count.
///
/// An event that is not closed by a blank line is never handed out, as the grammar demands. A caller that wants
/// to be lenient at the end of its stream pushes two line feeds.
#[derive(Debug)]
pub struct Decoder {
    max_event_bytes: usize,
    failed: bool,
    /// What is being read, and what was pushed before that was finished.
    chunk: Bytes,
    queue: VecDeque<Bytes>,
    /// How many bytes of the byte order mark have been seen; 3 once the start is behind us.
    mark: usize,
    /// The last line ended with CR: an LF that follows directly belongs to it, even in another chunk.
    after_cr: bool,
    /// The current line is a comment whose start is already gone.
    in_comment: bool,
    /// The beginning of a line whose end has not arrived.
    partial: BytesMut,
    /// Bytes of the complete lines of the current event.
    event_bytes: usize,
    data: Data,
    event: Option<String>,
    id: Option<String>,
    event_retry: Option<Duration>,
    last_event_id: Option<String>,
    retry: Option<Duration>,
}

/// The data of the current event. One line inside one chunk stays a slice of that chunk.
#[derive(Debug, Default)]
enum Data {
    #[default]
    Absent,
    OneLine(Bytes),
    Joined(BytesMut),
}

impl Decoder {
    /// A decoder at the start of a stream. `max_event_bytes` bounds the lines of one event, field names
    /// included.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            failed: false,
            chunk: Bytes::new(),
            queue: VecDeque::new(),
            mark: 0,
            after_cr: false,
            in_comment: false,
            partial: BytesMut::new(),
            event_bytes: 0,
            data: Data::Absent,
            event: None,
            id: None,
            event_retry: None,
            last_event_id: None,
            retry: None,
        }
    }

    /// Takes the next bytes of the stream, cut anywhere.
    pub fn push(&mut self, chunk: impl Into<Bytes>) {
        let chunk = chunk.into();
        if self.failed {
            return;
        }
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            self.queue.push_back(chunk);
        }
    }

    /// The next complete event, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`EventTooLarge`] once the current event exceeds the limit, and on every later call. Events that were
    /// complete before it have been returned by then.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventTooLarge> {
        if self.failed {
            return Err(self.too_large());
        }
        while let Some(line) = self.next_line()? {
            if !line.is_empty() {
                self.field(line);
            } else if let Some(event) = self.dispatch() {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The last event id in force, as of the last blank line. `None` if none was ever set or if it was reset by
    /// an empty `id`.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref().filter(|id| !id.is_empty())
    }

    /// The reconnect delay that the stream asked for last.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The next complete line that is not a comment, without its line end.
    fn next_line(&mut self) -> Result<Option<Bytes>, EventTooLarge> {
        loop {
            if self.chunk.is_empty() {
                match self.queue.pop_front() {
                    Some(chunk) => self.chunk = chunk,
                    None => return Ok(None),
                }
                continue;
            }
            if mem::take(&mut self.after_cr) && self.chunk[0] == b'\n' {
                self.chunk.advance(1);
                continue;
            }
            if self.mark < BYTE_ORDER_MARK.len() {
                self.skip_mark();
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', &self.chunk) else {
                let rest = mem::take(&mut self.chunk);
                self.hold(&rest)?;
                continue;
            };
            let tail = self.chunk.split_to(end);
            self.after_cr = self.chunk[0] == b'\r';
            self.chunk.advance(1);
            if let Some(line) = self.complete(tail)? {
                return Ok(Some(line));
            }
        }
    }

    /// Consumes one byte of a byte order mark, or finds that there is none.
    fn skip_mark(&mut self) {
        if self.chunk[0] == BYTE_ORDER_MARK[self.mark] {
            self.chunk.advance(1);
            self.mark += 1;
        } else {
            self.partial.extend_from_slice(&BYTE_ORDER_MARK[..self.mark]);
            self.mark = BYTE_ORDER_MARK.len();
        }
    }

    /// Keeps the beginning of a line until its end arrives.
    fn hold(&mut self, rest: &[u8]) -> Result<(), EventTooLarge> {
        if self.partial.is_empty() && rest.first() == Some(&b':') {
            self.in_comment = true;
        }
        if self.in_comment {
            return Ok(());
        }
        self.admit(self.partial.len() + rest.len())?;
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// Joins the end of a line with its held beginning. `None` if it was a comment.
    fn complete(&mut self, tail: Bytes) -> Result<Option<Bytes>, EventTooLarge> {
        if mem::take(&mut self.in_comment) || (self.partial.is_empty() && tail.first() == Some(&b':')) {
            return Ok(None);
        }
        self.admit(self.partial.len() + tail.len())?;
        let line = if self.partial.is_empty() {
            tail
        } else {
            self.partial.extend_from_slice(&tail);
            mem::take(&mut self.partial).freeze()
        };
        self.event_bytes += line.len();
        Ok(Some(line))
    }

    fn admit(&mut self, more: usize) -> Result<(), EventTooLarge> {
        if self.event_bytes.saturating_add(more) <= self.max_event_bytes {
            return Ok(());
        }
        *self = Self {
            failed: true,
            last_event_id: self.last_event_id.take(),
            retry: self.retry,
            ..Self::new(self.max_event_bytes)
        };
        Err(self.too_large())
    }

    fn too_large(&self) -> EventTooLarge {
        EventTooLarge { limit: self.max_event_bytes }
    }

    fn field(&mut self, line: Bytes) {
        let (name, value) = match memchr::memchr(b':', &line) {
            Some(colon) => {
                let skip = if line.get(colon + 1) == Some(&b' ') { colon + 2 } else { colon + 1 };
                (line.slice(..colon), line.slice(skip..))
            }
            None => (line, Bytes::new()),
        };
        match &name[..] {
            b"data" => self.data.push(value),
            b"event" if value.is_empty() || &value[..] == DEFAULT_EVENT_NAME.as_bytes() => self.event = None,
            b"event" => self.event = Some(text(&value)),
            b"id" if !value.contains(&0) => self.id = Some(text(&value)),
            b"retry" => {
                if let Some(delay) = milliseconds(&value) {
                    self.retry = Some(delay);
                    self.event_retry = Some(delay);
                }
            }
            // The grammar ignores every other field, and an id that contains NUL.
            _ => {}
        }
    }

    /// Ends the current event at a blank line. `None` if it has no data.
    fn dispatch(&mut self) -> Option<Event> {
        self.event_bytes = 0;
        let event = self.event.take();
        let id = self.id.take();
        let retry = self.event_retry.take();
        if id.is_some() {
            self.last_event_id.clone_from(&id);
        }
        let data = mem::take(&mut self.data).into_bytes();
        (!data.is_empty()).then_some(Event { event, data, id, retry })
    }
}

impl Data {
    fn push(&mut self, line: Bytes) {
        *self = match mem::take(self) {
            Self::Absent => Self::OneLine(line),
            Self::OneLine(first) => {
                let mut joined = BytesMut::with_capacity(first.len() + 1 + line.len());
                joined.extend_from_slice(&first);
                Self::join(joined, &line)
            }
            Self::Joined(joined) => Self::join(joined, &line),
        };
    }

    fn join(mut joined: BytesMut, line: &[u8]) -> Self {
        joined.extend_from_slice(b"\n");
        joined.extend_from_slice(line);
        Self::Joined(joined)
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Absent => Bytes::new(),
            Self::OneLine(line) => line,
            Self::Joined(joined) => joined.freeze(),
        }
    }
}

/// Names and ids are decoded as the grammar decodes the whole stream: with replacement characters.
fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// Digits only; a number that is too large means "as long as possible", not "no delay".
fn milliseconds(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = value
        .iter()
        .fold(0_u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(Duration::from_millis(number))
}
