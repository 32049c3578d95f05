//! Which era a POST belongs to, and what a GET accepts.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{accepts_events, era_of_post};
use crate::era::Era;

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    }
    headers
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
const MODERN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
const METHOD: (&str, &str) = ("mcp-method", "tools/list");
const SESSION: (&str, &str) = ("mcp-session-id", "x");

fn version(date: &str) -> (&'static str, &str) {
    ("mcp-protocol-version", date)
}

#[test]
fn a_post_belongs_to_the_era_of_its_marks() {
    for (lines, body, era) in [
        (&[][..], LIST, Era::Legacy),
        (&[], HELLO, Era::Legacy),
        (&[], MODERN, Era::Modern),
        (&[], "no json", Era::Legacy),
        (&[], "[]", Era::Legacy),
        (&[], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Era::Legacy),
        (&[], r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":1}}"#, Era::Legacy),
        (
            &[],
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":null}}}"#,
            Era::Modern,
        ),
        (&[METHOD], LIST, Era::Modern),
        (&[METHOD], HELLO, Era::Modern),
        (&[SESSION], LIST, Era::Legacy),
        (&[SESSION], MODERN, Era::Modern),
        (&[version("2025-11-25")], LIST, Era::Legacy),
        (&[version("2025-11-25"), METHOD], LIST, Era::Legacy),
        (&[version("2025-11-25"), METHOD], HELLO, Era::Legacy),
        (&[version("2025-11-25"), METHOD], MODERN, Era::Modern),
        (&[version("2026-07-28")], LIST, Era::Modern),
        (&[version("2026-07-28")], HELLO, Era::Legacy),
        (&[version("2099-01-01")], HELLO, Era::Legacy),
        (&[version("2099-01-01")], LIST, Era::Modern),
        (&[version("2099-01-01"), SESSION], LIST, Era::Legacy),
        (&[version("2026-07-28"), SESSION], LIST, Era::Legacy),
        (&[version("2026-07-28"), SESSION, METHOD], LIST, Era::Modern),
    ] {
        assert_eq!(era_of_post(&headers(lines), body.as_bytes()), era, "{lines:?} {body}");
    }
}

#[test]
fn an_event_stream_must_be_acceptable() {
    for (accept, accepted) in [
        (&[][..], true),
        (&["text/event-stream"], true),
        (&["application/json", "Text/Event-Stream; charset=utf-8"], true),
        (&["*/*"], true),
        (&["text/*;q=0.5"], true),
        (&["application/json"], false),
        (&["text/event-stream;q=0"], false),
        (&[""], false),
    ] {
        let lines: Vec<_> = accept.iter().map(|value| ("accept", *value)).collect();
        assert_eq!(accepts_events(&headers(&lines)), accepted, "{accept:?}");
    }
}
