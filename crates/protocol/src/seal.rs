//! Sealed tokens: state that travels with the peer instead of waiting in a store.
//!
//! A [`Sealer`] turns bytes into a text that only a holder of the same keys can read, that nobody can
//! change, and that opens only for the caller, the method and the parameters it was made for, until it
//! expires. Request state and pagination cursors are such tokens. Nonces and the time come from the
//! caller; nothing is remembered, so a token can be opened more than once until it expires.
//!
//! A token is base64url of: version (1 byte), key id (4), nonce (24), XChaCha20-Poly1305 ciphertext of
//! expiry (8) and payload. Version, key id and [`Binding`] are authenticated.
//!
//! Where to look next: `seal/digest.rs` for the digest of parameters.

mod digest;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

pub use digest::params_digest;

/// Bytes of a nonce. Random ones may be used at this size without keeping count.
pub const NONCE_BYTES: usize = 24;
/// Length that a token may have unless [`Sealer::max_token_bytes`] says otherwise.
pub const DEFAULT_MAX_TOKEN_BYTES: usize = 64 * 1024;

const VERSION: u8 = 1;
const KEY_ID_BYTES: usize = 4;
const HEADER_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;
const EXPIRY_BYTES: usize = 8;

/// One key. Its secret is never printed.
#[derive(Clone)]
pub struct SealKey {
    id: [u8; KEY_ID_BYTES],
    cipher: XChaCha20Poly1305,
}

impl SealKey {
    /// A key from 32 secret random bytes. Its id is derived from them, so that replicas which share
    /// the secret share the id.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        let hash: [u8; 32] =
            Sha256::new().chain_update(b"switchboard seal key id\0").chain_update(secret).finalize().into();
        let [a, b, c, d, ..] = hash;
        Self { id: [a, b, c, d], cipher: XChaCha20Poly1305::new(&secret.into()) }
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The keys of a server: the first one seals, all of them open.
///
/// To rotate, put the new key behind the current one on every replica, then in front of it, and drop
/// the old one when the last token it sealed has expired.
#[derive(Clone, Debug)]
pub struct KeyRing {
    sealing: SealKey,
    opening: Vec<SealKey>,
}

impl KeyRing {
    /// A ring of one key.
    #[must_use]
    pub fn new(sealing: SealKey) -> Self {
        Self { sealing, opening: Vec::new() }
    }

    /// Adds a key that only opens.
    #[must_use]
    pub fn and_open_with(mut self, key: SealKey) -> Self {
        self.opening.push(key);
        self
    }

    fn find(&self, id: [u8; KEY_ID_BYTES]) -> Option<&SealKey> {
        std::iter::once(&self.sealing).chain(&self.opening).find(|key| key.id == id)
    }
}

/// What a token is good for. It opens only under an equal binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The kind of token, such as `requestState` or `cursor`.
    pub purpose: &'a str,
    /// Which server it is for.
    pub audience: &'a str,
    /// Who is calling; `None` where callers are not told apart.
    pub principal: Option<&'a str>,
    /// The JSON-RPC method.
    pub method: &'a str,
    /// What the call is about; see [`params_digest`].
    pub digest: [u8; 32],
}

impl Binding<'_> {
    /// The associated data: every part with its length, so that no two bindings look alike.
    fn associated_data(&self, key_id: [u8; KEY_ID_BYTES]) -> Vec<u8> {
        let mut data = Vec::with_capacity(128);
        data.push(VERSION);
        data.extend_from_slice(&key_id);
        data.push(u8::from(self.principal.is_some()));
        for part in [self.purpose, self.audience, self.principal.unwrap_or_default(), self.method] {
            data.extend_from_slice(&(part.len() as u64).to_be_bytes());
            data.extend_from_slice(part.as_bytes());
        }
        data.extend_from_slice(&self.digest);
        data
    }
}

/// Seals and opens tokens.
///
/// ```
/// use switchboard_protocol::seal::{Binding, KeyRing, SealKey, Sealer, params_digest};
///
/// let sealer = Sealer::new(KeyRing::new(SealKey::new([7; 32])));
/// let binding = Binding {
///     purpose: "requestState",
///     audience: "https://example.com/mcp",
///     principal: Some("alice"),
///     method: "tools/call",
///     digest: params_digest("pay", None),
/// };
/// let token = sealer.seal(&binding, 1_000, b"step 2", [0; 24])?; // the nonce must be random
/// assert_eq!(sealer.open(&binding, 999, &token)?, b"step 2");
/// let other = Binding { principal: Some("mallory"), ..binding };
/// assert!(sealer.open(&other, 999, &token).is_err());
/// # Ok::<(), switchboard_protocol::seal::SealError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sealer {
    ring: KeyRing,
    max_token_bytes: usize,
}

impl Sealer {
    /// A sealer with these keys.
    #[must_use]
    pub fn new(ring: KeyRing) -> Self {
        Self { ring, max_token_bytes: DEFAULT_MAX_TOKEN_BYTES }
    }

    /// Sets the length up to which tokens are made and read.
    #[must_use]
    pub fn max_token_bytes(mut self, max: usize) -> Self {
        self.max_token_bytes = max;
        self
    }

    /// Seals `payload` until `expires_at` (Unix time in seconds; from then on it is expired). `nonce`
    /// must be random and is used for this token only.
    ///
    /// # Errors
    /// Only if the token would be longer than the limit.
    pub fn seal(
        &self,
        binding: &Binding<'_>,
        expires_at: u64,
        payload: &[u8],
        nonce: [u8; NONCE_BYTES],
    ) -> Result<String, SealError> {
        let key = &self.ring.sealing;
        let mut plain = Vec::with_capacity(EXPIRY_BYTES + payload.len());
        plain.extend_from_slice(&expires_at.to_be_bytes());
        plain.extend_from_slice(payload);
        let aad = binding.associated_data(key.id);
        let sealed = key
            .cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &aad })
            .map_err(|_| SealError::of(SealErrorReason::TooLong))?;
        let mut token = Vec::with_capacity(HEADER_BYTES + sealed.len());
        token.push(VERSION);
        token.extend_from_slice(&key.id);
        token.extend_from_slice(&nonce);
        token.extend_from_slice(&sealed);
        let token = URL_SAFE_NO_PAD.encode(token);
        if token.len() > self.max_token_bytes {
            return Err(SealError::of(SealErrorReason::TooLong));
        }
        Ok(token)
    }

    /// Opens a token under the binding of the present call. `now` is Unix time in seconds.
    ///
    /// # Errors
    /// Anything that is wrong with the token. The peer is told one fixed text; [`SealError::reason`] is
    /// for the log.
    pub fn open(&self, binding: &Binding<'_>, now: u64, token: &str) -> Result<Vec<u8>, SealError> {
        if token.len() > self.max_token_bytes {
            return Err(SealError::of(SealErrorReason::TooLong));
        }
        let malformed = || SealError::of(SealErrorReason::Malformed);
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| malformed())?;
        let (version, rest) = bytes.split_first().ok_or_else(malformed)?;
        let (key_id, rest) = rest.split_first_chunk::<KEY_ID_BYTES>().ok_or_else(malformed)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>().ok_or_else(malformed)?;
        if *version != VERSION {
            return Err(malformed());
        }
        let key = self.ring.find(*key_id).ok_or(SealError::of(SealErrorReason::UnknownKey))?;
        let aad = binding.associated_data(key.id);
        let mut plain = key
            .cipher
            .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &aad })
            .map_err(|_| SealError::of(SealErrorReason::NotAuthentic))?;
        let expires_at = plain.first_chunk::<EXPIRY_BYTES>().copied().ok_or_else(malformed)?;
        if now >= u64::from_be_bytes(expires_at) {
            return Err(SealError::of(SealErrorReason::Expired));
        }
        plain.drain(..EXPIRY_BYTES);
        Ok(plain)
    }
}

/// A token that does not open. Its text is the same whatever the reason, so that a caller learns
/// nothing from trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the token is not valid for this request; start again without it")]
pub struct SealError {
    reason: SealErrorReason,
}

impl SealError {
    fn of(reason: SealErrorReason) -> Self {
        Self { reason }
    }

    /// Why, for the log. Not for the peer.
    #[must_use]
    pub fn reason(&self) -> SealErrorReason {
        self.reason
    }
}

/// Why a token does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealErrorReason {
    /// Not the shape of a token, or of a version that is not spoken here.
    #[error("malformed")]
    Malformed,
    /// Longer than [`Sealer::max_token_bytes`].
    #[error("longer than the limit")]
    TooLong,
    /// Sealed with a key that is not in the ring: rotated away, or of another server.
    #[error("sealed with an unknown key")]
    UnknownKey,
    /// Changed, or made for another purpose, server, caller, method or parameters.
    #[error("tampered with or bound to another request")]
    NotAuthentic,
    /// Its time is over.
    #[error("expired")]
    Expired,
}

#[cfg(test)]
mod tests;
