//! The same commands against a server of every revision, over every transport that it has.

use serde_json::Value;
use switchboard_client::Revision;

use super::{capped, with_child};
use crate::program::{Demo, Ran, in_a_line, run};

const ARGUMENTS: &str = r#"{"expression": "2 + 3 * 4"}"#;

/// What each command says, and that it says how the server is spoken to. `server` are the arguments that name it.
fn check(revision: Revision, server: &[&str]) {
    let session = format!("revision {revision} in a session");
    let with = |options: &[&str]| run(&[options, server].concat());
    let told = |ran: Ran| ran.expect(0).says(&[&session]);

    let listed = told(with(&["tools", "list"]));
    assert!(listed.stdout.contains("/calculator_arithmetic"), "{}", listed.stdout);
    let listed = with(&["--json", "tools", "list"]).expect(0).json();
    let described = &listed["servers"][0];
    assert_eq!(described["revision"], revision.date(), "{listed}");
    assert_eq!(described["session"], true, "{listed}");
    assert!(described["implementation"].as_str().unwrap().starts_with("calculator "), "{listed}");
    let shown = with(&["tools", "show", "calculator_arithmetic"]).expect(0).stdout;
    assert!(shown.contains(&session), "{shown}");

    let called = told(with(&["tools", "call", "calculator_arithmetic", ARGUMENTS, "--yes"]));
    assert!(called.stdout.contains("14"), "{}", called.stdout);
    told(with(&["run", "--yes", "What is 2 + 3 * 4?"])).says(&["calling "]);
    let asked = told(with(&["run", "-v", "--yes", "What is 2 + 3 * 4?"])).says(&["connecting to"]);
    assert!(asked.stdout.contains("14"), "{}", asked.stdout);
}

#[test]
fn over_stdio() {
    for revision in Revision::LEGACY {
        let child = capped("calculator", *revision);
        check(*revision, &with_child(&[], &child));
    }
}

#[test]
fn over_http() {
    for revision in Revision::LEGACY {
        let demo = Demo::start(&["calculator", "--newest", revision.date()], 1);
        if *revision >= Revision::FIRST_STREAMABLE_HTTP {
            check(*revision, &["--server", &demo.server("calculator")]);
        } else {
            let url = demo.url("calculator").replace("/mcp", "/sse");
            check(*revision, &["--server", &format!("calculator={url}")]);
        }
        demo.end().expect(0);
    }
}

#[test]
fn a_raw_request_is_made_in_a_session_and_the_wire_shows_the_handshake() {
    let revision = Revision::NEWEST_LEGACY;
    let command = in_a_line(&capped("calculator", revision));
    let ran = run(&["inspect", &command, "tools/list", "--wire"]).expect(0);
    assert_eq!(ran.json()["tools"][0]["name"], "calculator_arithmetic");
    assert_eq!(ran.json()["resultType"], Value::Null, "the result is shown as it came");
    ran.says(&[
        "\"method\":\"server/discover\"",
        "\"method\":\"initialize\"",
        "\"method\":\"notifications/initialized\"",
        &format!("revision {revision} in a session"),
    ]);
    run(&["inspect", &command, "ping"]).expect(0);
    run(&["inspect", &command, "no/such/method"]).expect(5).says(&["-32601", "with --wire"]);
    let ran = run(&["inspect", &command, "resources/list", "--wire"]);
    let ran = ran.expect(5).says(&["\"method\":\"resources/list\"", "-32601"]);
    assert!(!ran.stderr.contains("--wire"), "{}", ran.stderr);
}

#[test]
fn a_modern_server_is_described_too() {
    let listed = run(&["tools", "list", "--demo"]).expect(0);
    let revision = format!("revision {}\n", Revision::LATEST);
    let listed = listed.says(&["station: weather-station", &revision]);
    assert!(!listed.stderr.contains("session"), "{}", listed.stderr);
    let listed = run(&["--json", "tools", "list", "--demo"]).expect(0).json();
    assert_eq!(listed["servers"][2]["name"], "station");
    assert_eq!(listed["servers"][2]["session"], false, "{listed}");
}
