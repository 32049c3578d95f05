//! The keychain of the platform: Secret Service, Keychain, or Credential Manager.

use keyring::{Entry, Error};

use super::SecretError;
use crate::secret::SecretString;

/// What our entries are called there.
const SERVICE: &str = "switchboard";
const LOCKED: &str = "unlock the keychain, or set SWITCHBOARD_SECRETS=file to use a file";

/// Whether there is one that can be spoken to.
pub(super) fn is_there() -> bool {
    Entry::store_status().is_ok()
}

pub(super) fn get(name: &str) -> Result<Option<SecretString>, SecretError> {
    match entry(name)?.get_password() {
        Ok(value) => Ok(Some(SecretString::new(value))),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(failed("read", &error)),
    }
}

pub(super) fn set(name: &str, value: &SecretString) -> Result<(), SecretError> {
    entry(name)?.set_password(value.expose()).map_err(|error| failed("keep", &error))
}

pub(super) fn remove(name: &str) -> Result<(), SecretError> {
    match entry(name)?.delete_credential() {
        Ok(()) | Err(Error::NoEntry) => Ok(()),
        Err(error) => Err(failed("remove", &error)),
    }
}

fn entry(name: &str) -> Result<Entry, SecretError> {
    Entry::new(SERVICE, name).map_err(|error| failed("find", &error))
}

fn failed(what: &str, error: &Error) -> SecretError {
    // What the entry holds could be in the error itself.
    let why = match error {
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "its value is no text".to_owned(),
        other => other.to_string(),
    };
    SecretError::new(format!("the keychain cannot {what} the secret: {why}"), LOCKED)
}
