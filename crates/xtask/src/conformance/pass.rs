//! What is run: a pass for each revision, and one for each older server that a newer client meets.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::expectations::{self, Expectations, Scenario};
use super::suite::Side;
use super::table::Place;

/// Which passes and which scenarios of them.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Only the scenarios of this revision.
    #[arg(long, value_name = "DATE", conflicts_with = "cap")]
    revision: Option<String>,
    /// Only with a server that has nothing newer than this revision.
    #[arg(long, value_name = "DATE")]
    cap: Option<String>,
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

/// Scenarios that are run against the same server, or with the same client.
pub(super) struct Pass<'a> {
    pub(super) place: Place<'a>,
    /// The revision that the suite names, and holds messages against.
    pub(super) schema_of: &'a str,
    pub(super) server: Vec<&'a Scenario>,
    pub(super) client: Vec<&'a Scenario>,
}

impl Pass<'_> {
    /// Its folder below that of all results.
    pub(super) fn folder(&self) -> PathBuf {
        match self.place.newest {
            None => self.place.revision.into(),
            Some(newest) => format!("{}-capped-at-{newest}", self.place.revision).into(),
        }
    }
}

impl Args {
    /// Whether all scenarios of the passes are run.
    pub(super) fn is_complete(&self) -> bool {
        self.scenario.is_empty()
    }

    /// The passes that were asked for, newest first.
    ///
    /// # Errors
    /// If nothing is selected, or nothing is expected of the date that was asked for.
    pub(super) fn passes<'a>(&self, expectations: &'a Expectations) -> Result<Vec<Pass<'a>>> {
        let mut passes = Vec::new();
        for date in dates(&self.revision, self.cap.is_some(), expectations.revisions.keys()) {
            let revision = expectations.revision(date)?;
            // The key outlives the argument.
            let Some((date, _)) = expectations.revisions.get_key_value(date) else { continue };
            passes.push(Pass {
                place: Place { revision: date, newest: None },
                schema_of: date,
                server: self.select(Side::Server, revision.side(Side::Server)),
                client: self.select(Side::Client, revision.side(Side::Client)),
            });
        }
        let capped = &expectations.capped;
        for date in dates(&self.cap, self.revision.is_some(), capped.servers.keys()) {
            let (server, scenarios) = expectations.capped(date)?;
            let Some((date, _)) = capped.servers.get_key_value(date) else { continue };
            passes.push(Pass {
                place: Place { revision: &capped.scenarios_of, newest: Some(date) },
                schema_of: &server.schema_of,
                server: self.select(Side::Server, scenarios),
                client: Vec::new(),
            });
        }
        passes.retain(|pass| !pass.server.is_empty() || !pass.client.is_empty());
        if passes.is_empty() {
            bail!("nothing selected; `{}` lists the scenarios", expectations::PATH);
        }
        Ok(passes)
    }

    fn select<'a>(&self, side: Side, scenarios: impl IntoIterator<Item = &'a Scenario>) -> Vec<&'a Scenario> {
        let excluded = match side {
            Side::Server => self.client_only,
            Side::Client => self.server_only,
        };
        let wanted = |scenario: &&Scenario| {
            !excluded && (self.scenario.is_empty() || self.scenario.contains(&scenario.scenario))
        };
        scenarios.into_iter().filter(wanted).collect()
    }
}

/// The one that was asked for, or none if something else was, or all.
fn dates<'a>(
    asked: &'a Option<String>,
    other: bool,
    all: impl DoubleEndedIterator<Item = &'a String>,
) -> Vec<&'a str> {
    match asked {
        Some(date) => vec![date],
        None if other => Vec::new(),
        None => all.rev().map(String::as_str).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    fn check_passes(args: &Args, expected: usize, is_expected: impl Fn(&Pass<'_>) -> bool) {
        let expectations = Expectations::read(&workspace::root()).unwrap();
        let passes = args.passes(&expectations).unwrap();
        assert_eq!(passes.len(), expected);
        assert!(passes.iter().all(is_expected));
    }

    #[test]
    fn everything_is_every_revision_and_every_cap() {
        check_passes(&Args::default(), 7, |pass| pass.place.newest.is_none() || pass.client.is_empty());
    }

    #[test]
    fn a_revision_and_a_cap_select_one_pass() {
        let date = "2026-07-28".to_owned();
        check_passes(&Args { revision: Some(date.clone()), ..Args::default() }, 1, |pass| {
            pass.place == Place { revision: "2026-07-28", newest: None }
        });
        let expectations = Expectations::read(&workspace::root()).unwrap();
        let cap = expectations.capped.servers.keys().next().unwrap().clone();
        check_passes(&Args { cap: Some(cap.clone()), ..Args::default() }, 1, |pass| {
            pass.place.newest == Some(cap.as_str())
        });
        assert!(Args { cap: Some(date), ..Args::default() }.passes(&expectations).is_err());
    }

    #[test]
    fn a_scenario_is_selected_wherever_it_is_and_nothing_selected_is_an_error() {
        let scenario = vec!["request-metadata".to_owned()];
        let args = Args { scenario: scenario.clone(), ..Args::default() };
        check_passes(&args, 1, |pass| pass.client.len() == 1 && pass.server.is_empty());
        let expectations = Expectations::read(&workspace::root()).unwrap();
        assert!(Args { scenario, server_only: true, ..Args::default() }.passes(&expectations).is_err());
    }
}
