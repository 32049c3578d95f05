//! Messages on their way out: one buffer for many lines, so that one write can carry them all.
//!
//! It knows how far the peer's pipe has taken the bytes, which is what tells a request that was
//! never sent from one that may have been executed.

use std::ops::Range;

/// A buffer that grew beyond this many bytes for one large message is given back once it is empty.
const KEPT_CAPACITY: usize = 256 * 1024;

/// Encoded lines that the driver has not written yet.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    /// How many of `bytes` are written.
    written: usize,
    /// How many bytes were written before `bytes` began.
    before: u64,
}

impl Outbox {
    /// Appends one line and says where it lies in the stream of all bytes ever queued.
    /// What fails to encode leaves no trace.
    pub(super) fn append<E>(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Range<u64>, E> {
        let start = self.bytes.len();
        if let Err(error) = encode(&mut self.bytes) {
            self.bytes.truncate(start);
            return Err(error);
        }
        self.end_line(start);
        Ok(self.before + start as u64..self.before + self.bytes.len() as u64)
    }

    /// A message never contains a line end [spec: basic/transports/stdio]. Raw JSON may: there it
    /// can only be white space between tokens, so a blank says the same.
    fn end_line(&mut self, start: usize) {
        let mut from = start;
        while let Some(at) = memchr::memchr(b'\n', &self.bytes[from..]) {
            from += at;
            self.bytes[from] = b' ';
        }
        self.bytes.push(b'\n');
    }

    /// What is to be written next.
    pub(super) fn pending(&self) -> Option<&[u8]> {
        Some(&self.bytes[self.written..]).filter(|bytes| !bytes.is_empty())
    }

    /// How many bytes are to be written.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Takes note that the first `count` pending bytes are written.
    pub(super) fn advance(&mut self, count: usize) {
        self.written = (self.written + count).min(self.bytes.len());
        let all = self.written == self.bytes.len();
        // A peer that reads slowly but for ever must not make the written part grow.
        if !all && self.written < KEPT_CAPACITY.max(self.bytes.len() / 2) {
            return;
        }
        self.before += self.written as u64;
        self.bytes.drain(..self.written);
        self.written = 0;
        if self.bytes.capacity() > KEPT_CAPACITY.max(2 * self.bytes.len()) {
            self.bytes.shrink_to(KEPT_CAPACITY);
        }
    }

    /// Whether any byte from this place of the stream on has been written.
    pub(super) fn has_written_past(&self, place: u64) -> bool {
        self.before + self.written as u64 > place
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::{KEPT_CAPACITY, Outbox};

    fn append(outbox: &mut Outbox, text: &[u8]) -> u64 {
        let written = outbox.append(|out| {
            out.extend_from_slice(text);
            Ok::<(), Infallible>(())
        });
        written.unwrap().start
    }

    #[test]
    fn many_messages_are_one_write_and_each_is_one_line() {
        let mut outbox = Outbox::default();
        assert_eq!(append(&mut outbox, b"{\n \"a\":\n1}"), 0);
        assert_eq!(append(&mut outbox, b"{}"), 11);
        assert_eq!(outbox.pending(), Some(&b"{  \"a\": 1}\n{}\n"[..]));
        outbox.advance(outbox.len());
        assert_eq!(outbox.pending(), None);
    }

    #[test]
    fn a_message_counts_as_sent_from_its_first_written_byte_on() {
        let mut outbox = Outbox::default();
        let first = append(&mut outbox, b"{}");
        let second = append(&mut outbox, b"{}");
        for (count, sent) in [(0, (false, false)), (1, (true, false)), (2, (true, false)), (1, (true, true))]
        {
            outbox.advance(count);
            assert_eq!((outbox.has_written_past(first), outbox.has_written_past(second)), sent);
        }
        outbox.advance(2);
        assert!(outbox.has_written_past(second));
        let third = append(&mut outbox, b"{}");
        assert!(!outbox.has_written_past(third));
    }

    #[test]
    fn neither_a_large_message_nor_a_slow_reader_keeps_the_buffer_large() {
        let mut outbox = Outbox::default();
        append(&mut outbox, &vec![b'x'; 4 * KEPT_CAPACITY]);
        outbox.advance(outbox.len());
        assert!(outbox.bytes.capacity() <= KEPT_CAPACITY);
        append(&mut outbox, b"{}");
        for _ in 0..10_000 {
            append(&mut outbox, &[b'x'; 1000]);
            outbox.advance(1001);
        }
        assert_eq!(outbox.len(), 3);
        assert!(outbox.bytes.capacity() <= 4 * KEPT_CAPACITY, "{}", outbox.bytes.capacity());
    }

    #[test]
    fn what_does_not_encode_leaves_no_trace() {
        let mut outbox = Outbox::default();
        let failed = outbox.append(|out| {
            out.extend_from_slice(b"half");
            Err("no")
        });
        assert_eq!(failed, Err("no"));
        assert_eq!(outbox.pending(), None);
    }
}
