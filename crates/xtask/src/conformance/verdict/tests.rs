//! Verdicts on outcomes given as data.

use super::*;

/// Three checks at least, two of them by id and by name; one skip allowed.
const EXPECTED: &str = r#"{"scenario": "s", "total": 3, "succeed": ["a", "B"],
    "skips": [{"name": "S", "reason": "the era has none"}]}"#;

/// Checks as `STATUS id name`, one a line.
fn checks(lines: &str) -> Option<Vec<Check>> {
    let check = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let mut word = || words.next().unwrap();
        let (status, id, name) = (word(), word(), word());
        Check { status, id, name, description: String::new(), error_message: None }
    };
    Some(lines.lines().filter(|line| !line.trim().is_empty()).map(check).collect())
}

const GREEN: &str = "SUCCESS a A\nSUCCESS a B\nSUCCESS a B\nINFO i I\nSKIPPED s S\n";

/// Checks that there is one problem for each text, containing it, in order.
fn check_outcome(outcome: &Outcome, expected: &[&str]) {
    let verdict = judge(&serde_json::from_str(EXPECTED).unwrap(), outcome);
    assert_eq!(verdict.problems.len(), expected.len(), "{:#?}", verdict.problems);
    for (problem, expected) in verdict.problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem}\nlacks {expected}");
    }
}

fn check_lines(lines: &str, expected: &[&str]) {
    check_outcome(&Outcome { suite: Ended::Code(0), client_exit: None, checks: checks(lines) }, expected);
}

#[test]
fn successes_infos_and_allowed_skips_are_green() {
    check_lines(GREEN, &[]);
}

#[test]
fn failures_warnings_and_statuses_of_the_future_are_red() {
    for status in ["FAILURE", "WARNING", "PARTIAL"] {
        check_lines(&format!("{GREEN}{status} x X\n"), &[&format!("{status} x (X)")]);
    }
}

#[test]
fn a_skip_without_leave_is_red() {
    check_lines(&format!("{GREEN}SKIPPED a B\n"), &["SKIPPED a (B)"]);
}

#[test]
fn a_leave_that_is_not_used_is_red() {
    check_lines(&GREEN.replace("SKIPPED s S", ""), &["S is no longer skipped"]);
}

#[test]
fn fewer_successes_than_committed_are_red() {
    check_lines("SUCCESS a A\nSUCCESS a B\nSKIPPED s S", &["2 checks succeeded; "]);
}

#[test]
fn a_demanded_check_that_is_absent_is_red() {
    check_lines("SUCCESS b A\nSUCCESS b B\nSUCCESS c B\nSKIPPED s S", &["a must succeed"]);
    check_lines("SUCCESS a A\nSUCCESS a A\nSUCCESS a A\nSKIPPED s S", &["B must succeed"]);
}

#[test]
fn a_client_that_does_not_exit_with_zero_is_red_whatever_the_suite_says() {
    for (exit, expected) in
        [(Ended::Code(1), "the client ended with 1"), (Ended::Killed, "the client was killed")]
    {
        let outcome = Outcome { suite: Ended::Code(0), client_exit: Some(exit), checks: checks(GREEN) };
        check_outcome(&outcome, &[expected]);
    }
    check_outcome(
        &Outcome { suite: Ended::Code(0), client_exit: Some(Ended::Code(0)), checks: checks(GREEN) },
        &[],
    );
}

#[test]
fn a_suite_that_fails_is_red_even_if_its_checks_are_not() {
    check_outcome(
        &Outcome { suite: Ended::Code(1), client_exit: None, checks: checks(GREEN) },
        &["the suite ended with 1"],
    );
    check_outcome(
        &Outcome { suite: Ended::Killed, client_exit: None, checks: None },
        &["wrote no checks (was killed)"],
    );
}

#[test]
fn an_entry_of_the_suite_is_read_as_it_writes_it() {
    let text = r#"[{"id": "a", "name": "A", "description": "d", "status": "WARNING", "timestamp": "t",
        "specReferences": [], "details": {}, "errorMessage": "why"}]"#;
    let checks: Vec<Check> = serde_json::from_str(text).unwrap();
    assert_eq!(checks[0].problem(), "WARNING a (A): why");
    let bare = r#"{"id": "a", "name": "A", "description": "what was wanted", "status": "FAILURE"}"#;
    let check: Check = serde_json::from_str(bare).unwrap();
    assert_eq!(check.problem(), "FAILURE a (A): what was wanted");
}
