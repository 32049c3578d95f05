//! Whatever is sent: every request gets an answer that ends, none of them a fault of the server, and the
//! session works on.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::Full;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::{collection, option, sample};
use serde_json::json;
use switchboard_protocol::Revision;
use switchboard_server::{Eras, Limits};

use super::client::{Client, Got, call, initialize};
use super::desk::server;
use crate::endpoint::answer;

const METHODS: &[&str] = &["GET", "POST", "POST", "POST", "PUT", "HEAD", "OPTIONS"];
const PATHS: &[&str] =
    &["/mcp", "/mcp/", "/message", "/message?session_id=1", "/x/message?session_id=%", "/", "/sse/x"];
const NAMES: &[&str] = &[
    "accept",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "last-event-id",
    "origin",
    "host",
];
const VALUES: &[&str] = &[
    "",
    "*/*",
    "application/json",
    "text/event-stream",
    "2025-11-25",
    "2025-03-26",
    "2026-07-28",
    "1999-01-01",
    "tools/list",
    "fast",
    "0-0",
    "8000000000000000-1",
    "ffffffffffffffff-18446744073709551615",
    "null",
    "localhost",
];

/// A message, a part of one, several, or anything.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let message = sample::select(vec![
        call(1, "fast").to_string(),
        call(2, "shout").to_string(),
        initialize(Revision::NEWEST_LEGACY).to_string(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
            .to_string(),
        json!({"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel", "params": {"level": "debug"}})
            .to_string(),
        json!([call(1, "fast"), call(1, "shout"), 3, [], {}]).to_string(),
        json!([]).to_string(),
    ]);
    prop_oneof![
        3 => message.clone().prop_map(String::into_bytes),
        2 => (message, any::<sample::Index>(), any::<u8>()).prop_map(|(text, at, byte)| {
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
        1 => collection::vec(any::<u8>(), 0..40),
        1 => Just(Vec::new()),
    ]
}

fn headers() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    collection::vec((sample::select(NAMES), sample::select(VALUES)), 0..4)
}

proptest! {
    #[test]
    fn every_request_gets_an_answer_that_ends(
        requests in collection::vec(
            (sample::select(METHODS), sample::select(PATHS), headers(), body(), option::of(0..2_usize)), 1..12,
        ),
        revision in sample::select(Revision::LEGACY),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (server, _desk, _seen) = server(Eras::ALL, Limits::default());
            let service = server.http().into_service();
            let sessions = [Client::open(&service, revision).await, Client::open(&service, revision).await];
            for (method, path, headers, body, session) in requests {
                let mut request = Request::builder().method(method).uri(path).body(Full::new(Bytes::from(body))).unwrap();
                let map = request.headers_mut();
                for (name, value) in [
                    ("host", "localhost"),
                    ("content-type", "application/json"),
                    ("accept", "application/json, text/event-stream"),
                ] {
                    map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
                }
                if let Some(session) = session {
                    map.insert("mcp-session-id", sessions[session].session.parse().unwrap());
                }
                for (name, value) in headers {
                    map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
                }
                let response = answer(&service, request).await;
                assert!(response.status().as_u16() < 500, "{response:?}");
                // A stream that belongs to no request has no end of its own; the others have.
                if method != "GET" {
                    Got::read(response).await;
                }
            }
            assert_eq!(sessions[0].send(&call(9, "fast")).await.status, 200);
        });
    }
}
