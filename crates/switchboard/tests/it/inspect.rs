//! `switchboard inspect`: one raw request and its raw result.

use crate::program::{Demo, in_a_line, over_stdio, run};

#[test]
fn a_raw_request_has_a_raw_result() {
    let demo = Demo::start(&["calculator"], 1);
    let ran = run(&["inspect", demo.url("calculator"), "tools/list"]).expect(0);
    let result = ran.json();
    assert_eq!(result["tools"][0]["name"], "calculator_arithmetic");
    assert!(ran.stdout.lines().count() > 1, "laid out for reading:\n{}", ran.stdout);
    let ran = run(&["--json", "inspect", demo.url("calculator"), "server/discover"]).expect(0);
    assert_eq!(ran.stdout.lines().count(), 1, "one line:\n{}", ran.stdout);
    assert!(ran.json()["supportedVersions"].is_array());
    demo.end().expect(0);
}

#[test]
fn parameters_are_json() {
    let command = in_a_line(&over_stdio("calculator"));
    let params = r#"{"name": "calculator_arithmetic", "arguments": {"expression": "2 + 3 * 4"}}"#;
    let ran = run(&["inspect", &command, "tools/call", params, "--wire"]).expect(0);
    assert_eq!(ran.json()["structuredContent"]["result"], 14.0);
    ran.says(&["\"method\":\"tools/call\"", "→", "←", "ms"]);
    run(&["inspect", &command, "tools/call", "nonsense"]).expect(1).says(&["JSON", "hint:"]);
}

#[test]
fn an_error_of_the_server_is_shown_whole() {
    let command = in_a_line(&over_stdio("calculator"));
    let ran = run(&["--json", "inspect", &command, "tools/call", r#"{"name": "nothing"}"#]).expect(5);
    let error = ran.error();
    assert_eq!(error["code"], 5);
    assert!(error["message"].as_str().unwrap().contains("-32602"), "{error}");
    run(&["inspect", &command, "no/such/method"]).expect(5).says(&["-32601"]);
}
