//! Input rounds as a host sees them. What goes over the wire is a script (`tests/data/questions.json`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::{
    Answer, Client, ClientBuilder, CreateMessageResult, ElicitReply, OneOrMany, Refused, Role, Root,
    SamplingContent,
};
use switchboard_testkit::scripted_http::{Received, Reply};

use crate::support::{answer, builder, connect, discovered, pipe_server, server, text_result};

fn done() -> Reply {
    Reply::result(&text_result("done"))
}

fn state_only(state: &str) -> Reply {
    Reply::result(&json!({"resultType": "input_required", "requestState": state}))
}

fn question(state: Option<&str>, method: &str, params: Value) -> Reply {
    let mut result = json!({"resultType": "input_required",
                            "inputRequests": {"q1": {"method": method, "params": params}}});
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    Reply::result(&result)
}

fn form() -> Value {
    json!({"mode": "form", "message": "Sure?", "requestedSchema": {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}, "note": {"type": "string", "default": "none"}},
        "required": ["ok", "note"]}})
}

fn asks(state: Option<&str>) -> Reply {
    question(state, "elicitation/create", form())
}

/// A builder whose person says `reply`, and how often they were asked.
fn person(reply: ElicitReply) -> (ClientBuilder, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let builder = builder().on_elicit(move |form| {
        assert_eq!(form.message, "Sure?");
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(reply.clone())
    });
    (builder, asked)
}

async fn call(
    builder: ClientBuilder,
    replies: Vec<Reply>,
) -> (Result<(), switchboard_client::Error>, Vec<Received>) {
    let server = server(replies.into_iter().map(|reply| ("tools/call", reply))).await;
    let client = builder.http(server.url()).await.unwrap();
    let outcome = client.call("f", &json!({"a": 1})).await.map(drop);
    let asked = server.asked("tools/call");
    server.finish();
    (outcome, asked)
}

#[tokio::test]
async fn each_state_goes_to_its_own_request_only() {
    let server = server([
        ("tools/call", state_only("of $id")),
        ("tools/call", state_only("of $id")),
        ("tools/call", done()),
        ("tools/call", done()),
        ("resources/read", Reply::result(&json!({"resultType": "complete", "contents": []}))),
    ])
    .await;
    let client = connect(&server).await;
    client.tools().await.unwrap();
    let (one, two) = (json!({"n": 1}), json!({"n": 2}));
    let (first, second) = tokio::join!(client.call("f", &one), client.call("f", &two));
    first.unwrap();
    second.unwrap();
    client.read("x://1").await.unwrap();
    let asked = server.asked("tools/call");
    for retry in &asked[2..] {
        let of = asked[..2].iter().find(|first| first.params()["arguments"] == retry.params()["arguments"]);
        assert_eq!(retry.params()["requestState"], format!("of {}", of.unwrap().json()["id"]));
    }
    assert_eq!(server.asked("resources/read")[0].params().get("requestState"), None);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_form_is_not_sent() {
    for (content, shown) in [
        (json!({}), "\"ok\" is required"),
        (json!({"ok": "yes"}), "must be true or false"),
        (json!({"ok": true, "other": 1}), "no field \"other\""),
        (json!([true]), "an object of its fields"),
    ] {
        let (outcome, asked) = call(person(ElicitReply::Accept(content)).0, vec![asks(None)]).await;
        let error = outcome.unwrap_err();
        assert!(error.to_string().contains(shown) && !error.is_server_fault(), "{error}");
        assert_eq!(asked.len(), 1);
    }
}

#[tokio::test]
async fn every_kind_of_question_is_declared_by_its_handler_and_answered() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let builder = builder()
        .on_elicit_url(move |url| {
            log.lock().unwrap().push(url.url);
            std::future::ready(ElicitReply::Accept(Value::Null))
        })
        .on_sampling(|asked| async move {
            assert_eq!(asked.max_tokens, 5);
            Ok(CreateMessageResult {
                role: Role::Assistant,
                content: OneOrMany::One(SamplingContent::text("Paris")),
                model: "m".into(),
                stop_reason: None,
                meta: None,
            })
        })
        .on_roots(|| async { vec![Root { uri: "file:///w".into(), ..Root::default() }] });
    let asks = json!({"resultType": "input_required", "inputRequests": {
        "u": {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://e.com/x"}},
        "s": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
        "r": {"method": "roots/list"}}});
    let (outcome, asked) = call(builder, vec![Reply::result(&asks), done()]).await;
    outcome.unwrap();
    let declared = &asked[0].params()["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*declared, json!({"roots": {}, "sampling": {}, "elicitation": {"url": {}}}));
    assert_eq!(
        asked[1].params()["inputResponses"],
        json!({
            "u": {"action": "accept"},
            "s": {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"},
            "r": {"roots": [{"uri": "file:///w"}]}
        })
    );
    assert_eq!(*seen.lock().unwrap(), ["https://e.com/x"]);
}

#[tokio::test]
async fn a_refused_request_to_a_model_ends_the_call() {
    let builder = builder().on_sampling(|_| async { Err(Refused("the person said no".into())) });
    let sampling = json!({"messages": [], "maxTokens": 5});
    let (outcome, _) = call(builder, vec![question(None, "sampling/createMessage", sampling)]).await;
    let error = outcome.unwrap_err();
    assert!(error.is_cancelled() && error.to_string().contains("the person said no"), "{error}");
}

#[tokio::test]
async fn a_host_may_gather_the_answers_itself() {
    let server =
        server([("tools/call", state_only("r")), ("tools/call", asks(Some("s"))), ("tools/call", done())])
            .await;
    let client: Client = person(ElicitReply::Cancel).0.http(server.url()).await.unwrap();
    let raw = client.call("f", &()).once().raw().await.unwrap();
    assert_eq!(raw.get(), r#"{"requestState":"r","resultType":"input_required"}"#);
    let Answer::InputRequired(asked) = client.call("f", &()).once().await.unwrap() else {
        panic!("no question")
    };
    assert!(asked.input_requests.unwrap().contains_key("q1"));
    let answer = serde_json::value::to_raw_value(&json!({"action": "decline"})).unwrap();
    let answers = [("q1".to_owned(), answer)].into();
    let resumed = client.call("f", &()).with_input(Some(answers), asked.request_state).once().await.unwrap();
    assert!(matches!(resumed, Answer::Complete(_)));
    let retry = &server.asked("tools/call")[2].params();
    assert_eq!(retry["inputResponses"], json!({"q1": {"action": "decline"}}));
    assert_eq!(retry["requestState"], "s");
    server.finish();
}

/// The second of two calls is answered before the first, in each of their rounds.
#[tokio::test]
async fn states_that_arrive_crossed_on_one_pipe_go_to_their_own_calls() {
    let mut waiting: Option<Value> = None;
    let (pipe, heard) = pipe_server(move |message| {
        if message["method"] == "server/discover" {
            return Some(vec![answer(message, &discovered())]);
        }
        let Some(first) = waiting.take() else {
            waiting = Some(message.clone());
            return Some(vec![]);
        };
        let reply = |request: &Value| {
            let text = request["params"]["arguments"]["n"].to_string();
            let result = match request["params"].get("requestState") {
                None => json!({"resultType": "input_required", "requestState": format!("of {text}")}),
                Some(state) => text_result(&format!("{text} {}", state.as_str().unwrap())),
            };
            answer(request, &result)
        };
        Some(vec![reply(message), reply(&first)])
    });
    let client = builder().pipe(pipe).await.unwrap();
    let (one, two) = (json!({"n": 1}), json!({"n": 2}));
    let (first, second) = tokio::join!(client.call("f", &one), client.call("f", &two));
    for (result, expected) in [(first, "1 of 1"), (second, "2 of 2")] {
        assert!(serde_json::to_string(&result.unwrap()).unwrap().contains(expected), "{expected}");
    }
    assert_eq!(heard.lock().unwrap().len(), 5);
}
