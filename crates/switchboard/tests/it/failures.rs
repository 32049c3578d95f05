//! Every exit code, its error object, and a next action in each.

use serde_json::json;
use switchboard_testkit::canned;

use crate::program::{Ran, command, finish, run};

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
    format!("http://{}/mcp", canned::nobody())
}

#[test]
fn usage_and_configuration_are_1() {
    check(&["run"], 1, &["QUESTION"]);
    check(&["run", "--nonsense", "q"], 1, &["--nonsense"]);
    check(&["run", "How warm is it?"], 1, &["no server", "--demo", "servers add", "servers import"]);
    check(&["run", "--demo", "  "], 1, &["empty"]);
    check(&["run", "--server", "x=nonsense", "q"], 1, &["nonsense"]);
    check(&["run", "--demo", "--max-steps", "0", "q"], 1, &["--max-steps", "at least 1"]);
    check(&["run", "--demo", "--timeout", "0", "q"], 1, &["--timeout", "at least 1"]);
    check(&["run", "--url", "http://127.0.0.1:9/mcp", "q"], 1, &["--url", "'--server'"]);
    check(&["run", "--demo", "--trace", "/nonexistent/folder/trace", "q"], 1, &["/nonexistent/folder/trace"]);
    check(&["run", "--demo", "--base-url", "nonsense", "q"], 1, &["base URL"]);
    check(&["run", "--demo", "--allow", "nobody/nothing", "q"], 1, &["nobody/nothing", "matches no tool"]);
    check(&["tools", "show", "nothing", "--demo"], 1, &["nothing", "tools list", "on a terminal"]);
    check(&["tools", "show", "get_climat", "--demo"], 1, &["did you mean station/get_climate?"]);
    check(&["tools", "show", "arithmetic", "--demo"], 1, &["did you mean calculator/calculator_arithmetic?"]);
    check(&["tools", "call", "calculator/calculate", "--demo"], 1, &["calculator/calculator_arithmetic?"]);
    check(&["tools", "call", "get_climate", "{", "--demo"], 1, &["JSON", "'{}'"]);
    check(&["tools", "call", "get_weather", "[]", "--demo"], 1, &["JSON", "\\\"location\\\""]);
    let args = ["tools", "call", "calculator_arithmetic", "{}", "--demo", "--yes"];
    check(&args, 1, &["expression", "required", "tools show calculator/calculator_arithmetic"]);
    check(&["servers", "add", "x"], 1, &["servers add x URL", "servers add x -- CMD ARGS"]);
    let two = ["--server", "a=http://127.0.0.1:9/", "--server", "b=http://127.0.0.1:9/"];
    for (header, parts) in [
        (["--header", "X: y"], &["(a, b)", "SERVER=NAME"][..]),
        (["--header", "c=X: y"], &["\\\"c\\\"", "a, b"]),
        (["--header", "X"], &["NAME: VALUE"]),
        (["--bearer-env", "a=NOT_SET_ANYWHERE"], &["NOT_SET_ANYWHERE", "export"]),
    ] {
        check(&[&["tools", "list"][..], &two, &header].concat(), 1, parts);
    }
    check(&["tools", "list", "--demo", "--header", "X: y"], 1, &["there is none", "--server"]);
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
    check(
        &["tools", "list", "--server", &format!("secret={url}/mcp")],
        3,
        &["secret", "--bearer-env", "OAuth"],
    );
    check(&["inspect", &format!("{url}/mcp"), "tools/list"], 3, &["--bearer-env"]);
}

#[test]
fn a_limit_of_time_is_6() {
    let started = std::time::Instant::now();
    check(&["run", "hello", "--yes", "--timeout", "1", "--", "cat"], 6, &["1 s", "--timeout"]);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn no_tool_that_fits_is_7() {
    let ran = check(&["run", "--demo", "Sing me an aria"], 7, &["no_tool_fits", "--base-url"]);
    assert_eq!(ran.error()["kind"], "no_tool_fits");
}

#[test]
fn a_call_that_ends_the_run_is_named_once() {
    let ran = run(&["run", "--demo", "--on-ask", "fail", "How warm is it?"]).expect(2);
    assert_eq!(ran.stderr.matches("needs approval").count(), 1, "{}", ran.stderr);
    let ran = run(&["tools", "call", "get_climate", "--demo", "--deny", "station/*"]).expect(2);
    assert_eq!(ran.stderr.matches("forbidden").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_model_endpoint_from_the_environment_is_named_by_its_variable() {
    for args in [&["--json", "run", "--demo", "q"][..], &["--json", "run", "--demo", "q", "--model", "m"]] {
        let mut command = command(args);
        let ran = finish(command.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").spawn().unwrap());
        let hint = ran.error()["hint"].to_string();
        assert!(hint.contains("OPENAI_BASE_URL"), "{hint}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_4() {
    let server = format!("gone={}", nobody());
    check(&["run", "--server", &server, "How warm is it?"], 4, &["gone"]);
    check(&["tools", "list", "--server", &server], 4, &["gone"]);
    check(&["inspect", &nobody(), "tools/list"], 4, &[]);
    check(
        &["tools", "list", "--command", "/nonexistent/program"],
        4,
        &["/nonexistent/program", "the program is installed"],
    );
    let ran = check(&["tools", "list", "--", "sh", "-c", "echo a reason >&2; exit 3"], 4, &["a reason"]);
    assert_eq!(ran.error()["message"].to_string().matches("ended").count(), 1, "{}", ran.stderr);
}

/// A build that opens no sessions says so, and what to do.
#[cfg(not(feature = "legacy"))]
#[test]
fn a_server_that_needs_a_session_is_4() {
    let url = canned::serve(|_| {
        (
            400,
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "no session"}})
                .to_string(),
        )
    });
    let parts = ["legacy", "this build of switchboard opens no sessions", "the feature legacy"];
    check(&["tools", "list", "--server", &format!("{url}/mcp")], 4, &parts);
    check(&["inspect", &format!("{url}/mcp"), "tools/list"], 4, &parts);
    check(&["tools", "list", "--demo", "--era", "legacy"], 1, &["--era", "auto, modern"]);
}

#[test]
fn a_tool_error_is_5() {
    let expression = r#"{"expression": "2 + * 3"}"#;
    check(&["tools", "call", "calculator_arithmetic", expression, "--demo", "--yes"], 5, &["position"]);
}

#[test]
fn the_words_of_a_failed_tool_cannot_move_the_cursor() {
    let url = canned::serve(|_| (400, json!({ "reason": "\u{1b}[2Jgone\u{202e}\r" }).to_string()));
    let place = r#"{"location": "Paris"}"#;
    let ran = run(&["tools", "call", "get_weather", place, "--demo", "--yes", "--city-api", &url]).expect(5);
    assert!(ran.stderr.contains(r"\u{1b}[2Jgone\u{202e}"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{202e}', '\r']), "{:?}", ran.stderr);
}

#[test]
fn help_and_version_are_no_failure() {
    assert!(run(&["--version"]).expect(0).stdout.starts_with("switchboard "));
    for command in [
        "run",
        "chat",
        "serve",
        "servers",
        "sessions",
        "policy",
        "pins",
        "doctor",
        "tools",
        "inspect",
        "demo",
        "completions",
    ] {
        let ran = run(&[command, "--help"]).expect(0);
        assert!(ran.stdout.contains("Usage:"), "{}", ran.stdout);
    }
    let help = run(&["run", "--help"]).expect(0).stdout;
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "--demo",
        "SWITCHBOARD_NO_LOCAL_MODELS",
        "NAME=URL or URL",
        "as configured, else 16",
        "as configured, else 64",
        "no_tool_fits",
        "kind what failed",
        "no variables",
        "--era",
    ] {
        assert!(help.contains(part), "{part} is not in {help}");
    }
    assert!(!help.contains("--url"), "{help}");
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("why-hidden") && script.contains("on-ask"), "{shell}: {script}");
    }
    check(&["completions", "csh"], 1, &["csh"]);
}
