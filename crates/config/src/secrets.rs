//! Secrets: values that configuration files only name.
//!
//! They are kept in the keychain of the platform. Where there is none, they are in an encrypted file whose key lies
//! next to it, readable by the person alone: that keeps them out of backups of the one file, out of searches and off
//! the screen. It does not protect them from a program that runs as the person; nothing on the disk alone could.

mod keychain;
mod store;
mod vault;

use std::fmt;

use crate::secret::SecretString;

pub use store::{Keeper, SecretStore, StoredSecret};

/// Whoever knows secrets by their names.
pub trait Secrets: Send + Sync {
    /// The value; nothing if there is none of this name.
    ///
    /// # Errors
    /// When the place where they are kept cannot be read.
    fn secret(&self, name: &str) -> Result<Option<SecretString>, SecretError>;

    /// Keeps a value.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn keep(&self, name: &str, value: &SecretString) -> Result<(), SecretError>;
}

/// Why a secret cannot be read or kept. It never holds the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretError {
    message: String,
    hint: &'static str,
}

impl SecretError {
    pub(crate) fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self { message: message.into(), hint }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &str {
        self.hint
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SecretError {}
