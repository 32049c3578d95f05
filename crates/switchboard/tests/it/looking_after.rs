//! `servers status|test|logs|restart` and `doctor`: how servers are, what failed, and what to do.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, finish, over_stdio};

/// A folder with a configuration of three servers: one that works, one that is not installed, and one that writes to
/// stderr and ends.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [program, args @ ..] = over_stdio("station");
        let servers = json!({ "mcpServers": {
            "good": { "command": program, "args": args },
            "missing": { "command": "no-such-program-here", "env": { "PATH": "/nowhere:/neither" } },
            "talks": {
                "command": "sh",
                "args": ["-c", "echo \"cannot log in with $TOKEN\" >&2; exit 3"],
                "env": { "TOKEN": "hunter2hunter2" },
            },
        } });
        std::fs::write(folder.path().join("servers.json"), servers.to_string()).unwrap();
        Self(folder)
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "NOTHING")
    }

    /// With this variable set.
    fn run_with(&self, args: &[&str], variable: &str) -> Ran {
        let config = self.0.path().join("servers.json");
        let mut all = vec!["--no-config", "--config", config.to_str().unwrap()];
        all.extend(args);
        let data = self.0.path().join("data");
        finish(command(all).env("SWITCHBOARD_DATA_DIR", data).env(variable, "k3y-k3y-k3y").spawn().unwrap())
    }
}

fn by_name<'a>(servers: &'a Value, name: &str) -> &'a Value {
    servers.as_array().unwrap().iter().find(|server| server["name"] == name).unwrap()
}

#[test]
fn status_names_state_error_and_next_step_of_every_server() {
    let home = Home::new();
    let ran = home.run(&["servers", "status", "--json"]).expect(4);
    assert!(
        ran.error()["message"].as_str().unwrap().starts_with("2 of 3 servers do not work"),
        "{}",
        ran.stderr
    );
    let status = ran.json();
    let good = by_name(&status["servers"], "good");
    assert_eq!((&good["state"], &good["era"]), (&json!("ready"), &json!("modern")), "{status:#}");
    assert!(good["tools"].as_u64() > Some(0) && good["token_cost"].as_u64() > Some(0), "{good:#}");
    assert!(good["latency_ms"].is_u64() && good["identity"].is_string(), "{good:#}");
    let missing = by_name(&status["servers"], "missing");
    assert_eq!(missing["state"], "failed");
    for part in ["no-such-program-here", "PATH=/nowhere:/neither", "working directory"] {
        assert!(missing["last_error"].as_str().unwrap().contains(part), "{missing:#}");
    }
    assert!(missing["next_step"].as_str().unwrap().contains("install the program"), "{missing:#}");
    let talks = by_name(&status["servers"], "talks");
    assert!(talks["next_step"].as_str().unwrap().contains("cannot log in with ***"), "{talks:#}");
    // For people: a line each, with what is wrong below it.
    let text =
        home.run(&["servers", "status", "good", "missing"]).expect(4).says(&["missing: Cannot start"]).stdout;
    assert!(
        text.contains("good") && text.contains("ready") && text.contains("error: Cannot start"),
        "{text}"
    );
    assert!(!text.contains("talks"), "{text}");
    home.run(&["servers", "status", "good"]).expect(0);
}

#[test]
fn what_tools_cost_is_one_figure_for_the_model_that_would_answer() {
    let home = Home::new();
    for (variable, dialect) in
        [("NO_KEY", "generic"), ("OPENAI_API_KEY", "openai"), ("GEMINI_API_KEY", "gemini")]
    {
        let with = |args: &[&str]| home.run_with(args, variable).expect(0).json();
        let status = with(&["servers", "status", "good", "--json"]);
        let cost = with(&["tools", "cost", "--servers", "good", "--json"]);
        let named = with(&["tools", "cost", "--servers", "good", "--dialect", dialect, "--json"]);
        assert_eq!(cost, named, "{dialect}");
        assert_eq!(status["servers"][0]["token_cost"], cost["tokens"], "{dialect}");
        assert_eq!(cost["dialect"], dialect);
    }
}

#[test]
fn what_there_is_none_of_is_said_and_leaves_no_empty_line() {
    let home = Home::new();
    std::fs::write(home.0.path().join("servers.json"), r#"{"mcpServers": {}}"#).unwrap();
    for (args, says) in [
        (["servers", "status"], "switchboard servers add"),
        (["servers", "test"], "switchboard servers add"),
        (["pins", "list"], "no tools are pinned yet"),
    ] {
        let ran = home.run(&args).expect(0).says(&[says]);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
}

#[test]
fn a_server_that_is_not_there_in_time_does_not_work() {
    let home = Home::new();
    let config = home.0.path().join("servers.json");
    std::fs::write(
        &config,
        r#"{"mcpServers": {"deaf": {"command": "sh", "args": ["-c", "cat >/dev/null"]}}}"#,
    )
    .unwrap();
    let ran = home.run(&["servers", "status", "--timeout", "1", "--json"]).expect(4);
    assert_eq!(ran.json()["servers"][0]["state"], "starting");
    assert_eq!(ran.error()["message"], "it is still starting");
    // One of which the entry cannot be used is none that a person can wait for.
    std::fs::write(&config, r#"{"mcpServers": {"x": {"command": "${NOBODY_SET_THIS}"}}}"#).unwrap();
    let ran = home.run(&["servers", "status", "--json"]).expect(1);
    assert_eq!(ran.json()["broken"][0]["name"], "x");
    assert!(ran.error()["message"].as_str().unwrap().contains("NOBODY_SET_THIS"), "{}", ran.stderr);
}

#[test]
fn a_test_stops_at_the_step_that_fails_and_says_what_to_do() {
    let home = Home::new();
    let good = home.run(&["servers", "test", "good", "--json"]).expect(0).json();
    let steps: Vec<_> =
        good["servers"][0]["steps"].as_array().unwrap().iter().map(|step| step["step"].clone()).collect();
    assert_eq!(steps, ["program", "start", "era", "tools", "latency"]);
    let ran = home.run(&["--json", "servers", "test", "missing"]).expect(4);
    let error = ran.error();
    assert_eq!((&error["kind"], &error["server"]), (&json!("server_unreachable"), &json!("missing")));
    assert!(error["message"].as_str().unwrap().starts_with("program: Cannot start no-such-program-here"));
    assert!(error["hint"].as_str().unwrap().contains("install the program"));
    home.run(&["servers", "test"]).expect(4).says(&["2 of 3 servers do not work"]);
    home.run(&["servers", "test", "goood"]).expect(1).says(&["did you mean good"]);
}

#[test]
fn logs_show_what_an_earlier_process_saw_without_its_secrets() {
    let home = Home::new();
    home.run(&["servers", "logs", "talks"]).expect(0).says(&["nothing was written yet"]);
    home.run(&["servers", "logs", "talk"]).expect(1).says(&["did you mean talks"]);
    home.run(&["servers", "test", "talks"]).expect(4);
    let log = home.run(&["servers", "logs", "talks", "--json"]).expect(0).json();
    let lines: Vec<&str> =
        log["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert!(lines.contains(&"cannot log in with ***"), "{lines:?}");
    assert!(!log.to_string().contains("hunter2"), "{log}");
    let text = home.run(&["servers", "logs", "talks", "-n", "1"]).expect(0).stdout;
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_restart_forgets_what_was_found_out_and_says_how_it_is() {
    let home = Home::new();
    let text = home.run(&["servers", "restart", "good"]).expect(0).stdout;
    assert!(text.contains("ready"), "{text}");
    home.run(&["servers", "restart", "missing"]).expect(4).says(&["program: Cannot start"]);
}

#[test]
fn the_doctor_looks_at_everything_and_fails_with_what_fails() {
    let home = Home::new();
    let report = home.run(&["doctor", "--no-servers", "--json"]).expect(0).json();
    let checks: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["check"].as_str().unwrap())
        .collect();
    for check in ["configuration", "data folder", "sessions", "secrets", "node", "python3"] {
        assert!(checks.contains(&check), "{check} is not in {checks:?}");
    }
    let ran = home.run(&["doctor", "--json"]).expect(4);
    assert_eq!(ran.json()["servers"].as_array().unwrap().len(), 3);
    assert_eq!(ran.error()["kind"], "server_unreachable");
    let text = home.run(&["doctor"]).expect(4).stdout;
    assert!(text.contains("good: works") && text.contains("missing: does not work"), "{text}");
    // A configuration that cannot work comes first.
    let config = home.0.path().join("servers.json");
    std::fs::write(&config, r#"{"mcpServers": {"x": {"command": "${NOBODY_SET_THIS}"}}}"#).unwrap();
    home.run(&["doctor", "--no-servers"]).expect(1).says(&["NOBODY_SET_THIS"]);
}

#[test]
fn the_doctor_opens_the_sessions() {
    for (spoilt, said) in [
        (&b"this is no database, and never was one; ".repeat(99)[..], "is no store of sessions"),
        (&[b"SQLite format 3\0".as_slice(), &[0xff; 4096]].concat(), "sqlite"),
    ] {
        let home = Home::new();
        let data = home.0.path().join("doctored");
        let doctor = || {
            let mut command = command(["doctor", "--no-servers", "--no-config"]);
            finish(command.env("SWITCHBOARD_DATA_DIR", &data).spawn().unwrap())
        };
        assert!(doctor().expect(0).stdout.contains("ok       sessions: none are kept yet"));
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(data.join("switchboard.sqlite"), spoilt).unwrap();
        let ran = doctor().expect(1).says(&["sessions: ", said, "hint:"]);
        assert!(ran.stdout.contains("FAILED   sessions: "), "{}", ran.stdout);
        assert_eq!(std::fs::read(data.join("switchboard.sqlite")).unwrap(), spoilt, "it is left as it is");
    }
}
