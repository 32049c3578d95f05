//! Readers of the journal: JSON lines, and memory.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::Entry;

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
/// If the writer fails, for example because the disk is full, that is logged once and the run goes on.
#[derive(Debug)]
pub struct JsonLines<W> {
    writer: W,
    failed: bool,
}

impl<W: Write + Send> JsonLines<W> {
    /// Writes to `writer`, and flushes after every line, so that a crash loses nothing that happened before.
    pub fn new(writer: W) -> Self {
        Self { writer, failed: false }
    }

    fn line(&mut self, entry: &Entry) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.writer.write_all(&line)?;
        self.writer.flush()
    }
}

impl<W: Write + Send> Sink for JsonLines<W> {
    fn write(&mut self, entry: &Entry) {
        if self.failed || entry.event.is_piece() {
            return;
        }
        if let Err(error) = self.line(entry) {
            self.failed = true;
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
