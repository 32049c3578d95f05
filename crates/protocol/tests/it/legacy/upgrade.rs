//! What a client reads in a session: nearly everything as it is, and the rest put right.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_protocol::era::legacy::upgrade::{
    MAX_ELICITATION_ID, MAX_REQUIRED_URLS, required_urls, result,
};
use switchboard_protocol::error::ProtocolError;
use switchboard_protocol::method::{Answer, Method, decode_result, spec};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[track_caller]
fn check(method: Method, text: &str, expected: &str) {
    let read = result(method, raw(text)).unwrap();
    assert_eq!(read.get(), expected, "{text}");
}

#[test]
fn what_the_modern_decoder_takes_is_not_touched() {
    for (method, text) in [
        (Method::ListTools, r#"{"tools": [], "nextCursor": null}"#),
        (Method::ListTools, r#"{ "tools":[{"name":"a","inputSchema":{"type":"object"}}] }"#),
        (Method::ReadResource, r#"{"contents":[{"uri":"a:b","text":"\u00e9"}]}"#),
        (Method::GetPrompt, r#"{"messages":[],"description":"d"}"#),
        (Method::Complete, r#"{"completion":{"values":[]}}"#),
        (Method::CallTool, r#"{"content":[],"isError":true,"_meta":{"x":1},"toolResult":1}"#),
        (Method::CallTool, r#"{"content":[],"structuredContent":{"resultType":"input_required"}}"#),
        (Method::CallTool, r#"{"content":[],"resultType":"complete"}"#),
        // Malformed for its method; the decoder will say so.
        (Method::ReadResource, r"{}"),
    ] {
        check(method, text, text);
    }
}

#[test]
fn what_it_would_misunderstand_is_put_right() {
    for (method, text, expected) in [
        // A member of the server's own is no modern question.
        (
            Method::CallTool,
            r#"{"resultType":"input_required","requestState":"s","content":[]}"#,
            r#"{"requestState":"s","content":[]}"#,
        ),
        (Method::CallTool, r#"{"content":[],"result\u0054ype":"table"}"#, r#"{"content":[]}"#),
        (Method::ListTools, r#"{"resultType":null,"tools":[]}"#, r#"{"tools":[]}"#),
        (Method::GetPrompt, r#"{"messages":[],"resultType":{"a":1}}"#, r#"{"messages":[]}"#),
        // Servers of before the first revision.
        (
            Method::CallTool,
            r#"{"toolResult":{"a": 1}}"#,
            r#"{"toolResult":{"a": 1},"content":[{"type":"text","text":"{\"a\": 1}"}]}"#,
        ),
        (
            Method::CallTool,
            r#"{"content":null,"toolResult":"done"}"#,
            r#"{"toolResult":"done","content":[{"type":"text","text":"done"}]}"#,
        ),
        // Structured content alone, and structured content that is none.
        (
            Method::CallTool,
            r#"{"structuredContent":{"a":1}}"#,
            r#"{"structuredContent":{"a":1},"content":[]}"#,
        ),
        (Method::CallTool, r#"{"content":[],"structuredContent":null}"#, r#"{"content":[]}"#),
    ] {
        check(method, text, expected);
        // It is then what it looks like.
        if method == Method::CallTool {
            let read = result(method, raw(text)).unwrap();
            assert!(matches!(decode_result::<spec::CallTool>(&read), Ok(Answer::Complete(_))), "{text}");
        }
    }
}

#[test]
fn what_is_malformed_stays_malformed() {
    for text in ["null", "[]", "7", "\"{}\""] {
        assert!(result(Method::ListTools, raw(text)).is_err(), "{text}");
    }
    for text in [
        "{}",
        r#"{"isError":true}"#,
        r#"{"content":null}"#,
        r#"{"toolResult":null}"#,
        r#"{"structuredContent":null}"#,
        r#"{"resultType":"input_required","inputRequests":{}}"#,
    ] {
        let read = result(Method::CallTool, raw(text)).unwrap();
        assert!(decode_result::<spec::CallTool>(&read).is_err(), "{text}");
    }
}

fn refusal(code: i64, data: &Value) -> ProtocolError {
    serde_json::from_value(json!({"code": code, "message": "m", "data": data})).unwrap()
}

fn address(id: &str) -> Value {
    json!({"mode": "url", "elicitationId": id, "url": format!("https://a.example/{id}"), "message": "Visit"})
}

/// The names of the addresses, in order.
#[track_caller]
fn addresses(error: &ProtocolError, expected: Option<&[&str]>) {
    let found = required_urls(error);
    let found: Option<Vec<_>> = found.as_ref().map(|urls| urls.keys().map(String::as_str).collect());
    assert_eq!(found.as_deref(), expected, "{error:?}");
}

#[test]
fn a_refusal_names_the_addresses_to_visit() {
    let one = json!({"elicitations": [address("a")]});
    let found = required_urls(&refusal(-32042, &one)).unwrap();
    let expected = json!({"a": {"method": "elicitation/create",
        "params": {"mode": "url", "url": "https://a.example/a", "message": "Visit"}}});
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
    for (code, data, expected) in [
        (-32042, one.clone(), Some(&["a"][..])),
        (
            -32042,
            json!({"elicitations": [address("b"), address("a"), address("b")], "x": 1}),
            Some(&["a", "b"]),
        ),
        (
            -32042,
            json!({"elicitations": [
                7, null, {}, ["url", "x", "https://a.example", "m"], address(""),
                {"mode": "form", "elicitationId": "f", "url": "https://a.example", "message": "m"},
                {"mode": "url", "elicitationId": "n", "message": "m"}, address("c")]}),
            Some(&["c"]),
        ),
        (-32042, json!({"elicitations": []}), None),
        (-32042, json!({"elicitations": [7]}), None),
        (-32042, json!({"elicitations": {}}), None),
        (-32042, json!({}), None),
        (-32042, json!(null), None),
        (-32602, one, None),
    ] {
        addresses(&refusal(code, &data), expected);
    }
}

#[test]
fn a_refusal_names_no_more_addresses_than_a_person_can_be_asked_for() {
    let many: Vec<_> = (0..5000).map(|n| address(&format!("{n:04}"))).collect();
    let found = required_urls(&refusal(-32042, &json!({"elicitations": many}))).unwrap();
    assert_eq!(found.len(), MAX_REQUIRED_URLS);
    assert_eq!(found.last_key_value().unwrap().0, "0063");
}

#[test]
fn a_refusal_names_no_address_at_length() {
    let (longest, longer) = ("a".repeat(MAX_ELICITATION_ID), "b".repeat(MAX_ELICITATION_ID + 1));
    let given = json!({"elicitations": [address(&longer), address(&longest)]});
    addresses(&refusal(-32042, &given), Some(&[&longest]));
    addresses(&refusal(-32042, &json!({"elicitations": [address(&longer)]})), None);
}
