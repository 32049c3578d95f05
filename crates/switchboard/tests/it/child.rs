//! What a child process says beside the protocol.

use serde_json::json;

use crate::program::run;

/// A server as a shell script: it answers discovery, the list and one call, and talks on stderr.
fn talking() -> Vec<String> {
    server("result='{failed}'; echo 'reference 00AB12CD: no disk' >&2")
}

/// The same with other words of the shell for a call, in which `{failed}` is a result.
fn server(call: &str) -> Vec<String> {
    let usual = json!({ "resultType": "complete", "ttlMs": 1, "cacheScope": "private" });
    let with = |more: serde_json::Value| {
        let mut result = usual.as_object().unwrap().clone();
        result.extend(more.as_object().unwrap().clone());
        json!(result).to_string()
    };
    let discovered = with(json!({ "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}} }));
    let tools = with(json!({ "tools": [{"name": "f", "inputSchema": {"type": "object"}}] }));
    let failed = with(json!({ "isError": true, "content": [
        {"type": "text", "text": "internal error, reference 00AB12CD"}] }));
    let call = call.replace("{failed}", &failed);
    let script = format!(
        r#"printf 'hello \033[2J\n' >&2
        while read -r line; do
            id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
            case $line in
                *'"server/discover"'*) result='{discovered}';;
                *'"tools/list"'*) result='{tools}';;
                *'"tools/call"'*) {call};;
                *) continue;;
            esac
            printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
        done
        echo 'last words' >&2"#
    );
    vec!["sh".into(), "-c".into(), script]
}

#[test]
fn what_a_child_writes_to_stderr_is_shown_on_demand() {
    let child = talking();
    let args = |first: &[&'static str]| {
        let mut args: Vec<String> = first.iter().map(|&arg| arg.to_owned()).collect();
        args.extend(["tools", "call", "f", "--yes", "--"].map(str::to_owned));
        args.extend(child.clone());
        args
    };
    let loud = args(&["-v"]);
    run(&loud.iter().map(String::as_str).collect::<Vec<_>>()).expect(5).says(&[
        "sh| hello \\u{1b}[2J",
        "sh| reference 00AB12CD: no disk",
        "sh| last words",
        "hint: the server's log has the cause under this reference",
    ]);
    let quiet = args(&[]);
    let ran = run(&quiet.iter().map(String::as_str).collect::<Vec<_>>()).expect(5);
    assert!(!ran.stderr.contains("sh|"), "{}", ran.stderr);
}

#[test]
fn what_a_program_wrote_before_it_ended_is_shown_as_lines() {
    let child = server(r"printf 'Traceback:\n  File one\nOh \033[2J\n' >&2; exit 3");
    let args = ["tools", "call", "f", "--yes", "--"].into_iter().chain(child.iter().map(String::as_str));
    let ran = run(&args.collect::<Vec<_>>()).expect(4);
    let ran = ran.says(&["Traceback:\n  File one\nOh \\u{1b}[2J\n", "hint: start the program by hand"]);
    assert!(!ran.stderr.contains("reached: sh: "), "the server is named once: {}", ran.stderr);
    assert!(!ran.stderr.contains("\\u{a}") && !ran.stderr.contains("address"), "{}", ran.stderr);
}

#[test]
fn a_call_that_takes_too_long_is_6_and_says_which_option_helps() {
    let child = server("continue");
    let args = ["tools", "call", "f", "--yes", "--timeout", "1", "--"].into_iter();
    let args: Vec<&str> = args.chain(child.iter().map(String::as_str)).collect();
    run(&args).expect(6).says(&["1 s", "hint: allow more with --timeout"]);
    let command = shlex::try_join(child.iter().map(String::as_str)).unwrap();
    let ran = run(&["inspect", &command, "tools/call", "--timeout", "3"]).expect(6);
    ran.says(&["timed out after 3 s", "hint: allow more time with --timeout"]);
}

#[test]
fn a_null_for_an_optional_argument_is_not_sent() {
    let arguments = r#"{"expression": "1 + 1", "angle": null}"#;
    let args = ["-v", "tools", "call", "calculator_arithmetic", arguments, "--demo", "--yes"];
    let ran = run(&args).expect(0);
    assert!(ran.stderr.contains(r#"{"expression":"1 + 1"}"#), "{}", ran.stderr);
}
