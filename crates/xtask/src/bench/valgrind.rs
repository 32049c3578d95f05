//! Counts that do not depend on what else the machine does: instructions and allocations per request,
//! as the difference of two runs of different length.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::load::Load;
use super::subject::Subject;
use crate::workspace;

/// Instructions in user space per request.
///
/// # Errors
/// When valgrind is missing, or the server fails.
pub(crate) fn instructions(server: &Subject, load: Load, counts: [usize; 2]) -> Result<f64> {
    per_request(counts, |requests, file| {
        let out = format!("--callgrind-out-file={}", file.display());
        run(server, load, requests, &["-q", "--tool=callgrind", &out])?;
        total(&fs::read_to_string(file)?, |line| line.strip_prefix("totals: "))
    })
}

/// Allocations per request.
///
/// # Errors
/// As [`instructions`].
pub(crate) fn allocations(server: &Subject, load: Load, counts: [usize; 2]) -> Result<f64> {
    per_request(counts, |requests, file| {
        // Without -q: how much was allocated is said only then.
        let log = format!("--log-file={}", file.display());
        run(server, load, requests, &["--tool=memcheck", "--leak-check=no", &log])?;
        total(&fs::read_to_string(file)?, |line| line.split_once("total heap usage: ").map(|(_, rest)| rest))
    })
}

fn per_request(counts: [usize; 2], measure: impl Fn(usize, &Path) -> Result<f64>) -> Result<f64> {
    let file = workspace::root().join(format!("target/benches/valgrind.{}", std::process::id()));
    let [few, many] = counts;
    let (less, more) = (measure(few, &file)?, measure(many, &file)?);
    fs::remove_file(&file).ok();
    #[expect(clippy::cast_precision_loss, reason = "a number of requests")]
    let requests = (many - few) as f64;
    Ok((more - less) / requests)
}

fn run(server: &Subject, load: Load, requests: usize, tool: &[&str]) -> Result<()> {
    let wrapper: Vec<String> =
        std::iter::once(&"valgrind").chain(tool).map(|word| (*word).to_owned()).collect();
    let mut running = server.start(&wrapper, load).context("is valgrind installed?")?;
    running.load(load, requests)?;
    running.stop()
}

/// The number at the start of what `find` leaves of a line.
fn total<'a>(text: &'a str, find: impl Fn(&'a str) -> Option<&'a str>) -> Result<f64> {
    let rest = text.lines().rev().find_map(find).context("valgrind wrote no total")?;
    let digits: String =
        rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',').collect();
    digits.parse().context("valgrind's total is no number")
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn totals_are_read_from_both_tools() {
        let callgrind = total("events: Ir\ntotals: 123456\n", |line| line.strip_prefix("totals: "));
        assert_eq!(callgrind.unwrap(), 123_456.0);
        let log = "==1==   total heap usage: 1,234 allocs, 1,200 frees, 9 bytes allocated";
        let memcheck = total(log, |line| line.split_once("total heap usage: ").map(|(_, rest)| rest));
        assert_eq!(memcheck.unwrap(), 1234.0);
        assert!(total("", |line| line.strip_prefix("totals: ")).is_err());
    }
}
