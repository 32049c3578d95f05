//! Addresses that a person was sent to, and whether the server says that they are done there.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use switchboard_protocol::era::legacy::upgrade::MAX_REQUIRED_URLS;
use tokio::sync::Notify;

/// So many addresses are waited for at a time; older ones are forgotten first.
const KEPT: usize = 4 * MAX_REQUIRED_URLS;

/// The addresses of one session that somebody agreed to visit.
#[derive(Default)]
pub(super) struct Urls {
    known: Mutex<VecDeque<(String, bool)>>,
    changed: Notify,
}

impl Urls {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, bool)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These are waited for from now on.
    pub(super) fn expect<'a>(&self, ids: impl Iterator<Item = &'a String>) {
        let mut known = self.lock();
        for id in ids {
            if !known.iter().any(|(expected, _)| expected == id) {
                known.push_back((id.clone(), false));
            }
            while known.len() > KEPT {
                known.pop_front();
            }
        }
    }

    /// `notifications/elicitation/complete`; an unknown id is nothing to anybody.
    pub(super) fn done(&self, params: &str) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Complete {
            elicitation_id: String,
        }
        let Ok(Complete { elicitation_id }) = serde_json::from_str(params) else { return };
        for (expected, done) in &mut *self.lock() {
            if *expected == elicitation_id {
                *done = true;
            }
        }
        self.changed.notify_waiters();
    }

    /// Waits until the server says that all of these are done; they are forgotten then.
    pub(super) async fn all_done(&self, ids: &[String]) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut known = self.lock();
                let waits = known.iter().any(|(id, done)| !done && ids.contains(id));
                if !waits {
                    known.retain(|(id, _)| !ids.contains(id));
                    return;
                }
            }
            changed.await;
        }
    }
}
