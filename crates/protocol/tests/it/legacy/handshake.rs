//! What `initialize` must say.

use serde_json::value::RawValue;
use switchboard_protocol::ErrorCode;
use switchboard_protocol::era::legacy::Initialize;

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
