//! The table of a run: one row a scenario as it ends, its problems below it, and the closing line.

use std::path::Path;
use std::time::Duration;

use super::verdict::Verdict;

pub(super) struct Row {
    side: &'static str,
    scenario: String,
    verdict: Verdict,
    took: Duration,
}

impl Row {
    pub(super) fn new(side: &'static str, scenario: &str, verdict: Verdict, took: Duration) -> Self {
        Self { side, scenario: scenario.to_owned(), verdict, took }
    }

    fn is_green(&self) -> bool {
        self.verdict.problems.is_empty()
    }
}

/// Counts rows; prints each as it comes.
pub(super) struct Table {
    passed: usize,
    failed: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        println!(
            "{:<7} {:<45} {:<7} {:>9} {:>8} {:>7} {:>7}",
            "side", "scenario", "verdict", "successes", "distinct", "skipped", "seconds"
        );
        Self { passed: 0, failed: 0 }
    }

    pub(super) fn add(&mut self, row: &Row) {
        let Verdict { problems, total, distinct, skipped } = &row.verdict;
        let word = if row.is_green() { "ok" } else { "FAILED" };
        let seconds = row.took.as_secs_f64();
        println!(
            "{:<7} {:<45} {word:<7} {total:>9} {distinct:>8} {skipped:>7} {seconds:>7.1}",
            row.side, row.scenario
        );
        for problem in problems {
            println!("        {}", problem.replace('\n', "\n        "));
        }
        if row.is_green() {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }

    /// Prints the closing line; `true` if all rows are green. What was said is in `results`.
    pub(super) fn close(self, results: &Path) -> bool {
        if self.failed > 0 {
            println!("what the suite and our programs said is in {}", results.display());
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        self.failed == 0
    }
}
