//! Session ids: what a handshake agreed on, sealed. Any replica with the same keys serves a session of
//! which nothing is kept, and nobody but the caller who opened it can use it.

use bytes::Bytes;
use switchboard_protocol::{Method, Revision};

use crate::legacy::Terms;
use crate::seal::{Purpose, Seal};

/// Names a session where something is kept of it.
pub(super) type Key = [u8; KEY_BYTES];

/// Length that an id may have: that of the largest terms, with what sealing adds.
pub(super) const ID_BYTES: usize = 4 * 1024;

const KEY_BYTES: usize = 16;
const DATE_BYTES: usize = 10;
const LENGTH_BYTES: usize = 2;

/// What an id says.
pub(super) struct Opened {
    pub(super) key: Key,
    pub(super) terms: Terms,
}

/// What session ids are good for. They are bound to no method: requests of all of them carry one.
fn purpose(caller: Option<&str>) -> Purpose<'_> {
    Purpose { kind: "session", method: Method::Discover, caller, digest: [0; 32] }
}

/// A new id.
///
/// # Errors
/// For the log: no randomness, or an id beyond the limit of sealed tokens.
pub(super) fn seal(
    seal: &Seal,
    terms: &Terms,
    (caller, life): (Option<&str>, std::time::Duration),
) -> Result<String, String> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| format!("no randomness for a session: {error}"))?;
    let info = u16::try_from(terms.client_info.len()).map_err(|error| error.to_string())?;
    let mut payload = Vec::with_capacity(64 + usize::from(info) + terms.client_capabilities.len());
    payload.extend_from_slice(&key);
    payload.extend_from_slice(terms.revision.date().as_bytes());
    payload.extend_from_slice(&info.to_be_bytes());
    payload.extend_from_slice(&terms.client_info);
    payload.extend_from_slice(&terms.client_capabilities);
    seal.seal(purpose(caller), Some(life), &payload)
}

/// What an id says, if it is one of ours, of this caller, and still good.
pub(super) fn open(seal: &Seal, id: &str, caller: Option<&str>) -> Option<Opened> {
    let payload = match seal.open(purpose(caller), id) {
        Ok(payload) => Bytes::from(payload),
        Err(reason) => {
            tracing::debug!(%reason, "a session id does not open");
            return None;
        }
    };
    let (key, rest) = payload.split_first_chunk::<KEY_BYTES>()?;
    let (date, rest) = rest.split_first_chunk::<DATE_BYTES>()?;
    let (length, rest) = rest.split_first_chunk::<LENGTH_BYTES>()?;
    let (info, capabilities) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let revision = Revision::legacy(std::str::from_utf8(date).ok()?)?;
    let terms = Terms {
        revision,
        client_info: payload.slice_ref(info),
        client_capabilities: payload.slice_ref(capabilities),
    };
    Some(Opened { key: *key, terms })
}
