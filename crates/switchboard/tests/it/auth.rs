//! Tokens and headers for servers over HTTP: sent to whom they are for, and shown to nobody.

use serde_json::{Value, json};
use switchboard_testkit::canned;

use crate::program::{Ran, command, finish};

const TOKEN: &str = "t0p-secret-t0ken";

/// A server that wants the token, and repeats it in what it says.
fn guarded() -> String {
    let base = canned::serve(|request| {
        let head = request.head.to_lowercase();
        if !head.contains(&format!("authorization: bearer {TOKEN}")) {
            return (401, json!({ "error": format!("what is {head}?") }).to_string());
        }
        let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let mut answer = match message["method"].as_str() {
            Some("server/discover") => json!({ "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 60_000, "cacheScope": "private",
            } }),
            Some("tools/list") => json!({ "result": {
                "resultType": "complete", "ttlMs": 60_000, "cacheScope": "private",
                "tools": [{"name": "f", "inputSchema": {"type": "object"}}],
            } }),
            _ => json!({ "error": { "code": -32000, "message": format!("no {TOKEN} for you") } }),
        };
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = message["id"].clone();
        (200, answer.to_string())
    });
    format!("{base}/mcp")
}

fn with_token(args: &[&str]) -> Ran {
    let ran = finish(command(args).env("MY_TOKEN", TOKEN).spawn().unwrap());
    assert!(!ran.stderr.contains(TOKEN), "the token is shown:\n{}", ran.stderr);
    ran
}

#[test]
fn a_token_opens_the_server_that_it_is_for() {
    let url = guarded();
    let server = format!("mine={url}");
    let other = format!("other={}", guarded());
    let header = format!("Authorization: Bearer {TOKEN}");
    with_token(&["tools", "list", "--server", &server, "--bearer-env", "MY_TOKEN"]).expect(0);
    with_token(&["tools", "--server", &server, "list", "--header", &header]).expect(0);
    with_token(&["inspect", &url, "tools/list", "--bearer-env", "MY_TOKEN", "--wire"]).expect(0);
    let both = ["tools", "list", "--server", &server, "--server", &other, "--bearer-env", "mine=MY_TOKEN"];
    with_token(&both).expect(0).says(&["warning:", "other"]);
    with_token(&["tools", "list", "--server", &server]).expect(3);
}

#[test]
fn a_token_is_masked_in_errors_in_the_journal_and_on_the_screen() {
    let server = format!("mine={}", guarded());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jsonl");
    let trace = file.to_str().unwrap();
    let server = ["--server", &server, "--bearer-env", "MY_TOKEN"];
    with_token(&[&["-v", "tools", "call", "f", "--yes"][..], &server].concat()).expect(5).says(&["***"]);
    with_token(&[&["-v", "run", "f", "--yes", "--trace", trace][..], &server].concat()).expect(5);
    let journal = std::fs::read_to_string(file).unwrap();
    assert!(journal.contains("***") && !journal.contains(TOKEN), "{journal}");
}
