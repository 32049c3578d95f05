//! What is known of a server before it is started.

mod parts;
mod secrets;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::{Era, InProcess, Pipe, Root};

use crate::name::ServerName;

/// How the hash of a server begins that no other process can reach.
const OF_THIS_PROCESS: &str = "in this process ";

/// The origin of a server that stands in no file.
const COMMAND_LINE: &str = "the command line";

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// A server in this process.
#[derive(Clone)]
pub struct Local(Arc<dyn InProcess + Send + Sync>);

impl Local {
    /// Shares a server.
    pub fn new(server: impl InProcess + Send + Sync + 'static) -> Self {
        Self(Arc::new(server))
    }

    /// Opens a connection to it.
    #[must_use]
    pub fn connect(&self) -> Pipe {
        self.0.connect()
    }

    /// Tells it apart from all others that live.
    fn address(&self) -> String {
        format!("{:p}", Arc::as_ptr(&self.0))
    }
}

impl PartialEq for Local {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for Local {}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Local")
    }
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTarget {
    /// A program that is started.
    Command {
        /// A path, or a name to be looked up in `PATH`.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set for it. What they hold is masked in logs.
        env: Vec<(String, Secret)>,
        /// Variables of this process that it does not see.
        env_remove: Vec<String>,
        /// Its working directory; that of this process by default.
        cwd: Option<PathBuf>,
    },
    /// An address.
    Http {
        /// The address.
        url: String,
        /// Headers of every request. What they hold is masked in logs.
        headers: Vec<(String, Secret)>,
    },
    /// In this process, such as an example.
    InProcess(Local),
}

impl ServerTarget {
    /// Whether what ends is started again only so often: a program, or what stands for one.
    pub(super) fn is_bounded(&self) -> bool {
        !matches!(self, Self::Http { .. })
    }

    /// How it is reached.
    pub(super) fn transport(&self) -> &'static str {
        match self {
            Self::Command { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::InProcess(_) => "memory",
        }
    }

    /// Whether it is a program that is started.
    #[must_use]
    pub fn is_command(&self) -> bool {
        matches!(self, Self::Command { .. })
    }
}

/// One server of the configuration, with everything expanded.
///
/// ```
/// use switchboard_agent::ServerName;
/// use switchboard_agent::supervisor::ServerConfig;
///
/// let mut config = ServerConfig::command(ServerName::new("files")?, "npx", ["-y", "some-server"]);
/// config.required = true;
/// # Ok::<(), switchboard_agent::InvalidServerName>(())
/// ```
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What the person calls it.
    pub name: ServerName,
    /// Where the entry stands, for people.
    pub origin: String,
    /// Where the server is.
    pub target: ServerTarget,
    /// Which revisions may be spoken.
    pub era: Era,
    /// Switched off: it is shown, and never started.
    pub enabled: bool,
    /// Without it nothing works: the first turn waits for it, and fails with it.
    pub required: bool,
    /// Started when it is first needed. Its tools are known from the last time; without that the first turn starts it.
    pub lazy: bool,
    /// Stopped after this time without a call. `None`: never.
    pub idle_stop: Option<Duration>,
    /// How long it may take until it has answered for the first time. Default: 30 s of silence, 5 min in all.
    pub startup_timeout: Option<Duration>,
    /// How long a call may be silent; progress starts the clock anew. Default 60 s.
    pub idle_timeout: Option<Duration>,
    /// How long a call may take, whatever is said. Default 30 min. Neither clock runs while a person is asked.
    pub hard_timeout: Option<Duration>,
    /// Calls that run on it at the same time. Default 4, over HTTP 8; of a program's tools that are not read-only, one
    /// at a time unless this is set.
    pub max_concurrency: Option<usize>,
    /// Only the tools that match one of these globs are offered; all if there are none.
    pub include: Vec<String>,
    /// The tools that match one of these globs are not offered.
    pub exclude: Vec<String>,
    /// Names that a model is to see instead of the tool's own.
    pub rename: BTreeMap<String, String>,
    /// Whether what it says about its own tools is believed.
    pub trusted: bool,
    /// The folders that it is told of. Without any it cannot ask for them: there are servers that take what they are told
    /// in place of the folders that they are configured with.
    pub roots: Vec<Root>,
    /// Of the expanded entry: entries with one hash are one server.
    pub hash: String,
    /// Texts that must not be shown or written anywhere, besides those that can be seen to be secret in the target.
    pub secrets: Vec<Secret>,
}

impl ServerConfig {
    /// A server with nothing but defaults. Its hash is made of the target.
    #[must_use]
    pub fn new(name: ServerName, target: ServerTarget) -> Self {
        let hash = target_hash(&target);
        Self {
            name,
            origin: COMMAND_LINE.to_owned(),
            target,
            era: Era::Auto,
            enabled: true,
            required: false,
            lazy: false,
            idle_stop: None,
            startup_timeout: None,
            idle_timeout: None,
            hard_timeout: None,
            max_concurrency: None,
            include: Vec::new(),
            exclude: Vec::new(),
            rename: BTreeMap::new(),
            trusted: false,
            roots: Vec::new(),
            hash,
            secrets: Vec::new(),
        }
    }

    /// A program that is started.
    pub fn command<A: Into<String>>(
        name: ServerName,
        program: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        let (env, env_remove) = (Vec::new(), Vec::new());
        Self::new(name, ServerTarget::Command { program: program.into(), args, env, env_remove, cwd: None })
    }

    /// A server at an address.
    pub fn http(name: ServerName, url: impl Into<String>) -> Self {
        Self::new(name, ServerTarget::Http { url: url.into(), headers: Vec::new() })
    }

    /// A server in this process.
    pub fn in_process(name: ServerName, server: impl InProcess + Send + Sync + 'static) -> Self {
        Self::new(name, ServerTarget::InProcess(Local::new(server)))
    }

    /// All texts of it that are secret, or may be, and are no part of its name.
    pub(crate) fn all_secrets(&self) -> impl Iterator<Item = String> {
        let named = self.secrets.iter().map(|secret| secret.reveal().to_owned());
        self.target.secrets().into_iter().chain(named).filter(|secret| !self.name.as_str().contains(secret))
    }

    /// Those of them that are sure to be secret.
    pub(crate) fn sure_secrets(&self) -> impl Iterator<Item = String> {
        let named = self.secrets.iter().map(|secret| secret.reveal().to_owned());
        self.target
            .sure_secrets()
            .into_iter()
            .chain(named)
            .filter(|secret| !self.name.as_str().contains(secret))
    }

    /// Whether what is learned of it is worth keeping for the next process.
    pub(super) fn is_kept(&self) -> bool {
        !self.hash.starts_with(OF_THIS_PROCESS)
    }

    /// Whether its name means the same server in the next process: it stands in a file, and was not only named for this
    /// run.
    pub(super) fn is_configured(&self) -> bool {
        self.is_kept() && self.origin != COMMAND_LINE
    }

    /// How many calls may run at the same time.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        let usual = if self.target.is_command() { 4 } else { 8 };
        self.max_concurrency.unwrap_or(usual).max(1)
    }
}

fn target_hash(target: &ServerTarget) -> String {
    let mut parts: Vec<String> = Vec::new();
    match target {
        ServerTarget::Command { program, args, env, env_remove, cwd } => {
            parts.extend(["command".to_owned(), program.clone(), args.len().to_string()]);
            parts.extend(args.iter().cloned());
            for (name, value) in env {
                parts.extend([name.clone(), value.reveal().to_owned()]);
            }
            parts.extend(env_remove.iter().cloned());
            parts.push(cwd.as_ref().map(|cwd| cwd.display().to_string()).unwrap_or_default());
        }
        ServerTarget::Http { url, headers } => {
            parts.extend(["http".to_owned(), url.clone()]);
            for (name, value) in headers {
                parts.extend([name.clone(), value.reveal().to_owned()]);
            }
        }
        ServerTarget::InProcess(_) => {}
    }
    if let ServerTarget::InProcess(local) = target {
        return format!("{OF_THIS_PROCESS}{}", local.address());
    }
    let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
    crate::digest::Digest::of(&parts).to_string()
}
