//! Plays one cell: starts what it needs, with the recorder in between, and reads what the client tells.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::Places;
use super::cell::{Cell, Side};
use super::data::Transport;
use super::install::{Ours, Theirs};
use super::listening::Listening;
use crate::process::{self, Group};

/// How long a client may take for its whole story.
const LIMIT: Duration = Duration::from_secs(120);

/// How long what it said may still be on its way once it has ended.
const REST: Duration = Duration::from_secs(5);

/// What a client tells of one step.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Step {
    pub(super) step: String,
    pub(super) ok: bool,
    #[serde(default)]
    pub(super) detail: Option<String>,
}

/// How a program ended, and what it printed.
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
}

/// Plays the cell and returns the steps that were told.
///
/// # Errors
/// If a program cannot be started, or a server does not listen.
pub(super) fn play(cell: &Cell<'_>, places: &Places, ours: &Ours, theirs: &Theirs) -> Result<Vec<Step>> {
    let log = log(places, &cell.to_string());
    let record = |transport: &str| vec![text(&ours.wire()), text(&log), transport.to_owned()];
    let (mut client, server) = sides(cell, ours, theirs);
    // Dropped at the end, the recorder first.
    let (_server, _recorder);
    if cell.transport == Transport::Stdio {
        client.push("stdio".to_owned());
        client.extend(record("stdio"));
        client.extend(server);
    } else {
        let listening = Listening::start(&server)?;
        let recorder = Listening::start(&[record("http"), vec![listening.url.clone()]].concat())?;
        client.extend(address(cell, &recorder.url));
        (_server, _recorder) = (listening, recorder);
    }
    let without = BTreeMap::from([("INTEROP_WITHOUT".to_owned(), cell.expected.without.join(","))]);
    let ended = run(&client, &without, &log.with_extension("stderr"), LIMIT)?;
    Ok(ended.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// The file that has every byte of a cell or a server.
pub(super) fn log(places: &Places, name: &str) -> PathBuf {
    places.logs.join(format!("{}.log", name.replace('/', "-")))
}

/// The words that start the client and the server, without what is between them.
fn sides(cell: &Cell<'_>, ours: &Ours, theirs: &Theirs) -> (Vec<String>, Vec<String>) {
    let transport = cell.transport.to_string();
    match cell.side {
        Side::Client => {
            let client = vec![text(&ours.client()), cell.offered().to_owned()];
            (client, [theirs.server.clone(), vec![transport]].concat())
        }
        Side::Server => {
            let client = [theirs.client.clone(), vec![cell.their_era().to_owned()]].concat();
            // Ours has both ways over HTTP on one port.
            let transport = if cell.transport == Transport::Sse { "http".to_owned() } else { transport };
            let newest = cell.newest().map(str::to_owned);
            (client, [text(&ours.server()), transport].into_iter().chain(newest).collect())
        }
    }
}

/// The transport and the URL, as the client takes them.
fn address(cell: &Cell<'_>, url: &str) -> [String; 2] {
    match (cell.side, cell.transport) {
        // Our client finds out by itself that it is HTTP+SSE.
        (Side::Client, _) => ["http".to_owned(), url.to_owned()],
        (Side::Server, Transport::Sse) => ["sse".to_owned(), url.replace("/mcp", "/sse")],
        (Side::Server, _) => ["http".to_owned(), url.to_owned()],
    }
}

/// Runs a program in a group of its own, at most so long; its standard error goes to a file.
///
/// # Errors
/// If it cannot be started.
pub(super) fn run(
    words: &[String],
    environment: &BTreeMap<String, String>,
    stderr: &Path,
    limit: Duration,
) -> Result<Ended> {
    let (program, arguments) = words.split_first().context("there is no program")?;
    let mut command = process::grouped(program);
    command.args(arguments).envs(environment).stdout(Stdio::piped());
    command.stderr(File::create(stderr).with_context(|| format!("cannot write {}", stderr.display()))?);
    let (mut group, stdout) = Group::spawn(&mut command, |child| child.stdout.take())?;
    let mut stdout = stdout.context("it has no standard output")?;
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a failure counts.
        stdout.read_to_end(&mut bytes).ok();
        tx.send(String::from_utf8_lossy(&bytes).into_owned()).ok();
    });
    let status = group.wait(limit);
    // With the group goes whoever still holds the stream.
    drop(group);
    let stdout = rx.recv_timeout(REST).unwrap_or_default();
    Ok(Ended { code: status.and_then(|status| status.code()), stdout })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
