//! Sessions and what they hold.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_agent::policy::Mode;
use switchboard_agent::store::{ArtefactRecord, MemoryStore, Store};
use switchboard_store::SqliteStore;

use crate::support::{Listening, json_of, say};

#[tokio::test]
async fn a_session_is_listed_renamed_forked_exported_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(&folder.path().join("sessions.db")).unwrap();
    for store in [Arc::new(MemoryStore::default()) as Arc<dyn Store>, Arc::new(sqlite)] {
        let listening = Listening::start([say("One."), say("Two.")], Mode::Yes, store).await;
        let first = listening.run("First question", 200).await;
        let id = first["session"].as_str().unwrap();
        listening.ask("POST", "/run", json!({ "input": "Second", "session": id }), 200).await;
        let listed = listening.get("/sessions").await;
        assert_eq!(
            (&listed[0]["id"], &listed[0]["title"], &listed[0]["state"]),
            (&json!(id), &json!("First question"), &json!("ended"))
        );
        let path = format!("/sessions/{id}");
        let renamed = listening.ask("PATCH", &path, json!({ "title": "Renamed" }), 200).await;
        assert_eq!(renamed["title"], "Renamed");
        let shown = listening.get(&path).await;
        assert_eq!((shown["title"].as_str(), shown["runs"].as_array().unwrap().len()), (Some("Renamed"), 2));
        let fork = json!({ "run": first["id"] });
        let fork = listening.ask("POST", &format!("{path}/fork"), fork, 201).await;
        assert_eq!(fork["parent"], json!(id));
        let forked = listening.get(&format!("/sessions/{}", fork["id"].as_str().unwrap())).await;
        assert_eq!(forked["runs"].as_array().unwrap().len(), 1);
        let exported = listening.get(&format!("{path}/export")).await;
        assert!(exported.to_string().contains("Second"), "{exported}");
        let text = listening.request("GET", &format!("{path}/export?format=markdown")).send().await.unwrap();
        assert!(text.text().await.unwrap().contains("Second"));
        listening.ask("GET", &format!("{path}/export?format=pdf"), Value::Null, 400).await;
        listening.ask("DELETE", &path, Value::Null, 204).await;
        for (method, path) in
            [("GET", path.clone()), ("DELETE", path.clone()), ("GET", format!("{path}/export"))]
        {
            listening.ask(method, &path, Value::Null, 404).await;
        }
        assert_eq!(listening.get("/sessions").await.as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_session_that_was_made_waits_for_its_first_question() {
    let listening = Listening::allowing([say("Hello.")]).await;
    let made = listening.ask("POST", "/sessions", json!({ "title": "Mine" }), 201).await;
    assert_eq!(listening.get("/sessions").await, json!([]));
    let run = listening.ask("POST", "/run", json!({ "input": "Hi", "session": made["id"] }), 200).await;
    assert_eq!(run["session"], made["id"]);
    assert_eq!(listening.get("/sessions").await[0]["title"], "Mine");
    let long = json!({ "title": "x".repeat(900_000) });
    let made = listening.ask("POST", "/sessions", long.clone(), 201).await;
    let path = format!("/sessions/{}", run["session"].as_str().unwrap());
    let renamed = listening.ask("PATCH", &path, long, 200).await;
    for session in [made, renamed] {
        assert_eq!(session["title"].as_str().unwrap().chars().count(), 80);
    }
}

#[tokio::test]
async fn an_artefact_is_read_in_ranges_and_never_run() {
    let store = Arc::new(MemoryStore::default());
    let listening = Listening::start([say("Hello.")], Mode::Yes, Arc::clone(&store) as Arc<dyn Store>).await;
    let session = listening.run("Hi", 200).await["session"].as_str().unwrap().to_owned();
    for (id, mime_type) in [("page", "text/html"), ("png", "image/png")] {
        let record = ArtefactRecord {
            id: id.to_owned(),
            session: session.clone(),
            call: None,
            server: None,
            kind: "unknown".to_owned(),
            name: Some("../../a \"name\"\r\n".to_owned()),
            mime_type: Some(mime_type.to_owned()),
            uri: None,
            audience: None,
            bytes: 10,
            created_ms: 0,
        };
        store.put_artefact(&record, b"0123456789").unwrap();
    }
    let get = |id: &str, range: Option<&str>| {
        let request = listening.request("GET", &format!("/artefacts/{id}"));
        range.into_iter().fold(request, |request, range| request.header("range", range)).send()
    };
    for (range, status, text) in [
        (None, 200, "0123456789"),
        (Some("bytes=2-4"), 206, "234"),
        (Some("bytes=-2"), 206, "89"),
        (Some("bytes=8-99"), 206, "89"),
        (Some("bytes=20-"), 416, ""),
    ] {
        let response = get("page", range).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.text().await.unwrap(), text);
    }
    let page = get("page", None).await.unwrap();
    assert_eq!(page.headers()["content-type"], "application/octet-stream");
    assert_eq!(page.headers()["content-security-policy"], "sandbox; default-src 'none'");
    assert_eq!(page.headers()["content-disposition"], "attachment; filename=\"a__name___\"");
    let picture = get("png", None).await.unwrap();
    assert_eq!(picture.headers()["content-type"], "image/png");
    json_of(get("none", None).await.unwrap(), 404).await;
    let export = listening.get(&format!("/sessions/{session}/export")).await;
    let kept = export["artefacts"].as_array().unwrap();
    for id in ["page", "png"] {
        let kept = kept.iter().find(|kept| kept["artefact"]["id"] == id).unwrap();
        assert_eq!(kept["data"], "MDEyMzQ1Njc4OQ==", "it goes with the session");
    }
}

/// What a host that was killed leaves, and what another process that still works on it does.
#[tokio::test]
async fn how_a_run_and_its_session_stand_is_one_word_wherever_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let (store, elsewhere) = (SqliteStore::open(&file).unwrap(), SqliteStore::open(&file).unwrap());
    let session = json!({ "id": "s1", "title": "", "created_ms": 0, "updated_ms": 0, "conversation": "" });
    store.put_session(&serde_json::from_value(session).unwrap()).unwrap();
    let run = json!({
        "id": "r1", "session": "s1", "created_ms": 0, "status": "running", "first_seq": 1,
        "options": json!({ "input": "Hi" }).to_string(),
    });
    store.put_run(&serde_json::from_value(run).unwrap()).unwrap();
    let listening = Listening::start([say("Hello.")], Mode::Yes, Arc::new(store)).await;
    let stands = async || {
        let (run, sessions) = (listening.get("/run/r1").await, listening.get("/sessions").await);
        (run["status"].clone(), sessions[0]["state"].clone())
    };
    elsewhere.hold("s1").unwrap();
    assert_eq!(stands().await, (json!("running"), json!("running")));
    elsewhere.release("s1");
    assert_eq!(stands().await, (json!("interrupted"), json!("interrupted")));
    let opened = listening.get("/sessions/s1").await;
    assert_eq!(
        (&opened["state"], &opened["runs"][0]["status"]),
        (&json!("interrupted"), &json!("interrupted"))
    );
    assert_eq!(stands().await, (json!("interrupted"), json!("interrupted")));
    let over = listening.ask("POST", "/run/r1/resume", Value::Null, 200).await;
    assert_eq!(over["answer"], "Hello.");
    assert_eq!(stands().await, (json!("finished"), json!("ended")));
}
