//! Input rounds: what is answered, what is given back, where they end, and what is refused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::{Answer, Client, ClientBuilder, Delivery, ElicitReply, Limits, Refused};
use switchboard_protocol::model::content::Role;
use switchboard_protocol::model::roots::Root;
use switchboard_protocol::model::sampling::{CreateMessageResult, OneOrMany, SamplingContent};
use switchboard_testkit::scripted_http::{Received, Reply, ScriptedHttp};

use crate::support::{builder, connect, server, text_result};

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
async fn a_state_alone_is_given_back_unchanged_under_a_new_id() {
    let state = "s1 \u{e9}\"\\/\n=";
    let (outcome, asked) = call(builder(), vec![state_only(state), done()]).await;
    outcome.unwrap();
    assert_eq!(asked[1].params()["requestState"], state);
    assert_ne!(asked[0].json()["id"], asked[1].json()["id"]);
    assert_eq!(asked[0].params()["arguments"], asked[1].params()["arguments"]);
    for absent in ["inputResponses", "requestState"] {
        assert_eq!(asked[0].params().get(absent), None);
    }
    assert_eq!(asked[1].params().get("inputResponses"), None);
}

#[tokio::test]
async fn the_answers_of_a_round_go_back_by_key_with_defaults_filled_in() {
    let (builder, count) = person(ElicitReply::Accept(json!({"ok": true})));
    let (outcome, asked) = call(builder, vec![asks(Some("s")), asks(None), done()]).await;
    outcome.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let expected = json!({"q1": {"action": "accept", "content": {"ok": true, "note": "none"}}});
    assert_eq!(asked[1].params()["inputResponses"], expected);
    assert_eq!(asked[1].params()["requestState"], "s");
    // No state was given with the second question, so none goes back.
    assert_eq!(asked[2].params().get("requestState"), None);
}

#[tokio::test]
async fn refusing_is_an_answer() {
    for (reply, action) in [(ElicitReply::Decline, "decline"), (ElicitReply::Cancel, "cancel")] {
        let (outcome, asked) = call(person(reply).0, vec![asks(Some("s")), done()]).await;
        outcome.unwrap();
        assert_eq!(asked[1].params()["inputResponses"], json!({"q1": {"action": action}}));
    }
}

#[tokio::test]
async fn as_many_rounds_as_the_limit_allows_are_followed_and_not_one_more() {
    let limited = |rounds| {
        let mut limits = Limits::default();
        limits.rounds = rounds;
        builder().limits(limits)
    };
    let three = || vec![state_only("1"), state_only("2"), state_only("3")];
    let (outcome, asked) = call(limited(3), [three(), vec![done()]].concat()).await;
    outcome.unwrap();
    assert_eq!(asked.len(), 4);

    let (outcome, asked) = call(limited(2), three()).await;
    let error = outcome.unwrap_err();
    assert!(error.to_string().contains("not complete after 2 rounds"), "{error}");
    assert_eq!((asked.len(), error.delivery()), (3, Delivery::MaybeExecuted));
}

#[tokio::test]
async fn a_question_that_breaks_the_rules_is_the_servers_fault_and_nobody_is_asked() {
    let url = json!({"mode": "url", "message": "m", "url": "https://example.com"});
    let sampling = json!({"messages": [], "maxTokens": 5});
    let two = json!({"resultType": "input_required", "inputRequests": {
        "a": {"method": "elicitation/create", "params": form()},
        "b": {"method": "roots/list"}}});
    for (reply, shown) in [
        (Reply::result(&json!({"resultType": "input_required"})), "neither inputRequests nor requestState"),
        (question(None, "elicitation/create", url), "elicitation (url)"),
        (question(None, "sampling/createMessage", sampling), "sampling"),
        (question(None, "roots/list", json!({})), "roots"),
        (question(None, "tools/list", json!({})), "tools/list"),
        // One that may be asked does not save one that may not.
        (Reply::result(&two), "roots"),
    ] {
        let (builder, count) = person(ElicitReply::Decline);
        let (outcome, asked) = call(builder, vec![reply]).await;
        let error = outcome.unwrap_err();
        assert!(error.is_server_fault() && error.to_string().contains(shown), "{error}");
        assert_eq!((count.load(Ordering::Relaxed), asked.len()), (0, 1));
    }
    let (outcome, _) = call(builder(), vec![asks(None)]).await;
    assert!(outcome.unwrap_err().to_string().contains("elicitation (form)"));
}

#[tokio::test]
async fn a_question_on_a_method_that_allows_none_is_the_servers_fault() {
    let server =
        ScriptedHttp::play([("tools/list", asks(Some("s"))), ("completion/complete", state_only("s"))])
            .await
            .always("server/discover", Reply::result(&crate::support::discovered()));
    let (builder, count) = person(ElicitReply::Decline);
    let client = builder.http(server.url()).await.unwrap();
    let error = client.tools().await.unwrap_err();
    assert!(
        error.is_server_fault() && error.to_string().contains("tools/list, which does not allow it"),
        "{error}"
    );
    let of = serde_json::from_value(json!({"type": "ref/prompt", "name": "p"})).unwrap();
    let error = client.complete(&of, "a", "", None).await.unwrap_err();
    assert!(error.is_server_fault(), "{error}");
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_unknown_result_type_is_invalid_and_an_absent_one_is_complete() {
    let (outcome, _) = call(builder(), vec![Reply::result(&json!({"resultType": "stream_later"}))]).await;
    let error = outcome.unwrap_err();
    assert!(error.is_server_fault() && error.to_string().contains("stream_later"), "{error}");
    let (outcome, _) = call(builder(), vec![Reply::result(&json!({"content": []}))]).await;
    outcome.unwrap();
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

#[tokio::test]
async fn a_result_that_input_went_into_is_not_kept() {
    let contents = || {
        Reply::result(
            &json!({"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private", "contents": []}),
        )
    };
    let server = server([
        ("resources/read", state_only("s")),
        ("resources/read", contents()),
        ("resources/read", contents()),
    ])
    .await;
    let client = connect(&server).await;
    client.read("x://1").await.unwrap();
    client.read("x://1").await.unwrap();
    client.read("x://1").await.unwrap();
    server.finish();
}
