//! The judgement on one scenario, from the checks that the suite wrote down and from how the processes ended.
//!
//! Red is: a check that failed or warned, one that was skipped without our leave, one that must succeed and does not,
//! fewer successes than committed, a client that did not exit with 0, and a suite that did not.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::expectations::{PATH, Scenario};

/// One entry of `checks.json`. Ids repeat inside a scenario; what tells checks apart is id and name.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    status: String,
    #[serde(default)]
    error_message: Option<String>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Code(i32),
    /// By us or by the suite after its time, or by a signal.
    Killed,
}

/// What one run left behind.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) suite: Ended,
    /// Of client scenarios only.
    pub(super) client_exit: Option<Ended>,
    /// `None` if the suite wrote none.
    pub(super) checks: Option<Vec<Check>>,
}

/// Green if there is no problem.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) problems: Vec<String>,
    pub(super) total: usize,
    pub(super) distinct: usize,
    pub(super) skipped: usize,
}

impl Verdict {
    /// A verdict without checks.
    pub(super) fn of_problems(problems: Vec<String>) -> Self {
        Self { problems, ..Self::default() }
    }
}

/// Judges one scenario.
pub(super) fn judge(expected: &Scenario, outcome: &Outcome) -> Verdict {
    let Some(checks) = &outcome.checks else {
        let problem = format!("the suite wrote no checks ({}); see suite.log", describe(outcome.suite));
        return Verdict::of_problems(vec![problem]);
    };
    let mut verdict = Verdict::default();
    let mut successes = BTreeSet::new();
    let mut skips: BTreeMap<&str, bool> =
        expected.skips.iter().map(|skip| (skip.name.as_str(), false)).collect();
    for check in checks {
        match check.status.as_str() {
            "SUCCESS" => {
                verdict.total += 1;
                successes.insert((&check.id, &check.name));
            }
            "INFO" => {}
            "SKIPPED" => {
                verdict.skipped += 1;
                match skips.get_mut(check.name.as_str()) {
                    Some(used) => *used = true,
                    None => verdict.problems.push(check.problem()),
                }
            }
            _ => verdict.problems.push(check.problem()),
        }
    }
    verdict.distinct = successes.len();
    verdict.problems.extend(too_few(expected, &verdict));
    for wanted in &expected.succeed {
        if !successes.iter().any(|(id, name)| [*id, *name].contains(&wanted)) {
            verdict.problems.push(format!("{wanted} must succeed, and does not"));
        }
    }
    let unused = skips.iter().filter(|(_, used)| !**used);
    verdict
        .problems
        .extend(unused.map(|(name, _)| format!("{name} is no longer skipped; remove it from {PATH}")));
    verdict.problems.extend(bad_end(outcome, verdict.problems.is_empty()));
    verdict
}

fn too_few(expected: &Scenario, verdict: &Verdict) -> Option<String> {
    let total = expected.total.max(expected.succeed.len());
    (verdict.total < total)
        .then(|| format!("{} checks succeeded; {PATH} wants at least {total}", verdict.total))
}

/// The suite's own exit code says something only if we found nothing else to say.
fn bad_end(outcome: &Outcome, green: bool) -> Option<String> {
    match outcome.client_exit {
        Some(client) if client != Ended::Code(0) => {
            Some(format!("the client {}, not with 0", describe(client)))
        }
        _ if green && outcome.suite != Ended::Code(0) => {
            Some(format!("the suite {}; see suite.log", describe(outcome.suite)))
        }
        _ => None,
    }
}

fn describe(ended: Ended) -> String {
    match ended {
        Ended::Code(code) => format!("ended with {code}"),
        Ended::Killed => "was killed".to_owned(),
    }
}

impl Check {
    fn problem(&self) -> String {
        let reason = self.error_message.as_deref().unwrap_or(&self.description);
        format!("{} {} ({}): {reason}", self.status, self.id, self.name)
    }
}

#[cfg(test)]
mod tests;
