//! From bytes to a call: one pass or two, the same answers.

use bytes::Bytes;
use http::Extensions;
use serde_json::{Value, json};
use switchboard_protocol::{Method, RequestId};
use switchboard_server::{Call, Refusal};

use crate::calls::request;

/// Id and code of a refusal.
fn code(refused: Result<Call, Refusal>) -> Option<(Option<RequestId>, i64)> {
    refused.err().map(|refusal| (refusal.id, refusal.error.code.0))
}

fn both(text: &str, method: Method) -> [Option<(Option<RequestId>, i64)>; 2] {
    let body = Bytes::copy_from_slice(text.as_bytes());
    [code(Call::decode(&body, Extensions::new())), code(Call::decode_as(method, &body, Extensions::new()))]
}

#[test]
fn what_is_refused_is_refused_alike_in_one_pass_and_in_two() {
    let with = |change: fn(&mut Value)| {
        let mut message = request("tools/call", json!({ "name": "x", "arguments": { "a": 1 } }));
        change(&mut message);
        message.to_string()
    };
    let id = || Some(RequestId::from(7));
    for (text, expected) in [
        (with(|_| ()), None),
        (with(|message| message["params"]["arguments"] = Value::Null), None),
        (with(|message| message["extra"] = json!([])), None),
        ("{".into(), Some((None, -32_700))),
        ("[]".into(), Some((None, -32_600))),
        (with(|message| message["id"] = Value::Null), Some((None, -32_600))),
        (with(|message| message["id"] = json!(1.5)), Some((None, -32_600))),
        (with(|message| message["jsonrpc"] = json!("1.0")), Some((id(), -32_600))),
        (with(|message| message["params"] = json!([])), Some((id(), -32_600))),
        (with(|message| message["params"] = json!({})), Some((id(), -32_602))),
        (with(|message| message["params"]["_meta"] = json!({})), Some((id(), -32_602))),
        (with(|message| message["params"]["name"] = json!(4)), Some((id(), -32_602))),
        (with(|message| message["params"]["arguments"] = json!("text")), Some((id(), -32_602))),
        (with(|message| message["params"]["inputResponses"] = json!(4)), Some((id(), -32_602))),
        (
            with(|message| {
                message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
            }),
            Some((id(), -32_022)),
        ),
        (
            with(|message| {
                message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
                message["params"]["name"] = json!(4);
            }),
            Some((id(), -32_022)),
        ),
        (
            with(|message| message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("loud")),
            Some((id(), -32_602)),
        ),
    ] {
        let [two, one] = both(&text, Method::CallTool);
        assert_eq!(two, expected, "{text}");
        assert_eq!(one, expected, "in one pass: {text}");
    }
}

#[test]
fn a_body_that_names_another_method_than_the_headers_is_a_mismatch() {
    let message = request("tools/list", json!({})).to_string();
    let [two, one] = both(&message, Method::CallTool);
    assert_eq!(two, None);
    assert_eq!(one, Some((Some(RequestId::from(7)), -32_020)));
}

#[test]
fn arguments_are_a_part_of_the_body_and_not_a_copy() {
    let body =
        Bytes::from(request("tools/call", json!({ "name": "x", "arguments": { "a": 1 } })).to_string());
    for call in [
        Call::decode(&body, Extensions::new()).unwrap(),
        Call::decode_as(Method::CallTool, &body, Extensions::new()).unwrap(),
    ] {
        let arguments = call.target().unwrap().arguments.clone().unwrap();
        assert_eq!(&arguments[..], br#"{"a":1}"#);
        assert!(body.as_ptr_range().contains(&arguments.as_ptr()));
    }
}

#[test]
fn metadata_of_your_own_is_read_on_demand() {
    #[derive(serde::Deserialize)]
    struct Own {
        #[serde(rename = "com.example/tenant")]
        tenant: String,
    }
    let message = request("tools/list", json!({ "_meta": { "com.example/tenant": "blue" } })).to_string();
    let call = Call::decode(&message.into(), Extensions::new()).unwrap();
    assert_eq!(call.meta.decode::<Own>().unwrap().tenant, "blue");
}
