//! Results and failures against the messages that `tests/data/results.json` says.

use serde::Deserialize;

use super::*;
use crate::outcome::CallFailure;

#[derive(Deserialize)]
struct Case {
    what: String,
    result: serde_json::Value,
    message: String,
    #[serde(default)]
    failed: bool,
}

#[test]
fn every_result_gives_the_message_that_the_table_says() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../tests/data/results.json")).unwrap();
    for case in cases {
        let result: CallToolResult = serde_json::from_str(&case.result.to_string()).unwrap();
        let message = integrate(&ToolOutcome::Result(Box::new(result)), &Limits::default());
        assert_eq!(message.text, case.message, "{}", case.what);
        assert_eq!(message.failed, case.failed, "{}", case.what);
        assert_eq!(message.left_out_bytes, None, "{}", case.what);
    }
}

fn check_failure(failure: CallFailure, expected: &str) {
    let message = integrate(&ToolOutcome::Failed(failure), &Limits::default());
    assert_eq!(message.text, expected);
    assert!(message.failed);
}

#[test]
fn failures_are_kept_apart() {
    let protocol = CallFailure::new(FailureKind::Protocol { code: -32602 }, "Unknown tool: f");
    check_failure(protocol, "The server refused the call (error -32602): Unknown tool: f");
    let transport = CallFailure::new(FailureKind::Transport, "HTTP 502 from http://h.example");
    check_failure(transport, "The server could not be reached: HTTP 502 from http://h.example");
    let ended =
        CallFailure::new(FailureKind::Transport, "the last it wrote was:\n  File \"a.py\"\nOh\u{1b}[2J");
    let shown = "The server could not be reached: the last it wrote was:\n  File \"a.py\"\nOh\\u{1b}[2J";
    check_failure(ended, shown);
    let timeout = FailureKind::timeout(Some(std::time::Duration::from_millis(1500)));
    check_failure(
        CallFailure::new(timeout, "").maybe_executed(true),
        "The call timed out after 1.500 s. It may have been executed all the same.",
    );
    let said = "tools/call timed out after 1 s, and may have been executed";
    check_failure(
        CallFailure::new(timeout, said).maybe_executed(true),
        "The call timed out after 1.500 s: tools/call timed out after 1 s, and may have been executed",
    );
    let limit = CallFailure::new(FailureKind::Limit, "not complete after 10 rounds of input");
    check_failure(limit, "The call reached a limit: not complete after 10 rounds of input");
    let malformed = CallFailure::new(FailureKind::Malformed, "missing field `content`");
    check_failure(malformed, "The server returned a malformed result: missing field `content`");
}

#[test]
fn a_failure_is_bounded_whatever_the_server_says() {
    let failure = CallFailure::new(FailureKind::Protocol { code: -32603 }, "x\n".repeat(100_000));
    let message = integrate(&ToolOutcome::Failed(failure), &Limits::default());
    assert!(message.text.len() < 2 * Limits::default().error_bytes, "{}", message.text.len());
    assert!(message.left_out_bytes.is_some());
}

#[test]
fn a_long_result_keeps_head_and_tail_and_says_what_is_missing() {
    let text = format!("BEGIN{}END", "é漢".repeat(1000));
    for bytes in 0..64 {
        let limits = Limits { result_bytes: bytes, ..Limits::default() };
        let result = CallToolResult::of(vec![ContentBlock::text(text.clone())]);
        let message = integrate(&ToolOutcome::Result(Box::new(result)), &limits);
        let left_out = message.left_out_bytes.unwrap();
        assert!(message.text.contains(&format!("[… {left_out} of {} bytes left out here", text.len())));
        assert!(text.len() - left_out <= bytes);
        if bytes == 63 {
            assert!(message.text.starts_with("BEGIN") && message.text.ends_with("END"));
        }
    }
}
