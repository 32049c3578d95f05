//! The journal: one ordered stream of everything that happens in a run.
//!
//! [`Event`] is named after the nine stages of a call. A [`Journal`] stamps events with a number and the time,
//! masks secrets, and hands them to its [`Sink`]s in order. Terminal, trace file and tests are views of it;
//! nothing renders from anything else. Where to look next: `journal/event.rs` for the events, `journal/mask.rs`
//! for what is masked, `journal/view.rs` for the lines of the terminal.

mod authorization;
mod event;
mod mask;
mod sink;
mod view;
mod wire;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use switchboard_client::WireMessage;

use self::wire::WireTap;
use crate::name::ServerName;

pub use self::authorization::Authorization;
pub(crate) use self::event::journaled_result;
pub use self::event::{
    Declaration, Discovery, Event, Execution, Exposed, ExposedName, Integration, Invocation, JournaledCall,
    ResultEvent, Selection, WireDirection,
};
pub use self::mask::Masker;
pub use self::sink::{JsonLines, Memory, Sink};
pub use self::view::line;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts from 1, without gaps.
    pub seq: u64,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub unix_ms: u64,
    /// Milliseconds since the journal was opened, by a clock that never jumps.
    pub elapsed_ms: u64,
    /// What.
    pub event: Event,
}

/// The stream of a run. A cheap clone; all clones write to one stream.
///
/// ```
/// use switchboard_agent::journal::{Event, Journal, Memory, Selection};
///
/// let memory = Memory::default();
/// let journal = Journal::new().with_sink(memory.clone());
/// journal.record(Selection::Question { text: "How warm is it?".to_owned() });
/// assert_eq!(memory.entries()[0].event.stage(), "selection");
/// ```
#[derive(Clone)]
pub struct Journal(Arc<Mutex<Inner>>);

struct Inner {
    seq: u64,
    opened: Instant,
    masker: Masker,
    sinks: Vec<Box<dyn Sink>>,
}

impl Default for Journal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl Journal {
    /// A stream that nobody reads yet.
    #[must_use]
    pub fn new() -> Self {
        let inner = Inner { seq: 0, opened: Instant::now(), masker: Masker::default(), sinks: Vec::new() };
        Self(Arc::new(Mutex::new(inner)))
    }

    /// Adds a reader. It sees what is recorded from now on.
    #[must_use]
    pub fn with_sink(self, sink: impl Sink + 'static) -> Self {
        self.lock().sinks.push(Box::new(sink));
        self
    }

    /// Masks a text, such as a key, wherever it appears from now on. Texts under 6 bytes are not masked: they
    /// would tear holes into everything else.
    pub fn mask(&self, secret: impl Into<String>) {
        self.lock().masker.add(secret.into());
    }

    /// Stamps an event, masks it, and hands it to every sink. Sinks run inside this call, one after the other.
    pub fn record(&self, event: impl Into<Event>) {
        let mut event = event.into();
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let mut inner = self.lock();
        inner.seq += 1;
        inner.masker.mask(&mut event);
        let entry = Entry {
            seq: inner.seq,
            unix_ms: u64::try_from(unix_ms).unwrap_or(u64::MAX),
            elapsed_ms: u64::try_from(inner.opened.elapsed().as_millis()).unwrap_or(u64::MAX),
            event,
        };
        for sink in &mut inner.sinks {
            sink.write(&entry);
        }
    }

    /// A tap that records the messages of one server, for `ClientBuilder::on_wire`.
    ///
    /// Of what a server says without being asked, such as notifications, and of its own requests with their
    /// answers, the first 1 000 messages between two others are recorded; the rest is only counted.
    pub fn tap(&self, server: ServerName) -> impl Fn(WireMessage<'_>) + Send + Sync + 'static {
        let tap = WireTap::new(self.clone(), server);
        move |message| tap.see(&message)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
