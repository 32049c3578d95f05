//! Readers of the journal: JSON lines, and memory.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::Entry;
use super::event::Selection;

/// How long a journal in lines may get, in bytes. 64 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// A reader of the journal.
pub trait Sink: Send {
    /// Takes the next entry. It must not wait for long, and must not record into the same journal.
    fn write(&mut self, entry: &Entry);
}

impl<F: FnMut(&Entry) + Send> Sink for F {
    fn write(&mut self, entry: &Entry) {
        self(entry);
    }
}

/// One JSON object a line. Pieces of an answer that is still being written are left out: the whole answer
/// follows them.
///
/// If the writer fails, for example because the disk is full, that is logged once and the run goes on. After 64 MiB
/// a last line says that the journal ends there.
#[derive(Debug)]
pub struct JsonLines<W> {
    writer: W,
    max_bytes: u64,
    bytes: u64,
    ended: bool,
}

impl<W: Write + Send> JsonLines<W> {
    /// Writes to `writer`, and flushes after every line, so that a crash loses nothing that happened before.
    pub fn new(writer: W) -> Self {
        Self { writer, max_bytes: MAX_BYTES, bytes: 0, ended: false }
    }

    /// Ends the journal after this many bytes, but for the last line that says so.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    fn line(&mut self, entry: &Entry) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        if self.bytes > self.max_bytes && !self.ended {
            self.ended = true;
            let text = format!("the journal ends here: it may have {} bytes", self.max_bytes);
            tracing::warn!("{text}");
            return self.line(&Entry { event: Selection::Note { text }.into(), ..entry.clone() });
        }
        self.writer.write_all(&line)?;
        self.writer.flush()
    }
}

impl<W: Write + Send> Sink for JsonLines<W> {
    fn write(&mut self, entry: &Entry) {
        if self.ended || entry.event.is_piece() {
            return;
        }
        if let Err(error) = self.line(entry) {
            self.ended = true;
            tracing::warn!(%error, "the journal cannot be written; the run goes on without it");
        }
    }
}

/// Keeps every entry. All clones hold the same list.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Vec<Entry>>>);

impl Memory {
    /// Everything so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sink for Memory {
    fn write(&mut self, entry: &Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry.clone());
    }
}
