//! Hashes that tell versions of an entry apart.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Hashes parts so that no two lists of parts run into each other.
pub(crate) fn of(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing into a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
