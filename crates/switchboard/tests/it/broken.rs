//! Servers that work in part: what of them is told, and which exit code says so.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use switchboard_testkit::canned;

use crate::program::{command, finish, run};

/// A server whose results, by method, are these; `Null` is a method that it does not have.
fn server(results: impl Fn(&str) -> Value + Send + 'static) -> String {
    canned::serve(move |request| {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let method = asked["method"].as_str().unwrap_or_default();
        let result = match method {
            "server/discover" => {
                complete(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}))
            }
            other => results(other),
        };
        let reply = if result.is_null() {
            json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no such method"}})
        } else {
            json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        };
        (200, reply.to_string())
    })
}

fn complete(members: Value) -> Value {
    let mut result = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    for (name, value) in members.as_object().unwrap() {
        result[name] = value.clone();
    }
    result
}

fn tools(tools: Value) -> impl Fn(&str) -> Value + Send + 'static {
    move |method| if method == "tools/list" { complete(json!({ "tools": tools })) } else { Value::Null }
}

fn tool(name: &str, schema: Value) -> Value {
    json!({"name": name, "inputSchema": schema})
}

#[test]
fn a_server_that_does_not_list_its_tools_is_named() {
    let bad = format!("bad={}/mcp", server(tools(Value::Null)));
    let good = format!("good={}/mcp", server(tools(json!([tool("t", json!({"type": "object"}))]))));
    let servers = ["--server", &bad, "--server", &good];
    let listed = run(&[&["tools", "list"][..], &servers].concat()).expect(0);
    assert!(listed.stdout.contains("good/t"), "{}", listed.stdout);
    listed.says(&["bad: ", "going on without bad"]);
    let listed = run(&[&["tools", "list", "--json"][..], &servers].concat()).expect(0).json();
    assert_eq!(listed["failedServers"][0]["server"], "bad", "{listed}");
    assert!(!listed["failedServers"][0]["message"].as_str().unwrap().is_empty(), "{listed}");
    // Nothing fits, but first it is said who is missing.
    run(&[&["run", "Sing me an aria"][..], &servers].concat()).expect(7).says(&["going on without bad"]);
    let alone = run(&["--json", "tools", "list", "--server", &bad]).expect(4);
    assert_eq!(alone.error()["server"], "bad");
    let alone = run(&["tools", "list", "--server", &bad]).expect(4);
    assert_eq!(alone.stderr.matches("bad: ").count(), 1, "{}", alone.stderr);
}

#[test]
fn tools_that_are_left_out_are_counted_in_a_run() {
    let faulty = tools(json!([
        tool("t", json!({"type": "object"})),
        tool("t", json!({"type": "object"})),
        tool("u", json!({"type": "object", "properties": {"a": {"type": "nonsense"}}})),
    ]));
    let server = format!("odd={}/mcp", server(faulty));
    run(&["run", "Sing me an aria", "--server", &server])
        .expect(7)
        .says(&["2 tools are left out of odd; switchboard tools list says why"]);
}

#[test]
fn a_server_of_another_time_is_4() {
    let future = canned::serve(|request| {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let error =
            json!({"code": -32022, "message": "no", "data": {"supported": ["2099-01-01"], "requested": "x"}});
        (400, json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}).to_string())
    });
    let ran = run(&["--json", "inspect", &format!("{future}/mcp"), "tools/list"]).expect(4);
    assert_eq!(ran.error()["code"], 4);
}

#[test]
fn ctrl_c_ends_what_waits_for_stdin_or_for_a_list() {
    let mut typing = command(["--json", "run", "-", "--demo"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut held = typing.stdin.take().unwrap();
    // More than a pipe holds: once it is written, the program reads, and so listens to signals.
    held.write_all(&[b'x'; 256 * 1024]).unwrap();
    kill_process(Pid::from_child(&typing), Signal::INT).unwrap();
    let ran = finish(typing).expect(130);
    assert_eq!(ran.error()["code"], 130);
    drop(held);
}

#[test]
fn ctrl_c_ends_a_list_that_never_comes() {
    let script = r#"read -r line; id=${line#*\"id\":}; id=${id%%,*}
        printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}\n' "$id"
        read -r line; echo listing >&2; cat >/dev/null"#;
    let mut child = command(["--json", "-v", "tools", "list", "--", "sh", "-c", script]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("listing") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended before it listed");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.lines().last().unwrap_or_default().contains("\"code\":130"), "{rest}");
}

#[test]
fn a_child_does_not_inherit_the_keys_of_models() {
    let script = "echo \"key: [$OPENAI_API_KEY$OPENROUTER_API_KEY] other: [$OTHER]\" >&2; exit 3";
    let mut command = command(["tools", "list", "--", "sh", "-c", script]);
    command.env("OPENAI_API_KEY", "sk-one").env("OPENROUTER_API_KEY", "sk-two").env("OTHER", "kept");
    finish(command.spawn().unwrap()).expect(4).says(&["key: [] other: [kept]"]);
}
