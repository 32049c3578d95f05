//! All secrets of one person, wherever they are kept.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::vault::Vault;
use super::{SecretError, Secrets, keychain};
use crate::keep;
use crate::secret::SecretString;

/// The longest name, in characters.
const MAX_NAME: usize = 128;

/// Where a secret is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keeper {
    /// The keychain of the platform.
    Keychain,
    /// The encrypted file.
    File,
}

impl fmt::Display for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keychain => "the keychain",
            Self::File => "an encrypted file",
        })
    }
}

/// A secret that there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredSecret {
    /// Its name.
    pub name: String,
    /// Where it is kept.
    pub kept_in: Keeper,
}

/// All secrets of one person.
#[derive(Clone, Debug)]
pub struct SecretStore {
    vault: Vault,
    /// The names of what is in the keychain, which cannot be listed.
    index: PathBuf,
    /// Where new ones go; found out when it is needed first, if absent.
    keeper: Option<Keeper>,
}

impl SecretStore {
    /// The secrets that are kept with this folder. `choice` is `keychain`, `file`, or anything else to take the
    /// keychain where there is one.
    #[must_use]
    pub fn open(data_dir: &Path, choice: Option<&str>) -> Self {
        let keeper = match choice {
            Some("file") => Some(Keeper::File),
            Some("keychain") => Some(Keeper::Keychain),
            _ => None,
        };
        Self { vault: Vault::new(data_dir), index: data_dir.join("secrets.json"), keeper }
    }

    /// Where new secrets go.
    #[must_use]
    pub fn keeper(&self) -> Keeper {
        self.keeper.unwrap_or_else(|| if keychain::is_there() { Keeper::Keychain } else { Keeper::File })
    }

    /// The names of all secrets.
    ///
    /// # Errors
    /// When the encrypted file cannot be read.
    pub fn list(&self) -> Result<Vec<StoredSecret>, SecretError> {
        let of = |kept_in| move |name: &String| StoredSecret { name: name.clone(), kept_in };
        let mut all: Vec<_> = self.in_keychain().iter().map(of(Keeper::Keychain)).collect();
        all.extend(self.vault.read()?.0.keys().map(of(Keeper::File)));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Keeps a value, in the place of an earlier one. Returns where it is kept.
    ///
    /// # Errors
    /// When the name cannot be one, or the value cannot be kept.
    pub fn set(&self, name: &str, value: &SecretString) -> Result<Keeper, SecretError> {
        check(name)?;
        let keeper = self.keeper();
        match keeper {
            Keeper::Keychain => {
                keychain::set(name, value)?;
                self.change_index(|names| names.insert(name.to_owned()))?;
                // The earlier one must not come back when this one is removed.
                if self.vault.read()?.0.contains_key(name) {
                    self.vault.change(|all| drop(all.remove(name)))?;
                }
            }
            Keeper::File => {
                self.vault.change(|all| drop(all.insert(name.to_owned(), value.expose().to_owned())))?;
                self.change_index(|names| names.remove(name))?;
            }
        }
        Ok(keeper)
    }

    /// Removes a secret. Returns whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<bool, SecretError> {
        let mut was_there = false;
        if self.in_keychain().contains(name) {
            keychain::remove(name)?;
            self.change_index(|names| names.remove(name))?;
            was_there = true;
        }
        if self.vault.read()?.0.contains_key(name) {
            self.vault.change(|all| drop(all.remove(name)))?;
            was_there = true;
        }
        Ok(was_there)
    }

    fn in_keychain(&self) -> BTreeSet<String> {
        let read = || serde_json::from_str(&fs::read_to_string(&self.index).ok()?).ok();
        read().unwrap_or_default()
    }

    /// Changes which names there are in the keychain. `change` returns whether it did.
    fn change_index(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) -> Result<(), SecretError> {
        let failed = |why: String| SecretError::new(why, "check the permissions of the data folder");
        let unwritten = |error| failed(format!("{} cannot be written: {error}", self.index.display()));
        let _alone = keep::lock(self.index.parent().unwrap_or(&self.index)).map_err(unwritten)?;
        let mut names = self.in_keychain();
        if !change(&mut names) {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&names).map_err(|error| failed(error.to_string()))?;
        keep::write_secret(&self.index, text.as_bytes()).map_err(unwritten)
    }
}

impl Secrets for SecretStore {
    fn secret(&self, name: &str) -> Result<Option<SecretString>, SecretError> {
        // What was never put there is not asked for there: a keychain may want to be unlocked.
        if self.in_keychain().contains(name)
            && let Some(value) = keychain::get(name)?
        {
            return Ok(Some(value));
        }
        self.vault.get(name)
    }

    fn keep(&self, name: &str, value: &SecretString) -> Result<(), SecretError> {
        self.set(name, value).map(drop)
    }
}

fn check(name: &str) -> Result<(), SecretError> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':' | ' ');
    if name.is_empty() || name.chars().count() > MAX_NAME || !name.chars().all(fits) || name.trim() != name {
        return Err(SecretError::new(
            "this cannot name a secret",
            "use up to 128 letters, digits and -_./@:, without spaces at the ends",
        ));
    }
    Ok(())
}
