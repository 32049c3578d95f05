//! What a server asks in a session: forms and addresses reach the person in the same way as ever, and what this
//! program has no answer to is refused.

use serde_json::{Value, json};

use super::{asking, with_child};
use crate::program::run;
#[cfg(unix)]
use crate::terminal::Terminal;

fn question(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "q-1", "method": method, "params": params })
}

fn form() -> Value {
    question(
        "elicitation/create",
        &json!({
            "message": "Which car?\u{1b}[2J",
            "requestedSchema": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "title": "Your name", "minLength": 2},
                "new": {"type": "boolean", "default": false},
            }},
        }),
    )
}

const FILLED_IN: [(&str, &str); 4] = [
    ("text, at least 2 characters: ", "A"),
    ("text, at least 2 characters: ", "Ada"),
    ("y or n [n]: ", "y"),
    ("[c] cancel: ", "s"),
];

#[cfg(unix)]
#[test]
fn a_form_and_an_address_are_put_to_the_person() {
    let url =
        json!({"mode": "url", "message": "Log in", "url": "https://example.com/login", "elicitationId": "1"});
    let address = question("elicitation/create", &url);
    for (revision, question, words, told) in [
        ("2025-06-18", form(), &FILLED_IN[..], &["accept", "Ada"][..]),
        ("2025-11-25", form(), &FILLED_IN, &["accept", "Ada"]),
        ("2025-11-25", form(), &[(FILLED_IN[0].0, ":decline")], &["decline"]),
        ("2025-11-25", address, &[("[c] cancel: ", "y")], &["accept"]),
    ] {
        let child = asking(revision, &question);
        for options in [&["tools", "call", "order", "--yes"][..], &["run", "Order a car", "--yes"]] {
            let mut terminal = Terminal::start(&with_child(options, &child), &[]);
            for (shown, typed) in words {
                terminal.wait_for(shown);
                terminal.type_line(typed);
            }
            let ran = terminal.end().expect(0).says(&["sh", "asks"]);
            assert!(!ran.stderr.contains("\u{1b}[2J"), "{}", ran.stderr);
            for part in told {
                assert!(ran.stdout.contains(part), "{part} is not in {}", ran.stdout);
            }
        }
    }
}

#[test]
fn what_was_not_declared_is_refused_and_told_with_v() {
    let message = json!({"role": "user", "content": {"type": "text", "text": "Hi"}});
    for (question, capability) in [
        (question("sampling/createMessage", &json!({"messages": [message], "maxTokens": 9})), "sampling"),
        (question("roots/list", &json!({})), "roots"),
        (form(), "elicitation"),
    ] {
        let child = asking("2025-11-25", &question);
        let unasked = capability == "elicitation";
        let args = ["-v", "tools", "call", "order", "--yes"];
        let ran = run(&with_child(&args, &child)).expect(if unasked { 2 } else { 5 });
        let method = question["method"].as_str().unwrap();
        let asked = format!("asks \"{method}\" with id \"q-1\"");
        let ran = ran.says(&["-32601", capability, &asked, "is refused an answer to id \"q-1\""]);
        for explained in ["wants to ask the person", "in a terminal"] {
            assert_eq!(ran.stderr.contains(explained), unasked, "{}", ran.stderr);
        }
        if unasked {
            let ran = run(&with_child(&["--json", "run", "Order a car", "--yes"], &child)).expect(2);
            assert_eq!(ran.error()["kind"], "input_needed");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_journal_has_the_question_the_reply_and_both_messages() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jsonl");
    let child = asking("2025-11-25", &form());
    let options = ["run", "Order a car", "--yes", "--trace", file.to_str().unwrap()];
    let mut terminal = Terminal::start(&with_child(&options, &child), &[]);
    for (shown, typed) in FILLED_IN {
        terminal.wait_for(shown);
        terminal.type_line(typed);
    }
    terminal.end().expect(0);
    let text = std::fs::read_to_string(file).unwrap();
    let events: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone()).collect();
    let holds = |members: Value| {
        let holds =
            |event: &&Value| members.as_object().unwrap().iter().all(|(name, value)| event[name] == *value);
        events.iter().find(holds).unwrap_or_else(|| panic!("{members} is not in:\n{text}")).clone()
    };
    for what in ["opened", "connected"] {
        let found = holds(json!({"stage": "discovery", "what": what}));
        assert_eq!((&found["revision"], &found["session"]), (&json!("2025-11-25"), &json!(true)), "{found}");
    }
    assert_eq!(holds(json!({"what": "requested"}))["question"]["kind"], "form");
    holds(json!({"what": "answered", "answer": "accept"}));
    let wire = |direction: &str, part: &str| {
        let found = |event: &&Value| {
            event["what"] == "wire"
                && event["direction"] == direction
                && event["message"].to_string().contains(part)
        };
        assert!(events.iter().any(|event| found(&event)), "{direction} {part} is not in:\n{text}");
    };
    wire("sent", r#""method":"initialize""#);
    wire("sent", r#""method":"notifications/initialized""#);
    wire("received", r#""method":"elicitation/create""#);
    wire("sent", r#""id":"q-1""#);
}
