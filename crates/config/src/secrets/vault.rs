//! The encrypted file, for machines without a keychain.
//!
//! `XChaCha20-Poly1305` with a random key in a file of its own and a random nonce for every writing. Both files are
//! readable by the person alone.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::SecretError;
use crate::keep;
use crate::secret::SecretString;

/// Says what the file is, and is sealed with it.
const MAGIC: &[u8] = b"switchboard-secrets-1\n";
const NONCE: usize = 24;
const KEY: usize = 32;
const DAMAGED: &str = "remove the file and set the secrets anew";

/// A file with secrets.
#[derive(Clone, Debug)]
pub(super) struct Vault {
    file: PathBuf,
    key_file: PathBuf,
}

/// Names and values.
pub(super) type Contents = BTreeMap<String, String>;

impl Vault {
    pub(super) fn new(data_dir: &Path) -> Self {
        Self { file: data_dir.join("secrets.sealed"), key_file: data_dir.join("secrets.key") }
    }

    /// Everything in it. Whoever has it wipes it.
    pub(super) fn read(&self) -> Result<Zeroizing<Wiped>, SecretError> {
        let sealed = match fs::read(&self.file) {
            Ok(sealed) => sealed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Zeroizing::default()),
            Err(error) => return Err(self.failed("read", &error)),
        };
        let damaged = || SecretError::new(format!("{} is damaged", self.file.display()), DAMAGED);
        let body = sealed.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let (nonce, body) = body.split_at_checked(NONCE).ok_or_else(damaged)?;
        let nonce = XNonce::try_from(nonce).map_err(|_| damaged())?;
        let payload = Payload { msg: body, aad: MAGIC };
        let opened = self.cipher(false)?.decrypt(&nonce, payload).map_err(|_| {
            let message =
                format!("{} was not sealed with the key in {}", self.file.display(), self.key_file.display());
            SecretError::new(message, DAMAGED)
        })?;
        let opened = Zeroizing::new(opened);
        serde_json::from_slice(&opened).map(|contents| Zeroizing::new(Wiped(contents))).map_err(|_| damaged())
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<SecretString>, SecretError> {
        Ok(self.read()?.0.get(name).map(SecretString::new))
    }

    /// Changes what is in it.
    pub(super) fn change(&self, change: impl FnOnce(&mut Contents)) -> Result<(), SecretError> {
        let folder = self.file.parent().unwrap_or(&self.file);
        let _alone = keep::lock(folder).map_err(|error| self.failed("written", &error))?;
        let mut contents = self.read()?;
        change(&mut contents.0);
        let text = serde_json::to_vec(&contents.0).map(Zeroizing::new);
        let text = text.map_err(|error| self.failed("written", &io::Error::other(error)))?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)
            .map_err(|error| self.failed("sealed", &io::Error::other(error.to_string())))?;
        let payload = Payload { msg: &text, aad: MAGIC };
        let sealed = self.cipher(true)?.encrypt(&XNonce::from(nonce), payload);
        let sealed =
            sealed.map_err(|_| SecretError::new("the secrets cannot be sealed", "store fewer of them"))?;
        let bytes = [MAGIC, &nonce, &sealed].concat();
        keep::write_secret(&self.file, &bytes).map_err(|error| self.failed("written", &error))
    }

    fn cipher(&self, make: bool) -> Result<XChaCha20Poly1305, SecretError> {
        let failed = |error: &io::Error| {
            SecretError::new(
                format!("the key file {} cannot be used: {error}", self.key_file.display()),
                "check the permissions of its folder",
            )
        };
        let key = match fs::read(&self.key_file) {
            Ok(key) => {
                keep::close_to_others(&self.key_file);
                Zeroizing::new(key)
            }
            Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
                let mut key = Zeroizing::new(vec![0; KEY]);
                getrandom::fill(&mut key).map_err(|error| failed(&io::Error::other(error.to_string())))?;
                keep::write_secret(&self.key_file, &key).map_err(|error| failed(&error))?;
                key
            }
            Err(error) => return Err(failed(&error)),
        };
        XChaCha20Poly1305::new_from_slice(&key).map_err(|_| failed(&io::Error::other("it holds no key")))
    }

    fn failed(&self, what: &str, error: &io::Error) -> SecretError {
        let message = format!("{} cannot be {what}: {error}", self.file.display());
        SecretError::new(message, "check the permissions of the data folder")
    }
}

/// Contents whose values are wiped.
#[derive(Default)]
pub(super) struct Wiped(pub(super) Contents);

impl zeroize::Zeroize for Wiped {
    fn zeroize(&mut self) {
        self.0.values_mut().for_each(zeroize::Zeroize::zeroize);
    }
}
