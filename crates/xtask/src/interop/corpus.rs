//! The corpus: our client on real servers, and the reference client where ours fails.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::data::{Entry, Peers, Registry};
use super::install::{self, Ours};
use super::verdict::Verdict;
use super::{Args, Places, play};
use crate::conformance::workers;
use crate::process;

/// Servers at a time.
const SERVERS: usize = 2;

/// How long one server may take for everything.
const LIMIT: Duration = Duration::from_secs(180);

/// The peer whose client is the reference.
const REFERENCE: &str = "typescript";

/// What a tool may want to look at: a name and a text each.
const FILES: &[(&str, &str)] = &[
    ("text.txt", "one\ntwo\n"),
    ("script.js", "export const tea = 1;\n"),
    ("script.py", "def tea():\n    return 1\n"),
    ("eslint.config.mjs", "export default [];\n"),
    ("package.json", "{ \"private\": true }\n"),
];

/// What a client tells of a server; the reference tells less.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Told {
    pub(super) ok: bool,
    pub(super) step: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) milliseconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resources: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) templates: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompts: Option<usize>,
    pub(super) failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) said: Option<String>,
    pub(super) oddities: Vec<String>,
}

/// One server, tried.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) package: String,
    pub(super) version: String,
    pub(super) tool: String,
    pub(super) ours: Told,
    /// What the reference client made of it, where ours failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Told>,
    /// What is wrong, or whose fault it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Row {
    pub(super) fn verdict(&self) -> Verdict<'_> {
        let broken = self.reference.as_ref().is_some_and(|reference| !reference.ok);
        match &self.problem {
            None => Verdict::Ok,
            Some(problem) if broken => Verdict::Theirs(problem),
            Some(problem) => Verdict::Failed(problem),
        }
    }

    pub(super) fn is_green(&self) -> bool {
        !matches!(self.verdict(), Verdict::Failed(_))
    }
}

/// Installs the servers that were asked for and tries each.
///
/// # Errors
/// If something cannot be installed, or nothing was selected.
pub(super) fn run(args: &Args, places: &Places, ours: &Ours) -> Result<Vec<Row>> {
    let mut entries = Entry::read(&places.sources)?;
    entries.retain(|entry| args.server.is_empty() || args.server.contains(&entry.name));
    ensure!(!entries.is_empty(), "no server was selected; interop/corpus.json has their names");
    if entries.iter().any(|entry| entry.registry == Registry::Npm) {
        install::npm_corpus(places)?;
    }
    let peers = Peers::read(&places.sources)?;
    let reference =
        peers.peers.iter().find(|peer| peer.name == REFERENCE).context("there is no reference")?;
    install::peer(places, reference)?;
    let mut subjects = Vec::new();
    for entry in &entries {
        subjects.push((entry, install::subject(places, entry)?));
    }
    let mut rows = Vec::new();
    let try_one = |(entry, words): &(&Entry, Vec<String>)| one(entry, words, places, ours);
    workers::run(SERVERS, &subjects, try_one, |row| {
        tell(&row);
        rows.push(row);
    });
    let order = |row: &Row| entries.iter().position(|entry| entry.name == row.name);
    rows.sort_by_key(order);
    Ok(rows)
}

fn one(entry: &Entry, words: &[String], places: &Places, ours: &Ours) -> Row {
    let mut row = Row {
        name: entry.name.clone(),
        package: entry.package.clone(),
        version: entry.version.clone(),
        tool: entry.tool.clone(),
        ours: Told::default(),
        reference: None,
        problem: None,
    };
    if let Err(error) = tried(entry, words, (places, ours), &mut row) {
        row.problem = Some(format!("{error:#}"));
    }
    row
}

fn tried(entry: &Entry, words: &[String], (places, ours): (&Places, &Ours), row: &mut Row) -> Result<()> {
    let log = play::log(places, &format!("corpus/{}", entry.name));
    let client = [text(&ours.corpus()), subject(entry, words, places)?.to_string(), text(&log)];
    row.ours = told(&client, &log)?;
    if !row.ours.ok {
        let script = places.installed.join("peers").join(REFERENCE).join("reference.mjs");
        let client = ["node".to_owned(), text(&script), subject(entry, words, places)?.to_string()];
        let reference = told(&client, &log.with_extension("reference"))?;
        let why =
            |told: &Told| format!("{}: {}", told.step, told.error.as_deref().unwrap_or("it ended early"));
        row.problem = Some(if reference.ok {
            format!("{} (the reference client has no trouble)", why(&row.ours))
        } else {
            format!("{} (the reference client: {})", why(&row.ours), why(&reference))
        });
        row.reference = Some(reference);
    }
    Ok(())
}

fn told(client: &[String], log: &Path) -> Result<Told> {
    let ended = play::run(client, &BTreeMap::new(), &log.with_extension("stderr"), LIMIT)?;
    let line = ended.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(line)
        .with_context(|| format!("the client ended with {:?} and told nothing", ended.code))
}

/// The server as both clients take it, with a folder that is as if nobody had been there.
fn subject(entry: &Entry, words: &[String], places: &Places) -> Result<Value> {
    let work = places.installed.join("work").join(&entry.name);
    fs::remove_dir_all(&work).ok();
    fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    for (name, text) in FILES {
        fs::write(work.join(name), text)?;
    }
    process::output(Command::new("git").args(["init", "--quiet"]).current_dir(&work))?;
    let (program, fixed) = words.split_first().context("there is no program")?;
    // What servers leave at home stays with the rest, too.
    let home = [("HOME".to_owned(), "{work}".to_owned())];
    let environment: BTreeMap<_, _> = home.into_iter().chain(entry.environment.clone()).collect();
    let arguments: Vec<&String> = fixed.iter().chain(&entry.arguments).collect();
    let subject = json!({
        "command": program,
        "args": arguments,
        "env": environment,
        "cwd": "{work}",
        "tool": entry.tool,
        "arguments": entry.given,
    });
    Ok(serde_json::from_str(&subject.to_string().replace("{work}", &text(&work)))?)
}

fn tell(row: &Row) {
    let verdict = row.verdict();
    let word = verdict.word();
    let why = match verdict {
        Verdict::Ok => "",
        Verdict::Theirs(reason) => reason,
        Verdict::Failed(problem) => problem,
    };
    let revision = row.ours.revision.as_deref().unwrap_or("-");
    eprintln!("{:<28} {word:<7} {revision:<10}  {why}", row.name);
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
