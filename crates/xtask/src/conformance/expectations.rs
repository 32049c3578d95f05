//! What we expect of each scenario, as committed data: `conformance/expectations.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
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
    revisions: BTreeMap<String, Revision>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revision {
    /// What the revision requires and we do not have yet.
    later: Vec<Later>,
    server: Vec<Scenario>,
    client: Vec<Scenario>,
}

/// Required scenarios that are left out, all whose name starts so.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Later {
    prefix: String,
    #[serde(rename = "reason")]
    _reason: String,
}

/// One scenario, and the least that it must show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) scenario: String,
    /// Fewest checks that succeed.
    pub(super) total: usize,
    /// Fewest different checks that succeed, by id and name: a check that is repeated adds nothing here.
    pub(super) distinct: usize,
    /// Names of checks that must be among them.
    #[serde(default)]
    pub(super) must_succeed: Vec<String>,
    /// The only checks that may be skipped; each of them must be.
    #[serde(default)]
    pub(super) skips: Vec<Skip>,
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
        self.revisions.get(date).with_context(|| {
            let known: Vec<_> = self.revisions.keys().map(String::as_str).collect();
            format!("{PATH} has no revision {date}, only {}", known.join(", "))
        })
    }
}

impl Revision {
    pub(super) fn side(&self, side: Side) -> &[Scenario] {
        match side {
            Side::Server => &self.server,
            Side::Client => &self.client,
        }
    }

    /// One problem for each required scenario that is neither expected nor said to come later.
    pub(super) fn missing(&self, required: &[(Side, String)]) -> Vec<String> {
        let known = |side: Side, name: &str| {
            self.side(side).iter().any(|scenario| scenario.scenario == name)
                || self.later.iter().any(|later| name.starts_with(&later.prefix))
        };
        let missing = required.iter().filter(|(side, name)| !known(*side, name));
        missing.map(|(side, name)| format!("the revision requires {side} {name}; add it to {PATH}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_committed_file_reads_and_names_no_scenario_twice() {
        let expectations = Expectations::read(&workspace::root()).unwrap();
        let revision = expectations.revision("2026-07-28").unwrap();
        for side in [Side::Server, Side::Client] {
            let mut names: Vec<_> = revision.side(side).iter().map(|scenario| &scenario.scenario).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{side}");
        }
    }

    #[test]
    fn a_required_scenario_is_expected_or_said_to_come_later() {
        let text = r#"{"later": [{"prefix": "auth/", "reason": "no OAuth yet"}], "client": [],
            "server": [{"scenario": "ping", "total": 1, "distinct": 1}]}"#;
        let revision: Revision = serde_json::from_str(text).unwrap();
        let required = |side, name: &str| (side, name.to_owned());
        assert!(
            revision.missing(&[required(Side::Server, "ping"), required(Side::Client, "auth/x")]).is_empty()
        );
        let missing = revision.missing(&[required(Side::Client, "ping")]);
        assert_eq!(missing, ["the revision requires client ping; add it to conformance/expectations.json"]);
    }

    #[test]
    fn an_unknown_revision_is_answered_with_the_known_ones() {
        let expectations = Expectations::read(&workspace::root()).unwrap();
        let error = expectations.revision("1999-12-31").unwrap_err().to_string();
        assert!(error.contains("2026-07-28"), "{error}");
    }
}
