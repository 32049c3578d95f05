//! Clients that want much and never come back.

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::StreamBody;
use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::Features;
use switchboard_server::{Eras, HttpService, Limits, SessionLimits};

use super::client::{Client, Events, Got, call, notice};
use super::desk::server;
use super::sse::Peer;
use crate::endpoint::answer;

fn limits(sessions: SessionLimits) -> Limits {
    Limits { sessions, ..Limits::default() }
}

fn level() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "debug"}})
}

#[tokio::test]
async fn sessions_that_are_left_alone_cost_no_more_than_the_limit() {
    let sessions = SessionLimits { kept: 50, ..SessionLimits::default() };
    let (server, _, _) = server(Eras::ALL, limits(sessions));
    let service = server.http().into_service();
    let mut clients = Vec::new();
    for count in 0..2_000 {
        let client = Client::open(&service, Revision::NEWEST_LEGACY).await;
        match count % 3 {
            0 => assert_eq!(client.send(&level()).await.status, 200),
            1 => drop(client.listen(None).await),
            _ => {}
        }
        clients.push(client);
    }
    // What nothing is kept of is served for as long as its id is good; of the others the last ones are.
    let status = async |client: &Client| client.send(&call(2, "fast")).await.status;
    assert_eq!(status(&clients[2]).await, 200);
    assert_eq!(
        status(&clients[1_000]).await,
        200,
        "remembered as ended no longer, and served as it was opened"
    );
    assert_eq!(status(&clients[1_900]).await, 404);
    assert_eq!(status(&clients[1_999]).await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_used_loses_what_was_kept_and_ends() {
    let sessions = SessionLimits { idle: Duration::from_secs(60), ..SessionLimits::default() };
    let (server, _, _) = server(Eras::ALL, limits(sessions));
    let service = server.http().into_service();
    let client = Client::open(&service, Revision::NEWEST_LEGACY).await;
    let other = Client::open(&service, Revision::NEWEST_LEGACY).await;
    assert_eq!(client.send(&level()).await.status, 200);
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(50)).await;
        assert_eq!(client.send(&call(1, "fast")).await.status, 200);
    }
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(client.send(&call(1, "fast")).await.status, 404);
    assert_eq!(other.send(&call(1, "fast")).await.status, 200);
}

#[tokio::test]
async fn a_flood_of_streams_takes_the_places_that_there_are() {
    let (server, _, _) = server(Eras::ALL, Limits { listen_streams: 3, ..Limits::default() });
    let service = server.http().into_service();
    let client = Client::open(&service, Revision::NEWEST_LEGACY).await;
    let mut open: Vec<Events> = Vec::new();
    for count in 0..50 {
        let response = client.get(None).await;
        if count < 3 {
            open.push(Events::new(response));
        } else {
            assert_eq!(
                (response.status().as_u16(), response.headers()["retry-after"].to_str().unwrap()),
                (503, "1")
            );
        }
    }
    // Each took the place of the one before it.
    open.pop();
    for mut events in open.drain(..) {
        assert_eq!(events.rest().await.len(), 0);
    }
    assert_eq!(client.get(None).await.status(), 200);
}

#[tokio::test]
async fn what_is_kept_to_be_said_again_is_bounded_over_all_sessions() {
    let sessions = SessionLimits { replay_bytes: 16 * 1024, ..SessionLimits::default() };
    let (server, desk, mut seen) = server(Eras::ALL, limits(sessions));
    let service = server.http().into_service();
    let mut first = None;
    for _ in 0..100 {
        let client = Client::open(&service, Revision::NEWEST_LEGACY).await;
        let mut events = client.ask(&call(1, "report")).await;
        let (one, _) = events.next().await.unwrap();
        drop(events);
        desk.gate.add_permits(3);
        assert_eq!((seen.recv().await, seen.recv().await), (Some("entered"), Some("left")));
        first.get_or_insert((client.clone(), one.clone()));
        assert_eq!(client.listen(Some(&one.id)).await.rest().await.len(), 3);
    }
    let (client, one) = first.unwrap();
    assert_eq!(client.get(Some(&one.id)).await.status(), 400, "later ones took its place");
}

/// The tasks that there are once whatever is ready has run.
async fn tasks_left() -> usize {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_of_streams_that_have_ended_costs_no_task_each() {
    let sessions = SessionLimits { kept: 20, ..SessionLimits::default() };
    let (server, desk, _) = server(Eras::ALL, limits(sessions));
    let service = server.http().into_service();
    let mut all = Vec::new();
    for _ in 0..30 {
        let client = Client::open(&service, Revision::NEWEST_LEGACY).await;
        desk.gate.add_permits(3);
        let mut events = client.ask(&call(1, "report")).await;
        let (one, _) = events.next().await.unwrap();
        assert_eq!(events.rest().await.len(), 3);
        all.push((client, one.id));
    }
    assert_eq!(tasks_left().await, 1);
    // As with everything that is kept, whoever came later takes the place.
    for (at, (client, one)) in all.iter().enumerate() {
        let expected = if at < 10 { 404 } else { 200 };
        assert_eq!(client.get(Some(one)).await.status(), expected, "{at}");
    }
    tokio::time::advance(SessionLimits::default().replay_time).await;
    assert_eq!(tasks_left().await, 0);
    for (client, one) in &all[10..] {
        assert_eq!(client.get(Some(one)).await.status(), 400);
    }
}

fn on_note(id: u32, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": "note://1"}})
}

#[tokio::test]
async fn what_all_sessions_are_subscribed_to_is_bounded_and_given_back_when_they_end() {
    // Room for three of them, over all transports.
    let sessions = SessionLimits { subscribed_bytes: 3 * (64 + 8), kept: 3, ..SessionLimits::default() };
    let (server, _, _) = server(Eras::ALL, limits(sessions));
    let service = server.http().into_service();
    let mut clients = Vec::new();
    for _ in 0..6 {
        clients.push(Client::open(&service, Revision::NEWEST_LEGACY).await);
    }
    let says = async |at: usize, method: &str| {
        let client: &Client = &clients[at];
        let got = client.send(&on_note(1, method)).await;
        let message = got.messages().pop().unwrap();
        message["error"]["message"].as_str().map(str::to_owned)
    };
    for at in [0, 0, 1, 2, 2] {
        assert_eq!(says(at, "resources/subscribe").await, None);
    }
    for _ in 0..2 {
        let refused = says(3, "resources/subscribe").await.unwrap();
        assert!(refused.contains("216 bytes") && refused.contains("all its sessions"), "{refused}");
    }
    assert_eq!(says(0, "resources/unsubscribe").await, None);
    assert_eq!(says(3, "resources/subscribe").await, None);
    assert!(says(0, "resources/subscribe").await.is_some());
    // A stream that is still there, unread, holds the session but not the room.
    let events = clients[1].listen(None).await;
    assert_eq!(clients[1].end().await, 204);
    assert_eq!(says(4, "resources/subscribe").await, None);
    drop(events);
    // Beyond what is kept, the session that was used least recently ends.
    assert_eq!(clients[0].send(&level()).await.status, 200);
    assert_eq!(clients[2].send(&call(2, "fast")).await.status, 404);
    assert_eq!(says(5, "resources/subscribe").await, None);
}

/// Whoever left may come back, but not at the cost of those who are there.
#[tokio::test(start_paused = true)]
async fn what_runs_for_clients_that_left_takes_a_part_of_the_places_and_no_more() {
    let limits = Limits { concurrent_exchanges: 8, handler_timeout: None, ..Limits::default() };
    let (server, desk, mut seen) = server(Eras::ALL, limits);
    let service = server.http().into_service();
    let started = tokio::time::Instant::now();
    let begin = async |tool: &str| {
        let client = Client::open(&service, Revision::NEWEST_LEGACY).await;
        let mut events = client.ask(&call(1, tool)).await;
        let (first, _) = events.next().await.unwrap();
        (client, events, first)
    };
    let (_, mut stays, _) = begin("report").await;
    assert_eq!(seen.recv().await, Some("entered"));
    let mut left = Vec::new();
    for _ in 0..20 {
        let (client, events, first) = begin("report").await;
        assert_eq!(seen.recv().await, Some("entered"));
        drop(events);
        left.push((client, first));
        if left.len() > 2 {
            assert_eq!(seen.recv().await, Some("left"), "a quarter of 8 may run on");
        }
    }
    // Who came back and left again is the last who left.
    let (again, first) = &left[18];
    drop(again.listen(Some(&first.id)).await);
    let (_, events, _) = begin("confirm").await;
    drop(events);
    assert_eq!(seen.recv().await, Some("left"));
    desk.gate.add_permits(6);
    let mut found = Vec::new();
    for (client, first) in &left {
        found.push(client.get(Some(&first.id)).await.status() == 200);
    }
    assert_eq!(found.iter().position(|found| *found), Some(18));
    assert_eq!(found.iter().filter(|found| **found).count(), 1);
    assert_eq!(stays.rest().await.len(), 3, "who is there is not touched");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[tokio::test]
async fn the_length_of_session_ids_is_no_business_of_request_states() {
    let (server, _, _) = server(Eras::ALL, Limits { request_state_bytes: 64, ..Limits::default() });
    let service = server.http().into_service();
    for revision in Revision::LEGACY {
        let client = Client::open(&service, *revision).await;
        assert_eq!(client.send(&call(1, "fast")).await.status, 200);
    }
}

fn answer_to(question: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": true}}})
}

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})
}

/// Sessions, each with a question that waits for its answer.
async fn asked<const N: usize>(service: &HttpService) -> [(Client, Events, Value); N] {
    let mut open = Vec::new();
    for _ in 0..N {
        let client = Client::open(service, Revision::NEWEST_LEGACY).await;
        let mut events = client.ask(&call(1, "confirm")).await;
        let (_, question) = events.next().await.unwrap();
        open.push((client, events, question));
    }
    open.try_into().unwrap_or_else(|_| unreachable!())
}

#[tokio::test]
async fn a_server_full_of_questions_hears_what_empties_it() {
    let (server, _, _) = server(Eras::ALL, Limits { concurrent_exchanges: 4, ..Limits::default() });
    let service = server.http().into_service();
    let other = Client::open(&service, Revision::NEWEST_LEGACY).await;
    let mut peer = Peer::open(&service, "/gw/sse").await;
    peer.shake_hands(Revision::NEWEST_LEGACY).await;
    let [(first, mut said, question), (second, mut silent, _), (third, _open, _), _fourth] =
        asked::<4>(&service).await;
    let check = async |client: &Client, message: Value, expected: u16| {
        let got = client.send(&message).await;
        assert_eq!(got.status, expected, "{message}: {got:?}");
        if expected == 503 {
            assert_eq!(got.headers["retry-after"], "1", "{message}");
        }
    };
    for (message, expected) in [
        (call(2, "fast"), 503),
        (ping(), 200),
        (notice("notifications/roots/list_changed", json!({})), 202),
        (notice("notifications/cancelled", json!({"requestId": 77})), 202),
        (json!({"jsonrpc": "2.0", "id": "late", "result": {}}), 202),
        (call(2, "fast"), 503),
    ] {
        check(&other, message, expected).await;
    }
    assert_eq!(peer.ask(&ping()).await["result"], json!({}));
    assert!(peer.ask(&call(1, "fast")).await["error"]["message"].as_str().unwrap().contains("busy"));

    check(&first, answer_to(&question), 202).await;
    let confirmed = said.rest().await.pop().unwrap();
    assert_eq!(confirmed["result"]["content"][0]["text"], "confirmed true");
    check(&other, call(2, "fast"), 200).await;

    let [_again] = asked::<1>(&service).await;
    check(&other, call(2, "fast"), 503).await;
    check(&second, notice("notifications/cancelled", json!({"requestId": 1})), 202).await;
    assert!(silent.rest().await.is_empty());
    check(&other, call(2, "fast"), 200).await;
    check(&third, ping(), 200).await;
}

/// The places for what empties a full server are counted as well, and are for nothing else.
#[tokio::test]
async fn what_is_read_beside_a_full_server_is_bounded() {
    let (server, _, _) = server(Eras::ALL, Limits { concurrent_exchanges: 4, ..Limits::default() });
    let service = server.http().into_service();
    let full = asked::<4>(&service).await;
    let other = full[0].0.clone();
    let (parts, _) = other.post(&ping()).into_parts();
    let never = StreamBody::new(futures_util::stream::pending::<
        Result<http_body::Frame<Bytes>, std::convert::Infallible>,
    >());
    let mut slow = std::pin::pin!(answer(&service, http::Request::from_parts(parts, never)));
    let is_waiting = poll_fn(|cx| Poll::Ready(slow.as_mut().poll(cx).is_pending())).await;
    assert!(is_waiting);
    assert_eq!(other.send(&ping()).await.status, 503);
}

#[tokio::test]
async fn a_session_takes_a_part_of_the_places_and_no_more() {
    let limits = Limits { concurrent_exchanges: 8, ..Limits::default() };
    let (server, desk, _seen) = server(Eras::ALL, limits);
    let service = server.http().into_service();
    let greedy = Client::open(&service, Revision::NEWEST_LEGACY).await;
    let mut held = Vec::new();
    for id in 0..2 {
        let mut events = greedy.ask(&call(id, "confirm")).await;
        let (_, question) = events.next().await.unwrap();
        held.push((events, question));
    }
    let refused = answer(&service, greedy.post(&call(2, "confirm"))).await;
    assert_eq!(refused.status(), 503, "and no stream");
    let got = Got::read(refused).await;
    assert_eq!(got.headers["retry-after"], "1");
    let refusal: Value = serde_json::from_slice(&got.body).unwrap();
    let names_the_limit = |refusal: &Value| {
        let why = refusal["error"]["message"].as_str().unwrap_or_default();
        assert!(why.contains("one session") && why.contains(" 2 "), "{refusal}");
    };
    names_the_limit(&refusal);
    assert_eq!(refusal["id"], 2);
    // Others are not touched, and a place that is given back may be taken again.
    let _other = asked::<2>(&service).await;
    let (mut events, question) = held.pop().unwrap();
    assert_eq!(greedy.send(&answer_to(&question)).await.status, 202);
    assert_eq!(events.rest().await.len(), 1);
    assert_eq!(greedy.send(&call(3, "fast")).await.status, 200);

    let calls: Vec<Value> = (0..5).map(|id| call(id, "wait")).collect();
    let with_batches = Revision::LEGACY.iter().find(|revision| Features::of(**revision).batches);
    let client = Client::open(&service, *with_batches.unwrap()).await;
    let mut events = client.ask(&json!(calls)).await;
    let mut peer = Peer::open(&service, "/gw/sse").await;
    peer.shake_hands(Revision::NEWEST_LEGACY).await;
    for call in &calls {
        assert_eq!(peer.send(call).await, 202);
    }
    for _ in 0..3 {
        names_the_limit(&events.next().await.unwrap().1);
        names_the_limit(&peer.hear().await);
    }
    desk.gate.add_permits(4);
    for _ in 0..2 {
        assert_eq!(events.next().await.unwrap().1["result"]["content"][0]["text"], "waited");
        assert_eq!(peer.hear().await["result"]["content"][0]["text"], "waited");
    }
    assert!(events.next().await.is_none());
}
