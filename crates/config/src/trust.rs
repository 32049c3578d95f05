//! What the person trusts of the files of projects.
//!
//! A folder that was cloned must not start a program, or send a question somewhere, because somebody opened it. So
//! whatever a project's file names is used only after one decision, which is bound to what it says: once that changes,
//! it is asked anew.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::config::Untrusted;
use crate::keep;

/// The decisions of one person.
#[derive(Clone, Debug, Default)]
pub struct TrustStore {
    file: PathBuf,
    decisions: Vec<Decision>,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Decision {
    hash: String,
    file: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// When it was made, in seconds.
    unix: u64,
}

impl TrustStore {
    /// Reads the decisions that are kept in this folder. What cannot be read counts as none made.
    #[must_use]
    pub fn open(data_dir: &Path) -> Self {
        let file = data_dir.join("trust.json");
        let read = || serde_json::from_str(&fs::read_to_string(&file).ok()?).ok();
        let decisions = read().unwrap_or_default();
        Self { file, decisions }
    }

    /// Whether something with this hash is trusted.
    #[must_use]
    pub fn trusts(&self, hash: &str) -> bool {
        self.decisions.iter().any(|decision| decision.hash == hash)
    }

    /// Whether an earlier version of it was trusted.
    #[must_use]
    pub fn knew(&self, file: &Path, server: Option<&str>) -> bool {
        self.decisions.iter().any(|decision| decision.file == file && decision.server.as_deref() == server)
    }

    /// The servers of projects that were trusted, wherever those are.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.decisions.iter().filter_map(|decision| decision.server.as_deref())
    }

    /// Trusts these from now on, each in the place of its earlier version.
    ///
    /// # Errors
    /// When the decision cannot be kept.
    pub fn trust(&mut self, trusted: &[Untrusted]) -> io::Result<()> {
        let _alone = keep::lock(self.folder())?;
        // Another process may have decided something in the meantime.
        self.decisions = Self::open(self.folder()).decisions;
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        for Untrusted { server, origin, hash, .. } in trusted {
            self.decisions.retain(|decision| decision.file != origin.file || decision.server != *server);
            let (hash, file, server) = (hash.clone(), origin.file.clone(), server.clone());
            self.decisions.push(Decision { hash, file, server, unix });
        }
        self.write()
    }

    /// Takes back the decision about a server, or about all of them. Returns how many there were.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn revoke(&mut self, file: Option<&Path>, server: Option<&str>) -> io::Result<usize> {
        let _alone = keep::lock(self.folder())?;
        self.decisions = Self::open(self.folder()).decisions;
        let before = self.decisions.len();
        self.decisions.retain(|decision| {
            let other_file = file.is_some_and(|file| decision.file != file);
            other_file || server.is_some_and(|server| decision.server.as_deref() != Some(server))
        });
        self.write()?;
        Ok(before - self.decisions.len())
    }

    fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&self.decisions).map_err(io::Error::other)?;
        keep::write_secret(&self.file, text.as_bytes())
    }
}
