//! Session ids: what a handshake agreed on, sealed. Any replica with the same keys serves a session of
//! which nothing is kept, and nobody but the caller who opened it can use it.
//!
//! Every request of a session carries the id, so those that were opened lately are remembered: opening one
//! costs more than a small call does.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::{Method, Revision};

use crate::legacy::Terms;
use crate::seal::{Purpose, Seal, unix_time};

/// Names a session where something is kept of it.
pub(super) type Key = [u8; KEY_BYTES];

/// Length that an id may have: that of the largest terms, with what sealing adds.
const ID_BYTES: usize = 4 * 1024;

const KEY_BYTES: usize = 16;
const EXPIRY_BYTES: usize = 8;
const DATE_BYTES: usize = 10;
const LENGTH_BYTES: usize = 2;

/// How many ids are remembered; all are forgotten when there is no room for another.
const REMEMBERED: usize = 512;

/// Makes session ids, and reads them.
pub(super) struct Ids {
    seal: Seal,
    lately: Mutex<HashMap<Box<str>, Remembered>>,
}

struct Remembered {
    caller: Option<Box<str>>,
    opened: Opened,
}

/// What an id says.
#[derive(Clone)]
pub(super) struct Opened {
    pub(super) key: Key,
    pub(super) terms: Terms,
    /// Seconds since 1970.
    pub(super) expires_at: u64,
}

/// What session ids are good for. They are bound to no method: requests of all of them carry one.
fn purpose(caller: Option<&str>) -> Purpose<'_> {
    Purpose { kind: "session", method: Method::Discover, caller, digest: [0; 32] }
}

impl Ids {
    pub(super) fn new(seal: &Seal) -> Self {
        Self { seal: seal.resized(ID_BYTES), lately: Mutex::default() }
    }

    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn lately(&self) -> MutexGuard<'_, HashMap<Box<str>, Remembered>> {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new id.
    ///
    /// # Errors
    /// For the log: no randomness, or an id beyond the limit of sealed tokens.
    pub(super) fn seal(&self, terms: &Terms, caller: Option<&str>, life: Duration) -> Result<String, String> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|error| format!("no randomness for a session: {error}"))?;
        let info = u16::try_from(terms.client_info.len()).map_err(|error| error.to_string())?;
        let expires_at = unix_time().saturating_add(life).as_secs();
        let mut payload = Vec::with_capacity(64 + usize::from(info) + terms.client_capabilities.len());
        payload.extend_from_slice(&key);
        payload.extend_from_slice(&expires_at.to_be_bytes());
        payload.extend_from_slice(terms.revision.date().as_bytes());
        payload.extend_from_slice(&info.to_be_bytes());
        payload.extend_from_slice(&terms.client_info);
        payload.extend_from_slice(&terms.client_capabilities);
        self.seal.seal(purpose(caller), Some(life), &payload)
    }

    /// What an id says, if it is one of ours, of this caller, and still good.
    pub(super) fn open(&self, id: &str, caller: Option<&str>) -> Option<Opened> {
        if let Some(remembered) = self.lately().get(id)
            && remembered.caller.as_deref() == caller
            && unix_time().as_secs() < remembered.opened.expires_at
        {
            return Some(remembered.opened.clone());
        }
        let opened = match self.seal.open(purpose(caller), id) {
            Ok(payload) => read(&Bytes::from(payload))?,
            Err(reason) => {
                tracing::debug!(%reason, "a session id does not open");
                return None;
            }
        };
        let mut lately = self.lately();
        if lately.len() >= REMEMBERED {
            lately.clear();
        }
        lately.insert(id.into(), Remembered { caller: caller.map(Into::into), opened: opened.clone() });
        Some(opened)
    }
}

fn read(payload: &Bytes) -> Option<Opened> {
    let (key, rest) = payload.split_first_chunk::<KEY_BYTES>()?;
    let (expires_at, rest) = rest.split_first_chunk::<EXPIRY_BYTES>()?;
    let (date, rest) = rest.split_first_chunk::<DATE_BYTES>()?;
    let (length, rest) = rest.split_first_chunk::<LENGTH_BYTES>()?;
    let (info, capabilities) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let revision = Revision::legacy(std::str::from_utf8(date).ok()?)?;
    let terms = Terms {
        revision,
        client_info: payload.slice_ref(info),
        client_capabilities: payload.slice_ref(capabilities),
    };
    Some(Opened { key: *key, terms, expires_at: u64::from_be_bytes(*expires_at) })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use switchboard_protocol::Revision;

    use super::{Ids, REMEMBERED};
    use crate::legacy::Terms;
    use crate::server::Server;

    fn ids() -> Ids {
        Ids::new(Server::builder("ids", "1").build(()).unwrap().seal())
    }

    fn terms() -> Terms {
        Terms {
            revision: Revision::NEWEST_LEGACY,
            client_info: Bytes::from_static(b"{}"),
            client_capabilities: Bytes::from_static(b"{}"),
        }
    }

    #[test]
    fn a_remembered_id_is_as_good_as_it_was_for_whoever_it_was_made() {
        let ids = ids();
        let id = ids.seal(&terms(), Some("ada"), Duration::from_secs(60)).unwrap();
        let over = ids.seal(&terms(), Some("ada"), Duration::ZERO).unwrap();
        for _ in 0..2 {
            assert!(ids.open(&id, Some("ada")).is_some());
            for stranger in [None, Some("bob"), Some("")] {
                assert!(ids.open(&id, stranger).is_none(), "{stranger:?}");
            }
            assert!(ids.open(&over, Some("ada")).is_none());
        }
    }

    #[test]
    fn few_ids_are_remembered() {
        let ids = ids();
        for _ in 0..3 * REMEMBERED {
            let id = ids.seal(&terms(), None, Duration::from_secs(60)).unwrap();
            assert!(ids.open(&id, None).is_some());
            assert!(ids.lately().len() <= REMEMBERED);
        }
    }
}
