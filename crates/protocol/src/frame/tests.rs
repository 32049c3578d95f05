//! What a frame accepts, and the code owed for what it refuses.

use super::{Frame, encode_error, encode_raw_result};
use crate::error::ProtocolError;
use crate::id::RequestId;

fn check_refused(text: &str, code: i64, id: Option<RequestId>) {
    let refused = Frame::decode(text.as_bytes()).unwrap_err();
    assert_eq!((refused.error.code.0, refused.id), (code, id), "{text}");
}

#[test]
fn nonsense_is_refused_with_the_code_that_is_owed() {
    for (text, code, id) in [
        ("", -32700, None),
        ("{", -32700, None),
        ("{\"jsonrpc\":\"2.0\"", -32700, None),
        ("[]", -32600, None),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, -32600, None),
        ("3", -32600, None),
        ("\"text\"", -32600, None),
        ("{}", -32600, None),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, -32600, Some(RequestId::from(1))),
        (r#"{"id":1,"method":"m"}"#, -32600, Some(RequestId::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600, Some(RequestId::from(1))),
        (r#"{"jsonrpc":"2.0","method":["m"],"id":"a"}"#, -32600, Some(RequestId::from("a"))),
        (r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}"#, -32600, Some(RequestId::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#, -32600, Some(RequestId::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, -32600, Some(RequestId::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","\ud800":1}"#, -32600, Some(RequestId::from(1))),
        (r#"{"jsonrpc":"2.0","id":"\ud800","method":7}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":7"#, -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":7} x"#, -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#, -32600, Some(RequestId::from(1))),
        (r#"{"jsonrpc":"2.0","id":"a","method":"m","params":"x"}"#, -32600, Some(RequestId::from("a"))),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600, Some(RequestId::from(1))),
    ] {
        check_refused(text, code, id);
    }
}

#[test]
fn a_message_that_is_not_utf_8_is_a_parse_error() {
    let refused = Frame::decode(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").unwrap_err();
    assert_eq!(refused.error.code.0, -32700);
}

#[test]
fn the_id_is_the_members_and_never_one_inside_the_arguments() {
    let text = br#"{"method":"tools/call","params":{"name":"set","arguments":{"params":[{"id":3}]}},"jsonrpc":"2.0","id":99999}"#;
    let Frame::Request(request) = Frame::decode(text).unwrap() else { panic!("a request") };
    assert_eq!(request.id, RequestId::from(99999));
}

#[test]
fn a_broken_response_is_never_answerable() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":[-32600,"no",null]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
    ] {
        assert!(!Frame::decode(text.as_bytes()).unwrap_err().answerable, "{text}");
    }
}

#[test]
fn an_error_without_a_readable_id_is_a_response() {
    for text in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700.0,"message":"no"}}"#,
    ] {
        let Frame::Response(response) = Frame::decode(text.as_bytes()).unwrap() else { panic!("{text}") };
        assert_eq!((response.id, response.outcome.unwrap_err().code.0), (None, -32700));
    }
}

#[test]
fn what_is_encoded_decodes() {
    let mut out = Vec::new();
    encode_raw_result(&mut out, &RequestId::from("x"), b"{\"tools\":[]}");
    let Frame::Response(response) = Frame::decode(&out).unwrap() else { panic!("a response") };
    assert_eq!(response.outcome.unwrap().get(), "{\"tools\":[]}");
    out.clear();
    encode_error(&mut out, None, &ProtocolError::parse_error("no"));
    assert_eq!(out, br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#);
}

#[test]
fn an_array_is_never_read_as_a_message_by_position() {
    for text in ["[]", " [\"2.0\",1,\"tools/list\"]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]"] {
        for refused in [Frame::decode(text.as_bytes()), Frame::decode_text(text)] {
            let refused = refused.unwrap_err();
            assert_eq!(refused.error.code.0, -32600, "{text}");
            assert!(refused.error.message.contains("Batches"), "{text}");
        }
    }
    assert_eq!(Frame::decode(b"[").unwrap_err().error.code.0, -32700);
}
