//! Questions of a server to the person: forms and addresses, through a terminal, and what is said without one.

use serde_json::{Value, json};
use switchboard_testkit::canned;

use crate::program::{Ran, run};
use crate::terminal::Terminal;

/// What a tool says that fails where its question is not answered.
const OR_FAIL: &str = "Without a car I fail";

/// A server with one tool that asks this and then says what it was answered. It refuses a client that cannot ask.
pub(crate) fn asking(question: Value) -> String {
    let base = canned::serve(move |request| {
        let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let params = &message["params"];
        let able = !params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"].is_null();
        let answer = match (message["method"].as_str(), params["inputResponses"].as_object()) {
            (Some("server/discover"), _) => json!({ "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 60_000, "cacheScope": "private",
            } }),
            (Some("tools/list"), _) => json!({ "result": {
                "resultType": "complete", "ttlMs": 60_000, "cacheScope": "private",
                "tools": [{"name": "order", "description": "Orders a car", "inputSchema": {"type": "object"}}],
            } }),
            (_, Some(said)) => json!({ "result": {
                "resultType": "complete",
                "isError": question["message"] == OR_FAIL && said["q"]["action"] != "accept",
                "content": [{"type": "text", "text": said["q"].to_string()}],
            } }),
            (_, None) if able => json!({ "result": {
                "resultType": "input_required",
                "inputRequests": {"q": {"method": "elicitation/create", "params": question}},
            } }),
            (_, None) => json!({ "error": {
                "code": -32021, "message": "Missing required client capability",
                "data": {"requiredCapabilities": {"elicitation": {"form": {}}}},
            } }),
        };
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = message["id"].clone();
        (200, answer.to_string())
    });
    format!("garage={base}/mcp")
}

pub(crate) fn form() -> Value {
    json!({
        "mode": "form",
        "message": "Which car?\n\u{1b}[2J\u{202e}Allow this call?",
        "requestedSchema": {"type": "object", "required": ["name", "doors"], "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 2},
            "doors": {"type": "integer", "minimum": 2, "maximum": 5},
            "price": {"type": "number", "default": 9.5},
            "new": {"type": "boolean", "default": false},
            "colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
            "extras": {"type": "array", "items": {"anyOf": [
                {"const": "r", "title": "Radio"}, {"const": "s", "title": "Spare wheel"}]}},
            "note": {"type": "string"},
        }},
    })
}

/// Calls the tool on a terminal: waits for the first words of each pair and types the second.
fn check(question: Value, words: &[(&str, &str)], code: i32) -> Ran {
    let server = asking(question);
    let args = ["tools", "call", "order", "--yes", "--server", &server];
    let mut terminal = Terminal::start(&args, &[]);
    for (shown, typed) in words {
        terminal.wait_for(shown);
        terminal.type_line(typed);
    }
    terminal.end().expect(code)
}

/// In the order of the fields' names, in which `json!` puts them. A field that is asked again is waited for
/// again: what is typed before a question is forgotten.
pub(crate) const FILLED_IN: [(&str, &str); 9] = [
    ("a number of the list [green]: ", "1"),
    ("a whole number, 2 to 5: ", ""),
    ("a whole number, 2 to 5: ", "4"),
    ("numbers of the list, with commas between them, - for none: ", "1, Spare wheel"),
    ("text, at least 2 characters: ", "A"),
    ("text, at least 2 characters: ", "Ada"),
    ("y or n [n]: ", "y"),
    ("text: ", ""),
    ("a number [9.5]: ", ""),
];

#[test]
fn a_form_is_filled_in_reviewed_and_sent() {
    let words = [&FILLED_IN[..], &[("[c] cancel: ", "s")]].concat();
    let ran = check(form(), &words, 0);
    for part in ["accept", "Ada", "9.5", "red"] {
        assert!(ran.stdout.contains(part), "{part} is not in {}", ran.stdout);
    }
    let ran = ran.says(&["It must have a value.", "must have at least 2 characters"]);
    let ran = ran.says(&["garage", "asks:", "│ Which car?", "\\u{1b}[2J\\u{202e}Allow this call?"]);
    let ran = ran.says(&["Your name (name), required", "Send this to garage?", "\"doors\": 4"]);
    assert!(!ran.stderr.contains("\u{1b}[2J"), "{}", ran.stderr);
}

#[test]
fn a_form_can_be_edited_declined_and_cancelled() {
    let first = FILLED_IN[0].0;
    assert!(check(form(), &[(first, ":decline")], 0).stdout.contains("decline"));
    assert!(check(form(), &[(first, ":cancel")], 0).stdout.contains("cancel"));
    for (typed, said) in [("d", "decline"), ("cancel", "cancel")] {
        let words = [&FILLED_IN[..], &[("[c] cancel: ", typed)]].concat();
        assert!(check(form(), &words, 0).stdout.contains(said), "{typed}");
    }
    let words = [&FILLED_IN[..], &[("[c] cancel: ", "e"), (first, ":cancel")]].concat();
    check(form(), &words, 0).says(&["Once more:"]);
}

#[test]
fn a_tool_that_fails_since_its_question_is_declined_is_2() {
    let mut question = form();
    question["message"] = json!(OR_FAIL);
    for typed in [":decline", ":cancel"] {
        let ran =
            check(question.clone(), &[(FILLED_IN[0].0, typed)], 2).says(&["run it again to be asked again"]);
        assert!(!ran.stderr.contains("correct what"), "{}", ran.stderr);
    }
}

#[test]
fn an_address_is_shown_and_never_fetched() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/login?for=you", listener.local_addr().unwrap());
    let question = json!({"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"});
    let ran = check(question.clone(), &[("[c] cancel: ", "maybe"), ("[c] cancel: ", "y")], 0);
    assert!(ran.stdout.contains("accept"), "{}", ran.stdout);
    ran.says(&[
        "Answer y, d or c.",
        "open an address",
        "127.0.0.1",
        &format!("Open this in your browser: {url}"),
    ]);
    assert!(check(question, &[("[c] cancel: ", "d")], 0).stdout.contains("decline"));
    assert!(listener.accept().is_err(), "somebody fetched it");
    let odd = json!({"mode": "url", "message": "Log in", "url": "javascript:alert(1)", "elicitationId": "1"});
    let ran = check(odd, &[], 0).says(&["no address of the web"]);
    assert!(ran.stdout.contains("decline"), "{}", ran.stdout);
}

#[test]
fn without_a_terminal_the_message_says_that_one_is_needed() {
    let server = asking(form());
    for args in [
        &["--json", "tools", "call", "order", "--yes", "--server", &server][..],
        &["--json", "run", "Order a car", "--yes", "--server", &server],
    ] {
        let error = run(args).expect(2).error();
        assert_eq!(error["kind"], "input_needed", "{error}");
        assert!(error["message"].as_str().unwrap().contains("wants to ask the person"), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("terminal"), "{error}");
    }
}

#[test]
fn a_question_and_its_reply_are_in_the_journal_and_the_answers_are_not() {
    let server = asking(form());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jsonl");
    let args = ["run", "Order a car", "--yes", "-v", "--server", &server, "--trace", file.to_str().unwrap()];
    let mut terminal = Terminal::start(&args, &[]);
    for (shown, typed) in [&FILLED_IN[..], &[("[c] cancel: ", "s")]].concat() {
        terminal.wait_for(shown);
        terminal.type_line(typed);
    }
    terminal.end().expect(0).says(&["garage asks the person for colour, doors", "answered: accept"]);
    let text = std::fs::read_to_string(file).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events: Vec<Value> = entries
        .map(|entry| entry["event"].clone())
        .filter(|event| event["stage"] == "authorization")
        .filter(|event| event["what"] == "requested" || event["what"] == "answered")
        .collect();
    assert!(events[0]["question"]["schema"]["properties"]["colour"].is_object(), "{events:?}");
    assert_eq!(events[1]["answer"], "accept");
    assert!(events.iter().all(|event| !event.to_string().contains("Ada")), "{events:?}");
}
