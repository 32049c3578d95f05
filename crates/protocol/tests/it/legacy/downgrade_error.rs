//! Errors as a legacy client knows them.

use serde_json::{Value, json};
use switchboard_protocol::era::legacy::error;
use switchboard_protocol::model::capability::ClientCapabilities;
use switchboard_protocol::{Method, ProtocolError};
use switchboard_testkit::dated;

fn check(modern: ProtocolError, method: Option<Method>, expected: &Value) {
    let legacy = error(modern, method);
    assert!(!legacy.code.is_modern(), "{legacy}");
    let written = serde_json::to_value(&legacy).unwrap();
    assert_eq!(written, *expected);
    let message = serde_json::to_vec(&json!({ "jsonrpc": "2.0", "id": 1, "error": written })).unwrap();
    for date in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        dated::check_message(date, &message, "");
    }
}

#[test]
fn a_missing_resource_has_the_code_of_its_own() {
    let named =
        || ProtocolError::invalid_params("Resource not found: a:b").with_data(&json!({ "uri": "a:b" }));
    let missing = json!({ "code": -32002, "message": "Resource not found: a:b", "data": { "uri": "a:b" } });
    check(named(), Some(Method::ReadResource), &missing);

    let same = json!({ "code": -32602, "message": "Resource not found: a:b", "data": { "uri": "a:b" } });
    check(named(), Some(Method::CallTool), &same);
    check(named(), None, &same);
    let nameless = ProtocolError::invalid_params("uri is missing");
    check(nameless, Some(Method::ReadResource), &json!({ "code": -32602, "message": "uri is missing" }));
    let other = ProtocolError::invalid_params("no").with_data(&json!({ "uri": 7 }));
    check(
        other,
        Some(Method::ReadResource),
        &json!({ "code": -32602, "message": "no", "data": { "uri": 7 } }),
    );
}

#[test]
fn a_capability_that_the_client_lacks_is_named_in_words() {
    for (required, words) in [
        (json!({ "sampling": { "tools": {} } }), "sampling, sampling.tools"),
        (json!({ "elicitation": {} }), "elicitation"),
        (json!({ "elicitation": { "url": {} }, "roots": {} }), "elicitation.url, roots"),
        (json!({ "elicitation": { "form": {}, "url": {} } }), "elicitation, elicitation.url"),
        (json!({ "extensions": { "com.example/x": {} } }), "the extension com.example/x"),
    ] {
        let required: ClientCapabilities = serde_json::from_value(required).unwrap();
        let message = format!("The request needs what the client did not declare in initialize: {words}");
        let modern = ProtocolError::missing_client_capability(&required);
        check(modern, Some(Method::CallTool), &json!({ "code": -32602, "message": message }));
    }
    let modern = ProtocolError::missing_client_capability(&ClientCapabilities::default());
    let message = "The request needs a capability that the client did not declare";
    check(modern, Some(Method::CallTool), &json!({ "code": -32602, "message": message }));
}

#[test]
fn no_other_modern_code_gets_through_and_the_rest_stays() {
    check(
        ProtocolError::header_mismatch("Mcp-Name differs"),
        None,
        &json!({ "code": -32600, "message": "Mcp-Name differs" }),
    );
    check(
        ProtocolError::unsupported_version(&["a"], "b"),
        None,
        &json!({ "code": -32600, "message": "Unsupported protocol version" }),
    );
    let own = ProtocolError::new(-7, "mine").with_data(&[1]);
    check(own, Some(Method::ReadResource), &json!({ "code": -7, "message": "mine", "data": [1] }));
    check(
        ProtocolError::method_not_found("x/y"),
        None,
        &json!({ "code": -32601, "message": "Method not found: x/y" }),
    );
}
