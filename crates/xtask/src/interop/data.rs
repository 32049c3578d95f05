//! What is committed below `interop/`: the peers, their known faults, and the corpus.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// `interop/peers.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Peers {
    /// From the earliest to the latest.
    pub(super) revisions: Vec<Revision>,
    pub(super) peers: Vec<Peer>,
}

/// What the story is like at one revision.
#[derive(Debug, Deserialize)]
pub(super) struct Revision {
    pub(super) date: String,
    pub(super) era: Era,
    pub(super) transports: Vec<Transport>,
    /// Steps that need what the revision does not have.
    pub(super) without: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Era {
    Legacy,
    Modern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Transport {
    Stdio,
    Http,
    Sse,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        })
    }
}

/// One official SDK.
#[derive(Debug, Deserialize)]
pub(super) struct Peer {
    /// Also its folder below `interop/peers/`.
    pub(super) name: String,
    pub(super) package: String,
    pub(super) version: String,
    pub(super) install: Install,
    pub(super) eras: Vec<Era>,
    pub(super) transports: Vec<Transport>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Install {
    Cargo,
    Npm,
    Pypi,
}

impl Peers {
    /// # Errors
    /// If the file is missing or is not what it should be.
    pub(super) fn read(sources: &Path) -> Result<Self> {
        let peers: Self = read(&sources.join("peers.json"))?;
        ensure!(peers.newest(Era::Legacy).is_some(), "peers.json has no legacy revision");
        Ok(peers)
    }

    /// The latest revision of an era.
    pub(super) fn newest(&self, era: Era) -> Option<&Revision> {
        self.revisions.iter().rev().find(|revision| revision.era == era)
    }
}

/// Cells that are red because of the peer.
#[derive(Debug, Deserialize)]
pub(super) struct Fault {
    pub(super) cells: Vec<String>,
    /// The step that fails.
    pub(super) step: String,
    /// Which rule is broken, and by whom.
    pub(super) reason: String,
    /// What stands in the log of the wire and proves it.
    pub(super) wire: String,
}

impl Fault {
    /// # Errors
    /// If the file is not what it should be; without one there are no faults.
    pub(super) fn read(sources: &Path) -> Result<Vec<Self>> {
        let path = sources.join("faults.json");
        if path.exists() { read(&path) } else { Ok(Vec::new()) }
    }
}

/// One server of `interop/corpus.json`. `{work}` stands for a folder of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) registry: Registry,
    pub(super) package: String,
    pub(super) version: String,
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    /// A harmless tool, and what it is given.
    pub(super) tool: String,
    pub(super) given: serde_json::Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Registry {
    Npm,
    Pypi,
}

impl Entry {
    /// # Errors
    /// If the file is missing or is not what it should be.
    pub(super) fn read(sources: &Path) -> Result<Vec<Self>> {
        read(&sources.join("corpus.json"))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not what it should be", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn what_is_committed_can_be_read() {
        let sources = workspace::root().join("interop");
        let peers = Peers::read(&sources).unwrap();
        assert!(peers.peers.iter().all(|peer| sources.join("peers").join(&peer.name).is_dir()));
        Fault::read(&sources).unwrap();
        assert!(Entry::read(&sources).unwrap().len() >= 25);
    }
}
