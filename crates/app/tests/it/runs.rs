//! `POST /run` and what follows: answers, pauses, the first answer that counts, cancellation.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};
use switchboard_agent::policy::Mode;
use switchboard_agent::store::{MemoryStore, Store};
use switchboard_store::SqliteStore;

use crate::support::{Event, Events, Listening, call, json_of, reply, say};

#[tokio::test]
async fn a_question_is_answered_as_json() {
    let listening = Listening::allowing([call("greeting", json!({})), say("It said good morning.")]).await;
    let run = listening.run("Greet me", 200).await;
    assert_eq!((&run["status"], &run["answer"]), (&json!("finished"), &json!("It said good morning.")));
    assert_eq!(run["calls"][0]["tool"], "greeting");
    let id = run["id"].as_str().unwrap();
    assert_eq!(listening.get(&format!("/run/{id}")).await["answer"], run["answer"]);
}

#[tokio::test]
async fn a_question_is_answered_as_events() {
    let listening = Listening::allowing([call("greeting", json!({})), say("It said good morning.")]).await;
    let request = listening.request("POST", "/run").header("accept", "text/event-stream");
    let response = request.json(&json!({ "input": "Greet me" })).send().await.unwrap();
    let events = Events::of(response).until(|event| event.kind == "end").await;
    let numbers: Vec<_> = events.iter().filter_map(|event| event.id).collect();
    assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
    assert!(events.iter().any(|event| event.data["event"]["what"] == "text_delta"));
    assert_eq!(events.last().unwrap().data["answer"], "It said good morning.");
}

#[tokio::test]
async fn whoever_does_not_wait_asks_later() {
    let (listening, may) = Listening::holding([say("Hello.")]).await;
    let run = listening.ask("POST", "/run?wait=false", json!({ "input": "Hi" }), 202).await;
    let id = run["id"].as_str().unwrap();
    may.send(true).unwrap();
    let end = listening.events(&format!("/run/{id}/events")).await.until(|event| event.kind == "end").await;
    assert_eq!(end.last().unwrap().data["answer"], "Hello.");
    assert_eq!(listening.get(&format!("/run/{id}")).await["status"], "finished");
}

#[tokio::test]
async fn the_same_key_is_the_same_run() {
    let listening = Listening::allowing([say("Once.")]).await;
    let body = json!({ "input": "Hi", "idempotency_key": "k" });
    let first = listening.ask("POST", "/run", body.clone(), 200).await;
    let second = listening.ask("POST", "/run", body, 200).await;
    assert_eq!((&second["id"], &second["answer"]), (&first["id"], &json!("Once.")));
    assert_eq!(listening.get("/sessions").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_belongs_to_one_question() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(&folder.path().join("sessions.db")).unwrap();
    for store in [Arc::new(MemoryStore::default()) as Arc<dyn Store>, Arc::new(sqlite)] {
        let listening = Listening::start([say("Once.")], Mode::Yes, store).await;
        let asked = |body: Value| {
            let mut body = body;
            body["idempotency_key"] = json!("k");
            body
        };
        let first = listening.ask("POST", "/run", asked(json!({ "input": "Hi" })), 200).await;
        for other in [
            json!({ "input": "Bye" }),
            json!({ "input": "Hi", "session": first["session"] }),
            json!({ "input": "Hi", "servers": [] }),
        ] {
            let error = listening.ask("POST", "/run", asked(other), 422).await;
            assert_eq!(error["error"]["code"], "key_reused");
        }
        let same = r#"{ "idempotency_key" : "k", "input" : "Hi" }"#;
        let again = listening.request("POST", "/run").body(same).send().await.unwrap();
        assert_eq!(json_of(again, 200).await["id"], first["id"], "the same, written another way");
    }
}

#[tokio::test]
async fn of_many_that_come_with_one_key_at_once_one_begins() {
    let listening = Listening::allowing([say("Once.")]).await;
    let body = json!({ "input": "Hi", "idempotency_key": "k" });
    let runs = join_all((0..16).map(|_| listening.ask("POST", "/run", body.clone(), 200))).await;
    assert!(runs.iter().all(|run| run["id"] == runs[0]["id"] && run["answer"] == "Once."), "{runs:?}");
    assert_eq!(listening.get("/sessions").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_is_short_and_visible() {
    let listening = Listening::allowing([say("Hello.")]).await;
    for (key, status) in [
        (String::new(), 422),
        ("a b".to_owned(), 422),
        ("ä".to_owned(), 422),
        ("k".repeat(256), 422),
        ("k".repeat(255), 200),
    ] {
        let body = json!({ "input": "Hi", "idempotency_key": key });
        listening.ask("POST", "/run", body, status).await;
    }
}

#[tokio::test]
async fn a_pause_is_answered_once() {
    let listening = Listening::asking([call("greeting", json!({})), say("Done.")]).await;
    let run = listening.run("Greet me", 202).await;
    assert_eq!(run["status"], "input_required");
    let question = &run["requests"][0]["question"];
    assert_eq!((&question["kind"], &question["tool"]), (&json!("approval"), &json!("greeting")));
    let choices: Vec<_> =
        question["offers"].as_array().unwrap().iter().map(|offer| offer["choice"].clone()).collect();
    assert!(choices.contains(&json!("allow_once")) && choices.contains(&json!("deny")), "{choices:?}");
    let input = format!("/run/{}/input", run["id"].as_str().unwrap());
    let mut other = reply(&run, "allow_once");
    other["reply"]["digest"] = json!("0".repeat(64));
    let error = listening.ask("POST", &input, other, 422).await;
    assert_eq!(error["error"]["code"], "not_this_request");
    let form =
        json!({ "request": run["requests"][0]["id"], "reply": { "kind": "form", "action": "accept" } });
    listening.ask("POST", &input, form, 422).await;
    let unknown = json!({ "request": "none", "reply": { "kind": "login", "done": true } });
    listening.ask("POST", &input, unknown, 404).await;
    let over = listening.ask("POST", &input, reply(&run, "allow_once"), 200).await;
    assert_eq!((&over["status"], &over["answer"]), (&json!("finished"), &json!("Done.")));
    let error = listening.ask("POST", &input, reply(&run, "deny"), 409).await;
    assert_eq!(error["error"]["code"], "answered_already");
}

#[tokio::test]
async fn a_denied_call_is_told_to_the_model() {
    let listening = Listening::asking([call("greeting", json!({})), say("Then not.")]).await;
    let run = listening.run("Greet me", 202).await;
    let input = format!("/run/{}/input", run["id"].as_str().unwrap());
    let over = listening.ask("POST", &input, reply(&run, "deny"), 200).await;
    assert_eq!((&over["answer"], &over["calls"][0]["status"]), (&json!("Then not."), &json!("denied")));
}

#[tokio::test]
async fn a_yes_lasts_as_long_as_it_says() {
    let call = || call("greeting", json!({}));
    for (choice, asked_in_run, asked_in_session) in
        [("allow_once", true, true), ("allow_run", false, true), ("allow_session", false, false)]
    {
        let script = [call(), call(), say("One."), call(), say("Two.")];
        let listening = Listening::asking(script).await;
        let mut run = listening.run("Greet me twice", 202).await;
        let input = format!("/run/{}/input", run["id"].as_str().unwrap());
        let status = if asked_in_run { 202 } else { 200 };
        run = listening.ask("POST", &input, reply(&run, choice), status).await;
        if asked_in_run {
            run = listening.ask("POST", &input, reply(&run, choice), 200).await;
        }
        let status = if asked_in_session { 202 } else { 200 };
        let again = json!({ "input": "Again", "session": run["session"] });
        listening.ask("POST", "/run", again, status).await;
    }
}

#[tokio::test]
async fn a_yes_for_more_than_once_names_the_calls_that_it_is_for() {
    let open = |path: &str| call("open", json!({ "path": path }));
    let script = [open("/docs/a"), open("/docs/b"), open("/etc/passwd"), say("Done.")];
    let listening = Listening::asking(script).await;
    let run = listening.run("Open them", 202).await;
    let input = format!("/run/{}/input", run["id"].as_str().unwrap());
    for choice in ["allow_run", "allow_session"] {
        let mut short = reply(&run, choice);
        short["reply"].as_object_mut().unwrap().remove("rule");
        let error = listening.ask("POST", &input, short, 422).await;
        let message = error["error"]["message"].as_str().unwrap();
        for part in ["more than once", r#"[{"path":"path","inside":"/docs"}]"#, "any arguments"] {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    }
    // As it is offered, the narrow one is the first.
    let run = listening.ask("POST", &input, reply(&run, "allow_session"), 202).await;
    let asked = &run["requests"][0]["question"]["arguments"];
    assert_eq!((asked, run["calls"].as_array().unwrap().len()), (&json!({ "path": "/etc/passwd" }), 2));
    let any = reply(&run, "allow_run");
    assert_eq!(any["reply"]["rule"], json!([]));
    listening.ask("POST", &input, any, 200).await;
}

#[tokio::test]
async fn a_run_and_a_call_are_cancelled() {
    let script = [call("hang", json!({})), say("It was stopped."), call("hang", json!({}))];
    let listening = Listening::allowing(script).await;
    let begin = || listening.ask("POST", "/run?wait=false", json!({ "input": "Hang" }), 202);
    let started = |event: &Event| event.data["event"]["stage"] == "invocation";
    let run = begin().await;
    let id = run["id"].as_str().unwrap();
    listening.events(&format!("/run/{id}/events")).await.until(started).await;
    let mut events = listening.events(&format!("/run/{id}/events")).await;
    listening.ask("DELETE", &format!("/run/{id}/calls/1"), Value::Null, 204).await;
    let end = events.until(|event| event.kind == "end").await;
    assert_eq!(end.last().unwrap().data["answer"], "It was stopped.");
    listening.ask("DELETE", &format!("/run/{id}/calls/1"), Value::Null, 409).await;
    let run = begin().await;
    let id = run["id"].as_str().unwrap();
    listening.events(&format!("/run/{id}/events")).await.until(started).await;
    let over = listening.ask("DELETE", &format!("/run/{id}"), Value::Null, 200).await;
    assert_eq!(over["status"], "cancelled");
    let again = listening.ask("DELETE", &format!("/run/{id}"), Value::Null, 200).await;
    assert_eq!(again["status"], "cancelled");
}

#[tokio::test]
async fn an_answer_fits_its_schema() {
    let listening = Listening::allowing([say(r#"{"degrees": 21}"#)]).await;
    let schema = json!({ "type": "object", "properties": { "degrees": { "type": "number" } }, "required": ["degrees"] });
    let body = json!({ "input": "How warm?", "output_schema": schema });
    assert_eq!(listening.ask("POST", "/run", body, 200).await["output"], json!({ "degrees": 21 }));
}

#[tokio::test]
async fn another_question_waits_for_the_first() {
    let listening = Listening::asking([call("greeting", json!({}))]).await;
    let run = listening.run("Greet me", 202).await;
    let again = json!({ "input": "And me", "session": run["session"] });
    let error = listening.ask("POST", "/run", again, 409).await;
    assert_eq!(error["error"]["code"], "busy");
}

#[tokio::test]
async fn a_resource_goes_with_a_question() {
    let listening = Listening::allowing([say("Read.")]).await;
    let attach = |uri: &str| json!({ "input": "What is this?", "attachments": [{ "resource": { "server": "desk", "uri": uri } }] });
    assert_eq!(listening.ask("POST", "/run", attach("note://tea"), 200).await["answer"], "Read.");
    let run = listening.ask("POST", "/run", attach("note://none"), 200).await;
    assert_eq!((&run["status"], &run["error"]["server"]), (&json!("failed"), &json!("desk")));
}
