//! The table of a run: one row a scenario as it ends, its problems below it, and the closing lines.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::verdict::Verdict;

/// Where a row belongs: the revision whose scenarios are played, and the newest one that our server has if that is
/// not the newest of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) revision: &'a str,
    pub(super) newest: Option<&'a str>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<10} {:<10}", self.revision, self.newest.unwrap_or("-"))
    }
}

pub(super) struct Row<'a> {
    place: Place<'a>,
    side: &'static str,
    scenario: String,
    verdict: Verdict,
    took: Duration,
}

impl<'a> Row<'a> {
    pub(super) fn new(
        place: Place<'a>,
        side: &'static str,
        scenario: &str,
        judged: (Verdict, Duration),
    ) -> Self {
        let (verdict, took) = judged;
        Self { place, side, scenario: scenario.to_owned(), verdict, took }
    }

    fn is_green(&self) -> bool {
        self.verdict.problems.is_empty()
    }
}

/// Rows that passed, and rows that did not.
#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
}

/// Counts rows; prints each as it comes.
pub(super) struct Table<'a> {
    /// In the order in which they came.
    counts: Vec<(Place<'a>, &'static str, Count)>,
}

impl<'a> Table<'a> {
    pub(super) fn new() -> Self {
        println!(
            "{:<10} {:<10} {:<7} {:<45} {:<7} {:>9} {:>8} {:>7} {:>7}",
            "revision",
            "capped at",
            "side",
            "scenario",
            "verdict",
            "successes",
            "distinct",
            "skipped",
            "seconds"
        );
        Self { counts: Vec::new() }
    }

    pub(super) fn add(&mut self, row: &Row<'a>) {
        let Verdict { problems, total, distinct, skipped } = &row.verdict;
        let word = if row.is_green() { "ok" } else { "FAILED" };
        let seconds = row.took.as_secs_f64();
        println!(
            "{} {:<7} {:<45} {word:<7} {total:>9} {distinct:>8} {skipped:>7} {seconds:>7.1}",
            row.place, row.side, row.scenario
        );
        for problem in problems {
            println!("        {}", problem.replace('\n', "\n        "));
        }
        let count = self.count(row.place, row.side);
        if row.is_green() {
            count.passed += 1;
        } else {
            count.failed += 1;
        }
    }

    fn count(&mut self, place: Place<'a>, side: &'static str) -> &mut Count {
        let known = self.counts.iter().position(|(known, of, _)| (*known, *of) == (place, side));
        let at = known.unwrap_or_else(|| {
            self.counts.push((place, side, Count::default()));
            self.counts.len() - 1
        });
        &mut self.counts[at].2
    }

    /// Prints the sums and the closing line; `true` if all rows are green. What was said is in `results`.
    pub(super) fn close(self, results: &Path) -> bool {
        println!();
        for (place, side, Count { passed, failed }) in &self.counts {
            println!("{place} {side:<7} {passed:>3} passed, {failed} failed");
        }
        let sum = |of: fn(&Count) -> usize| self.counts.iter().map(|(_, _, count)| of(count)).sum::<usize>();
        let (passed, failed) = (sum(|count| count.passed), sum(|count| count.failed));
        if failed > 0 {
            println!("what the suite and our programs said is in {}", results.display());
        }
        println!("{passed} passed, {failed} failed");
        failed == 0
    }
}
