//! Callers at the same time: whose an id is, and who sees what.

use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_server::{Caller, CallerId, Eras, Item, Limits, Principal, Server, Tool};

use super::client::{Client, Events, Got, call, initialize, notice, request};
use super::desk::server;
use crate::endpoint::answer;

/// Requests that are told apart by their ids' types and values.
fn ids() -> [Value; 5] {
    [json!(1), json!("1"), json!(""), json!(0), json!(9_007_199_254_740_993_i64)]
}

fn call_as(id: &Value, tool: &str) -> Value {
    let mut message = call(0, tool);
    message["id"] = id.clone();
    message
}

fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no result: {message}"))
}

#[tokio::test]
async fn sessions_that_use_the_same_id_never_meet() {
    for revision in Revision::LEGACY {
        for id in ids() {
            let (server, desk, mut seen) = server(Eras::ALL, Limits::default());
            let service = server.http().into_service();
            let (one, two) =
                (Client::open(&service, *revision).await, Client::open(&service, *revision).await);
            let mut waiting = one.ask(&call_as(&id, "wait")).await;
            assert_eq!(seen.recv().await, Some("entered"));
            let got = two.send(&call_as(&id, "fast")).await;
            assert_eq!((text(&got.messages()[0]), &got.messages()[0]["id"]), ("quick", &id), "{revision}");
            // Nor does the other's cancellation of that id.
            let cancel = notice("notifications/cancelled", json!({"requestId": id}));
            assert_eq!(two.send(&cancel).await.status, 202);
            desk.gate.add_permits(1);
            let said = waiting.rest().await;
            assert_eq!((text(&said[0]), &said[0]["id"]), ("waited", &id), "{revision}");
        }
    }
}

#[tokio::test]
async fn in_one_session_the_second_of_an_id_is_refused_at_once_and_the_first_goes_on() {
    for revision in Revision::LEGACY {
        let (server, desk, mut seen) = server(Eras::ALL, Limits::default());
        let client = Client::open(&server.http().into_service(), *revision).await;
        let mut waiting = client.ask(&call(1, "wait")).await;
        assert_eq!(seen.recv().await, Some("entered"));
        for tool in ["fast", "wait", "report"] {
            let refused = client.send(&call(1, tool)).await.messages().remove(0);
            assert_eq!(
                (&refused["id"], &refused["error"]["code"]),
                (&json!(1), &json!(-32_600)),
                "{refused}"
            );
            assert!(refused["error"]["message"].as_str().unwrap().contains("in flight"), "{refused}");
        }
        // The same number as a text is another id.
        assert_eq!(text(&client.send(&call_as(&json!("1"), "fast")).await.messages()[0]), "quick");
        desk.gate.add_permits(1);
        assert_eq!(waiting.rest().await.iter().map(text).collect::<Vec<_>>(), ["waited"]);
        assert_eq!(text(&client.send(&call(1, "fast")).await.messages()[0]), "quick");
    }
}

#[tokio::test]
async fn odd_cancellations_in_a_session_end_nothing() {
    for revision in Revision::LEGACY {
        let (server, desk, mut seen) = server(Eras::ALL, Limits::default());
        let client = Client::open(&server.http().into_service(), *revision).await;
        let mut waiting = client.ask(&call(5, "wait")).await;
        assert_eq!(seen.recv().await, Some("entered"));
        let params =
            [json!({"requestId": 999}), json!({"requestId": "5"}), json!({"requestId": null}), json!({})];
        for params in params {
            assert_eq!(client.send(&notice("notifications/cancelled", params)).await.status, 202);
        }
        let bare = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
        assert_eq!(client.send(&bare).await.status, 202);
        desk.gate.add_permits(1);
        assert_eq!(text(&waiting.rest().await[0]), "waited", "{revision}");
    }
}

/// A stream of HTTP+SSE with an open session, and the address that is sent to.
async fn stream(service: &switchboard_server::HttpService) -> (Events, String) {
    let opened = answer(service, request("GET", "/sse", &[("accept", "text/event-stream")], "")).await;
    let mut events = Events::new(opened);
    let address = format!("/{}", events.event().await.unwrap().data.unwrap());
    assert_eq!(send(service, &address, &initialize(Revision::NEWEST_LEGACY)).await, 202);
    assert_eq!(events.next().await.unwrap().1["id"], 0);
    (events, address)
}

async fn send(service: &switchboard_server::HttpService, address: &str, message: &Value) -> u16 {
    let post =
        request("POST", address, &[("content-type", "application/json ; charset=utf8")], message.to_string());
    let got = Got::read(answer(service, post).await).await;
    assert_eq!((got.kind(), got.body.len()), ("", 0), "{got:?}");
    got.status
}

#[tokio::test]
async fn streams_that_use_the_same_id_never_meet() {
    let (server, desk, mut seen) = server(Eras::ALL, Limits::default());
    let service = server.http().into_service();
    let (mut one, to_one) = stream(&service).await;
    let (mut two, to_two) = stream(&service).await;
    for id in ids() {
        assert_eq!(send(&service, &to_one, &call_as(&id, "wait")).await, 202);
        assert!(one.is_silent().await);
        assert_eq!(seen.recv().await, Some("entered"));
        assert_eq!(send(&service, &to_two, &call_as(&id, "fast")).await, 202);
        let (_, heard) = two.next().await.unwrap();
        assert_eq!((text(&heard), &heard["id"]), ("quick", &id));
        // On its own stream it is in flight.
        assert_eq!(send(&service, &to_one, &call_as(&id, "fast")).await, 202);
        assert_eq!(one.next().await.unwrap().1["error"]["code"], -32_600);
        desk.gate.add_permits(1);
        let (_, heard) = one.next().await.unwrap();
        assert_eq!((text(&heard), &heard["id"]), ("waited", &id));
        assert_eq!(seen.recv().await, Some("left"));
    }
}

/// A caller sees what is named after it.
#[derive(Clone)]
struct Name(&'static str);

fn by_name(caller: &Caller<'_>, item: &Item<'_>) -> bool {
    caller.principal::<Name>().is_some_and(|name| item.name().starts_with(name.0))
}

fn visible() -> Server {
    Server::builder("visible", "1")
        .authenticated::<Name>()
        .limits(Limits { page_size: 1, ..Limits::default() })
        .tool(Tool::new("alice", async || "for alice").visible(by_name))
        .tool(Tool::new("alice_too", async || "for alice").visible(by_name))
        .tool(Tool::new("bob", async || "for bob").visible(by_name))
        .tool(Tool::new("bob_too", async || "for bob").visible(by_name))
        .build(())
        .unwrap()
}

#[tokio::test]
async fn each_caller_sees_its_own_list_however_often_the_others_ask() {
    let service = visible().http().into_service();
    for revision in Revision::LEGACY {
        let ask = async |name: &'static str, session: Option<&str>, message: &Value| {
            let mut headers =
                vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
            headers.extend(session.map(|id| ("mcp-session-id", id)));
            let mut post = request("POST", "/mcp", &headers, message.to_string());
            post.extensions_mut().insert(CallerId(name.to_owned()));
            post.extensions_mut().insert(Principal(Name(name)));
            Got::read(answer(&service, post).await).await
        };
        let mut sessions = Vec::new();
        for name in ["alice", "bob"] {
            let opened = ask(name, None, &initialize(*revision)).await;
            sessions.push((name, opened.headers["mcp-session-id"].to_str().unwrap().to_owned()));
        }
        let mut cursor = json!("nobody's");
        for _ in 0..3 {
            for (name, session) in &sessions {
                let list = |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
                // A page of the other's list.
                let refused =
                    ask(name, Some(session), &list(json!({"cursor": cursor}))).await.messages().remove(0);
                assert_eq!(refused["error"]["code"], -32_602, "{revision}: {refused}");
                let listed = ask(name, Some(session), &list(json!({}))).await.messages().remove(0);
                let tools = listed["result"]["tools"].as_array().unwrap();
                assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!(name)), "{revision}");
                cursor = listed["result"]["nextCursor"].clone();
                let rest =
                    ask(name, Some(session), &list(json!({"cursor": cursor}))).await.messages().remove(0);
                assert_eq!(rest["result"]["tools"][0]["name"], format!("{name}_too"), "{revision}: {rest}");
                assert_eq!(rest["result"].get("nextCursor"), None);
                for tool in ["alice", "bob"] {
                    let answered = ask(name, Some(session), &call(2, tool)).await.messages().remove(0);
                    match tool == *name {
                        true => assert_eq!(text(&answered), format!("for {name}"), "{revision}"),
                        false => assert_eq!(answered["error"]["code"], -32_602, "{revision}: {answered}"),
                    }
                }
            }
        }
    }
}
