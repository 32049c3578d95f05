//! The whole table: every status with every body.

use super::{Evidence, Verdict};
use crate::error::ProtocolError;

fn error(code: i64, data: &str) -> ProtocolError {
    serde_json::from_str(&format!(r#"{{"code": {code}, "message": "said", "data": {data}}}"#)).unwrap()
}

/// What an answer may hold, and what it proves where it is evidence.
fn bodies() -> Vec<(Option<ProtocolError>, Verdict)> {
    let mut bodies = vec![(None, Verdict::Legacy)];
    for data in
        [r#"{"supported": ["2026-07-28"], "requested": "2027-01-01"}"#, r#"{"supported": []}"#, "null"]
    {
        bodies.push((Some(error(-32022, data)), Verdict::Modern));
    }
    bodies.push((Some(error(-32021, r#"{"requiredCapabilities": {"sampling": {}}}"#)), Verdict::Modern));
    bodies.push((Some(error(-32020, "null")), Verdict::Modern));
    // Whatever else: the fallback hangs on no single code.
    for code in [
        -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32019, -32023, -32042, -32099, 0, 1,
        401,
    ] {
        bodies.push((Some(error(code, "null")), Verdict::Legacy));
    }
    // A list of revisions does not make another error a modern one.
    bodies.push((Some(error(-32000, r#"{"supported": ["2026-07-28"]}"#)), Verdict::Legacy));
    bodies
}

/// The 4xx that prove nothing, with any body.
const REFUSALS: [u16; 14] = [401, 402, 403, 407, 408, 413, 414, 421, 423, 425, 426, 429, 431, 451];

#[test]
fn a_status_proves_an_era_only_where_it_speaks_of_the_message() {
    for status in 0..=1000 {
        let proves = (400..500).contains(&status) && !REFUSALS.contains(&status);
        for (body, verdict) in bodies() {
            let expected = if proves { verdict } else { Verdict::None };
            let found = Evidence::Status(status, body.as_ref()).verdict();
            assert_eq!(found, expected, "{status} with {body:?}");
        }
    }
}

#[test]
fn an_error_that_belongs_to_the_request_proves_the_era_by_its_code() {
    for (body, verdict) in bodies() {
        if let Some(error) = body {
            assert_eq!(Evidence::Error(&error).verdict(), verdict, "{error:?}");
        }
    }
}

#[test]
fn what_is_no_answer_is_evidence_only_over_a_pipe() {
    for (evidence, verdict) in [
        (Evidence::Result, Verdict::Modern),
        (Evidence::OtherResult, Verdict::Legacy),
        (Evidence::Silence, Verdict::Legacy),
        (Evidence::Exit, Verdict::Legacy),
        (Evidence::Unreachable, Verdict::None),
    ] {
        assert_eq!(evidence.verdict(), verdict, "{evidence:?}");
    }
}
