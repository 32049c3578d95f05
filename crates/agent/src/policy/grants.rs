//! Answers that a person gave for more than one call: for a run, for a session, for always.
//!
//! A grant names the server, the tool, the tool's pin, and what the arguments must be like. When the pin is another, it
//! does not count any more. Where to look next: `pins.rs` for pins, `authority.rs` for what a grant answers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::argument::{ArgumentTest, Place};
use super::explain::GrantShown;
use super::pins::now_ms;
use crate::digest::Digest;
use crate::name::ServerName;
use crate::store::{Store, StoreError};

/// The kinds of document: one grant, by its id; and the grants of one session, by the session's.
const ALWAYS: &str = "grant";
const SESSION: &str = "grant-session";

/// Counts the grants that were given. One for the process, as the stores are: an answer for always covers the open
/// questions of all runs.
static GIVEN: LazyLock<watch::Sender<u64>> = LazyLock::new(watch::Sender::default);

/// What the arguments of a call must be like for a grant to cover it. Without a test they may be any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArgumentRule(pub Vec<ArgumentTest>);

impl ArgumentRule {
    /// The calls of the tool, whatever their arguments.
    #[must_use]
    pub const fn any() -> Self {
        Self(Vec::new())
    }

    /// Whether it covers every call of the tool.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for ArgumentRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, test) in self.0.iter().enumerate() {
            write!(f, "{}{test}", if index == 0 { "" } else { " and " })?;
        }
        Ok(())
    }
}

/// How long a grant counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum GrantScope {
    /// For one run.
    Run,
    /// For one session.
    Session {
        /// Which.
        session: String,
    },
    /// Until somebody takes it back.
    Always,
}

/// Leave to make the calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Names it, for whoever takes it back.
    pub id: String,
    /// Whose tool.
    pub server: ServerName,
    /// The tool's own name.
    pub tool: String,
    /// The pin of the tool that it was given for.
    pub pin: Digest,
    /// What the arguments must be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<ArgumentRule>,
    /// How long it counts.
    #[serde(flatten)]
    pub scope: GrantScope,
    /// When it was given, in milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
}

impl Grant {
    pub(super) fn new(
        (server, tool, pin): (&ServerName, &str, Digest),
        rule: Option<ArgumentRule>,
        scope: GrantScope,
    ) -> Self {
        let rule = rule.filter(|rule| !rule.is_any());
        let shown = rule.as_ref().map(ToString::to_string).unwrap_or_default();
        let of = Digest::of(&[
            b"grant",
            server.as_str().as_bytes(),
            tool.as_bytes(),
            pin.to_string().as_bytes(),
            shown.as_bytes(),
            format!("{scope:?}").as_bytes(),
        ]);
        let (server, tool) = (server.clone(), tool.to_owned());
        Self { id: of.short(12), server, tool, pin, rule, scope, created_ms: now_ms() }
    }

    /// The grant as what allows a call.
    pub(super) fn said(&self) -> String {
        format!("the person's earlier answer ({self})")
    }

    fn covers(&self, call: &GrantedCall<'_>) -> bool {
        self.server == *call.server
            && self.tool == call.tool
            && self.pin == call.pin
            && self
                .rule
                .as_ref()
                .is_none_or(|rule| rule.0.iter().all(|test| test.surely(call.arguments, call.place)))
    }
}

/// `SERVER/TOOL`, what its arguments must be like, and how long it counts.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.server, crate::visible::name(&self.tool))?;
        self.rule.as_ref().map_or(Ok(()), |rule| write!(f, " where {rule}"))?;
        match &self.scope {
            GrantScope::Run => f.write_str(", for this run"),
            GrantScope::Session { session } => write!(f, ", for the session {session}"),
            GrantScope::Always => f.write_str(", always"),
        }
    }
}

/// A call that a grant may cover.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrantedCall<'a> {
    pub(super) server: &'a ServerName,
    pub(super) tool: &'a str,
    pub(super) pin: Digest,
    pub(super) arguments: &'a Value,
    pub(super) place: Place<'a>,
}

/// Which run and session a call belongs to, and who made them.
///
/// Cheap to clone; clones share the grants of the run.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    session: Option<String>,
    principal: Option<String>,
    run: Arc<Mutex<Vec<Grant>>>,
    /// Calls that were permitted before a restart, by the marks of their permits, and not ended by then.
    permitted: Arc<Mutex<BTreeSet<Digest>>>,
}

impl Scope {
    /// A run outside of any session.
    #[must_use]
    pub fn run() -> Self {
        Self::default()
    }

    /// A run in a session.
    #[must_use]
    pub fn in_session(mut self, id: impl Into<String>) -> Self {
        self.session = Some(id.into());
        self
    }

    /// Who makes the calls.
    #[must_use]
    pub fn by(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub(super) fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// The grants of this run, to be kept with it.
    #[must_use]
    pub fn run_grants(&self) -> Vec<Grant> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The grant of this run that covers a call.
    pub(super) fn covering(&self, call: &GrantedCall<'_>) -> Option<Grant> {
        self.run_grants().into_iter().find(|grant| grant.covers(call))
    }

    /// The run goes on with calls that were permitted, each once, after a restart.
    #[must_use]
    pub(crate) fn with_permitted(self, calls: impl IntoIterator<Item = Digest>) -> Self {
        self.permitted.lock().unwrap_or_else(PoisonError::into_inner).extend(calls);
        self
    }

    /// Whether a permit with this mark was given before a restart. Counts once.
    pub(super) fn was_permitted(&self, mark: &Digest) -> bool {
        self.permitted.lock().unwrap_or_else(PoisonError::into_inner).remove(mark)
    }

    /// The run goes on with these grants, after a restart.
    #[must_use]
    pub fn with_run_grants(self, grants: Vec<Grant>) -> Self {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = grants;
        self
    }
}

/// The grants of sessions and those for always, kept in a store. Cheap to clone.
#[derive(Clone)]
pub struct Grants {
    store: Arc<dyn Store>,
}

impl Grants {
    /// The grants that are kept in a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The grant that covers a call, the narrowest scope first.
    pub(super) fn covering(
        &self,
        call: &GrantedCall<'_>,
        scope: &Scope,
    ) -> Result<Option<Grant>, StoreError> {
        if let Some(grant) = scope.covering(call) {
            return Ok(Some(grant));
        }
        if let Some(session) = scope.session()
            && let Some(grant) = self.of_session(session)?.into_iter().find(|grant| grant.covers(call))
        {
            return Ok(Some(grant));
        }
        Ok(self.always()?.into_iter().find(|grant| grant.covers(call)))
    }

    /// Signals that a person said something for more than one call, anywhere in this process.
    pub(super) fn given() -> watch::Receiver<u64> {
        GIVEN.subscribe()
    }

    pub(super) fn add(&self, grant: Grant, scope: &Scope) -> Result<(), StoreError> {
        self.keep(grant, scope)?;
        GIVEN.send_modify(|given| *given += 1);
        Ok(())
    }

    fn keep(&self, grant: Grant, scope: &Scope) -> Result<(), StoreError> {
        match &grant.scope {
            GrantScope::Run => {
                scope.run.lock().unwrap_or_else(PoisonError::into_inner).push(grant);
                Ok(())
            }
            GrantScope::Session { session } => {
                let session = session.clone();
                let _changing = changing();
                let mut grants = self.of_session(&session)?;
                grants.retain(|other| other.id != grant.id);
                grants.push(grant);
                self.store.put_document(SESSION, &session, Some(&text(&grants)?))
            }
            GrantScope::Always => self.store.put_document(ALWAYS, &grant.id, Some(&text(&grant)?)),
        }
    }

    /// The grants of a session.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of_session(&self, session: &str) -> Result<Vec<Grant>, StoreError> {
        self.store.document(SESSION, session)?.map_or(Ok(Vec::new()), |kept| parse(session, &kept))
    }

    /// The grants for always.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn always(&self) -> Result<Vec<Grant>, StoreError> {
        self.store.documents(ALWAYS)?.iter().map(|(id, kept)| parse(id, kept)).collect()
    }

    /// All grants that are kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self) -> Result<Vec<Grant>, StoreError> {
        let mut grants = self.always()?;
        for (session, kept) in self.store.documents(SESSION)? {
            grants.extend(parse::<Vec<Grant>>(&session, &kept)?);
        }
        Ok(grants)
    }

    /// The grants about a tool, those that cover the call first.
    pub(super) fn account(&self, call: &GrantedCall<'_>, scope: &Scope) -> Vec<GrantShown> {
        let mut grants = scope.run_grants();
        if let Some(session) = scope.session() {
            grants.extend(self.of_session(session).unwrap_or_default());
        }
        grants.extend(self.always().unwrap_or_default());
        grants.retain(|grant| grant.server == *call.server && grant.tool == call.tool);
        let mut shown: Vec<GrantShown> = grants
            .into_iter()
            .map(|grant| {
                let covers = grant.covers(call);
                let note = match covers {
                    true => "",
                    false if grant.pin != call.pin => "it was given for the tool as it was before",
                    false => "the arguments are others",
                };
                GrantShown { grant, covers, note }
            })
            .collect();
        shown.sort_by_key(|grant| !grant.covers);
        shown
    }

    /// Takes a grant back. `false` if there is none with this id.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn remove(&self, id: &str) -> Result<bool, StoreError> {
        let mut found = self.store.document(ALWAYS, id)?.is_some();
        if found {
            self.store.put_document(ALWAYS, id, None)?;
        }
        let _changing = changing();
        for (session, kept) in self.store.documents(SESSION)? {
            let mut grants: Vec<Grant> = parse(&session, &kept)?;
            let before = grants.len();
            grants.retain(|grant| grant.id != id);
            if grants.len() < before {
                found = true;
                let left = if grants.is_empty() { None } else { Some(text(&grants)?) };
                self.store.put_document(SESSION, &session, left.as_deref())?;
            }
        }
        Ok(found)
    }

    /// Forgets the grants of a session that is no more.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn remove_session(&self, session: &str) -> Result<(), StoreError> {
        self.store.put_document(SESSION, session, None)
    }
}

/// Holds off whoever else changes the grants of a session in this process: what one reads, changes and writes must not
/// undo what another wrote meanwhile.
fn changing() -> MutexGuard<'static, ()> {
    static CHANGING: Mutex<()> = Mutex::new(());
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(grant: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(grant).map_err(|error| StoreError::new(error.to_string()))
}

fn parse<T: for<'de> Deserialize<'de>>(key: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::new(format!("the grant {key} cannot be read: {error}")))
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").finish_non_exhaustive()
    }
}
