//! Event streams: nothing twice, nothing missing, the same for whoever looks.

use serde_json::{Value, json};
use switchboard_llm::{Finish, ModelEvent};

use crate::support::{Event, Listening, call, reply, say};

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(|event| event.id).collect()
}

#[tokio::test]
async fn a_stream_goes_on_after_what_was_seen() {
    let listening = Listening::allowing([call("greeting", json!({})), say("Good.")]).await;
    let run = listening.run("Greet me", 200).await;
    let path = format!("/run/{}/events", run["id"].as_str().unwrap());
    let end = |event: &Event| event.kind == "end";
    let all = numbers(&listening.events(&path).await.until(end).await);
    assert!(all.len() > 5);
    for at in [0, 1, all.len() / 2, all.len() - 1] {
        let after = format!("{path}?after={}", all[at]);
        assert_eq!(numbers(&listening.events(&after).await.until(end).await), all[at + 1..], "{after}");
    }
    let header = listening.request("GET", &path).header("last-event-id", all[2].to_string());
    let resumed = crate::support::Events::of(header.send().await.unwrap()).until(end).await;
    assert_eq!(numbers(&resumed), all[3..]);
}

/// What waits, as a stream shows it.
fn asked(event: &Event) -> bool {
    event.data["event"]["what"] == "requested"
}

#[tokio::test]
async fn every_stream_shows_the_same_question_and_its_answer() {
    let listening = Listening::asking([call("greeting", json!({})), say("Done.")]).await;
    let run = listening.run("Greet me", 202).await;
    let path = format!("/events?session={}&after=0", run["session"].as_str().unwrap());
    let (mut one, mut other) = (listening.events(&path).await, listening.events(&path).await);
    let question = |events: Vec<Event>| events.last().unwrap().data["event"]["question"].clone();
    let shown = question(one.until(asked).await);
    assert_eq!(shown, question(other.until(asked).await));
    assert_eq!(shown, run["requests"][0]["question"]);
    let input = format!("/run/{}/input", run["id"].as_str().unwrap());
    listening.ask("POST", &input, reply(&run, "allow_once"), 200).await;
    let ended = |event: &Event| event.data["event"]["what"] == "ended";
    let (one, other) = (one.until(ended).await, other.until(ended).await);
    for events in [&one, &other] {
        assert!(events.iter().any(|event| event.data["event"]["what"] == "answered"));
    }
    // A page that is loaded now sees no question any more, but the same entries.
    let mut late = listening.events(&path).await;
    let late = late.until(ended).await;
    assert_eq!(numbers(&late).last(), numbers(&one).last());
}

#[tokio::test]
async fn the_pages_stream_tells_of_servers_and_sessions() {
    let listening = Listening::allowing([say("Hello.")]).await;
    let mut events = listening.events("/events").await;
    events.until(|event| event.kind == "servers" && event.data[0]["state"] == "ready").await;
    let run = listening.run("Hi", 200).await;
    let listed = |event: &Event| event.kind == "sessions" && event.data[0]["id"] == run["session"];
    events.until(listed).await;
    listening.ask("GET", "/events?session=none", Value::Null, 404).await;
}

/// A page that looks at something else sees by its list that a question waits, and that it is answered.
#[tokio::test]
async fn the_list_of_every_page_follows_what_goes_on() {
    let listening = Listening::asking([call("greeting", json!({})), say("Done.")]).await;
    let mut events = listening.events("/events").await;
    let begin = json!({ "input": "Greet me" });
    let run = listening.ask("POST", "/run?wait=false", begin, 202).await;
    let stands = |state: &'static str| {
        move |event: &Event| event.kind == "sessions" && event.data[0]["state"] == state
    };
    let seen = events.until(stands("input_required")).await;
    assert_eq!(seen.last().unwrap().data[0]["title"], "Greet me");
    let path = format!("/sessions/{}", run["session"].as_str().unwrap());
    let session = listening.get(&path).await;
    let waiting = json!({ "id": run["id"], "requests": session["pending"] });
    let input = format!("/run/{}/input", run["id"].as_str().unwrap());
    listening.ask("POST", &input, reply(&waiting, "allow_once"), 200).await;
    events.until(stands("ended")).await;
    listening.ask("PATCH", &path, json!({ "title": "Renamed" }), 200).await;
    events.until(|event| event.kind == "sessions" && event.data[0]["title"] == "Renamed").await;
    listening.ask("DELETE", &path, Value::Null, 204).await;
    events.until(|event| event.kind == "sessions" && event.data == json!([])).await;
}

#[tokio::test]
async fn there_are_as_many_streams_as_there_are_places() {
    let listening = Listening::allowing([say("Hello.")]).await;
    let mut open = Vec::new();
    for _ in 0..256 {
        open.push(listening.events("/events").await);
    }
    let refused = listening.ask("GET", "/events", Value::Null, 503).await;
    assert_eq!(refused["error"]["code"], "too_many_streams");
    let body = json!({ "input": "Hi" });
    let streamed = listening.request("POST", "/run").header("accept", "text/event-stream").json(&body);
    assert_eq!(streamed.send().await.unwrap().status(), 503, "nothing begins that cannot be told of");
    assert_eq!(listening.get("/sessions").await, json!([]));
    let head = listening.request("HEAD", "/events").send().await.unwrap();
    assert_eq!(head.status(), 503, "a page learns why");
    listening.run("Hi", 200).await;
    drop(open);
    // A place is given back once the host notices that its reader is gone.
    while listening.request("HEAD", "/events").send().await.unwrap().status() != 200 {}
}

/// A reader that does not read holds nobody up, and finds everything that is kept when it does.
#[tokio::test]
async fn a_slow_reader_holds_nobody_up() {
    // More than is kept in memory and fits between the two; long pieces, so that few are enough.
    const PIECES: usize = 6_000;
    let text = "word ".repeat(200);
    let flood = (0..PIECES).map(|_| ModelEvent::TextDelta(text.clone()));
    let flood = flood.chain([ModelEvent::Finish(Finish::Stop)]).collect();
    let listening = Listening::allowing([say("First."), flood]).await;
    let first = listening.run("Hi", 200).await;
    let path = format!("/events?session={}&after=0", first["session"].as_str().unwrap());
    let mut slow = listening.events(&path).await;
    let again = json!({ "input": "Flood me", "session": first["session"] });
    let run = listening.ask("POST", "/run", again, 200).await;
    assert_eq!(run["answer"].as_str().unwrap().len(), PIECES * text.len());
    let ended = run["last_seq"].as_u64().unwrap();
    let seen = slow.until(|event| event.id.is_some_and(|id| id >= ended)).await;
    let numbers = numbers(&seen);
    assert!(numbers.is_sorted_by(|one, other| one < other));
    let whole = seen.iter().filter(|event| event.data["event"]["stage"] == "run").count();
    assert_eq!(whole, 4, "both runs begin and end");
}
