//! What we expect of each scenario, as committed data: `conformance/expectations.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::suite::Side;

/// Relative to the workspace.
pub(super) const PATH: &str = "conformance/expectations.json";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectations {
    /// For the reader of the file.
    #[serde(rename = "about")]
    _about: String,
    /// By date.
    pub(super) revisions: BTreeMap<String, Revision>,
    pub(super) capped: Capped,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revision {
    /// Whether the suite has a frozen list of what the revision requires, beside the tags of its scenarios.
    pub(super) has_required_list: bool,
    /// What the suite has for the revision and we do not have yet.
    later: Vec<Later>,
    server: Vec<Scenario>,
    client: Vec<Scenario>,
}

/// Scenarios that are left out, all whose name starts so.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Later {
    prefix: String,
    #[serde(rename = "reason")]
    _reason: String,
}

/// The server scenarios of a revision once more, with a server that has only older ones, so that whoever offers the
/// revision is answered with an older one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capped {
    /// The revision whose scenarios these are.
    pub(super) scenarios_of: String,
    /// Those that an older server cannot play.
    newer: Vec<Newer>,
    /// By the date of the newest revision that the server has.
    pub(super) servers: BTreeMap<String, CappedServer>,
}

/// A scenario that needs what came with a later revision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Newer {
    scenario: String,
    since: String,
    #[serde(rename = "reason")]
    _reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CappedServer {
    /// The revision whose schema the suite holds messages against, and which it names where it writes requests
    /// itself: the server's own, or the oldest that the suite knows.
    pub(super) schema_of: String,
    /// What is expected instead.
    otherwise: Vec<Scenario>,
}

/// One scenario, and the least that it must show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) scenario: String,
    /// Checks that must succeed: by id, or by name where one id stands for several.
    pub(super) succeed: Vec<String>,
    /// Fewest checks that succeed, where the suite repeats some.
    #[serde(default)]
    pub(super) total: usize,
    /// The only checks that may be skipped; each of them must be.
    #[serde(default)]
    pub(super) skips: Vec<Skip>,
    /// Why no other scenario may run at the same time, if so.
    #[serde(default)]
    pub(super) alone: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skip {
    /// The name of the check.
    pub(super) name: String,
    #[serde(rename = "reason")]
    _reason: String,
}

impl Expectations {
    /// # Errors
    /// If the file is absent or not as described here.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(PATH)).with_context(|| format!("cannot read {PATH}"))?;
        serde_json::from_str(&text).with_context(|| format!("{PATH} is not as expected"))
    }

    /// # Errors
    /// If nothing is expected of that revision; the message lists those that there are.
    pub(super) fn revision(&self, date: &str) -> Result<&Revision> {
        self.revisions.get(date).with_context(|| unknown("revision", date, self.revisions.keys()))
    }

    /// What a server is put through that has nothing newer than this date.
    ///
    /// # Errors
    /// If there is no such server, or something is said about a scenario that there is not.
    pub(super) fn capped(&self, date: &str) -> Result<(&CappedServer, Vec<&Scenario>)> {
        let Capped { scenarios_of, newer, servers } = &self.capped;
        let server = servers.get(date).with_context(|| unknown("capped server", date, servers.keys()))?;
        let all = self.revision(scenarios_of)?.side(Side::Server);
        let otherwise = server.otherwise.iter().map(|scenario| &scenario.scenario);
        for name in newer.iter().map(|newer| &newer.scenario).chain(otherwise) {
            let known = all.iter().any(|scenario| scenario.scenario == *name);
            ensure!(known, "{PATH}: `capped` names {name}, which {scenarios_of} has not");
        }
        // Dates of this form are in order as texts.
        let too_new =
            |name: &str| newer.iter().any(|newer| newer.scenario == name && newer.since.as_str() > date);
        let scenarios = all.iter().filter(|scenario| !too_new(&scenario.scenario));
        Ok((server, scenarios.map(|scenario| server.otherwise(scenario)).collect()))
    }
}

fn unknown<'a>(what: &str, date: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<_> = known.map(String::as_str).collect();
    format!("{PATH} has no {what} {date}, only {}", known.join(", "))
}

impl CappedServer {
    fn otherwise<'a>(&'a self, scenario: &'a Scenario) -> &'a Scenario {
        self.otherwise.iter().find(|other| other.scenario == scenario.scenario).unwrap_or(scenario)
    }
}

impl Revision {
    pub(super) fn side(&self, side: Side) -> &[Scenario] {
        match side {
            Side::Server => &self.server,
            Side::Client => &self.client,
        }
    }

    /// One problem for each scenario of the suite's list that is neither expected nor said to come later.
    pub(super) fn missing(&self, listed: &[(Side, String)]) -> Vec<String> {
        let known = |side: Side, name: &str| {
            self.side(side).iter().any(|scenario| scenario.scenario == name)
                || self.later.iter().any(|later| name.starts_with(&later.prefix))
        };
        let missing = listed.iter().filter(|(side, name)| !known(*side, name));
        missing.map(|(side, name)| format!("the suite lists {side} {name}; add it to {PATH}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_committed_file_reads_and_names_no_scenario_twice() {
        let expectations = Expectations::read(&workspace::root()).unwrap();
        for (date, revision) in &expectations.revisions {
            for side in [Side::Server, Side::Client] {
                let mut names: Vec<_> =
                    revision.side(side).iter().map(|scenario| &scenario.scenario).collect();
                let count = names.len();
                names.sort();
                names.dedup();
                assert_eq!(names.len(), count, "{date} {side}");
            }
        }
        for date in expectations.capped.servers.keys() {
            let (_, scenarios) = expectations.capped(date).unwrap();
            assert!(!scenarios.is_empty(), "{date}");
        }
    }

    #[test]
    fn a_listed_scenario_is_expected_or_said_to_come_later() {
        let text = r#"{"has_required_list": true, "client": [],
            "later": [{"prefix": "auth/", "reason": "no OAuth yet"}],
            "server": [{"scenario": "ping", "succeed": ["ping"]}]}"#;
        let revision: Revision = serde_json::from_str(text).unwrap();
        let listed = |side, name: &str| (side, name.to_owned());
        assert!(revision.missing(&[listed(Side::Server, "ping"), listed(Side::Client, "auth/x")]).is_empty());
        let missing = revision.missing(&[listed(Side::Client, "ping")]);
        assert_eq!(missing, ["the suite lists client ping; add it to conformance/expectations.json"]);
    }

    const CAPPED: &str = r#"{"about": "",
        "revisions": {"3": {"has_required_list": false, "later": [], "client": [], "server": [
            {"scenario": "ping", "succeed": []}, {"scenario": "two", "succeed": []},
            {"scenario": "three", "succeed": []}, {"scenario": "list", "succeed": ["x"]}]}},
        "capped": {"scenarios_of": "3",
            "newer": [{"scenario": "two", "since": "2", "reason": ""}, {"scenario": "three", "since": "3", "reason": ""}],
            "servers": {
                "2": {"schema_of": "2", "otherwise": []},
                "1": {"schema_of": "1", "otherwise": [{"scenario": "list", "succeed": ["y"]}]}}}}"#;

    fn check_capped(date: &str, expected: &[(&str, &[&str])]) {
        let expectations: Expectations = serde_json::from_str(CAPPED).unwrap();
        let (_, scenarios) = expectations.capped(date).unwrap();
        let found: Vec<_> = scenarios.iter().map(|found| (&found.scenario, &found.succeed)).collect();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{date}");
    }

    #[test]
    fn a_capped_server_is_spared_what_is_newer_and_judged_otherwise_where_it_differs() {
        check_capped("2", &[("ping", &[]), ("two", &[]), ("list", &["x"])]);
        check_capped("1", &[("ping", &[]), ("list", &["y"])]);
    }

    #[test]
    fn what_is_said_about_no_scenario_is_an_error() {
        let misspelled =
            CAPPED.replacen(r#"{"scenario": "two", "since""#, r#"{"scenario": "tow", "since""#, 1);
        let expectations: Expectations = serde_json::from_str(&misspelled).unwrap();
        let error = expectations.capped("2").unwrap_err().to_string();
        assert!(error.contains("names tow, which 3 has not"), "{error}");
    }

    #[test]
    fn an_unknown_date_is_answered_with_the_known_ones() {
        let expectations = Expectations::read(&workspace::root()).unwrap();
        for error in [expectations.revision("1999-12-31").err(), expectations.capped("1999-12-31").err()] {
            let error = error.unwrap().to_string();
            assert!(error.contains("has no") && error.contains(", only 20"), "{error}");
        }
    }
}
