//! From files to one configuration: gathered from the highest layer to the lowest, trusted, merged by name, expanded.

mod bound;
mod expand;
mod gather;
mod merge;
mod rest;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{Config, Untrusted};
use crate::inputs::Input;
use crate::native::Native;
use crate::origin::Problem;
use crate::places::{self, Part, Place};
use crate::raw::RawServer;
use crate::secret::SecretString;
use crate::sources::Sources;
use crate::trust::TrustStore;

/// Reads everything there is. Nothing stops it: what cannot be used is in [`Config::problems`].
#[must_use]
pub fn load(sources: &Sources) -> Config {
    let mut loader = Loader::gathered(sources);
    loader.rest();
    let merged = loader.merge();
    loader.variables(&merged);
    for server in merged {
        loader.expand(server);
    }
    loader.config
}

/// The servers of all files as they are written, those that count most first, without those that nobody trusted; and
/// those, and what is wrong with the files.
pub(crate) fn found(sources: &Sources) -> (Vec<Found>, Vec<Untrusted>, Vec<Problem>) {
    let mut loader = Loader::gathered(sources);
    let mut servers = std::mem::take(&mut loader.servers);
    servers.retain(|found| found.raw.target.is_some() && loader.may_start(found));
    (servers, loader.config.untrusted, loader.config.problems)
}

/// What is known half-way.
struct Loader<'a> {
    sources: &'a Sources,
    trust: TrustStore,
    config: Config,
    /// Files that say something, the one that counts most first.
    files: Vec<File>,
    /// Their servers, in the same order.
    servers: Vec<Found>,
    visited: BTreeSet<(PathBuf, &'static str)>,
    /// Servers of `.mcp.json` that are switched off elsewhere.
    disabled: BTreeSet<String>,
    /// What was asked already.
    answers: RefCell<BTreeMap<String, SecretString>>,
}

/// A file that was read.
struct File {
    place: Arc<Place>,
    inputs: Arc<Vec<Input>>,
    /// What it says besides servers, if it is ours and trusted.
    native: Native,
}

/// A server of a file.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) raw: RawServer,
    pub(crate) place: Arc<Place>,
    inputs: Arc<Vec<Input>>,
}

impl<'a> Loader<'a> {
    /// All files, read.
    fn gathered(sources: &'a Sources) -> Self {
        let mut loader = Self {
            sources,
            trust: TrustStore::open(&sources.paths.data_dir),
            config: Config::default(),
            files: Vec::new(),
            servers: Vec::new(),
            visited: BTreeSet::new(),
            disabled: BTreeSet::new(),
            answers: RefCell::default(),
        };
        loader.settings_of_claude();
        for place in places::all(sources) {
            loader.gather(place, 0);
        }
        loader
    }

    /// Which variables the servers read. One that is switched off is never asked about, so it may not be trusted.
    fn variables(&mut self, merged: &[Found]) {
        for found in merged {
            let trusts = |found| self.hash_of(found).is_ok_and(|hash| self.trust.trusts(&hash));
            if !found.place.foreign || trusts(found) {
                self.config.variables.add_server(&found.raw);
            }
        }
    }

    /// Whether something of a file may be used. What may not is kept for the person to decide.
    fn is_trusted(&mut self, found: Untrusted, place: &Place) -> bool {
        if !place.foreign || self.trust.trusts(&found.hash) {
            return true;
        }
        let changed = self.trust.knew(&found.origin.file, found.server.as_deref());
        self.config.untrusted.push(Untrusted { changed, ..found });
        false
    }
}

/// Which part of a file was read already, for comparison.
fn part(part: Part) -> &'static str {
    match part {
        Part::Usual => "usual",
        Part::OfProject => "project",
        Part::Settings => "settings",
    }
}
