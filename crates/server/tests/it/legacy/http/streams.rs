//! Event streams of sessions: cut and taken up again, cancelled, listened to, and ended.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::Features;
use switchboard_server::{Eras, HttpService, Limits, Server};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::client::{Client, call, notice};
use super::desk::{Desk, Seen, server};
use crate::endpoint::answer;

struct House {
    server: Server,
    service: HttpService,
    desk: std::sync::Arc<Desk>,
    seen: Seen,
}

fn house(limits: Limits) -> House {
    let (server, desk, seen) = server(Eras::ALL, limits);
    House { service: server.http().into_service(), server, desk, seen }
}

fn word(message: &Value) -> &str {
    message["params"]["data"].as_str().unwrap_or_else(|| panic!("no log message: {message}"))
}

fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no result: {message}"))
}

#[tokio::test]
async fn a_stream_begins_as_its_revision_has_it() {
    for revision in Revision::LEGACY {
        let house = house(Limits::default());
        let client = Client::open(&house.service, *revision).await;
        let mut events = client.ask(&call(1, "report")).await;
        let first = events.event().await.unwrap();
        if Features::of(*revision).priming_event {
            assert_eq!((first.data.as_deref(), first.retry.as_str()), (Some(""), "1000"), "{revision}");
            assert!(first.id.ends_with("-0"), "{first:?}");
        } else {
            assert_eq!(word(&first.message().unwrap()), "one", "{revision}");
            assert!(first.id.ends_with("-1") && first.retry.is_empty(), "{first:?}");
        }
        house.desk.gate.add_permits(3);
        assert_eq!(text(events.rest().await.last().unwrap()), "reported");
    }
}

#[tokio::test]
async fn what_a_cut_stream_would_have_said_is_said_on_the_next_connection() {
    for revision in Revision::LEGACY {
        let mut house = house(Limits::default());
        let client = Client::open(&house.service, *revision).await;
        let mut events = client.ask(&call(1, "report")).await;
        let (one, message) = events.next().await.unwrap();
        assert_eq!((word(&message), house.seen.recv().await), ("one", Some("entered")));
        drop(events);
        // The handler goes on without anybody who listens.
        house.desk.gate.add_permits(1);
        let mut events = client.listen(Some(&one.id)).await;
        let (two, message) = events.next().await.unwrap();
        assert_eq!(word(&message), "two");
        // A second connection takes over from the first.
        let mut again = client.listen(Some(&one.id)).await;
        assert_eq!(again.next().await.unwrap().0, two);
        assert_eq!(events.next().await, None);
        drop(again);
        house.desk.gate.add_permits(2);
        assert_eq!(house.seen.recv().await, Some("left"));
        let said = client.listen(Some(&one.id)).await.rest().await;
        assert_eq!(
            (said.len(), word(&said[0]), word(&said[1]), text(&said[2])),
            (3, "two", "three", "reported")
        );
        let said = client.listen(Some(&two.id)).await.rest().await;
        assert_eq!((said.len(), said[1]["id"].as_i64()), (2, Some(1)), "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_said_is_kept_for_a_while_only() {
    let house = house(Limits::default());
    let client = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    house.desk.gate.add_permits(3);
    let mut events = client.ask(&call(1, "report")).await;
    let (one, _) = events.next().await.unwrap();
    assert_eq!(events.rest().await.len(), 3);
    assert_eq!(client.listen(Some(&one.id)).await.rest().await.len(), 3);
    tokio::time::advance(Limits::default().sessions.replay_time + Duration::from_secs(1)).await;
    while client.get(Some(&one.id)).await.status() == 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.get(Some(&one.id)).await.status(), 400);
    assert_eq!(client.send(&call(2, "fast")).await.status, 200);
}

#[tokio::test]
async fn a_stream_is_none_of_another_session() {
    let house = house(Limits::default());
    let client = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    let other = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    let mut events = client.ask(&call(1, "report")).await;
    let (one, _) = events.next().await.unwrap();
    assert_eq!(other.get(Some(&one.id)).await.status(), 400);
    house.desk.gate.add_permits(3);
    assert_eq!(events.rest().await.len(), 3);
}

#[tokio::test]
async fn only_a_notification_cancels() {
    let mut house = house(Limits::default());
    let client = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    let mut events = client.ask(&call(1, "wait")).await;
    assert_eq!(house.seen.recv().await, Some("entered"));
    let cancel = notice("notifications/cancelled", json!({"requestId": 1, "reason": "enough"}));
    assert_eq!(client.send(&cancel).await.status, 202);
    assert_eq!(house.seen.recv().await, Some("left"));
    assert_eq!(events.rest().await, [] as [Value; 0]);
    assert_eq!(client.send(&cancel).await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_lasts_is_ended_where_the_client_comes_back() {
    for revision in Revision::LEGACY {
        let house = house(Limits::default());
        let client = Client::open(&house.service, *revision).await;
        let mut events = client.ask(&call(1, "wait")).await;
        if !Features::of(*revision).priming_event {
            tokio::time::advance(Limits::default().sessions.stream_time * 2).await;
            house.desk.gate.add_permits(1);
            assert_eq!(text(&events.next().await.unwrap().1), "waited");
            continue;
        }
        let first = events.event().await.unwrap();
        let last = events.event().await.unwrap();
        assert_eq!((last.retry.as_str(), last.id.as_str(), &last.data), ("1000", "", &None));
        assert_eq!(events.event().await, None);
        house.desk.gate.add_permits(1);
        assert_eq!(text(&client.listen(Some(&first.id)).await.rest().await[0]), "waited");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_whose_client_never_comes_back_ends_by_its_own_time() {
    let limits = Limits { concurrent_exchanges: 1, ..Limits::default() };
    let mut house = house(limits);
    let client = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    drop(client.ask(&call(1, "wait")).await);
    assert_eq!(house.seen.recv().await, Some("entered"));
    assert_eq!(client.send(&call(2, "fast")).await.status, 503, "its place is taken");
    assert_eq!(house.seen.recv().await, Some("left"));
    while client.send(&call(2, "fast")).await.status == 503 {
        tokio::task::yield_now().await;
    }
}

/// What has no time of its own lasts as long as somebody reads what it says.
#[tokio::test(start_paused = true)]
async fn a_handler_without_a_timeout_ends_when_nobody_has_come_back_for_long() {
    let limits = Limits { concurrent_exchanges: 2, handler_timeout: None, ..Limits::default() };
    let mut house = house(limits);
    for revision in Revision::LEGACY {
        let client = Client::open(&house.service, *revision).await;
        let mut events = client.ask(&call(1, "report")).await;
        assert_eq!(house.seen.recv().await, Some("entered"));
        let (last, _) = events.next().await.unwrap();
        if !Features::of(*revision).priming_event {
            tokio::time::advance(Limits::default().sessions.idle * 3).await;
            assert!(events.is_silent().await && house.seen.try_recv().is_err(), "somebody reads");
        }
        drop(events);
        assert_eq!(house.seen.recv().await, Some("left"));
        assert_eq!(client.get(Some(&last.id)).await.status(), 400);
    }
}

#[tokio::test]
async fn a_question_is_asked_on_the_stream_and_answered_beside_it() {
    for revision in Revision::LEGACY.iter().filter(|revision| Features::of(**revision).elicitation) {
        let house = house(Limits::default());
        let client = Client::open(&house.service, *revision).await;
        let mut events = client.ask(&call(1, "confirm")).await;
        let (event, question) = events.next().await.unwrap();
        assert_eq!(question["method"], "elicitation/create");
        // The connection breaks while the person thinks.
        drop(events);
        let result = json!({"action": "accept", "content": {"ok": true}});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        assert_eq!(client.send(&answer).await.status, 202);
        let said = client.listen(Some(&event.id)).await.rest().await;
        assert_eq!(said.iter().map(text).collect::<Vec<_>>(), ["confirmed true"]);
        assert_eq!(client.send(&answer).await.status, 202, "it is late, which is no mistake");
    }
}

#[tokio::test]
async fn changes_are_heard_on_the_stream_of_the_session() {
    for revision in Revision::LEGACY {
        let house = house(Limits::default());
        let notifier = house.server.notifier();
        let client = Client::open(&house.service, *revision).await;
        let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "note://1"}});
        assert_eq!(client.send(&subscribe).await.status, 200);
        let mut events = client.listen(None).await;
        let heard = async |events: &mut super::client::Events| events.next().await.unwrap();
        assert!(events.is_silent().await, "nothing happened yet");
        notifier.tools_changed();
        let (first, message) = heard(&mut events).await;
        assert_eq!(message["method"], "notifications/tools/list_changed");
        notifier.resource_updated("note://2");
        notifier.resource_updated("note://1");
        let (_, message) = heard(&mut events).await;
        assert_eq!(message["params"]["uri"], "note://1");
        // What happens while nobody listens is told to whoever listens next, and what was told before that.
        drop(events);
        notifier.resources_changed();
        let mut events = client.listen(Some(&first.id)).await;
        assert_eq!(heard(&mut events).await.1["params"]["uri"], "note://1");
        assert_eq!(heard(&mut events).await.1["method"], "notifications/resources/list_changed");
        // A second stream takes the place of the first.
        let mut second = client.listen(None).await;
        assert_eq!(events.next().await, None);
        notifier.tools_changed();
        assert_eq!(heard(&mut second).await.1["method"], "notifications/tools/list_changed");
        assert_eq!(client.end().await, 204);
        assert_eq!(second.next().await, None);
    }
}

#[tokio::test]
async fn a_stream_of_notices_that_another_process_knew_is_opened_anew() {
    let (one, two) = (house(Limits::default()), house(Limits::default()));
    let mut client = Client::open(&one.service, Revision::NEWEST_LEGACY).await;
    let mut events = client.listen(None).await;
    let id = events.event().await.unwrap().id;
    client.service = two.service.clone();
    let mut events = client.listen(Some(&id)).await;
    assert_ne!(events.event().await.unwrap().id, id);
    assert!(events.is_silent().await);
    two.server.notifier().tools_changed();
    assert_eq!(events.next().await.unwrap().1["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn ending_a_session_ends_what_runs_in_it() {
    let mut house = house(Limits::default());
    let client = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    let mut events = client.ask(&call(1, "wait")).await;
    let mut notices = client.listen(None).await;
    assert_eq!(house.seen.recv().await, Some("entered"));
    assert_eq!(client.end().await, 204);
    assert_eq!(house.seen.recv().await, Some("left"));
    assert_eq!(events.rest().await.len() + notices.rest().await.len(), 0);
    assert_eq!(client.send(&call(2, "fast")).await.status, 404);
}

#[tokio::test]
async fn a_shutdown_ends_notices_at_once_and_lets_answers_come() {
    let mut house = house(Limits::default());
    let client = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    let mut events = client.ask(&call(1, "wait")).await;
    let mut notices = client.listen(None).await;
    assert_eq!(house.seen.recv().await, Some("entered"));
    house.service.end_subscriptions();
    assert_eq!(notices.rest().await.len(), 0);
    assert_eq!(client.listen(None).await.rest().await.len(), 0, "nothing is listened to any more");
    house.desk.gate.add_permits(1);
    assert_eq!(text(&events.rest().await[0]), "waited");
}

#[tokio::test]
async fn what_runs_without_a_client_is_dropped_with_the_service() {
    let mut house = house(Limits::default());
    let client = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    drop(client.ask(&call(1, "wait")).await);
    assert_eq!(house.seen.recv().await, Some("entered"));
    drop(client);
    drop(house.service);
    assert_eq!(house.seen.recv().await, Some("left"));
}

#[tokio::test]
async fn a_batch_that_waits_is_one_stream() {
    let mut house = house(Limits::default());
    let revision = Revision::FIRST_STREAMABLE_HTTP;
    let client = Client::open(&house.service, revision).await;
    let batch = json!([call(1, "wait"), call(2, "fast"), call(3, "wait"), call(4, "nobody")]);
    let mut events = Box::pin(client.ask(&batch)).await;
    let ready = [events.next().await.unwrap().1["id"].clone(), events.next().await.unwrap().1["id"].clone()];
    assert!(ready.contains(&json!(2)) && ready.contains(&json!(4)), "{ready:?}");
    assert_eq!(house.seen.recv().await, Some("entered"));
    let cancel = notice("notifications/cancelled", json!({"requestId": 1}));
    assert_eq!(client.send(&cancel).await.status, 202);
    house.desk.gate.add_permits(1);
    let said = events.rest().await;
    assert_eq!((said.len(), &said[0]["id"]), (1, &json!(3)));
}

#[tokio::test]
async fn the_messages_of_a_batch_take_a_place_each() {
    let house = house(Limits { concurrent_exchanges: 8, ..Limits::default() });
    let client = Client::open(&house.service, Revision::FIRST_STREAMABLE_HTTP).await;
    let batch = json!([call(1, "wait"), call(2, "wait"), call(3, "wait")]);
    let mut events = client.ask(&batch).await;
    let (_, refused) = events.next().await.unwrap();
    assert_eq!((&refused["id"], refused["error"]["code"].as_i64()), (&json!(3), Some(-32603)));
    house.desk.gate.add_permits(2);
    assert_eq!(events.rest().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive() {
    let house = house(Limits::default());
    let client = Client::open(&house.service, Revision::FIRST_STREAMABLE_HTTP).await;
    let response = answer(&house.service, client.post(&call(1, "wait"))).await;
    let mut body = response.into_body();
    for _ in 0..3 {
        let chunk = http_body_util::BodyExt::frame(&mut body).await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(&chunk[..], b": \n\n");
    }
}

#[tokio::test]
async fn a_shutdown_drops_what_runs_without_a_connection() {
    let mut house = house(Limits::default());
    let serving = house.server.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    // Both are of one server, and so of the same keys.
    let client = Client::open(&house.service, Revision::NEWEST_LEGACY).await;
    let body = call(1, "wait").to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nmcp-session-id: {}\r\n\
         content-length: {}\r\n\r\n",
        client.session,
        body.len()
    );
    connection.write_all((head + &body).as_bytes()).await.unwrap();
    assert_eq!(house.seen.recv().await, Some("entered"));
    drop(connection);
    tokio::time::timeout(Duration::from_secs(60), serving.shutdown(Duration::from_secs(120))).await.unwrap();
    assert_eq!(house.seen.try_recv(), Ok("left"));
}
