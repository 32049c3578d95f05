//! Which variables of the environment hold credentials, and which server names which: what is read for one is nothing
//! that another should inherit.

use std::collections::{BTreeMap, BTreeSet};

use crate::expand::mentions;
use crate::origin::OriginKind;
use crate::raw::{RawServer, RawTarget, Text};
use crate::shown;

/// What nearly every program needs, so that it is no credential of anybody, wherever it is read.
const NEEDED: [&str; 26] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "DISPLAY",
    "TMPDIR",
    "TMP",
    "TEMP",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "USERNAME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "SYSTEMROOT",
    "PATHEXT",
];
/// The beginnings of the names of more of them.
const NEEDED_BEGINNINGS: [&str; 2] = ["LC_", "XDG_"];

/// The variables of the environment that the configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    credentials: BTreeSet<String>,
    /// By the name of the server, everything that its entry reads.
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Variables {
    /// Adds one that is read as a credential, for whatever is no server of the configuration.
    pub fn add_credential(&mut self, name: impl Into<String>) {
        self.credentials.insert(name.into());
    }

    /// What a server must not inherit: every credential that its own entry does not name. Where there is no entry of this
    /// name, that is all of them.
    pub fn withheld_from(&self, server: &str) -> impl Iterator<Item = &str> {
        let own = self.named.get(server);
        let is_named = move |name: &&String| own.is_some_and(|own| own.contains(*name));
        self.credentials.iter().filter(move |name| !is_named(name)).map(String::as_str)
    }

    /// Reads which there are in an entry.
    pub(crate) fn add_server(&mut self, server: &RawServer) {
        let kind = server.origin.kind;
        let (kept, plain) = parts(server.target.as_ref());
        for text in &kept {
            self.add_text(text, kind);
        }
        let all: BTreeSet<String> =
            kept.into_iter().chain(plain).flat_map(|text| named(text, kind)).collect();
        self.credentials
            .extend(all.iter().filter(|name| shown::is_secret(name) && !is_needed(name)).cloned());
        self.named.insert(server.name.clone(), all);
    }

    /// Reads which there are in a text that makes a credential, such as a header or a key.
    pub(crate) fn add_text(&mut self, text: &str, kind: OriginKind) {
        self.credentials.extend(named(text, kind).filter(|name| !is_needed(name)));
    }
}

/// The texts whose variables are credentials, and those whose variables are only if they are called so.
fn parts(target: Option<&RawTarget>) -> (Vec<&str>, Vec<&str>) {
    match target {
        None => (Vec::new(), Vec::new()),
        Some(RawTarget::Command { command, args, env, env_file, cwd }) => (
            env.iter().map(|(_, value)| text(value)).collect(),
            std::iter::once(command).chain(args).chain(env_file).chain(cwd).map(text).collect(),
        ),
        Some(RawTarget::Http { url, headers, .. }) => (
            std::iter::once(url).chain(headers.iter().map(|(_, value)| value)).map(text).collect(),
            Vec::new(),
        ),
    }
}

fn text(text: &Text) -> &str {
    &text.text
}

fn named(text: &str, kind: OriginKind) -> impl Iterator<Item = String> {
    mentions(text, kind).into_iter().filter_map(|mention| mention.variable)
}

fn is_needed(name: &str) -> bool {
    NEEDED.iter().any(|needed| name.eq_ignore_ascii_case(needed))
        || NEEDED_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}
