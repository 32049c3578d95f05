//! `switchboard run`: a question becomes an answer, over HTTP and over stdio.

use serde_json::json;
use switchboard_testkit::canned;

use crate::program::{Demo, command, finish, in_a_line, over_stdio, run, run_with_stdin};

const QUESTION: &str = "How warm is it right now?";

/// The temperatures that the simulated station has around this moment, as people write them.
fn temperatures(place: &str) -> Vec<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let at =
        |now| weather_station::api::measurements(now)[place]["Temperature"].as_f64().unwrap().to_string();
    let mut around: Vec<String> = (now - 60..=now).map(at).collect();
    around.dedup();
    around
}

/// Fails the test unless the text tells how warm it is, truly.
fn check_true(text: &str) {
    for place in ["Indoor", "Balcony", "Bedroom"] {
        let known = temperatures(place).into_iter().map(|value| format!("{place} {value} °C"));
        let known: Vec<String> = known.collect();
        assert!(known.iter().any(|value| text.contains(value)), "none of {known:?} is in:\n{text}");
    }
}

#[test]
fn the_first_command_of_the_readme_ends_in_a_true_answer_in_a_pipe() {
    let ran = run(&["run", "--demo", QUESTION]).expect(0);
    check_true(&ran.stdout);
    // Nobody is told that a model spoke, and why nobody was asked is said.
    ran.says(&["no language model", "demo", "simulated", "match 0."]);
}

#[test]
fn the_result_is_one_json_object_where_that_is_asked_for() {
    let ran = run(&["--json", "run", "--demo", QUESTION]).expect(0);
    let result = ran.json();
    check_true(result["answer"].as_str().unwrap());
    assert_eq!(result["calls"][0]["server"], "station");
    assert_eq!(result["calls"][0]["tool"], "get_climate");
    assert_eq!(result["model"], serde_json::Value::Null);
}

#[test]
fn the_same_over_stdio() {
    let child = over_stdio("station");
    let mut args = vec!["run", "--yes", QUESTION, "--"];
    args.extend(child.iter().map(String::as_str));
    check_true(&run(&args).expect(0).stdout);
}

#[test]
fn the_same_against_three_servers_over_stdio() {
    let commands = ["station", "city", "calculator"].map(|server| in_a_line(&over_stdio(server)));
    let mut args = vec!["run", "--yes", QUESTION];
    for command in &commands {
        args.extend(["--command", command]);
    }
    check_true(&run(&args).expect(0).stdout);
}

#[test]
fn the_same_against_servers_by_address() {
    let demo = Demo::start(&[], 3);
    let servers = ["station", "city", "calculator"].map(|name| demo.server(name));
    let mut args = vec!["run", "--allow", "station/get_climate", QUESTION];
    for server in &servers {
        args.extend(["--server", server]);
    }
    check_true(&run(&args).expect(0).stdout);
    demo.end().expect(0);
}

#[test]
fn the_router_reads_an_expression_from_the_question() {
    let ran = run(&["run", "--demo", "What is (12 + 8) / 5 with the calculator?"]).expect(0);
    assert!(ran.stdout.contains('4'), "{}", ran.stdout);
}

#[test]
fn the_question_comes_from_stdin() {
    check_true(&run_with_stdin(&["run", "--demo", "-"], QUESTION).expect(0).stdout);
}

#[test]
fn the_nine_stages_are_shown_as_they_happen() {
    run(&["run", "--demo", "-v", QUESTION]).expect(0).says(&[
        "declaration",
        "discovery",
        "exposure",
        "selection",
        "authorization",
        "invocation",
        "execution",
        "result",
        "integration",
    ]);
}

#[test]
fn the_trace_holds_the_journal_as_json_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jsonl");
    run(&["run", "--demo", "--trace", file.to_str().unwrap(), QUESTION]).expect(0);
    let text = std::fs::read_to_string(file).unwrap();
    let entries: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seq: Vec<_> = entries.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert!(seq.is_sorted() && seq[0] == 1, "{seq:?}");
    let stages: std::collections::BTreeSet<_> =
        entries.iter().map(|entry| entry["event"]["stage"].as_str().unwrap()).collect();
    // The nine, and that the run begins and ends.
    assert!(stages.len() == 10 && stages.contains("run"), "{stages:?}");
}

#[test]
fn the_weather_of_a_city_comes_from_the_service_that_is_named() {
    let city = canned::serve(|request| {
        let answer = if request.target.starts_with("/v1/search") {
            json!({ "results": [{ "name": "Paris", "country": "France", "latitude": 48.85, "longitude": 2.35 }] })
        } else {
            json!({ "current": {
                "time": "2026-08-01T12:00", "temperature_2m": 11.7, "relative_humidity_2m": 71, "wind_speed_10m": 10.9,
            } })
        };
        (200, answer.to_string())
    });
    let ran = run(&["run", "--demo", "--city-api", &city, "What is the weather in Paris in one sentence?"])
        .expect(0);
    assert_eq!(ran.stdout, "Paris, France: 11.7 °C, humidity 71 %, wind 10.9 km/h\n");
}

#[test]
fn a_server_that_is_down_does_not_hide_the_others() {
    let child = in_a_line(&over_stdio("station"));
    let args = ["run", "--yes", "--server", "gone=http://127.0.0.1:9/mcp", "--command", &child, QUESTION];
    let ran = run(&args).expect(0).says(&["warning:", "gone"]);
    check_true(&ran.stdout);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = command(["tools", "list", "--demo"]).spawn().unwrap();
    drop(child.stdout.take());
    let ran = finish(child).expect(0);
    assert!(!ran.stderr.contains("error"), "{}", ran.stderr);
}

#[test]
fn a_session_that_is_named_behind_a_blank_is_told_how_to_be_named() {
    for json in [&[][..], &["--json"]] {
        let args = [json, &["run", "--resume", "s0000000000000001", "go on"]].concat();
        let ran = run(&args).expect(1);
        assert!((ran.stdout.clone() + &ran.stderr).contains("--resume=s0000000000000001"), "{}", ran.stderr);
    }
}
