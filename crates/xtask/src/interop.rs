//! `cargo xtask interop`: plays one small story with the official SDKs, in both directions, and tries our client on a
//! corpus of real servers.
//!
//! What is played is told in `interop/README.md`; everything is pinned there and installed below `target/interop`. It
//! is not part of `ci`: it needs Node, Python and the registries. Look next at `interop/cell.rs`, for what a cell is.

mod cell;
mod corpus;
mod data;
mod install;
mod listening;
mod matrix;
mod page;
mod play;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;

pub(crate) use self::install::npm;
use crate::workspace;

/// Arguments of `cargo xtask interop`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the matrix of official SDKs.
    #[arg(long, conflicts_with = "corpus")]
    matrix: bool,
    /// Only the corpus of real servers.
    #[arg(long)]
    corpus: bool,
    /// Only this peer of the matrix.
    #[arg(long, value_name = "NAME")]
    peer: Option<String>,
    /// Only cells whose name contains this; may be given more than once, and all must hold.
    #[arg(long, value_name = "TEXT")]
    cell: Vec<String>,
    /// Only this server of the corpus; may be given more than once.
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// Print one JSON object; lines about what is going on go to standard error.
    #[arg(long)]
    json: bool,
}

/// What a run found.
struct Report {
    matrix: Vec<matrix::Row>,
    corpus: Vec<corpus::Row>,
}

/// A row with its verdict, as `--json` says it.
#[derive(Serialize)]
struct Judged<'a, R> {
    verdict: &'static str,
    // Not of the protocol: the row stays as flat as its table.
    #[serde(flatten)]
    row: &'a R,
}

impl Report {
    fn json(&self) -> serde_json::Value {
        let matrix = self.matrix.iter().map(|row| Judged { verdict: row.verdict().word(), row });
        let corpus = self.corpus.iter().map(|row| Judged { verdict: row.verdict().word(), row });
        serde_json::json!({
            "matrix": matrix.collect::<Vec<_>>(),
            "corpus": corpus.collect::<Vec<_>>(),
        })
    }
}

/// The folders of a run.
struct Places {
    /// `interop/` of the workspace.
    sources: PathBuf,
    /// `target/interop/`.
    installed: PathBuf,
    logs: PathBuf,
}

impl Places {
    fn new(root: &Path) -> Result<Self> {
        let installed = root.join("target/interop");
        let logs = installed.join("logs");
        fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
        Ok(Self { sources: root.join("interop"), installed, logs })
    }
}

/// Runs what was asked for; `false` if a cell or a server is red.
///
/// # Errors
/// If something cannot be installed or built, or nothing was selected.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let root = workspace::root();
    let places = Places::new(&root)?;
    let programs = install::ours(&root)?;
    let mut report = Report { matrix: Vec::new(), corpus: Vec::new() };
    if !args.corpus {
        report.matrix = matrix::run(args, &places, &programs)?;
    }
    if !args.matrix {
        report.corpus = corpus::run(args, &places, &programs)?;
    }
    page::write(&places, &report)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report.json())?);
    } else {
        print!("{}", summary(&report, &places));
    }
    Ok(report.matrix.iter().all(matrix::Row::is_green) && report.corpus.iter().all(corpus::Row::is_green))
}

fn summary(report: &Report, places: &Places) -> String {
    let mut text = String::new();
    if !report.matrix.is_empty() {
        text.push_str(&page::matrix(&report.matrix).plain());
        text.push_str(&counts("cells", report.matrix.iter().map(|row| row.verdict())));
    }
    if !report.corpus.is_empty() {
        text.push_str(&counts("servers", report.corpus.iter().map(|row| row.verdict())));
    }
    text.push_str(&format!("what was said is in {}\n", places.logs.display()));
    text
}

fn counts<'a>(what: &str, verdicts: impl Iterator<Item = verdict::Verdict<'a>>) -> String {
    let (mut ok, mut faults, mut failed) = (0, 0, 0);
    for verdict in verdicts {
        match verdict {
            verdict::Verdict::Ok => ok += 1,
            verdict::Verdict::Theirs(_) => faults += 1,
            verdict::Verdict::Failed(_) => failed += 1,
        }
    }
    format!("{ok} {what} passed, {faults} red by the peer's fault, {failed} failed\n")
}
