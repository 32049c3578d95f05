//! Lines of a byte stream: collected up to LF, whole, bounded [spec: basic/transports/stdio].
//!
//! Bytes are never looked at as text here: a character that arrives in two reads is no different
//! from any other. What a line means is the session's business.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much one read may bring: what a pipe holds on Linux.
const READ_BYTES: usize = 64 * 1024;
/// Lines up to this long are copied out, so that one that is kept does not keep its neighbours.
const COPIED_BYTES: usize = 16 * 1024;
/// A buffer that grew beyond this for one long line is given back.
const KEPT_BYTES: usize = 4 * READ_BYTES;

/// Cuts a byte stream into lines.
///
/// ```
/// use switchboard_transport::Lines;
///
/// let mut lines = Lines::new(1024);
/// lines.push(b"one\r\ntw");
/// assert_eq!(lines.next_line().unwrap().unwrap(), "one");
/// assert_eq!(lines.next_line().unwrap(), None);
/// lines.push(b"o\n");
/// assert_eq!(lines.next_line().unwrap().unwrap(), "two");
/// ```
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// There is no LF before this place.
    searched: usize,
    limit: usize,
    /// The rest of a line that was too long is thrown away.
    skipping: bool,
}

/// A line is longer than the limit. The lines after it can still be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A line is longer than the limit of {limit} bytes; raise the limit if such messages are expected")]
pub struct LineTooLong {
    /// In bytes, without the line end.
    pub limit: usize,
}

impl Lines {
    /// Lines of at most `limit` bytes, not counting the line end.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, limit, skipping: false }
    }

    /// Takes bytes in.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Reads once; gives how many bytes came, 0 at the end. Cancelling it loses nothing.
    ///
    /// # Errors
    /// Those of the reader.
    pub async fn fill(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> std::io::Result<usize> {
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_BYTES {
            self.buffer = BytesMut::new();
        }
        // Small remainders are moved to the front by this, not copied into a larger buffer.
        self.buffer.reserve(READ_BYTES / 2);
        reader.read_buf(&mut self.buffer).await
    }

    /// The next whole line, without its end.
    ///
    /// # Errors
    /// Once for every line that is too long, as soon as that is known; its bytes are freed, and the
    /// line after it is next.
    pub fn next_line(&mut self) -> Result<Option<Bytes>, LineTooLong> {
        loop {
            let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
            let Some(end) = found.map(|at| self.searched + at) else {
                self.searched = self.buffer.len();
                if self.skipping {
                    self.clear();
                } else if self.buffer.len() > self.limit {
                    self.clear();
                    self.skipping = true;
                    return Err(LineTooLong { limit: self.limit });
                }
                return Ok(None);
            };
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                self.buffer.advance(end + 1);
            } else if end > self.limit {
                self.buffer.advance(end + 1);
                return Err(LineTooLong { limit: self.limit });
            } else {
                let line = self.take(end);
                self.buffer.advance(1);
                return Ok(Some(line));
            }
        }
    }

    /// What came after the last line end, once the stream has ended: a last line without one.
    pub fn remainder(&mut self) -> Option<Bytes> {
        let rest = if self.skipping { None } else { Some(self.take(self.buffer.len())) };
        self.clear();
        rest.filter(|line| !line.is_empty())
    }

    fn take(&mut self, end: usize) -> Bytes {
        let line = &self.buffer[..end];
        let text = line.strip_suffix(b"\r").unwrap_or(line).len();
        if end <= COPIED_BYTES {
            let line = Bytes::copy_from_slice(&self.buffer[..text]);
            self.buffer.advance(end);
            return line;
        }
        let mut line = self.buffer.split_to(end);
        line.truncate(text);
        line.freeze()
    }

    fn clear(&mut self) {
        self.searched = 0;
        if self.buffer.capacity() > KEPT_BYTES {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
    }
}
