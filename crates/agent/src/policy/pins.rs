//! Pins: what each tool looked like when it was agreed to, so that a change of it is seen.
//!
//! A server is trusted on first use: when its tools are listed for the first time, all of them are pinned as they are.
//! From then on a tool whose definition or server differs, and a tool that was not there, asks again and says what is
//! different, whatever rules or earlier answers say; only a rule that denies comes first. It goes on asking until
//! somebody accepts it: with an answer that is to hold always, or with `switchboard pins accept`. A tool that is gone
//! keeps its pin, so that it cannot come back as another. Pins of a server that is configured are kept; those of one
//! that was only named for a run end with the process.
//!
//! Where to look next: `pins/definition.rs` for what is compared, `pins/difference.rs` for how a change is shown,
//! `grants.rs` for the answers that are bound to pins.

mod definition;
mod difference;

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use switchboard_protocol::model::tool::Tool;

pub use self::definition::{Definition, ServerIdentity};
pub(crate) use self::definition::{definition_digest, pin_of};
pub use self::difference::{Difference, DifferenceLine, FieldDifference, LineChange};
use crate::digest::Digest;
use crate::name::ServerName;
use crate::store::{Store, StoreError};

/// The kind of document that the pins of a server are kept in; its key is the server's name.
const KIND: &str = "pin";

/// The pins of all servers. Cheap to clone.
#[derive(Clone)]
pub struct Pins {
    store: Arc<dyn Store>,
    seen: Arc<Mutex<BTreeMap<ServerName, Seen>>>,
}

/// What a server said last.
#[derive(Clone, Debug, Default)]
struct Seen {
    identity: ServerIdentity,
    tools: BTreeMap<String, Definition>,
    /// What that was read from.
    listed: Option<Arc<[Tool]>>,
    /// What is pinned as long as the process lives, where it is not kept or could not be.
    held: Option<ServerPins>,
}

impl Seen {
    /// Whether its pins are kept: only of a server that is configured. A name that somebody gave to a server on the
    /// command line may mean another one the next time.
    fn is_kept(&self) -> bool {
        self.identity.configuration.is_some()
    }
}

/// The pins of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerPins {
    /// Which.
    pub server: ServerName,
    /// When its tools were listed for the first time, in milliseconds since 1970-01-01 UTC.
    pub since_ms: u64,
    /// Its tools, by name.
    pub tools: BTreeMap<String, PinnedTool>,
}

/// A tool as somebody agreed to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedTool {
    /// The digest of everything below.
    pub pin: Digest,
    /// When it was pinned, in milliseconds since 1970-01-01 UTC.
    pub accepted_ms: u64,
    /// What it looked like.
    pub definition: Definition,
    /// Who its server was.
    #[serde(default)]
    pub identity: ServerIdentity,
}

/// How a tool stands to its pin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PinState {
    /// It is as it was agreed to, or was never seen before.
    Same,
    /// It is another than was agreed to.
    Changed {
        /// What is different.
        difference: Difference,
        /// When the other one was agreed to, in milliseconds since 1970-01-01 UTC.
        accepted_ms: u64,
    },
    /// It was not there when its server was pinned.
    New {
        /// When its server was pinned, in milliseconds since 1970-01-01 UTC.
        since_ms: u64,
        /// A tool that is gone and looked the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resembles: Option<String>,
    },
    /// It is pinned, and its server does not list it any more.
    Gone,
    /// What was agreed to cannot be read.
    Unreadable {
        /// Why.
        problem: String,
    },
}

impl PinState {
    /// Whether nothing stands against the tool.
    #[must_use]
    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same)
    }
}

/// A tool, its pin now, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    /// What it would be pinned as now.
    pub(crate) pin: Digest,
    pub(crate) state: PinState,
}

impl Pins {
    /// The pins that are kept in a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, seen: Arc::default() }
    }

    /// Takes what a server lists now. At first sight all of it is pinned.
    ///
    /// # Errors
    /// When the store cannot be read or written. What was seen at first sight then holds as long as the process.
    pub fn observe(
        &self,
        server: &ServerName,
        identity: ServerIdentity,
        tools: &[Tool],
    ) -> Result<(), StoreError> {
        let mut now = BTreeMap::new();
        for tool in tools {
            // A name that is listed twice counts as it is listed first, as everywhere.
            now.entry(tool.name.clone()).or_insert_with(|| Definition::of(tool));
        }
        // Held throughout, so that what is listed and what is accepted meanwhile do not undo each other.
        let mut all = self.lock();
        let held = all.get(server).and_then(|seen| seen.held.clone());
        let mut seen = Seen { identity, tools: now, listed: None, held };
        let first = || ServerPins::first(server, &seen.identity, &seen.tools);
        let kept = match self.pins(server, &seen) {
            Ok(Some(_)) => Ok(()),
            Ok(None) if seen.is_kept() => {
                let first = first();
                let written = self.write(&first);
                if written.is_err() {
                    seen.held = Some(first);
                }
                written
            }
            Ok(None) => {
                seen.held = Some(first());
                Ok(())
            }
            Err(error) => Err(error),
        };
        all.insert(server.clone(), seen);
        kept
    }

    /// As [`observe`](Self::observe), and remembers which list it was.
    pub(crate) fn observe_listed(
        &self,
        server: &ServerName,
        identity: ServerIdentity,
        tools: &Arc<[Tool]>,
    ) -> Result<(), StoreError> {
        self.observe(server, identity, tools)?;
        if let Some(seen) = self.lock().get_mut(server) {
            seen.listed = Some(Arc::clone(tools));
        }
        Ok(())
    }

    /// Whether this very list of a server is what was seen last.
    pub(crate) fn has_seen(&self, server: &ServerName, tools: &Arc<[Tool]>) -> bool {
        let seen = self.lock();
        let listed = seen.get(server).and_then(|seen| seen.listed.as_ref());
        listed.is_some_and(|listed| Arc::ptr_eq(listed, tools))
    }

    /// How a tool stands to its pin. `tool` is what the model was shown; if its server says something else by now, that
    /// counts.
    pub(crate) fn check(&self, server: &ServerName, tool: &Tool) -> Checked {
        let seen = self.seen(server);
        let now = seen.tools.get(&tool.name).cloned().unwrap_or_else(|| Definition::of(tool));
        let pin = seen.identity.pin(now.digest(server, &tool.name));
        let state = match self.pins(server, &seen) {
            Ok(Some(pins)) => {
                pins.state((&tool.name, pin), (&now, &seen), &LazyCell::new(|| Gone::of(&pins, &seen)))
            }
            Ok(None) => PinState::Same,
            Err(error) => PinState::Unreadable { problem: error.to_string() },
        };
        Checked { pin, state }
    }

    /// How all tools of a server stand: those that it lists and those that are pinned.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn states(&self, server: &ServerName) -> Result<Vec<(String, PinState)>, StoreError> {
        let seen = self.seen(server);
        let Some(pins) = self.pins(server, &seen)? else { return Ok(Vec::new()) };
        let looks = LazyCell::new(|| Gone::of(&pins, &seen));
        let listed = seen.tools.iter().map(|(name, now)| {
            let pin = seen.identity.pin(now.digest(server, name));
            (name.clone(), pins.state((name, pin), (now, &seen), &looks))
        });
        let gone = pins.tools.keys().filter(|name| !seen.tools.contains_key(*name));
        let mut states: Vec<_> = listed.chain(gone.map(|name| (name.clone(), PinState::Gone))).collect();
        states.sort_by(|left, right| left.0.cmp(&right.0));
        Ok(states)
    }

    /// Pins a tool as it is now, or forgets it if it is gone. `false` if it is neither listed nor pinned.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn accept(&self, server: &ServerName, tool: &str) -> Result<bool, StoreError> {
        Ok(!self.accept_all(server, [tool])?.is_empty())
    }

    /// As [`accept`](Self::accept), for many tools at once. Gives the names of those that are listed or pinned.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn accept_all<'a>(
        &self,
        server: &ServerName,
        tools: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<&'a str>, StoreError> {
        let mut all = self.lock();
        let seen = all.entry(server.clone()).or_default();
        let mut pins = self
            .pins(server, seen)?
            .unwrap_or_else(|| ServerPins::first(server, &seen.identity, &BTreeMap::new()));
        let mut accept = |tool: &str| match seen.tools.get(tool) {
            Some(now) => {
                pins.tools.insert(tool.to_owned(), PinnedTool::now(server, tool, (now, &seen.identity)));
                true
            }
            None => pins.tools.remove(tool).is_some(),
        };
        let found: Vec<&str> = tools.into_iter().filter(|tool| accept(tool)).collect();
        if found.is_empty() {
            return Ok(found);
        }
        if seen.is_kept() {
            self.write(&pins)?;
            seen.held = None;
        } else {
            seen.held = Some(pins);
        }
        Ok(found)
    }

    /// The pins of all servers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self) -> Result<Vec<ServerPins>, StoreError> {
        self.store.documents(KIND)?.iter().map(|(key, text)| parse(key, text)).collect()
    }

    /// The servers that have pins.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn servers(&self) -> Result<Vec<ServerName>, StoreError> {
        let documents = self.store.documents(KIND)?;
        Ok(documents.iter().filter_map(|(server, _)| ServerName::new(server).ok()).collect())
    }

    /// The pins of one server, if it was seen before.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of(&self, server: &ServerName) -> Result<Option<ServerPins>, StoreError> {
        self.read(server)
    }

    /// Takes pins from elsewhere in place of what is there.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn import(&self, pins: &ServerPins) -> Result<(), StoreError> {
        self.write(pins)
    }

    /// Forgets a server, which is then seen for the first time again.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn forget(&self, server: &ServerName) -> Result<(), StoreError> {
        self.store.put_document(KIND, server.as_str(), None)
    }

    fn seen(&self, server: &ServerName) -> Seen {
        self.lock().get(server).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerName, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pins that count for a server.
    fn pins(&self, server: &ServerName, seen: &Seen) -> Result<Option<ServerPins>, StoreError> {
        let kept = if seen.is_kept() { self.read(server)? } else { None };
        Ok(kept.or_else(|| seen.held.clone()))
    }

    fn read(&self, server: &ServerName) -> Result<Option<ServerPins>, StoreError> {
        let text = self.store.document(KIND, server.as_str())?;
        text.map(|text| parse(server.as_str(), &text)).transpose()
    }

    fn write(&self, pins: &ServerPins) -> Result<(), StoreError> {
        let text = serde_json::to_string(pins).map_err(|error| StoreError::new(error.to_string()))?;
        self.store.put_document(KIND, pins.server.as_str(), Some(&text))
    }
}

fn parse(key: &str, text: &str) -> Result<ServerPins, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::new(format!("the pins of {key} cannot be read: {error}")))
}

impl ServerPins {
    fn first(server: &ServerName, identity: &ServerIdentity, tools: &BTreeMap<String, Definition>) -> Self {
        let pinned = tools
            .iter()
            .map(|(name, definition)| (name.clone(), PinnedTool::now(server, name, (definition, identity))));
        Self { server: server.clone(), since_ms: now_ms(), tools: pinned.collect() }
    }

    fn state<'a, F: FnOnce() -> Gone<'a>>(
        &self,
        (name, pin): (&str, Digest),
        (now, seen): (&Definition, &Seen),
        gone: &LazyCell<Gone<'a>, F>,
    ) -> PinState {
        match self.tools.get(name) {
            Some(pinned) if pinned.pin == pin => PinState::Same,
            Some(pinned) => PinState::Changed {
                difference: Difference::between(
                    (&pinned.definition, &pinned.identity),
                    (now, &seen.identity),
                ),
                accepted_ms: pinned.accepted_ms,
            },
            None => PinState::New { since_ms: self.since_ms, resembles: gone.like(now).map(str::to_owned) },
        }
    }
}

/// The tools that are pinned and gone, by what they looked like: the first of each by name. Thousands may be gone and
/// thousands new.
struct Gone<'a> {
    schemas: HashMap<&'a str, &'a str>,
    descriptions: HashMap<&'a str, &'a str>,
}

impl<'a> Gone<'a> {
    fn of(pins: &'a ServerPins, seen: &Seen) -> Self {
        let mut looks = Self { schemas: HashMap::new(), descriptions: HashMap::new() };
        for (name, pinned) in pins.tools.iter().filter(|(name, _)| !seen.tools.contains_key(*name)) {
            looks.schemas.entry(&pinned.definition.input_schema).or_insert(name);
            if let Some(description) = &pinned.definition.description {
                looks.descriptions.entry(description).or_insert(name);
            }
        }
        looks
    }

    /// One that looked like this.
    fn like(&self, now: &Definition) -> Option<&'a str> {
        let schema = self.schemas.get(now.input_schema.as_str());
        let description = now.description.as_deref().and_then(|text| self.descriptions.get(text));
        schema.into_iter().chain(description).min().copied()
    }
}

impl PinnedTool {
    fn now(server: &ServerName, name: &str, (definition, identity): (&Definition, &ServerIdentity)) -> Self {
        Self {
            pin: identity.pin(definition.digest(server, name)),
            accepted_ms: now_ms(),
            definition: definition.clone(),
            identity: identity.clone(),
        }
    }
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl std::fmt::Debug for Pins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pins").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
