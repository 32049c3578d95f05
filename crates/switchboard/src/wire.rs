//! The messages that a connection begins with, for a journal that is opened while the servers start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_agent::ServerName;
use switchboard_agent::journal::Journal;
use switchboard_agent::supervisor::WireTap;
use switchboard_client::{Direction, WireMessage};

/// Messages that are held until the journal is there. It is opened within milliseconds.
const HELD: usize = 1000;

/// Takes the messages of one server.
type Tap = Arc<dyn Fn(WireMessage<'_>) + Send + Sync>;

/// Takes the messages of all servers that belong to no call.
#[derive(Clone, Default)]
pub(crate) struct Wire(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    held: Vec<(ServerName, Direction, Vec<u8>)>,
    journal: Option<Journal>,
    /// Who records the messages of each server.
    taps: HashMap<ServerName, Tap>,
}

impl Wire {
    /// For the supervisor.
    pub(crate) fn tap(&self) -> WireTap {
        let wire = self.clone();
        Arc::new(move |server, message| wire.see(server, message))
    }

    /// Writes into this journal from now on, and first what came before.
    pub(crate) fn write_into(&self, journal: &Journal) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.journal = Some(journal.clone());
        for (server, direction, bytes) in std::mem::take(&mut state.held) {
            state.record(&server, WireMessage { direction, bytes: &bytes });
        }
    }

    fn see(&self, server: &ServerName, message: WireMessage<'_>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.journal.is_some() {
            state.record(server, message);
        } else if state.held.len() < HELD {
            state.held.push((server.clone(), message.direction, message.bytes.to_vec()));
        }
    }
}

impl State {
    fn record(&mut self, server: &ServerName, message: WireMessage<'_>) {
        let Some(journal) = &self.journal else { return };
        let tap = self.taps.entry(server.clone()).or_insert_with(|| Arc::new(journal.tap(server.clone())));
        tap(message);
    }
}
