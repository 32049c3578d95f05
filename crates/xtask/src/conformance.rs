//! `cargo xtask conformance`: drives our server and our client with the official suite, and judges them ourselves.
//!
//! The suite's own verdict is lenient: it passes warnings, skipped checks and clients that do nothing. So each
//! scenario runs alone, and what it wrote down is held against `conformance/expectations.json`. What the suite does
//! not look at is tested in the crates. Look next at `verdict`, for what is red.

mod expectations;
mod server;
mod suite;
mod table;
mod verdict;
mod workers;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::MetadataCommand;

use crate::{process, workspace};
use expectations::{Expectations, Revision, Scenario};
use server::Server;
use suite::{Side, Suite};
use table::{Row, Table};
use verdict::{Outcome, Verdict};

/// Client scenarios at a time. The suite's mocks fail at random on a busy machine, so it stays low.
const CLIENTS: usize = 2;

/// Arguments of `cargo xtask conformance`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The revision of the specification to speak on the wire.
    #[arg(long, value_name = "DATE", default_value = DEFAULT_REVISION)]
    revision: String,
    /// Only the server scenarios.
    #[arg(long, conflicts_with = "client_only")]
    server_only: bool,
    /// Only the client scenarios.
    #[arg(long)]
    client_only: bool,
    /// Only this scenario; may be given more than once.
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
}

const DEFAULT_REVISION: &str = "2026-07-28";

impl Default for Args {
    fn default() -> Self {
        Self {
            revision: DEFAULT_REVISION.to_owned(),
            server_only: false,
            client_only: false,
            scenario: Vec::new(),
        }
    }
}

impl Args {
    /// The scenarios of one side that were asked for.
    fn select<'a>(&self, side: Side, revision: &'a Revision) -> Vec<&'a Scenario> {
        let excluded = match side {
            Side::Server => self.client_only,
            Side::Client => self.server_only,
        };
        let wanted = |scenario: &&Scenario| {
            !excluded && (self.scenario.is_empty() || self.scenario.contains(&scenario.scenario))
        };
        revision.side(side).iter().filter(wanted).collect()
    }
}

/// Runs the scenarios that were asked for; `false` if one is red.
///
/// # Errors
/// If the suite or our fixtures cannot be installed or built, or nothing was selected.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let root = workspace::root();
    let expectations = Expectations::read(&root)?;
    let revision = expectations.revision(&args.revision)?;
    let servers = args.select(Side::Server, revision);
    let clients = args.select(Side::Client, revision);
    if servers.is_empty() && clients.is_empty() {
        bail!("nothing selected; `{}` lists the scenarios of {}", expectations::PATH, args.revision);
    }
    let fixtures = build_fixtures(&root)?;
    let suite = Suite::install(&root, &args.revision)?;
    let mut table = Table::new();
    if args.scenario.is_empty() {
        table.add(&complete(&suite, revision));
    }
    if !servers.is_empty() {
        run_servers(&suite, &fixtures, &servers, &mut table);
    }
    run_clients(&suite, &fixtures, &clients, &mut table);
    Ok(table.close(suite.results()))
}

/// Builds the two programs that the suite drives, and returns their folder.
fn build_fixtures(root: &Path) -> Result<PathBuf> {
    let cargo = || {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root);
        cargo
    };
    process::succeed(cargo().args(["build", "--quiet", "-p", "switchboard-conformance", "--bins"]))?;
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec();
    let metadata = metadata.context("cannot find the folder that cargo builds into")?;
    Ok(metadata.target_directory.into_std_path_buf().join("debug"))
}

/// Holds the suite's own list of what the revision requires against ours, so that nothing is left out by accident.
fn complete(suite: &Suite, revision: &Revision) -> Row {
    let start = Instant::now();
    let problems = match suite.required() {
        Ok(required) => revision.missing(&required),
        Err(error) => vec![format!("{error:#}")],
    };
    Row::new("suite", "required-list", Verdict::of_problems(problems), start.elapsed())
}

fn run_servers(suite: &Suite, fixtures: &Path, scenarios: &[&Scenario], table: &mut Table) {
    let log = suite.results().join("server.log");
    let mut server = Server::start(&fixtures.join("conformance-server"), &log);
    for scenario in scenarios {
        let start = Instant::now();
        let url = server.as_mut().map_err(|error| format!("{error:#}")).and_then(Server::url);
        let verdict = match url {
            Ok(url) => verdict_of(scenario, suite.run_server(scenario, &url)),
            Err(problem) => Verdict::of_problems(vec![problem]),
        };
        table.add(&Row::new("server", &scenario.scenario, verdict, start.elapsed()));
    }
}

fn verdict_of(scenario: &Scenario, outcome: Result<Outcome>) -> Verdict {
    match outcome {
        Ok(outcome) => verdict::judge(scenario, &outcome),
        Err(error) => Verdict::of_problems(vec![format!("{error:#}")]),
    }
}

fn run_clients(suite: &Suite, fixtures: &Path, scenarios: &[&Scenario], table: &mut Table) {
    let client = fixtures.join("conformance-client");
    let run = |scenario: &&Scenario| {
        let start = Instant::now();
        let verdict = verdict_of(scenario, suite.run_client(scenario, &client));
        Row::new("client", &scenario.scenario, verdict, start.elapsed())
    };
    workers::run(CLIENTS, scenarios, run, |row| table.add(&row));
}
