//! One server, ready to be started or reached: every value expanded, every origin known.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::origin::Origin;
use crate::secret::SecretString;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerEntry {
    /// Its name; unique among the servers of a [`Config`](crate::Config).
    pub name: String,
    /// Where it is written.
    pub origin: Origin,
    /// The folder of the project that it came with, of which it may be told. None where a person wrote the entry into a file
    /// of their own, and none that holds their home.
    pub project: Option<PathBuf>,
    /// Whether it is to be used.
    pub enabled: bool,
    /// How it is reached.
    pub target: Target,
    /// Which revisions to speak.
    pub era: Option<EraChoice>,
    /// Without it nothing is done at all.
    pub required: bool,
    /// It is started when it is needed first.
    pub lazy: bool,
    /// It is stopped when it was not needed for so long.
    pub idle_stop: Option<Duration>,
    /// How long it may take to be ready.
    pub startup_timeout: Option<Duration>,
    /// How long it may be silent in a call.
    pub idle_timeout: Option<Duration>,
    /// How long a call may take, whatever it says in between.
    pub hard_timeout: Option<Duration>,
    /// How many calls it may have at the same time.
    pub max_concurrency: Option<usize>,
    /// Which of its tools are used, and as what.
    pub tools: ToolFilter,
    /// What it says about itself counts for.
    pub trust: Trust,
    /// The same as long as what is started or asked, and how, does not change.
    pub hash: String,
    /// The command or the address as it is written, with what looks like a secret masked.
    pub shown: String,
    /// What must not be shown of it: secrets, hidden inputs and files that were put in, the values of variables, headers
    /// and arguments that are called like a secret, and what is secret in addresses.
    pub secrets: Vec<SecretString>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A program, spoken to over stdio.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What is set in its environment, that of `env_file` included.
        env: BTreeMap<String, SecretString>,
        /// The file that a part of `env` was read from.
        env_file: Option<PathBuf>,
        /// Where it is started.
        cwd: Option<PathBuf>,
    },
    /// An address.
    Http {
        /// The address.
        url: String,
        /// The headers of every request.
        headers: BTreeMap<String, SecretString>,
        /// Which transport it was said to speak.
        transport: Option<HttpTransport>,
    },
}

/// Which transport over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpTransport {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
}

/// Which revisions of the protocol to speak with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EraChoice {
    /// Find it out.
    Auto,
    /// Open no session.
    Modern,
    /// Open a session at once.
    Legacy,
    /// This revision only, by its date.
    Revision(String),
}

/// Which tools of a server are used, and what they are called. Patterns are globs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Only these; empty is all.
    pub include: Vec<String>,
    /// Not these.
    pub exclude: Vec<String>,
    /// Other names for the model.
    pub rename: BTreeMap<String, String>,
}

/// What the claims of a server about its tools count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Annotations count in rules.
    Full,
    /// They do not.
    #[default]
    None,
}
