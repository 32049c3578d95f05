//! Sealed tokens of this server: request states and cursors.
//!
//! The tokens themselves are the protocol crate's; in here are the keys, the clock, the random nonces, and
//! what a token is bound to. Nothing is stored: any replica with the same keys opens a token.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use switchboard_protocol::Method;
use switchboard_protocol::seal::{Binding, KeyRing, NONCE_BYTES, SealKey, Sealer};

use crate::build::BuildError;

/// The secret keys that request states and cursors are sealed with.
///
/// Replicas behind one address need the same; a single process makes its own. To rotate, put the new key
/// behind the current one everywhere, then in front of it, and drop the old one after
/// [`Limits::request_state_ttl`](crate::Limits::request_state_ttl).
#[derive(Clone)]
pub struct Keys {
    /// Seals, and opens.
    first: [u8; 32],
    /// Only open.
    others: Vec<[u8; 32]>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("keys", &(1 + self.others.len())).finish_non_exhaustive()
    }
}

impl Keys {
    /// Keys from an environment variable: one or more of 32 random bytes in base64, separated by commas or
    /// spaces. `openssl rand -base64 32` makes one.
    ///
    /// # Errors
    /// When the variable is not set, or holds something else.
    pub fn from_env(variable: &str) -> Result<Self, BuildError> {
        let text = std::env::var(variable)
            .map_err(|_| BuildError::of(format!("state keys: the variable {variable} is not set")))?;
        Self::parse(&text).map_err(|what| BuildError::of(format!("state keys: {variable}: {what}")))
    }

    /// Keys of 32 secret random bytes. The first one seals, all of them open.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(secrets: impl IntoIterator<Item = [u8; 32]>) -> Result<Self, BuildError> {
        Self::of(secrets.into_iter().collect())
            .ok_or_else(|| BuildError::of("state keys: there must be at least one"))
    }

    fn of(mut secrets: Vec<[u8; 32]>) -> Option<Self> {
        if secrets.is_empty() {
            return None;
        }
        let first = secrets.remove(0);
        Some(Self { first, others: secrets })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let words = text.split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty());
        let secrets: Vec<[u8; 32]> = words.map(secret).collect::<Result<_, _>>()?;
        Self::of(secrets).ok_or_else(|| "it is empty".into())
    }

    /// A key of this process alone.
    pub(crate) fn random() -> Result<Self, String> {
        let mut first = [0; 32];
        getrandom::fill(&mut first).map_err(|error| format!("no randomness for a key: {error}"))?;
        Ok(Self { first, others: Vec::new() })
    }
}

fn secret(word: &str) -> Result<[u8; 32], String> {
    let word = word.trim_end_matches('=');
    let bytes = STANDARD_NO_PAD.decode(word).or_else(|_| URL_SAFE_NO_PAD.decode(word));
    bytes
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| "a key must be 32 bytes in base64".into())
}

/// Seals and opens the tokens of one server.
pub(crate) struct Seal {
    sealer: Sealer,
    audience: String,
}

/// What a token is good for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose<'a> {
    pub(crate) kind: &'static str,
    pub(crate) method: Method,
    pub(crate) caller: Option<&'a str>,
    pub(crate) digest: [u8; 32],
}

impl Seal {
    pub(crate) fn new(keys: &Keys, audience: &str, max_token_bytes: usize) -> Self {
        let others = keys.others.iter().map(|secret| SealKey::new(*secret));
        let ring = others.fold(KeyRing::new(SealKey::new(keys.first)), KeyRing::and_open_with);
        Self { sealer: Sealer::new(ring).max_token_bytes(max_token_bytes), audience: audience.into() }
    }

    /// The same keys, for tokens up to another length.
    #[cfg(all(feature = "legacy", feature = "serve"))]
    pub(crate) fn resized(&self, max_token_bytes: usize) -> Self {
        Self { sealer: self.sealer.clone().max_token_bytes(max_token_bytes), audience: self.audience.clone() }
    }

    fn binding<'a>(&'a self, purpose: Purpose<'a>) -> Binding<'a> {
        Binding {
            purpose: purpose.kind,
            audience: &self.audience,
            principal: purpose.caller,
            method: purpose.method.name(),
            digest: purpose.digest,
        }
    }

    /// Seals for a time, or for ever.
    pub(crate) fn seal(
        &self,
        purpose: Purpose<'_>,
        ttl: Option<Duration>,
        payload: &[u8],
    ) -> Result<String, String> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|error| format!("no randomness for a nonce: {error}"))?;
        let expires_at = ttl.map_or(u64::MAX, |ttl| unix_time().saturating_add(ttl).as_secs());
        let binding = self.binding(purpose);
        self.sealer.seal(&binding, expires_at, payload, nonce).map_err(|error| error.reason().to_string())
    }

    /// Opens; the error is for the log, never for the peer.
    pub(crate) fn open(&self, purpose: Purpose<'_>, token: &str) -> Result<Vec<u8>, String> {
        let binding = self.binding(purpose);
        self.sealer.open(&binding, unix_time().as_secs(), token).map_err(|error| error.reason().to_string())
    }
}

pub(crate) fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
