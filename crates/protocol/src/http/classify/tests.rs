//! A POST by its headers and its body: what is served, and how everything else is refused.

use http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod};

use super::{Claim, Post, check_head, classify};
use crate::era::Revision;
use crate::method::Method;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn headers(lines: &[(&str, &[u8])]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value).unwrap());
    }
    headers
}

fn outcome(lines: &[(&str, &[u8])], body: &str) -> String {
    let headers = headers(lines);
    let claimed = Claim::read(&headers).is_some();
    match classify(&headers, body.as_bytes()) {
        Ok(Post::Request(frame)) => {
            assert!(claimed, "a request is served only if its headers are in order");
            format!("{} {}", frame.id, frame.method)
        }
        Ok(Post::Notification(frame)) => format!("notification {}", frame.method),
        Err(refusal) => {
            let id = refusal.id.map_or("-".into(), |id| id.to_string());
            format!("{} {} {id}", refusal.status.as_u16(), refusal.error.code.0)
        }
    }
}

fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}}}}}"#)
}

const VERSION: (&str, &[u8]) = ("mcp-protocol-version", b"2026-07-28");

#[test]
fn the_headers_must_be_there_be_single_and_agree_with_the_body() {
    let list: (&str, &[u8]) = ("mcp-method", b"tools/list");
    let body = call("tools/list", META);
    for (lines, expected) in [
        (vec![VERSION, list], "7 tools/list"),
        (
            vec![("MCP-PROTOCOL-VERSION", &b" 2026-07-28\t"[..]), ("MCP-METHOD", b"  tools/list ")],
            "7 tools/list",
        ),
        (vec![VERSION], "400 -32020 7"),
        (vec![list], "400 -32020 7"),
        (vec![], "400 -32020 7"),
        (vec![VERSION, VERSION, list], "400 -32020 7"),
        (vec![VERSION, list, list], "400 -32020 7"),
        (vec![VERSION, ("mcp-method", b"TOOLS/LIST")], "400 -32020 7"),
        (vec![VERSION, ("mcp-method", b"prompts/list")], "400 -32020 7"),
        (vec![VERSION, ("mcp-method", b"tools/call")], "400 -32020 7"),
        (vec![VERSION, ("mcp-method", b"")], "400 -32020 7"),
        (vec![VERSION, ("mcp-method", "töols".as_bytes())], "400 -32020 7"),
        (vec![("mcp-protocol-version", b"2099-01-01"), list], "400 -32020 7"),
        (vec![VERSION, list, ("mcp-name", b"ignored"), ("mcp-session-id", b"x")], "7 tools/list"),
    ] {
        assert_eq!(outcome(&lines, &body), expected, "{lines:?}");
    }
}

fn check_name(method: &str, parameter: &str, name: &str, header: Option<&[u8]>, accepted: bool) {
    let name_json = serde_json::to_string(name).unwrap();
    let body = call(method, &format!(r#""{parameter}":{name_json},"arguments":{{}},{META}"#));
    let mut lines: Vec<(&str, &[u8])> = vec![VERSION, ("mcp-method", method.as_bytes())];
    lines.extend(header.map(|header| ("mcp-name", header)));
    let got = outcome(&lines, &body);
    assert_eq!(got.starts_with("7 "), accepted, "{name:?} {header:?}: {got}");
    assert!(accepted || got == "400 -32020 7", "{name:?} {header:?}: {got}");
}

#[test]
fn a_name_is_decoded_before_it_is_compared() {
    for (name, header, accepted) in [
        ("fast", Some(&b"fast"[..]), true),
        ("fast", Some(b"  fast  "), true),
        ("fast", Some(b"=?base64?ZmFzdA==?="), true),
        ("=?base64?ZmFzdA==?=", Some(b"=?base64?ZmFzdA==?="), false),
        ("=?base64?ZmFzdA==?=", Some(b"=?base64?PT9iYXNlNjQ/Wm1GemRBPT0/PQ==?="), true),
        ("fast", Some(b"=?BASE64?ZmFzdA==?="), false),
        ("fast", Some(b"=?base64?%%%?="), false),
        ("fast", Some(b"=?base64?ZmFzdA=?="), false),
        ("fast", Some(b"slow"), false),
        ("fast", Some(b"FAST"), false),
        ("fast", Some(b""), false),
        ("fast", None, false),
        ("a\"b\\c", Some(b"a\"b\\c"), true),
    ] {
        check_name("tools/call", "name", name, header, accepted);
        check_name("prompts/get", "name", name, header, accepted);
    }
    check_name("resources/read", "uri", "res://测试", Some(b"=?base64?cmVzOi8v5rWL6K+V?="), true);
    check_name("resources/read", "uri", "res://测试", Some("res://测试".as_bytes()), false);
    check_name("tools/call", "name", "测试", Some("测试".as_bytes()), false);
}

#[test]
fn what_the_body_lacks_is_named_under_its_id() {
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    for (method, params, expected) in [
        ("server/discover", String::new(), "400 -32602 7"),
        ("server/discover", format!(r#""_meta":{{{capabilities}}}"#), "400 -32602 7"),
        ("server/discover", format!(r#""_meta":{{{version}}}"#), "400 -32602 7"),
        ("server/discover", r#""_meta":3"#.into(), "400 -32602 7"),
        ("server/discover", format!(r#""_meta":{{{version},{capabilities}}}"#), "7 server/discover"),
        ("server/discover", META.replace("2026-07-28", "v999.0.0"), "400 -32020 7"),
        ("tools/call", META.into(), "400 -32602 7"),
        ("tools/call", format!(r#""name":5,{META}"#), "400 -32602 7"),
        ("resources/read", META.into(), "400 -32602 7"),
        ("initialize", META.into(), "404 -32601 7"),
        ("ping", META.into(), "404 -32601 7"),
        ("unknown/method", META.into(), "404 -32601 7"),
        ("unknown/method", String::new(), "404 -32601 7"),
    ] {
        let lines = [VERSION, ("mcp-method", method.as_bytes())];
        assert_eq!(outcome(&lines, &call(method, &params)), expected, "{method} {params}");
    }
}

#[test]
fn a_revision_that_is_not_spoken_is_answered_with_those_that_are() {
    let body = call("tools/list", &META.replace("2026-07-28", "v999.0.0"));
    let lines = headers(&[("mcp-protocol-version", b"v999.0.0"), ("mcp-method", b"tools/list")]);
    let refusal = classify(&lines, body.as_bytes()).unwrap_err();
    assert_eq!((refusal.status.as_u16(), refusal.error.code.0), (400, -32022));
    let data = refusal.error.data.unwrap();
    assert_eq!(data.get(), r#"{"supported":["2026-07-28"],"requested":"v999.0.0"}"#);
}

#[test]
fn a_legacy_handshake_learns_what_is_spoken() {
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{}}}"#;
    for lines in [&[][..], &[("mcp-protocol-version", &b"1999-01-01"[..])]] {
        let refusal = classify(&headers(lines), body.as_bytes()).unwrap_err();
        assert_eq!((refusal.status.as_u16(), refusal.error.code.0), (400, -32022));
        assert!(refusal.error.message.contains("2026-07-28"), "{}", refusal.error.message);
        assert!(refusal.error.data.unwrap().get().contains("1999-01-01"));
    }
}

#[test]
fn what_is_no_request_is_sorted() {
    for (body, expected) in [
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            "notification notifications/cancelled",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "400 -32600 -"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#, "400 -32600 -"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, "400 -32600 -"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, "400 -32600 -"),
        (r#"{"jsonrpc":"1.0","id":3,"method":"tools/list"}"#, "400 -32600 3"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":[1]}"#, "400 -32600 3"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","result":{}}"#, "400 -32600 -"),
        (r#"[{"jsonrpc":"2.0","id":3,"method":"tools/list"}]"#, "400 -32600 -"),
        ("[]", "400 -32600 -"),
        ("42", "400 -32600 -"),
        ("", "400 -32700 -"),
        ("{", "400 -32700 -"),
        ("\u{feff}{}", "400 -32700 -"),
    ] {
        for method in ["tools/list", "tools/call"] {
            assert_eq!(outcome(&[VERSION, ("mcp-method", method.as_bytes())], body), expected, "{body}");
        }
    }
}

#[test]
fn a_claim_holds_only_for_what_it_names() {
    let headers = headers(&[VERSION, ("mcp-method", b"tools/call"), ("mcp-name", b"=?base64?ZmFzdA==?=")]);
    let claim = Claim::read(&headers).unwrap();
    assert!(claim.holds(Method::CallTool, Revision::LATEST, "fast"));
    assert!(!claim.holds(Method::CallTool, Revision::LATEST, "slow"));
    assert!(!claim.holds(Method::GetPrompt, Revision::LATEST, "fast"));
}

fn check_media(content_type: Option<&str>, accept: Option<&str>, expected: u16) {
    let mut lines = HeaderMap::new();
    for (name, value) in [("content-type", content_type), ("accept", accept)] {
        if let Some(value) = value {
            lines.insert(HeaderName::from_static(name), value.parse().unwrap());
        }
    }
    let got = check_head(&HttpMethod::POST, &lines).map_or_else(|refusal| refusal.status.as_u16(), |()| 200);
    assert_eq!(got, expected, "{content_type:?} {accept:?}");
}

#[test]
fn media_types_are_compared_without_case_and_parameters() {
    for (content_type, status) in [
        (Some("application/json"), 200),
        (Some("application/json; charset=utf-8"), 200),
        (Some("Application/JSON;charset=\"UTF-8\""), 200),
        (Some("application/json ; charset=utf8"), 200),
        (Some("text/plain"), 415),
        (Some("application/json-patch"), 415),
        (Some("application/jsonp; a=application/json"), 415),
        (Some(""), 415),
        (None, 415),
    ] {
        check_media(content_type, None, status);
    }
    for (accept, status) in [
        (None, 200),
        (Some(""), 200),
        (Some("*/*"), 200),
        (Some("application/json, text/event-stream"), 200),
        (Some("text/event-stream;q=0.5,Application/Json;q=1"), 200),
        (Some("application/*, text/*"), 200),
        (Some("application/json"), 406),
        (Some("text/event-stream"), 406),
        (Some("application/json, text/event-stream;q=0"), 406),
        (Some("application/json, text/event-stream;Q=0.000"), 406),
        (Some("text/html"), 406),
        (Some(",,"), 200),
    ] {
        check_media(Some("application/json"), accept, status);
    }
}

#[test]
fn only_a_post_is_served() {
    for method in [HttpMethod::GET, HttpMethod::DELETE, HttpMethod::PUT, HttpMethod::HEAD] {
        let refusal = check_head(&method, &HeaderMap::new()).unwrap_err();
        assert_eq!(refusal.status.as_u16(), 405);
    }
}
