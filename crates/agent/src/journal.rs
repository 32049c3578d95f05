//! The journal: one ordered stream of everything that happens in a run.
//!
//! [`Event`] is named after the nine stages of a call. A [`Journal`] stamps events with a number and the time,
//! masks secrets, and hands them to its [`Sink`]s in order. Terminal, trace file and tests are views of it;
//! nothing renders from anything else. Where to look next: `journal/event.rs` for the events, `journal/mask.rs`
//! for what is masked, `journal/view.rs` for the lines of the terminal.

mod authorization;
mod declaration;
mod event;
mod mask;
mod pieces;
mod sink;
mod size;
mod view;
mod wire;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use switchboard_client::WireMessage;

use self::pieces::Held;
use self::wire::WireTap;
use crate::name::{RunId, ServerName};

pub use self::authorization::Authorization;
pub use self::declaration::{Declaration, Exposed, ExposedName};
pub use self::event::{
    Discovery, Event, Execution, Integration, Invocation, JournaledCall, ResultEvent, RunEvent, Selection,
    WireDirection,
};
pub(crate) use self::event::{journaled_result, value_of};
pub(crate) use self::mask::MASK;
pub use self::mask::Masker;
pub use self::sink::{JsonLines, Memory, Sink};
pub(crate) use self::size::reduced;
pub use self::view::line;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts up from 1, over all runs of a session. A number is never used twice; those of pieces of an answer are
    /// missing from what is stored, and a crash leaves a gap.
    pub seq: u64,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub unix_ms: u64,
    /// Milliseconds since the journal was opened, by a clock that never jumps.
    pub elapsed_ms: u64,
    /// The run that it belongs to, in the journal of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
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
pub struct Journal {
    shared: Arc<Mutex<Inner>>,
    run: Option<RunId>,
}

struct Inner {
    seq: u64,
    opened: Instant,
    masker: Masker,
    held: Option<Held>,
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
        Self::continuing(0)
    }

    /// A stream that goes on after entry `last`, which was written by an earlier process.
    #[must_use]
    pub fn continuing(last: u64) -> Self {
        let inner = Inner {
            seq: last,
            opened: Instant::now(),
            masker: Masker::default(),
            held: None,
            sinks: Vec::new(),
        };
        Self { shared: Arc::new(Mutex::new(inner)), run: None }
    }

    /// The same stream, for what belongs to one run.
    #[must_use]
    pub fn for_run(&self, run: RunId) -> Self {
        Self { shared: Arc::clone(&self.shared), run: Some(run) }
    }

    /// The number of the last entry.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.lock().seq
    }

    /// Masks the texts that are known to be secret, in something that is kept beside the journal. What only looks
    /// like a secret stays: it may be needed to go on.
    #[must_use]
    pub fn masked(&self, text: String) -> String {
        self.lock().masker.known(text)
    }

    /// As [`masked`](Self::masked), for JSON, which stays JSON of the same form: only its texts change, not the names
    /// of members.
    pub(crate) fn masked_json(&self, json: String) -> String {
        self.lock().masker.known_json(json)
    }

    /// What it knows to be secret by now.
    pub(crate) fn masker(&self) -> Masker {
        self.lock().masker.clone()
    }

    /// Masks whatever the journal masks, in something that is only shown.
    pub(crate) fn mask_value(&self, value: &mut serde_json::Value) {
        self.lock().masker.value(value);
    }

    /// As [`masked`](Self::masked), for bytes.
    #[must_use]
    pub fn masked_bytes<'a>(&self, bytes: &'a [u8]) -> std::borrow::Cow<'a, [u8]> {
        self.lock().masker.known_bytes(bytes)
    }

    /// Adds a reader. It sees what is recorded from now on.
    #[must_use]
    pub fn with_sink(self, sink: impl Sink + 'static) -> Self {
        self.lock().sinks.push(Box::new(sink));
        self
    }

    /// Masks a text, such as a key, wherever it appears from now on; but for one that the masker
    /// [spares](Masker::spares).
    pub fn mask(&self, secret: impl Into<String>) {
        self.lock().masker.add(secret);
    }

    /// Stamps an event, masks it, and hands it to every sink. Sinks run inside this call, one after the other. Of a piece
    /// of an answer, what may be the beginning of a secret is held back until the next one, or the end of the answer.
    pub fn record(&self, event: impl Into<Event>) {
        let mut inner = self.lock();
        let Inner { held, masker, .. } = &mut *inner;
        for (run, event) in pieces::settle(held, (&self.run, event.into()), masker).into_iter().flatten() {
            inner.write(run, event);
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
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn write(&mut self, run: Option<RunId>, mut event: Event) {
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        self.seq += 1;
        self.masker.mask(&mut event);
        let entry = Entry {
            seq: self.seq,
            unix_ms: u64::try_from(unix_ms).unwrap_or(u64::MAX),
            elapsed_ms: u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX),
            run,
            event,
        };
        for sink in &mut self.sinks {
            sink.write(&entry);
        }
    }
}

#[cfg(test)]
mod tests;
