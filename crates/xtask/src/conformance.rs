//! `cargo xtask conformance`: drives our server and our client with the official suite, and judges them ourselves.
//!
//! The suite's own verdict is lenient: it passes warnings, skipped checks and clients that do nothing. So each
//! scenario runs alone, and what it wrote down is held against `conformance/expectations.json`. What the suite does
//! not look at is tested in the crates. Look next at `pass`, for what is run, and at `verdict`, for what is red.

mod expectations;
mod legacy;
mod pass;
mod server;
mod suite;
mod table;
mod verdict;
pub(crate) mod workers;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result};
use cargo_metadata::MetadataCommand;

use crate::{process, workspace};
use expectations::{Expectations, Scenario};
pub(crate) use pass::Args;
use pass::Pass;
use server::Server;
use suite::{Runner, Suite};
use table::{Row, Table};
use verdict::{Outcome, Verdict};

/// Scenarios at a time. The suite's mocks fail at random on a busy machine, so it stays low.
const WORKERS: usize = 2;

/// Runs the scenarios that were asked for; `false` if one is red.
///
/// # Errors
/// If the suite or our fixtures cannot be installed or built, or nothing was selected.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let root = workspace::root();
    let expectations = Expectations::read(&root)?;
    let passes = args.passes(&expectations)?;
    let fixtures = Fixtures::build(&root)?;
    let suite = Suite::install(&root)?;
    let results = root.join(workspace::CONFORMANCE_RESULTS);
    let mut table = Table::new();
    for pass in &passes {
        let folder = results.join(pass.folder());
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        if args.is_complete() && pass.place.newest.is_none() {
            complete(&suite, &expectations, pass, &mut table)?;
        }
        let runner = suite.speaking(pass.schema_of, folder);
        let runner = if pass.place.newest.is_some() { runner.forced() } else { runner };
        if let (true, Some(newest)) = (args.is_complete(), pass.place.newest) {
            negotiate(&fixtures, pass, newest, &mut table);
        }
        run_servers(&runner, &fixtures, pass, &mut table);
        run_clients(&runner, &fixtures, pass, &mut table);
    }
    Ok(table.close(&results))
}

/// The two programs that the suite drives, and the servers that are running.
struct Fixtures {
    folder: PathBuf,
    logs: PathBuf,
    /// One for each cap, kept to the end.
    servers: Mutex<BTreeMap<Option<String>, Result<Server, String>>>,
}

impl Fixtures {
    fn build(root: &Path) -> Result<Self> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root).args(["build", "--quiet", "-p", "switchboard-conformance", "--bins"]);
        process::succeed(&mut cargo)?;
        let metadata = MetadataCommand::new().current_dir(root).no_deps().exec();
        let metadata = metadata.context("cannot find the folder that cargo builds into")?;
        let folder = metadata.target_directory.into_std_path_buf().join("debug");
        let logs = root.join(workspace::CONFORMANCE_RESULTS);
        fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
        Ok(Self { folder, logs, servers: Mutex::default() })
    }

    fn client(&self) -> PathBuf {
        self.folder.join("conformance-client")
    }

    /// The address of the running server with this cap; it is started if it is not there yet.
    fn server_url(&self, newest: Option<&str>) -> Result<String, String> {
        let start = || {
            let log = self.logs.join(format!("server-{}.log", newest.unwrap_or("uncapped")));
            Server::start(&self.folder.join("conformance-server"), newest, &log)
                .map_err(|error| format!("{error:#}"))
        };
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let server = servers.entry(newest.map(str::to_owned)).or_insert_with(start);
        server.as_mut().map_err(|problem| problem.clone())?.url()
    }
}

/// Holds the suite's own lists against ours, so that nothing is left out by accident.
fn complete<'a>(
    suite: &Suite,
    expectations: &Expectations,
    pass: &Pass<'a>,
    table: &mut Table<'a>,
) -> Result<()> {
    let date = pass.place.revision;
    let revision = expectations.revision(date)?;
    let mut add = |name, listed: &dyn Fn() -> Result<Vec<_>>| {
        let start = Instant::now();
        let problems = match listed() {
            Ok(listed) => revision.missing(&listed),
            Err(error) => vec![format!("{error:#}")],
        };
        let judged = (Verdict::of_problems(problems), start.elapsed());
        table.add(&Row::new(pass.place, "suite", name, judged));
    };
    add("tagged-list", &|| suite.tagged(date));
    if revision.has_required_list {
        add("required-list", &|| suite.required(date));
    }
    Ok(())
}

/// Whoever offers the revision of the scenarios is answered with the newest that the server has.
fn negotiate<'a>(fixtures: &Fixtures, pass: &Pass<'a>, newest: &str, table: &mut Table<'a>) {
    let start = Instant::now();
    let url = fixtures.server_url(Some(newest)).map_err(anyhow::Error::msg);
    let agreed = url.and_then(|url| legacy::negotiate(&url, pass.place.revision, newest));
    let problems = agreed.err().map(|error| format!("{error:#}")).into_iter().collect();
    let judged = (Verdict::of_problems(problems), start.elapsed());
    table.add(&Row::new(pass.place, "server", "(handshake)", judged));
}

fn run_servers<'a>(runner: &Runner<'_>, fixtures: &Fixtures, pass: &Pass<'a>, table: &mut Table<'a>) {
    let run = |scenario: &&Scenario| {
        let start = Instant::now();
        let verdict = match fixtures.server_url(pass.place.newest) {
            Ok(url) => verdict_of(scenario, runner.run_server(scenario, &url)),
            Err(problem) => Verdict::of_problems(vec![problem]),
        };
        Row::new(pass.place, "server", &scenario.scenario, (verdict, start.elapsed()))
    };
    let (alone, together): (Vec<_>, Vec<_>) =
        pass.server.iter().partition(|scenario| scenario.alone.is_some());
    workers::run(1, &alone, run, |row| table.add(&row));
    workers::run(WORKERS, &together, run, |row| table.add(&row));
}

fn run_clients<'a>(runner: &Runner<'_>, fixtures: &Fixtures, pass: &Pass<'a>, table: &mut Table<'a>) {
    let client = fixtures.client();
    let run = |scenario: &&Scenario| {
        let start = Instant::now();
        let verdict = verdict_of(scenario, runner.run_client(scenario, &client));
        Row::new(pass.place, "client", &scenario.scenario, (verdict, start.elapsed()))
    };
    workers::run(WORKERS, &pass.client, run, |row| table.add(&row));
}

fn verdict_of(scenario: &Scenario, outcome: Result<Outcome>) -> Verdict {
    match outcome {
        Ok(outcome) => verdict::judge(scenario, &outcome),
        Err(error) => Verdict::of_problems(vec![format!("{error:#}")]),
    }
}
