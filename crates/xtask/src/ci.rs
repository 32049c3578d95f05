//! `cargo xtask ci`: every check that a change must pass, cheap ones first.
//!
//! A step that fails does not stop the ones after it, so that one run says everything. The steps are data; what a
//! step does is in its own tool or in `tidy` and `conformance`.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::{browser, conformance, process, sunset, tidy, workspace};

/// Arguments of `cargo xtask ci`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Start at this step.
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    from: Option<Step>,
    /// Run this step alone.
    #[arg(long, value_name = "STEP")]
    only: Option<Step>,
}

/// The steps, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Step {
    /// Formatting.
    Fmt,
    /// Walls, budgets and habits.
    Tidy,
    /// No runtime in the tree of the protocol crate.
    Tree,
    /// Lints, of tests and examples too.
    Clippy,
    /// Unit and integration tests.
    Test,
    /// Everything again without the legacy.
    Sunset,
    /// Examples in the documentation.
    Doctest,
    /// The documentation itself.
    Doc,
    /// The official conformance suite.
    Conformance,
    /// The web page in a browser.
    Browser,
}

/// Runs the steps that were asked for; `false` if one failed.
///
/// # Errors
/// None of its own: a step that cannot run has failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let mut rows = Vec::new();
    for step in args.steps() {
        println!("\n=== {}", step.name());
        let start = Instant::now();
        let passed = match step.run() {
            Ok(passed) => passed,
            Err(error) => {
                eprintln!("error: {error:#}");
                false
            }
        };
        let row = Row { step, passed, took: start.elapsed() };
        println!("=== {}", row.line());
        rows.push(row);
    }
    print_table(&rows);
    Ok(rows.iter().all(|row| row.passed))
}

impl Args {
    fn steps(&self) -> Vec<Step> {
        let wanted = |step: &Step| {
            self.only.is_none_or(|only| *step == only) && self.from.is_none_or(|from| *step >= from)
        };
        Step::value_variants().iter().copied().filter(wanted).collect()
    }
}

impl Step {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn run(self) -> Result<bool> {
        match self {
            Self::Tidy => return tidy::run(&tidy::Args::default()),
            Self::Conformance => return conformance::run(&conformance::Args::default()),
            Self::Browser => return browser::run(&browser::Args::default()),
            Self::Tree => no_runtime_in_the_protocol()?,
            Self::Fmt => cargo(&["fmt", "--all", "--check"])?,
            Self::Clippy => cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?,
            Self::Test => {
                install_nextest()?;
                cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])?;
            }
            Self::Sunset => {
                install_nextest()?;
                sunset::run(new_cargo)?;
            }
            Self::Doctest => cargo(&["test", "--workspace", "--doc"])?,
            Self::Doc => process::succeed(
                new_cargo().args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
            )?,
        }
        Ok(true)
    }
}

fn new_cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace::root());
    cargo
}

fn cargo(arguments: &[&str]) -> Result<()> {
    process::succeed(new_cargo().args(arguments))
}

fn install_nextest() -> Result<()> {
    if process::output(new_cargo().args(["nextest", "--version"])).is_ok() {
        return Ok(());
    }
    cargo(&["install", "cargo-nextest", "--locked"])
}

/// The wall that matters most, asked of cargo itself with the features that a user of the crate gets.
fn no_runtime_in_the_protocol() -> Result<()> {
    let arguments = ["tree", "-p", "switchboard-protocol", "--edges", "normal,build", "-i", "tokio"];
    let output = new_cargo().args(arguments).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    // Cargo fails if no crate of the workspace knows tokio at all; that is fine too.
    if !output.status.success() && !stderr.contains("did not match any packages") {
        bail!("cargo tree ended with {}: {stderr}", output.status);
    }
    if !output.stdout.is_empty() {
        let tree = String::from_utf8_lossy(&output.stdout);
        bail!("switchboard-protocol must not see tokio; remove the dependency that brings it:\n{tree}");
    }
    Ok(())
}

struct Row {
    step: Step,
    passed: bool,
    took: Duration,
}

impl Row {
    fn line(&self) -> String {
        let verdict = if self.passed { "ok" } else { "FAILED" };
        format!("{:<12} {:<7} {:>7.1} s", self.step.name(), verdict, self.took.as_secs_f64())
    }
}

fn print_table(rows: &[Row]) {
    println!();
    for row in rows {
        println!("{}", row.line());
    }
    let took: Duration = rows.iter().map(|row| row.took).sum();
    println!("{:<12} {:<7} {:>7.1} s", "total", "", took.as_secs_f64());
    let passed = rows.iter().filter(|row| row.passed).count();
    println!("{passed} passed, {} failed", rows.len() - passed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_steps(from: Option<Step>, only: Option<Step>, expected: &[Step]) {
        assert_eq!(Args { from, only }.steps(), expected);
    }

    #[test]
    fn steps_run_in_order_from_the_one_asked_for() {
        check_steps(None, None, Step::value_variants());
        check_steps(Some(Step::Doc), None, &[Step::Doc, Step::Conformance, Step::Browser]);
        check_steps(None, Some(Step::Tidy), &[Step::Tidy]);
    }
}
