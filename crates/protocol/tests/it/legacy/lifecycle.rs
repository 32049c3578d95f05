//! The phases of a session, as transcripts: what is said, and what becomes of it.

use serde_json::value::RawValue;
use switchboard_protocol::era::legacy::{Initialize, Lifecycle};
use switchboard_protocol::{ErrorCode, ProtocolError, Revision};

enum Said<'a> {
    /// A request that is no `initialize`.
    Request(&'a str),
    /// `initialize` with this version.
    Initialize(&'a str),
    Initialized,
    Close,
}

use Said::{Close, Initialize as Hello, Initialized, Request};

/// Plays the steps; after each: the words of the refusal, if one is expected; the revision; may the server ask.
fn check(newest: &str, steps: &[(Said<'_>, Option<&str>, Option<&str>, bool)]) {
    let newest = Revision::legacy(newest).unwrap();
    let mut lifecycle = Lifecycle::new();
    for (at, (said, refusal, revision, may_ask)) in steps.iter().enumerate() {
        let outcome = match said {
            Request(method) => lifecycle.handle_request(method),
            Hello(version) => hello(&mut lifecycle, version, newest),
            Initialized => {
                lifecycle.handle_initialized();
                Ok(())
            }
            Close => {
                lifecycle.close();
                Ok(())
            }
        };
        match (outcome, refusal) {
            (Ok(()), None) => {}
            (Err(error), Some(words)) => {
                assert_eq!(error.code, ErrorCode::INVALID_REQUEST, "step {at}");
                assert!(error.message.contains(words), "step {at}: {error}");
            }
            (outcome, _) => panic!("step {at}: {outcome:?}"),
        }
        assert_eq!(lifecycle.revision().map(Revision::date), *revision, "step {at}");
        assert_eq!(lifecycle.may_ask(), *may_ask, "step {at}");
    }
}

fn hello(lifecycle: &mut Lifecycle, version: &str, newest: Revision) -> Result<(), ProtocolError> {
    let params = serde_json::json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "c", "version": "1" },
    });
    let params = serde_json::value::to_raw_value(&params).unwrap();
    let agreed = lifecycle.handle_initialize(&Initialize::decode(Some(&params)).unwrap(), newest)?;
    assert_eq!(lifecycle.revision(), Some(agreed));
    Ok(())
}

#[test]
fn a_session_opens_in_three_steps() {
    let date = Some("2025-06-18");
    check(
        "2025-11-25",
        &[
            (Request("ping"), None, None, false),
            (Hello("2025-06-18"), None, date, false),
            (Request("tools/list"), None, date, false),
            (Request("ping"), None, date, false),
            (Initialized, None, date, true),
            (Request("tools/call"), None, date, true),
            (Initialized, None, date, true),
            (Close, None, date, false),
            (Request("ping"), Some("closed"), date, false),
            (Hello("2025-06-18"), Some("closed"), date, false),
            (Initialized, None, date, false),
        ],
    );
}

#[test]
fn what_is_out_of_order_is_refused_and_costs_nothing() {
    let date = Some("2025-03-26");
    check(
        "2025-03-26",
        &[
            (Request("tools/list"), Some("send initialize first"), None, false),
            (Request("server/discover"), Some("send initialize first"), None, false),
            (Initialized, None, None, false),
            (Hello("2099-01-01"), None, date, false),
            (Hello("2024-11-05"), Some("once"), date, false),
            (Initialized, None, date, true),
            (Hello("2024-11-05"), Some("once"), date, true),
            (Request("tools/list"), None, date, true),
        ],
    );
}

#[test]
fn a_session_that_was_opened_elsewhere_is_open() {
    let lifecycle = Lifecycle::resumed(Revision::NEWEST_LEGACY);
    lifecycle.handle_request("tools/list").unwrap();
    lifecycle.handle_request("initialize").unwrap_err();
    assert!(lifecycle.may_ask() && !lifecycle.is_closed());
}

#[test]
fn a_handshake_names_its_version_and_its_client() {
    for (params, missing) in [
        (None, "protocolVersion"),
        (Some(r#"{"capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#), "protocolVersion"),
        (
            Some(r#"{"protocolVersion":7,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#),
            "string",
        ),
        (Some(r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#), "clientInfo"),
        (Some(r#"{"protocolVersion":"2025-06-18","capabilities":[],"clientInfo":{}}"#), "object"),
        (Some("[]"), "Invalid params"),
    ] {
        let params = params.map(|params| RawValue::from_string(params.into()).unwrap());
        let error = Initialize::decode(params.as_deref()).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert!(error.message.contains(missing), "{error}");
    }
}
