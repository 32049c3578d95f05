//! What a command has of the host that it runs on: sessions that are kept, logs, what is remembered of servers.

use serde_json::{Value, json};

use crate::config::Home;
use crate::program::{in_a_line, over_stdio, run};

const QUESTION: &str = "How warm is it right now?";

/// The names of the sessions, the newest first.
fn sessions(home: &Home) -> Vec<Value> {
    let listed = home.run(&["sessions", "list", "--json"]).expect(0).json();
    listed.as_array().unwrap().iter().map(|session| session["id"].clone()).collect()
}

#[test]
fn a_run_is_kept_can_be_gone_on_with_and_can_be_forgotten() {
    let home = Home::new();
    let ask = |options: &[&str]| home.run(&[&["--json", "run", "--demo", QUESTION], options].concat());
    let first = ask(&[]).expect(0).json();
    assert_eq!(sessions(&home), [first["session"].clone()]);
    let id = first["session"].as_str().unwrap();
    let other = ask(&[]).expect(0).json();
    assert_ne!(other["session"], first["session"]);
    let again = ask(&[&format!("--resume={id}")]).expect(0).json();
    assert_eq!(again["session"], first["session"]);
    assert_ne!(again["run"], first["run"]);
    assert_eq!(
        ask(&["--resume"]).expect(0).json()["session"],
        first["session"],
        "the last one that was used"
    );
    let shown = home.run(&["sessions", "show", id, "--json"]).expect(0).json();
    let runs: Vec<_> = shown["runs"].as_array().unwrap().iter().map(|run| run["id"].clone()).collect();
    assert_eq!(runs[..2], [first["run"].clone(), again["run"].clone()]);
    ask(&["--ephemeral"]).expect(0);
    assert_eq!(sessions(&home).len(), 2, "nothing is kept of it");
    ask(&["--resume=nothing"]).expect(1).says(&["there is no session", "nothing"]);
    ask(&["--resume", "--ephemeral"]).expect(1);
}

#[test]
fn of_a_run_that_never_began_nothing_is_kept() {
    let home = Home::new();
    home.run(&["run", "--server", "gone=http://127.0.0.1:9/mcp", QUESTION]).expect(4);
    assert_eq!(sessions(&home), Vec::<Value>::new());
}

#[test]
fn what_a_server_writes_is_in_its_log() {
    let home = Home::new();
    let entries =
        json!({ "mcpServers": { "talks": { "command": "sh", "args": ["-c", "echo hello >&2; exit 3"] } } });
    home.write(".cursor/mcp.json", &entries.to_string());
    home.run(&["run", "--yes", QUESTION]).expect(4).says(&["hello"]);
    let log = home.run(&["servers", "logs", "talks", "--json"]).expect(0).json();
    assert!(log.to_string().contains("hello"), "{log}");
}

#[test]
fn why_one_server_of_several_does_not_start_is_said() {
    for options in [&["run", "--yes", QUESTION][..], &["tools", "list"]] {
        let station = in_a_line(&over_stdio("station"));
        let servers = ["--command", &station, "--", "sh", "-c", "echo no such database >&2; exit 3"];
        run(&[options, &servers].concat()).expect(0).says(&["no such database", "going on without sh"]);
    }
}

#[test]
fn only_the_server_of_a_named_tool_is_started() {
    let home = Home::new();
    let [program, args @ ..] = over_stdio("calculator");
    let other = format!("touch '{}'; exit 3", home.at("started").display());
    let entries = json!({ "mcpServers": {
        "sums": { "command": program, "args": args }, "other": { "command": "sh", "args": ["-c", other] },
    } });
    home.write(".cursor/mcp.json", &entries.to_string());
    let arguments = r#"{"expression": "2 + 3"}"#;
    for args in [
        &["tools", "call", "sums/calculator_arithmetic", arguments, "--yes"][..],
        &["tools", "show", "sums/calculator_arithmetic"],
        &["policy", "explain", "sums/calculator_arithmetic"],
    ] {
        let ran = home.run(args).expect(0);
        assert!(!ran.stderr.contains("other") && !home.at("started").exists(), "{args:?}: {}", ran.stderr);
    }
    home.run(&["tools", "list"]).expect(0).says(&["going on without other"]);
    assert!(home.at("started").exists());
}

#[cfg(unix)]
#[test]
fn a_program_that_is_fetched_for_long_is_named() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::unix::fs::PermissionsExt as _;

    use crate::program::{command, finish};

    let folder = tempfile::tempdir().unwrap();
    let npx = folder.path().join("npx");
    std::fs::write(&npx, "#!/bin/sh\ncat >/dev/null\n").unwrap();
    std::fs::set_permissions(&npx, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut child =
        command(["tools", "list", "--", "npx", "-y", "some-server"]).env("PATH", path).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("some-server is still starting (npx may be fetching it)") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended before it said so");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    stderr.read_to_end(&mut Vec::new()).unwrap();
    finish(child).expect(130);
}
