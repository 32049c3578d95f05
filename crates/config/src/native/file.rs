//! What our own file may hold. The comments are the descriptions in the published schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::Length;

/// The keys of the whole file.
pub(crate) const KEYS: [&str; 8] =
    ["$schema", "include", "default_model", "models", "policy", "limits", "listen", "servers"];

/// Configuration of Switchboard
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "Configuration of Switchboard")]
pub(crate) struct NativeFile {
    /// Where this schema is, for editors.
    #[serde(rename = "$schema")]
    schema: Option<String>,
    /// Other files with servers, read in place: of this format, or of other hosts.
    include: Vec<String>,
    /// The model that is meant where none is named.
    default_model: Option<String>,
    /// Language models, by the names that `--model` takes.
    models: BTreeMap<String, NativeModel>,
    /// What may be called.
    policy: NativePolicy,
    /// What a run may cost.
    limits: NativeLimits,
    /// Where the HTTP API listens.
    listen: NativeListen,
    /// Servers of the Model Context Protocol. An entry without `command` and `url` says more about the server of that
    /// name in another file.
    servers: BTreeMap<String, NativeServer>,
}

/// A server: `command` to start one, or `url` to reach one
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct NativeServer {
    /// The program to start. It is spoken to over stdio.
    pub(crate) command: Option<String>,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Variables of its environment.
    pub(crate) env: BTreeMap<String, String>,
    /// A file with more variables, one NAME=VALUE a line.
    pub(crate) env_file: Option<String>,
    /// The folder that it is started in.
    pub(crate) cwd: Option<String>,
    /// The address of a server over HTTP.
    pub(crate) url: Option<String>,
    /// Headers of every request.
    pub(crate) headers: BTreeMap<String, String>,
    /// Which transport is spoken at the address. Here it is found out; other hosts that get the entry may need it.
    pub(crate) transport: Option<NativeTransport>,
    /// Which revisions to speak: `auto`, `modern`, `legacy`, or the date of one.
    pub(crate) era: Option<String>,
    /// Nothing is done without it.
    pub(crate) required: Option<bool>,
    /// Start it when it is needed first.
    pub(crate) lazy: Option<bool>,
    /// Stop it when it was not needed for so long.
    pub(crate) idle_stop: Option<Length>,
    /// How long it may take to be ready.
    pub(crate) startup_timeout: Option<Length>,
    /// How long it may be silent in a call.
    pub(crate) idle_timeout: Option<Length>,
    /// How long a call may take.
    pub(crate) hard_timeout: Option<Length>,
    /// How many calls it may have at the same time.
    pub(crate) max_concurrency: Option<std::num::NonZeroUsize>,
    /// Which of its tools are used, and as what.
    pub(crate) tools: NativeTools,
    /// What its claims about its tools count for.
    pub(crate) trust: Option<NativeTrust>,
    /// Whether it is used.
    pub(crate) enabled: Option<bool>,
}

/// A transport over HTTP
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NativeTransport {
    /// Streamable HTTP
    Http,
    /// HTTP+SSE
    Sse,
}

/// What claims of a server about its tools count for
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NativeTrust {
    /// Annotations count in rules
    Full,
    /// They do not
    None,
}

/// Which tools of a server are used, and as what
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct NativeTools {
    /// Only tools whose names match one of these patterns.
    pub(crate) include: Option<Vec<String>>,
    /// No tools whose names match one of these patterns.
    pub(crate) exclude: Option<Vec<String>>,
    /// Other names for the model.
    pub(crate) rename: Option<BTreeMap<String, String>>,
}

/// A language model
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NativeModel {
    /// Which wire it speaks.
    pub(crate) kind: NativeModelKind,
    /// Where it is, if not at the provider's own address.
    pub(crate) base_url: Option<String>,
    /// The key, best as `${secret:NAME}` or `${VAR}`.
    pub(crate) key: Option<String>,
    /// What the provider calls it; the name of the entry if absent.
    pub(crate) model: Option<String>,
    /// How many tokens fit.
    pub(crate) context: Option<u64>,
    /// Whether it takes images.
    pub(crate) vision: Option<bool>,
    /// Whether it may ask for several calls at once.
    pub(crate) parallel: Option<bool>,
    /// Which schemas it takes.
    pub(crate) dialect: Option<NativeDialect>,
    /// How many tokens it may answer with.
    pub(crate) max_tokens: Option<u64>,
}

/// The wire of a model
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NativeModelKind {
    /// Chat completions, which most servers speak
    #[serde(alias = "openai-chat")]
    OpenAi,
    /// Anthropic Messages
    Anthropic,
}

/// Which schemas a model takes
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NativeDialect {
    /// OpenAI
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI, strict
    #[serde(rename = "openai-strict")]
    OpenAiStrict,
    /// Anthropic
    Anthropic,
    /// Gemini
    Gemini,
    /// Any other
    Generic,
}

/// What may be called
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct NativePolicy {
    /// The rules to begin with.
    pub(crate) preset: Option<NativePreset>,
    /// Rules. The first that denies wins, then the most specific one.
    pub(crate) rules: Vec<NativeRule>,
}

/// Rules to begin with
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NativePreset {
    /// Every call is asked about
    Careful,
    /// Only what reads may be called
    ReadOnly,
    /// Nothing that no rule allows
    CiStrict,
}

/// One rule. A key that nobody knows is an error: without it, the rule would be about more than was meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NativeRule {
    /// What it decides.
    pub(crate) action: NativeAction,
    /// The servers, as a pattern; all if absent.
    pub(crate) server: Option<String>,
    /// The tools, as a pattern; all if absent.
    pub(crate) tool: Option<String>,
    /// What the tool must claim, such as `readOnlyHint = true`. Only counts for servers with `trust = "full"`.
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, bool>,
    /// What its arguments must be like; all must fit.
    #[serde(default)]
    pub(crate) arguments: Vec<NativeArgument>,
    /// Where it counts; everywhere if absent.
    pub(crate) mode: Option<NativeMode>,
    /// For whom it counts; for everyone if absent.
    pub(crate) principal: Option<String>,
    /// Why, for whoever reads it later.
    pub(crate) reason: Option<String>,
}

/// What a rule decides
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NativeAction {
    /// Make the call
    Allow,
    /// Ask the person
    Ask,
    /// Do not make it
    Deny,
}

/// Where a rule counts
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NativeMode {
    /// Where a person can be asked
    Interactive,
    /// Where nobody can
    Headless,
}

/// A test of one argument; every given part must hold
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NativeArgument {
    /// Which argument: a name, or a JSON pointer.
    pub(crate) path: String,
    /// It is a path below one of these folders.
    #[serde(default, deserialize_with = "one_or_more")]
    #[schemars(with = "OneOrMore")]
    pub(crate) inside: Vec<String>,
    /// It is an address at one of these hosts.
    #[serde(default, deserialize_with = "one_or_more")]
    #[schemars(with = "OneOrMore")]
    pub(crate) host_in: Vec<String>,
    /// It is this value.
    pub(crate) equals: Option<serde_json::Value>,
    /// It matches this regular expression.
    pub(crate) matches: Option<String>,
    /// It is no longer than this.
    pub(crate) max_bytes: Option<u64>,
}

/// One text, or several
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMore {
    /// One
    One(String),
    /// Several
    More(Vec<String>),
}

fn one_or_more<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(text) => vec![text],
        OneOrMore::More(texts) => texts,
    })
}

/// What a run may cost
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct NativeLimits {
    /// How often the model may be asked.
    pub(crate) steps: Option<u32>,
    /// How many calls may be made.
    pub(crate) calls: Option<u32>,
    /// How many tokens may be used.
    pub(crate) tokens: Option<u64>,
    /// How long it may take.
    pub(crate) wall_clock: Option<Length>,
    /// How much of one result the model gets.
    pub(crate) result_bytes: Option<u64>,
    /// How much of all results of one step.
    pub(crate) step_bytes: Option<u64>,
    /// How much of all results of a run.
    pub(crate) run_bytes: Option<u64>,
    /// How much of all results of a run is kept on the disk.
    pub(crate) kept_bytes: Option<u64>,
    /// How many images of results.
    pub(crate) images: Option<u32>,
}

/// Where the HTTP API listens
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct NativeListen {
    /// The address and port, such as `127.0.0.1:8080`.
    pub(crate) address: Option<String>,
    /// What people reach it by, if there is something in front.
    pub(crate) public_url: Option<String>,
    /// The file with the token.
    pub(crate) token_file: Option<String>,
}
