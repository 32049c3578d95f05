//! What cannot be understood is refused in words, and changes nothing.

use serde_json::{Value, json};

use crate::support::{Listening, call, json_of};

#[tokio::test]
async fn bodies_that_do_not_fit_are_refused() {
    let listening = Listening::asking([]).await;
    for (body, status) in [
        ("{", 400),
        ("[]", 400),
        ("\"input\"", 400),
        ("{\"input\": 1}", 400),
        ("{\"input\": \"x\", \"another\": 1}", 400),
        ("{\"input\": \"x\", \"attachments\": [{\"name\": \"a\"}]}", 400),
        ("{\"input\": \"x\", \"limits\": {\"steps\": -1}}", 400),
        ("{\"input\": \"x\", \"limits\": {\"steps\": 0}}", 422),
        ("", 422),
        ("{\"input\": \"  \"}", 422),
        ("{\"input\": \"x\", \"session\": \"none\"}", 404),
        ("{\"input\": \"x\", \"policy\": {\"rules\": [\"allow */*\"]}}", 422),
        ("{\"input\": \"x\", \"policy\": {\"rules\": [\"what is this\"]}}", 422),
        ("{\"input\": \"x\", \"output_schema\": {\"type\": 7}}", 422),
    ] {
        let got = json_of(listening.request("POST", "/run").body(body).send().await.unwrap(), status).await;
        let message = got["error"]["message"].as_str().unwrap();
        assert!(!message.is_empty(), "{body}");
        let hint = got["error"]["hint"].as_str();
        assert!(hint.is_none_or(|hint| !message.contains(hint)), "said once: {got}");
    }
    assert_eq!(listening.get("/sessions").await, json!([]));
}

#[tokio::test]
async fn a_model_or_server_that_is_not_there_ends_the_run() {
    let listening = Listening::asking([]).await;
    for body in [json!({ "input": "x", "model": "none" }), json!({ "input": "x", "servers": ["none"] })] {
        let run = listening.ask("POST", "/run", body, 200).await;
        assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("configuration")));
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let listening = Listening::asking([]).await;
    for (path, most) in [("/run", 32 << 20), ("/run/none/input", 1 << 20), ("/complete", 1 << 20)] {
        let body = vec![b' '; most + 1];
        let got = json_of(listening.request("POST", path).body(body).send().await.unwrap(), 413).await;
        assert_eq!(got["error"]["code"], "too_large");
        assert!(got["error"]["hint"].as_str().unwrap().contains(&most.to_string()), "{got}");
    }
}

#[tokio::test]
async fn a_question_has_an_end_and_so_have_its_attachments() {
    let texts = |count: usize, bytes: usize| vec![json!({ "text": "x".repeat(bytes) }); count];
    let data = |data: &str| vec![json!({ "data": data })];
    let mebibytes = |count: usize| data(&"AAAA".repeat(count * (1 << 20) / 3));
    let schema = json!({ "type": "object", "description": "x".repeat(1 << 20) });
    let listening = Listening::asking([]).await;
    for (what, body, limit) in [
        ("the question", json!({ "input": "x".repeat((1 << 20) + 1) }), "1048576"),
        ("its schema", json!({ "input": "x", "output_schema": schema }), "1048576"),
        ("the number", json!({ "input": "x", "attachments": texts(65, 1) }), "64"),
        ("the texts", json!({ "input": "x", "attachments": texts(17, 1 << 20) }), "16777216"),
        ("the bytes", json!({ "input": "x", "attachments": mebibytes(17) }), "16777216"),
        ("no base64", json!({ "input": "x", "attachments": data("!!!") }), "base64"),
        ("half of a digit", json!({ "input": "x", "attachments": data("A") }), "base64"),
    ] {
        let got = listening.ask("POST", "/run", body, 422).await;
        let message = got["error"]["message"].as_str().unwrap();
        assert!(message.contains(limit) && got["error"]["hint"].is_string(), "{what}: {got}");
    }
    assert_eq!(listening.get("/sessions").await, json!([]));
    for body in [
        json!({ "input": "x".repeat(1 << 20) }),
        json!({ "input": "x", "attachments": texts(64, 1) }),
        json!({ "input": "x", "attachments": data("AAAA\n AA==") }),
    ] {
        listening.ask("POST", "/run", body, 200).await;
    }
}

#[tokio::test]
async fn paths_and_queries_that_do_not_fit_are_refused() {
    let listening = Listening::asking([call("greeting", json!({}))]).await;
    let run = listening.run("Greet me", 202).await;
    let id = run["id"].as_str().unwrap();
    for (method, path, status) in [
        ("GET", "/run/none".to_owned(), 404),
        ("DELETE", "/run/none".to_owned(), 404),
        ("GET", "/run/none/events".to_owned(), 404),
        ("GET", format!("/run/{id}/events?after=x"), 400),
        ("GET", "/run/%ff".to_owned(), 404),
        ("DELETE", format!("/run/{id}/calls/x"), 404),
        ("DELETE", format!("/run/{id}/calls/-1"), 404),
        ("POST", format!("/run/{id}/input"), 400),
        ("POST", "/run?wait=perhaps".to_owned(), 400),
        ("PATCH", format!("/sessions/{}", run["session"].as_str().unwrap()), 400),
        ("POST", "/sessions/none/fork".to_owned(), 404),
        ("GET", "/events?after=-1".to_owned(), 400),
    ] {
        let got = listening.ask(method, &path, Value::Null, status).await;
        assert!(got["error"]["code"].is_string(), "{method} {path}");
    }
}
