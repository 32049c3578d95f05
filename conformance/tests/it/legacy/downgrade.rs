//! Nobody in between can push a modern pair into a session, which would be without what the modern era made safer.
//!
//! A refusal, a redirect, a fault, a broken connection, whatever its body looks like: the client reports it as what
//! it is, and sends no `initialize`. It keeps nothing of it: the next connection is modern.

use switchboard_client::{Client, Era, EraVerdict, Revision};
use switchboard_conformance::story;
use switchboard_protocol::era::legacy::name::INITIALIZE;
use switchboard_server::Serving;

use super::middle::{Hostile, Middle};

/// Statuses that say nothing about the era.
const STATUSES: &[u16] =
    &[301, 302, 303, 307, 308, 401, 402, 403, 407, 408, 425, 429, 451, 500, 501, 502, 503, 504];

/// Bodies as servers with a handshake send them; `$id` is the id of any request here, or of none.
const LEGACY_BODIES: &[&str] = &[
    "",
    r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unsupported protocol version",
        "data":{"supported":["2025-11-25","2024-11-05"],"requested":"2026-07-28"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version",
        "data":{"supported":["2025-11-25","2024-11-05"],"requested":"2026-07-28"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},
        "serverInfo":{"name":"a","version":"1"}}}"#,
];

/// What a modern server says against a request, so that nothing follows about its era.
const MODERN_BODIES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Missing required client capability",
        "data":{"requiredCapabilities":{"sampling":{}}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version",
        "data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version",
        "data":{"supported":["2099-01-01"],"requested":"2026-07-28"}}}"#,
];

/// What a client knows when it is met.
#[derive(Clone, Copy, Debug)]
enum Met {
    /// Nothing: the first request is answered.
    First,
    /// The server: it is connected when this request, counted from zero, is answered.
    Later(usize),
    /// The server, from an earlier time.
    Remembering,
}

const MEETINGS: &[Met] = &[Met::First, Met::Later(1), Met::Later(2), Met::Remembering];

fn http(status: u16, headers: &str, body: &str) -> Hostile {
    let length = body.len();
    Hostile::Bytes(
        format!(
            "HTTP/1.1 {status} Hostile\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}\
             content-length: {length}\r\n\r\n{body}"
        )
        .into_bytes(),
    )
}

fn outages(elsewhere: &str) -> Vec<Hostile> {
    let headers = format!(
        "location: {elsewhere}\r\nmcp-session-id: a\r\nmcp-protocol-version: 2025-11-25\r\n\
         www-authenticate: Bearer\r\nretry-after: 0\r\n"
    );
    let answers = STATUSES.iter().flat_map(|status| LEGACY_BODIES.iter().map(move |body| (*status, *body)));
    let mut hostile: Vec<_> = answers.map(|(status, body)| http(status, &headers, body)).collect();
    hostile.push(Hostile::Reset);
    // Nothing at all; an alert of TLS; what no HTTP is; a head without an end.
    for bytes in [&b""[..], b"\x15\x03\x01\x00\x02\x02\x28", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n"] {
        hostile.push(Hostile::Bytes(bytes.to_vec()));
    }
    hostile
}

/// A client meets somebody hostile; then it is let through. Says what is wrong.
async fn check(serving: &Serving, met: Met, hostile: Hostile) -> Result<(), String> {
    let at = if let Met::Later(at) = met { at } else { 0 };
    let middle = Middle::between(serving.local_addr(), at, hostile).await;
    let mut builder = Client::builder().era(Era::Auto);
    if let Met::Remembering = met {
        builder = builder.verdict(modern_verdict());
    }
    if let Ok(client) = builder.http(&middle.url).await {
        // Whatever comes of them.
        let _ = client.tools().await;
        let _ = client.read("story://page").await;
        if client.revision() != Revision::LATEST {
            return Err(format!("{} is spoken", client.revision()));
        }
    }
    let again = Client::builder().http(&middle.url).await.map_err(|error| format!("let through: {error}"))?;
    let requests = middle.requests();
    if let Some(request) = requests.iter().find(|request| request.contains(INITIALIZE)) {
        return Err(format!("a handshake was begun: {request}"));
    }
    let posts = requests.iter().all(|request| request.starts_with("POST "));
    if requests.len() <= at || !posts || again.revision() != Revision::LATEST {
        return Err(format!("{} is spoken after {requests:?}", again.revision()));
    }
    Ok(())
}

/// As a host has stored it.
fn modern_verdict() -> EraVerdict {
    let date = Revision::LATEST.date();
    serde_json::from_value(serde_json::json!({"revision": date, "seenAt": 0})).unwrap()
}

async fn check_all(hostile: Vec<Hostile>) {
    let serving = story::server().unwrap().http().bind("127.0.0.1:0").await.unwrap();
    let mut faults = Vec::new();
    for met in MEETINGS {
        for hostile in &hostile {
            let shown = match hostile {
                Hostile::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Hostile::Reset => "a reset".to_owned(),
            };
            let checked = check(&serving, *met, hostile.clone()).await;
            faults.extend(checked.err().map(|why| format!("{met:?}, {shown:?}: {why}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn no_refusal_no_outage_and_no_redirect_leads_to_a_handshake() {
    let elsewhere = story::server().unwrap().http().bind("127.0.0.1:0").await.unwrap();
    check_all(outages(&elsewhere.url())).await;
}

#[tokio::test]
async fn an_error_of_the_modern_era_leads_to_no_handshake() {
    let statuses = [200, 400, 404, 405, 409, 422];
    let answers = statuses.iter().flat_map(|status| MODERN_BODIES.iter().map(move |body| (*status, *body)));
    check_all(answers.map(|(status, body)| http(status, "", body)).collect()).await;
}
