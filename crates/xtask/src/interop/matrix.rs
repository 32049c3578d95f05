//! The matrix: every cell that was asked for, two at a time.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::cell::{self, Cell};
use super::data::{Fault, Peers};
use super::install::{self, Ours, Theirs};
use super::verdict::{self, Verdict};
use super::{Args, Places, play};
use crate::conformance::workers;

/// Cells at a time.
const CELLS: usize = 2;

/// One cell, played.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) cell: String,
    /// The peer, the side and the transport.
    #[serde(skip)]
    pub(super) line: [String; 3],
    #[serde(skip)]
    pub(super) column: String,
    /// The step that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) step: Option<String>,
    /// Why it is the peer's fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<String>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    seconds: f64,
}

impl Row {
    pub(super) fn verdict(&self) -> Verdict<'_> {
        match (&self.fault, &self.problem) {
            (Some(reason), _) => Verdict::Theirs(reason),
            (None, Some(problem)) => Verdict::Failed(problem),
            (None, None) => Verdict::Ok,
        }
    }

    pub(super) fn is_green(&self) -> bool {
        !matches!(self.verdict(), Verdict::Failed(_))
    }
}

/// Installs the peers and plays the cells that were asked for.
///
/// # Errors
/// If a peer cannot be installed, or nothing was selected.
pub(super) fn run(args: &Args, places: &Places, ours: &Ours) -> Result<Vec<Row>> {
    let peers = Peers::read(&places.sources)?;
    let faults = Fault::read(&places.sources)?;
    let mut cells = cell::all(&peers);
    cells.retain(|cell| args.peer.as_ref().is_none_or(|peer| *peer == cell.peer.name));
    cells.retain(|cell| args.cell.iter().all(|part| cell.to_string().contains(part)));
    ensure!(!cells.is_empty(), "no cell was selected; interop/README.md says how cells are named");
    let mut theirs = BTreeMap::new();
    for cell in &cells {
        if !theirs.contains_key(&cell.peer.name) {
            theirs.insert(cell.peer.name.clone(), install::peer(places, cell.peer)?);
        }
    }
    let mut rows = Vec::new();
    let play = |cell: &Cell<'_>| one(cell, places, &faults, (ours, &theirs[&cell.peer.name]));
    workers::run(CELLS, &cells, play, |row| {
        tell(&row);
        rows.push(row);
    });
    Ok(rows)
}

fn one(cell: &Cell<'_>, places: &Places, faults: &[Fault], programs: (&Ours, &Theirs)) -> Row {
    let began = Instant::now();
    let name = cell.to_string();
    let steps = play::play(cell, places, programs.0, programs.1);
    let trouble = match &steps {
        Ok(steps) => verdict::trouble(steps, &cell.expected.date),
        Err(error) => Some(("start".to_owned(), format!("{error:#}"))),
    };
    let fault = faults.iter().find(|fault| fault.cells.contains(&name));
    let (mut reason, mut problem) = (None, None);
    match fault {
        None => problem = trouble.as_ref().map(|(step, why)| format!("{step}: {why}")),
        Some(fault) => {
            let log = fs::read_to_string(play::log(places, &name)).unwrap_or_default();
            match verdict::excuse(trouble.as_ref(), fault, &log) {
                Ok(()) => reason = Some(fault.reason.clone()),
                Err(other) => problem = Some(other),
            }
        }
    }
    Row {
        line: [cell.peer.name.clone(), cell.side.to_string(), cell.transport.to_string()],
        column: cell.column().to_owned(),
        cell: name,
        step: trouble.map(|(step, _)| step),
        fault: reason,
        problem,
        seconds: began.elapsed().as_secs_f64(),
    }
}

fn tell(row: &Row) {
    let verdict = row.verdict();
    let word = verdict.word();
    let why = match verdict {
        Verdict::Ok => "",
        Verdict::Theirs(reason) => reason,
        Verdict::Failed(problem) => problem,
    };
    eprintln!("{:<42} {word:<7} {:>5.1} s  {why}", row.cell, row.seconds);
}
