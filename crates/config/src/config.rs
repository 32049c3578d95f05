//! What all files say together.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::entry::ServerEntry;
use crate::origin::{Notice, Origin, Problem};
use crate::secret::SecretString;
use crate::variables::Variables;

/// What all files say together.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The servers that can be used, and those that are disabled; names unique, in the order of their files.
    pub servers: Vec<ServerEntry>,
    /// The models, in the order of their files.
    pub models: Vec<ModelEntry>,
    /// The model that is meant where none is named.
    pub default_model: Option<String>,
    /// What may be called.
    pub policy: PolicyConfig,
    /// What a run may cost.
    pub limits: LimitsConfig,
    /// Where the HTTP API listens.
    pub listen: ListenConfig,
    /// What should be known, and stops nothing.
    pub warnings: Vec<Notice>,
    /// What cannot be used, and why. One with a server has it in [`broken`](Self::broken), too.
    pub problems: Vec<Problem>,
    /// Entries of the project that nobody has trusted yet.
    pub untrusted: Vec<Untrusted>,
    /// Servers that cannot be used.
    pub broken: Vec<Broken>,
    /// Servers whose name is taken by another of a higher layer, or of an earlier file.
    pub shadowed: Vec<Shadowed>,
    /// What must not be shown of everything but servers: keys of models, and whatever was put in that is secret.
    pub secrets: Vec<SecretString>,
    /// Which variables of the environment are read as credentials, and for whom. What nobody trusted reads none.
    pub variables: Variables,
}

/// A server whose entry cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// Its name.
    pub name: String,
    /// Where it is written.
    pub origin: Origin,
    /// The command or the address, if one can be read.
    pub shown: String,
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub hint: String,
}

/// A server that another one of the same name hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shadowed {
    /// Its name.
    pub name: String,
    /// Where it is written.
    pub origin: Origin,
    /// The command or the address.
    pub shown: String,
    /// Where the one is written that is used.
    pub by: Origin,
    /// Whether both say the same.
    pub same: bool,
}

/// Something of a project that is not used before the person trusts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Untrusted {
    /// The name of the server; without one it is the rest of the file: models, rules, limits and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Where it is written.
    pub origin: Origin,
    /// What it would do: the command or the address as it is written, or the parts of the file.
    pub shown: String,
    /// All else that it says, with what looks like a secret masked, and everything that it would be given.
    pub details: Vec<String>,
    /// What the decision is bound to.
    pub hash: String,
    /// Whether an earlier version of it was trusted.
    pub changed: bool,
}

/// Which wire a model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// Chat completions.
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

/// A language model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelEntry {
    /// What the person calls it.
    pub name: String,
    /// Where it is written.
    pub origin: Origin,
    /// Which wire it speaks.
    pub kind: ModelKind,
    /// Where it is, if not at the provider's own address.
    pub base_url: Option<String>,
    /// The key.
    pub key: Option<SecretString>,
    /// What the provider calls it.
    pub model: Option<String>,
    /// How many tokens fit.
    pub context: Option<u64>,
    /// Whether it takes images.
    pub vision: Option<bool>,
    /// Whether it may ask for several calls at once.
    pub parallel: Option<bool>,
    /// Which schemas it takes: `openai`, `openai-strict`, `anthropic`, `gemini` or `generic`.
    pub dialect: Option<String>,
    /// How many tokens it may answer with.
    pub max_tokens: Option<u64>,
}

/// What may be called: rules of all layers, those of higher layers first.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PolicyConfig {
    /// The rules to begin with, by name.
    pub preset: Option<String>,
    /// The rules.
    pub rules: Vec<RuleConfig>,
}

/// What a rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// Make the call.
    Allow,
    /// Ask the person.
    Ask,
    /// Do not make it.
    Deny,
}

/// Where a rule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleMode {
    /// Where a person can be asked.
    Interactive,
    /// Where nobody can.
    Headless,
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RuleConfig {
    /// Where it is written.
    pub origin: Origin,
    /// What it decides.
    pub action: RuleAction,
    /// The servers, as a glob; all if absent.
    pub server: Option<String>,
    /// The tools, as a glob; all if absent.
    pub tool: Option<String>,
    /// What the tool must claim, such as `readOnlyHint` = true.
    pub annotations: Vec<(String, bool)>,
    /// What its arguments must be like.
    pub arguments: Vec<ArgumentRule>,
    /// Where it counts; everywhere if absent.
    pub mode: Option<RuleMode>,
    /// For whom it counts; for everyone if absent.
    pub principal: Option<String>,
    /// Why, in the person's words.
    pub reason: Option<String>,
}

/// A test of one argument; every given part must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgumentRule {
    /// Which argument: a name, or a JSON pointer.
    pub path: String,
    /// It is a path below one of these folders.
    pub inside: Vec<String>,
    /// It is an address at one of these hosts.
    pub host_in: Vec<String>,
    /// It is this value.
    pub equals: Option<serde_json::Value>,
    /// It matches this regular expression.
    pub matches: Option<String>,
    /// It is no longer than this.
    pub max_bytes: Option<u64>,
}

/// What a run may cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// How often the model may be asked.
    pub steps: Option<u32>,
    /// How many calls may be made.
    pub calls: Option<u32>,
    /// How many tokens may be used.
    pub tokens: Option<u64>,
    /// How long it may take.
    pub wall_clock: Option<Duration>,
    /// How much of one result the model gets.
    pub result_bytes: Option<u64>,
    /// How much of all results of one step.
    pub step_bytes: Option<u64>,
    /// How much of all results of a run.
    pub run_bytes: Option<u64>,
    /// How much of all results of a run is kept on the disk.
    pub kept_bytes: Option<u64>,
    /// How many images of results.
    pub images: Option<u32>,
}

/// Where the HTTP API listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenConfig {
    /// The address and port.
    pub address: Option<String>,
    /// What people reach it by, if there is something in front.
    pub public_url: Option<String>,
    /// The file with the token.
    pub token_file: Option<PathBuf>,
}
