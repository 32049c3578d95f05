//! The official suite: how it is installed, how it is started on this Node, how one scenario is run.
//!
//! The version is pinned by `conformance/suite/package-lock.json`. What the suite prints goes into the results
//! folder; nothing of it is parsed but the list of required scenarios.

mod install;

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::expectations::Scenario;
use super::verdict::{Check, Ended, Outcome};
use crate::process;

/// How a client is run, with its exit code written down; relative to the workspace.
const RUN_CLIENT: &str = "sh conformance/suite/run-client.sh";

/// The suite gives a scenario 30 s itself; this is for the suite.
const LIMIT: Duration = Duration::from_secs(90);

/// Which of our two programs is under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Server,
    Client,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Client => "client",
        })
    }
}

/// The installed suite.
pub(super) struct Suite {
    root: PathBuf,
    /// The program that Node starts.
    program: PathBuf,
}

impl Suite {
    /// Installs the suite if the pinned version is not there yet.
    ///
    /// # Errors
    /// If Node or npm is missing, or the suite cannot be installed.
    pub(super) fn install(root: &Path) -> Result<Self> {
        let program = install::install(&root.join("conformance/suite"))?;
        Ok(Self { root: root.to_path_buf(), program })
    }

    /// Completes a command that starts Node.
    fn suite(&self, mut node: Command, arguments: &[&str]) -> Command {
        node.current_dir(&self.root).arg(&self.program).args(arguments);
        node
    }

    /// The scenarios that the suite has for a revision, from the tags of all of them.
    ///
    /// # Errors
    /// If the suite cannot say.
    pub(super) fn tagged(&self, revision: &str) -> Result<Vec<(Side, String)>> {
        self.list("--spec-version", revision)
    }

    /// The scenarios that a revision requires, from the suite's frozen list.
    ///
    /// # Errors
    /// If the suite cannot say.
    pub(super) fn required(&self, revision: &str) -> Result<Vec<(Side, String)>> {
        self.list("--requirements", revision)
    }

    fn list(&self, by: &str, revision: &str) -> Result<Vec<(Side, String)>> {
        let list = process::output(&mut self.suite(Command::new("node"), &["list", by, revision]))?;
        let listed = parse_list(&list);
        anyhow::ensure!(!listed.is_empty(), "the suite's list of scenarios is empty or has a new form");
        Ok(listed)
    }

    /// For scenarios that speak this revision; what they leave behind goes into `results`.
    pub(super) fn speaking<'a>(&'a self, revision: &'a str, results: PathBuf) -> Runner<'a> {
        Runner { suite: self, revision, force: false, results }
    }
}

/// The suite with the revision that it speaks.
pub(super) struct Runner<'a> {
    suite: &'a Suite,
    revision: &'a str,
    /// Whether scenarios are run that the suite has not for this revision.
    force: bool,
    results: PathBuf,
}

impl Runner<'_> {
    /// Also runs scenarios that the suite has for other revisions only.
    pub(super) fn forced(mut self) -> Self {
        self.force = true;
        self
    }

    /// Runs one scenario against our running server.
    ///
    /// # Errors
    /// If the suite cannot be started or its results cannot be read.
    pub(super) fn run_server(&self, scenario: &Scenario, url: &str) -> Result<Outcome> {
        let folder = self.folder(Side::Server, scenario)?;
        let mut command = self.suite.suite(process::grouped("node"), &["server", "--url", url]);
        let suite = self.run(&mut command, scenario, &folder)?;
        Ok(Outcome { suite, client_exit: None, checks: read_checks(&folder)? })
    }

    /// Runs one scenario, which starts our client.
    ///
    /// # Errors
    /// If the suite cannot be started or its results cannot be read.
    pub(super) fn run_client(&self, scenario: &Scenario, client: &Path) -> Result<Outcome> {
        let folder = self.folder(Side::Client, scenario)?;
        let exit_file = folder.join("client-exit-code");
        let mut command = self.suite.suite(process::grouped("node"), &["client", "--command", RUN_CLIENT]);
        command
            .env("SWITCHBOARD_CONFORMANCE_CLIENT", client)
            .env("SWITCHBOARD_CONFORMANCE_EXIT_FILE", &exit_file);
        let suite = self.run(&mut command, scenario, &folder)?;
        let exit = match fs::read_to_string(&exit_file) {
            Ok(code) => Ended::Code(code.trim().parse().context("the client's exit code is not a number")?),
            Err(_) => Ended::Killed,
        };
        Ok(Outcome { suite, client_exit: Some(exit), checks: read_checks(&folder)? })
    }

    fn run(&self, command: &mut Command, scenario: &Scenario, folder: &Path) -> Result<Ended> {
        command.args(["--scenario", &scenario.scenario, "--spec-version", self.revision, "-o"]).arg(folder);
        command.args(self.force.then_some("--force"));
        let log = File::create(folder.join("suite.log"))?;
        command.stdout(log.try_clone()?).stderr(log);
        let (mut group, ()) = process::Group::spawn(command, |_| ())?;
        let status = group.wait(LIMIT);
        Ok(status.and_then(|status| status.code()).map_or(Ended::Killed, Ended::Code))
    }

    /// The scenario's results folder, empty.
    fn folder(&self, side: Side, scenario: &Scenario) -> Result<PathBuf> {
        let folder = self.results.join(side.to_string()).join(&scenario.scenario);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }
}

/// The suite writes into a subfolder with a time in its name; a scenario with a slash is nested deeper.
fn read_checks(folder: &Path) -> Result<Option<Vec<Check>>> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("checks.json") {
                let text = fs::read_to_string(&path)?;
                let checks = serde_json::from_str(&text);
                return checks.map(Some).with_context(|| format!("{} has a new form", path.display()));
            }
        }
    }
    Ok(None)
}

/// Reads the suite's list, which is made for people: a heading a side, a line with a dash a scenario, its revisions
/// behind it in brackets.
fn parse_list(list: &str) -> Vec<(Side, String)> {
    let mut side = None;
    let mut listed = Vec::new();
    for line in list.lines() {
        match line.trim_start().strip_prefix("- ") {
            Some(item) => {
                let name = item.split_whitespace().next().unwrap_or_default();
                listed.extend(side.map(|side| (side, name.to_owned())));
            }
            None if line.starts_with("Server scenarios") => side = Some(Side::Server),
            None if line.starts_with("Client scenarios") => side = Some(Side::Client),
            None if line.trim().is_empty() => {}
            None => side = None,
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_list(list: &str, expected: &[(Side, &str)]) {
        let listed = parse_list(list);
        let listed: Vec<_> = listed.iter().map(|(side, name)| (*side, name.as_str())).collect();
        assert_eq!(listed, expected);
    }

    #[test]
    fn the_lists_for_people_are_read() {
        let required = "Required for 2026-07-28 (3 scenarios, frozen):\n\nServer scenarios (test against a server):\n  \
                        - server-stateless\n  - tools-list\n\nClient scenarios (test against a client):\n  \
                        - tools_call\n\nRun and reported, but never scored:\n  extension (1):\n    \
                        - auth/dpop [client]\n";
        check_list(
            required,
            &[(Side::Server, "server-stateless"), (Side::Server, "tools-list"), (Side::Client, "tools_call")],
        );
        let tagged = "Server scenarios (test against a server):\n  - caching [2026-07-28,2027-07-28]\n\n\
                      Authorization server scenarios (test against an authorization server):\n  - grant [2026-07-28]\n";
        check_list(tagged, &[(Side::Server, "caching")]);
    }
}
