//! Endpoints that refuse: what is retried, what is learned, what is reported.

use serde_json::{Value, json};
use switchboard_llm::scripted::{Expect, Turn};
use switchboard_llm::{ChatModel, ChatRequest, ModelAnswer, ModelError, ToolChoice, Warning};

use crate::support::{model, question, serve};

async fn ask(turns: Vec<Turn>, request: ChatRequest) -> (Result<ModelAnswer, ModelError>, Vec<Value>) {
    let server = serve(turns).await;
    let result = ModelAnswer::collect(model(&server).chat(request)).await;
    server.verify().unwrap();
    (result, server.chats())
}

fn busy(status: u16) -> Turn {
    Turn::fail(status, json!({ "error": { "message": "busy", "code": "overloaded" } }))
}

fn after(turn: Turn, delay: &str) -> Turn {
    Turn { headers: [("retry-after".to_owned(), delay.to_owned())].into(), ..turn }
}

#[tokio::test]
async fn what_may_go_better_next_time_is_sent_again_a_bounded_number_of_times() {
    for status in [408, 429, 500, 502, 503, 504, 529] {
        let (result, chats) = ask(vec![busy(status), busy(status), Turn::say("ok")], question()).await;
        let answer = result.unwrap();
        assert_eq!(answer.text, "ok");
        assert_eq!(answer.warnings.len(), 2, "each retry is told");
        assert!(chats[0] == chats[1] && chats[1] == chats[2], "the same request again");

        let (result, _) = ask(vec![busy(status), busy(status), busy(status)], question()).await;
        let error = result.unwrap_err();
        assert_eq!(error.status(), Some(status));
        assert!(error.to_string().contains(&format!("{status}: busy (overloaded)")), "{error}");
    }
}

#[tokio::test]
async fn what_cannot_go_better_is_reported_at_once_with_what_to_do() {
    for (turn, contains) in [
        (Turn::fail(400, json!({ "error": "bad schema" })), "bad schema"),
        (Turn::fail(401, json!({ "error": { "message": "no key" } })), "check the API key"),
        (Turn::fail(404, json!({ "detail": "Not Found" })), "check the base URL and the model's name"),
        (Turn::fail(413, json!("too long")), "start a new one"),
        (Turn::fail(418, json!(null)), "no reason given"),
        (Turn::fail(302, json!("")), "redirects"),
        (
            Turn::fail(429, json!({ "error": { "message": "pay", "code": "insufficient_quota" } })),
            "check the account's quota",
        ),
        (after(busy(429), "3600"), "wait, or use another model"),
        (Turn::fail(503, json!("<html>down</html>")), "web page"),
    ] {
        let turns =
            if turn.status == Some(503) { vec![turn.clone(), turn.clone(), turn] } else { vec![turn] };
        let (result, _) = ask(turns, question()).await;
        let error = result.unwrap_err();
        assert!(error.to_string().contains(contains), "{error}");
    }
}

#[tokio::test]
async fn the_error_carries_the_delay_that_was_too_long_to_wait() {
    let (result, _) = ask(vec![after(busy(429), "3600")], question()).await;
    let error = result.unwrap_err();
    assert!(error.is_rate_limited());
    assert_eq!(error.retry_after().unwrap().as_secs(), 3600);
}

#[tokio::test]
async fn the_endpoints_own_delay_is_taken() {
    let (result, _) = ask(vec![after(busy(503), "7"), Turn::say("ok")], question()).await;
    let [Warning::Retrying { reason }] = &result.unwrap().warnings[..] else { panic!("one retry is told") };
    assert!(reason.contains("503") && reason.contains("7.0 s"), "{reason}");
}

#[tokio::test]
async fn options_that_are_rejected_are_learned_once_and_left_out_from_then_on() {
    let request = ChatRequest {
        tool_choice: ToolChoice::Required,
        parallel_tool_calls: Some(false),
        temperature: Some(0.5),
        max_tokens: Some(9),
        ..question()
    };
    let named = |name: &str| json!({ "error": { "message": format!("Unsupported parameter: '{name}'.") } });
    for (option, status, body) in [
        ("stream_options", 400, named("stream_options")),
        (
            "parallel_tool_calls",
            422,
            json!({ "detail": [{ "loc": ["body", "parallel_tool_calls"], "msg": "extra fields not permitted" }] }),
        ),
        ("tool_choice", 500, json!({ "error": { "message": "", "code": null } })),
        ("tool_choice", 400, named("tool_choice")),
        ("temperature", 400, named("temperature")),
        ("max_tokens", 400, named("max_tokens")),
    ] {
        let expecting = |has: bool, turn: Turn| {
            let name = vec![option.to_owned()];
            let expect = if has {
                Expect { has: name, ..Expect::default() }
            } else {
                Expect { lacks: name, ..Expect::default() }
            };
            Turn { expect, ..turn }
        };
        let server = serve(vec![
            expecting(true, Turn::fail(status, body)),
            expecting(false, Turn::say("ok")),
            expecting(false, Turn::say("ok")),
        ])
        .await;
        let model = model(&server);
        let first = ModelAnswer::collect(model.chat(request.clone())).await.unwrap();
        assert_eq!(first.warnings, [Warning::OptionDropped { option }]);
        let second = ModelAnswer::collect(model.chat(request.clone())).await.unwrap();
        assert_eq!(second.warnings, []);
        server.verify().unwrap();
        let last = server.chats().pop().unwrap();
        assert_eq!(last.get("max_completion_tokens").is_some(), option == "max_tokens");
    }
}

#[tokio::test]
async fn an_endpoint_that_rejects_one_option_after_the_other_is_still_bounded() {
    let reject =
        |name: &str| Turn::fail(400, json!({ "error": format!("no {name}, no temperature, please") }));
    let request = ChatRequest { temperature: Some(0.5), tool_choice: ToolChoice::Required, ..question() };
    let turns = vec![reject("stream_options"), reject("tool_choice"), reject("x"), reject("x")];
    let server = serve(turns).await;
    let error = ModelAnswer::collect(model(&server).chat(request)).await.unwrap_err();
    assert_eq!(error.status(), Some(400));
    assert!(server.chats().len() <= 4);
}
