//! `cargo xtask tidy`: the rules about the code that the compiler does not hold.
//!
//! Each rule is a function from data (files, the dependency graph) to findings, one file a family. This file only
//! gathers the data, calls them in turn and prints. A rule about behaviour belongs in a test instead.

mod budgets;
mod docs;
mod habits;
mod lint_settings;
mod requirements;
mod revisions;
mod syntax;
mod walls;

use anyhow::Result;
use serde::Serialize;

use crate::finding::Finding;
use crate::workspace::{self, TextFile};

/// Arguments of `cargo xtask tidy`.
#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

/// What one run says: findings fail it, notes are budgets that should shrink.
#[derive(Debug, Default, Serialize)]
struct Report {
    findings: Vec<Finding>,
    notes: Vec<Finding>,
}

/// Runs every rule; `false` if one found something.
///
/// # Errors
/// If the workspace cannot be read, or cargo cannot describe it.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let root = workspace::root();
    let mut report = check_files(&workspace::text_files(&root)?);
    let graph = walls::Graph::read(&root)?;
    report.findings.extend(walls::check(walls::WALLS, &graph));
    report.findings.extend(requirements::check(&graph));
    report.findings.sort();
    report.notes.sort();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    Ok(report.findings.is_empty())
}

fn check_files(files: &[TextFile]) -> Report {
    let mut report = Report::default();
    report.findings.extend(revisions::check(files));
    for file in files {
        if file.is_rust() {
            check_rust(file, &mut report);
        }
    }
    report.findings.extend(lint_settings::check(files));
    report
}

fn check_rust(file: &TextFile, report: &mut Report) {
    report.findings.extend(docs::check(file));
    match syntax::Source::parse(file) {
        Ok(source) => {
            let budgets = budgets::check(&source);
            report.findings.extend(budgets.findings);
            report.notes.extend(budgets.notes);
            report.findings.extend(habits::check(&source));
        }
        Err(finding) => report.findings.push(finding),
    }
}

fn print(report: &Report) {
    for note in &report.notes {
        println!("{note}");
    }
    for finding in &report.findings {
        println!("{finding}");
    }
    let soft = |rule| report.notes.iter().filter(|note| note.rule == rule).count();
    println!(
        "tidy: {} findings; over the soft budget: {} files, {} functions",
        report.findings.len(),
        soft(budgets::SOFT_FILE),
        soft(budgets::SOFT_FUNCTION),
    );
}
