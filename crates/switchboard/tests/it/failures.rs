//! Every exit code, its error object, and a next action in each.

use serde_json::json;
use switchboard_testkit::canned;

use crate::program::{Ran, run};

/// Runs with `--json` and checks the error object: its code is the exit code, and it says what to do.
fn check(args: &[&str], code: i32, parts: &[&str]) -> Ran {
    let mut with_json = vec!["--json"];
    with_json.extend(args);
    let ran = run(&with_json).expect(code);
    let error = ran.error();
    assert_eq!(error["code"], code, "{error}");
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(!hint.is_empty(), "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{part:?} is not in {error}");
    }
    assert_eq!(ran.stdout, "", "stdout is for results");
    ran
}

/// An address where nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/mcp", listener.local_addr().unwrap())
}

#[test]
fn usage_and_configuration_are_1() {
    check(&["run"], 1, &["QUESTION"]);
    check(&["run", "--nonsense", "q"], 1, &["--nonsense"]);
    check(&["run", "How warm is it?"], 1, &["no server", "--demo"]);
    check(&["run", "--demo", "  "], 1, &["empty"]);
    check(&["run", "--server", "x=nonsense", "q"], 1, &["nonsense"]);
    check(&["run", "--demo", "--max-steps", "0", "q"], 1, &["--max-steps"]);
    check(&["run", "--demo", "--trace", "/nonexistent/folder/trace", "q"], 1, &["/nonexistent/folder/trace"]);
    check(&["run", "--demo", "--base-url", "nonsense", "q"], 1, &["base URL"]);
    check(&["run", "--demo", "--allow", "nobody/nothing", "q"], 1, &["nobody/nothing", "matches no tool"]);
    check(&["tools", "show", "nothing", "--demo"], 1, &["nothing"]);
    check(&["tools", "call", "get_climate", "{", "--demo"], 1, &["JSON"]);
    let args = ["tools", "call", "calculator_arithmetic", "{}", "--demo", "--yes"];
    check(&args, 1, &["expression", "required", "tools show"]);
}

#[test]
fn a_call_that_needs_approval_is_2() {
    let question = ["run", "--demo", "How warm is it right now?"];
    let mut args = question.to_vec();
    args.extend(["--on-ask", "fail"]);
    check(&args, 2, &["get_climate", "--yes", "station"]);
    let mut args = question.to_vec();
    args.extend(["--deny", "station/*"]);
    check(&args, 2, &["get_climate", "station"]);
    check(&["tools", "call", "get_climate", "--demo", "--on-ask", "deny"], 2, &["get_climate"]);
}

#[test]
fn a_login_is_3() {
    let url = canned::serve(|_| (401, json!({ "error": "unauthorized" }).to_string()));
    check(&["tools", "list", "--server", &format!("secret={url}/mcp")], 3, &["secret"]);
}

#[test]
fn a_server_that_cannot_be_reached_is_4() {
    let server = format!("gone={}", nobody());
    check(&["run", "--server", &server, "How warm is it?"], 4, &["gone"]);
    check(&["tools", "list", "--server", &server], 4, &["gone"]);
    check(&["inspect", &nobody(), "tools/list"], 4, &[]);
    check(&["tools", "list", "--command", "/nonexistent/program"], 4, &["/nonexistent/program"]);
    check(&["tools", "list", "--", "sh", "-c", "echo a reason >&2; exit 3"], 4, &["a reason"]);
}

#[test]
fn a_tool_error_is_5() {
    let expression = r#"{"expression": "2 + * 3"}"#;
    check(&["tools", "call", "calculator_arithmetic", expression, "--demo", "--yes"], 5, &["position"]);
}

#[test]
fn help_and_version_are_no_failure() {
    assert!(run(&["--version"]).expect(0).stdout.starts_with("switchboard "));
    for command in ["run", "tools", "inspect", "demo"] {
        let ran = run(&[command, "--help"]).expect(0);
        assert!(ran.stdout.contains("Usage:"), "{}", ran.stdout);
    }
    let help = run(&["run", "--help"]).expect(0).stdout;
    assert!(help.contains("--demo") && help.contains("SWITCHBOARD_NO_LOCAL_MODELS"), "{help}");
}
