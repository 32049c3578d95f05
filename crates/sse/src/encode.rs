//! The encoder: events out, as lines that end with LF.
//!
//! It appends to the caller's buffer and never decides when to send. The decoder is in `decode`.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use bytes::{BufMut, BytesMut};

/// An event to write. Absent fields are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventRef<'a> {
    /// The event's name; a reader takes `message` if there is none.
    pub event: Option<&'a str>,
    /// The last event id that a reader shall remember.
    pub id: Option<&'a str>,
    /// The reconnect delay, written in whole milliseconds.
    pub retry: Option<Duration>,
    /// The data. `Some(b"")` writes an empty `data` line, which readers of this crate do not dispatch.
    pub data: Option<&'a [u8]>,
}

/// A name or an id that cannot be written: it contains a line end or, in an id, NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// `event` or `id`.
    pub field: &'static str,
}

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the `{}` of an event must not contain a line end or NUL, or it would forge other fields",
            self.field
        )
    }
}

impl Error for InvalidField {}

/// Appends one event that has nothing but data.
///
/// Line ends inside the data (LF, CRLF or CR) become separate `data` lines, so a reader sees each of them as
/// LF. JSON is not changed in meaning by that.
pub fn encode_event(out: &mut BytesMut, data: &[u8]) {
    // "data: ", the line end and the blank line: one allocation at most for data of one line.
    out.reserve(data.len() + 8);
    put_data(out, data);
    out.put_u8(b'\n');
}

/// Appends one event with its fields.
///
/// # Errors
/// [`InvalidField`] if the name or the id would break out of its line; nothing is written then.
pub fn encode_event_with(out: &mut BytesMut, event: &EventRef<'_>) -> Result<(), InvalidField> {
    let breaks =
        |text: &str, also: u8| text.bytes().any(|byte| matches!(byte, b'\n' | b'\r') || byte == also);
    if event.event.is_some_and(|name| breaks(name, b'\n')) {
        return Err(InvalidField { field: "event" });
    }
    if event.id.is_some_and(|id| breaks(id, 0)) {
        return Err(InvalidField { field: "id" });
    }
    if let Some(name) = event.event {
        put_line(out, b"event: ", name.as_bytes());
    }
    if let Some(id) = event.id {
        put_line(out, b"id: ", id.as_bytes());
    }
    if let Some(delay) = event.retry {
        put_line(out, b"retry: ", delay.as_millis().to_string().as_bytes());
    }
    if let Some(data) = event.data {
        put_data(out, data);
    }
    out.put_u8(b'\n');
    Ok(())
}

/// Appends a comment and a blank line. Readers ignore it, so it keeps an idle connection alive.
///
/// Between two events only: inside an event the blank line would end it.
pub fn encode_comment(out: &mut BytesMut, text: &str) {
    for line in text.split(['\n', '\r']) {
        put_line(out, b": ", line.as_bytes());
    }
    out.put_u8(b'\n');
}

fn put_data(out: &mut BytesMut, mut data: &[u8]) {
    while let Some(end) = memchr::memchr2(b'\n', b'\r', data) {
        put_line(out, b"data: ", &data[..end]);
        let width = if data[end..].starts_with(b"\r\n") { 2 } else { 1 };
        data = &data[end + width..];
    }
    put_line(out, b"data: ", data);
}

fn put_line(out: &mut BytesMut, field: &[u8], value: &[u8]) {
    out.extend_from_slice(field);
    out.extend_from_slice(value);
    out.put_u8(b'\n');
}
