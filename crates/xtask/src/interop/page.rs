//! `interop/RESULTS.md`: what was found, written by the command. What a run did not look at stays as it was.

mod table;

use std::fs;

use anyhow::{Context as _, Result};

use super::cell::{AUTO, FALLBACK};
use super::data::{Entry, Era, Peers};
use super::verdict::Verdict;
use super::{Places, Report, corpus, matrix};
use table::Table;

const INTRODUCTION: &str = "\
# Results

Written by `cargo xtask interop`. What is played, and how a cell is named, is in [README.md](README.md).
";

const PEERS: &str = "Peers";
const MATRIX: &str = "Matrix";
const FAULTS: &str = "Faults of peers";
const CORPUS: &str = "Corpus";

const LINE: &str = "peer, whose client, transport";
const SERVER: &str = "server";
const OF_SERVER: &[&str] = &[
    "package",
    "version",
    "era",
    "revision",
    "first list, ms",
    "tools",
    "resources",
    "templates",
    "prompts",
    "called",
    "the tool said",
    "oddities",
    "verdict",
];

/// Writes the page.
///
/// # Errors
/// If the data cannot be read or the page not written.
pub(super) fn write(places: &Places, report: &Report) -> Result<()> {
    let path = places.sources.join("RESULTS.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let peers = Peers::read(&places.sources)?;
    let corpus: Vec<String> = Entry::read(&places.sources)?.into_iter().map(|entry| entry.name).collect();
    let page = page(report, &peers, &corpus, &before);
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn page(report: &Report, peers: &Peers, names: &[String], before: &str) -> String {
    let mut cells = Table::new(LINE, columns(peers));
    cells.read(before, MATRIX);
    cells.merge(matrix(&report.matrix));
    let mut faults = Table::new("cell", vec!["reason".to_owned()]);
    faults.read(before, FAULTS);
    faults.merge(reasons(&report.matrix));
    faults.drop_empty();
    let mut servers = Table::new(SERVER, OF_SERVER.iter().map(|&column| column.to_owned()).collect());
    servers.read(before, CORPUS);
    servers.merge(found(&report.corpus, peers));
    servers.keep(names);
    let sections = [(PEERS, pinned(peers)), (MATRIX, cells), (FAULTS, faults), (CORPUS, servers)];
    let text = sections.iter().filter(|(_, table)| !table.is_empty());
    text.fold(INTRODUCTION.to_owned(), |page, (heading, table)| {
        format!("{page}\n## {heading}\n\n{}", table.markdown())
    })
}

fn pinned(peers: &Peers) -> Table {
    let mut table = Table::new("peer", vec!["package".to_owned(), "version".to_owned()]);
    for peer in &peers.peers {
        table.set(&peer.name, "package", peer.package.clone());
        table.set(&peer.name, "version", peer.version.clone());
    }
    table
}

fn columns(peers: &Peers) -> Vec<String> {
    let dates = peers.revisions.iter().map(|revision| revision.date.clone());
    dates.chain([AUTO.to_owned(), FALLBACK.to_owned()]).collect()
}

/// The matrix of a run: a line each for peer, side and transport; dates in the order in which they came.
pub(super) fn matrix(rows: &[matrix::Row]) -> Table {
    let mut dates: Vec<String> = rows.iter().map(|row| row.column.clone()).collect();
    dates.sort();
    dates.dedup();
    let mut table = Table::new(LINE, dates);
    for row in rows {
        let step = row.step.as_deref().unwrap_or_default();
        let text = match row.verdict() {
            Verdict::Ok => "ok".to_owned(),
            Verdict::Theirs(_) => format!("theirs: {step}"),
            Verdict::Failed(_) => format!("FAILED: {step}"),
        };
        table.set(&row.line.join(" "), &row.column, text);
    }
    table
}

/// The reason for each red cell; a green one takes an older reason away.
fn reasons(rows: &[matrix::Row]) -> Table {
    let mut table = Table::new("cell", vec!["reason".to_owned()]);
    for row in rows {
        let reason = match row.verdict() {
            Verdict::Theirs(reason) => reason.to_owned(),
            Verdict::Ok | Verdict::Failed(_) => String::new(),
        };
        table.set(&row.cell, "reason", reason);
    }
    table
}

fn found(rows: &[corpus::Row], peers: &Peers) -> Table {
    let mut table = Table::new(SERVER, OF_SERVER.iter().map(|&column| column.to_owned()).collect());
    let number = |number: Option<usize>| number.map_or("–".to_owned(), |number| number.to_string());
    for row in rows {
        let told = &row.ours;
        let date = told.revision.as_deref().unwrap_or("–");
        let era = peers.revisions.iter().find(|revision| revision.date == date).map(|revision| revision.era);
        let era = match era {
            Some(Era::Legacy) => "legacy",
            Some(Era::Modern) => "modern",
            None => "–",
        };
        let verdict = match row.verdict() {
            Verdict::Ok => "ok".to_owned(),
            Verdict::Theirs(reason) => format!("theirs: {reason}"),
            Verdict::Failed(problem) => format!("FAILED: {problem}"),
        };
        let said = match (&told.said, told.failed) {
            (None, _) => "–",
            (Some(_), true) => "that it failed",
            (Some(_), false) => "an answer",
        };
        let values = [
            row.package.clone(),
            row.version.clone(),
            era.to_owned(),
            date.to_owned(),
            told.milliseconds.map_or("–".to_owned(), |took| took.to_string()),
            number(told.tools),
            number(told.resources),
            number(told.templates),
            number(told.prompts),
            row.tool.clone(),
            said.to_owned(),
            told.oddities.join("; "),
            verdict,
        ];
        for (column, value) in OF_SERVER.iter().zip(values) {
            table.set(&row.name, column, value);
        }
    }
    table
}
