//! Whole conversations, as a host leads them.

use serde_json::json;
use switchboard_llm::scripted::{Script, ScriptedModel, Turn};
use switchboard_llm::{ChatModel, Finish, Message, ModelAnswer, OpenAiModel};

use crate::support::{KEY, config, model, question, serve};

/// Leads a conversation until the model makes no call, answering each call with its arguments.
async fn converse(model: &OpenAiModel) -> (Vec<Message>, String) {
    let mut request = question();
    loop {
        let answer = ModelAnswer::collect(model.chat(request.clone())).await.unwrap();
        if answer.tool_calls.is_empty() {
            return (request.messages, answer.text);
        }
        assert_eq!(answer.finish, Finish::ToolCalls);
        let calls = answer.tool_calls.clone();
        request.messages.push(answer.into_message());
        request.messages.extend(calls.iter().map(|call| Message::tool(&call.id, &call.arguments)));
    }
}

#[tokio::test]
async fn reused_ids_are_answered_once_each_and_stay_unique_on_the_wire() {
    let script = Script::from_json(include_str!("../data/scripts/reused-ids.json")).unwrap();
    let server = ScriptedModel::start(script).await.unwrap();
    let (messages, text) = converse(&model(&server)).await;
    assert_eq!(text, "All done.");
    server.verify().unwrap();

    let answers: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(answers, ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}", "{}"]);

    let last = server.chats().pop().unwrap();
    let wire = last["messages"].as_array().unwrap();
    let ids = |pointer: &str| -> Vec<String> {
        wire.iter()
            .filter_map(|message| message.pointer(pointer).and_then(|id| id.as_str()).map(str::to_owned))
            .collect()
    };
    let answered = ids("/tool_call_id");
    let asked: Vec<String> = wire
        .iter()
        .flat_map(|message| message["tool_calls"].as_array().cloned().unwrap_or_default())
        .map(|call| call["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(asked, answered, "each call is answered under its own id, in order");
    let unique: std::collections::HashSet<&String> = asked.iter().collect();
    assert_eq!(unique.len(), 5, "{asked:?}");
}

#[tokio::test]
async fn no_arguments_go_back_as_an_empty_object() {
    for arguments in [json!(""), json!("  \n"), json!(null), json!("{}"), json!("null")] {
        let server = serve(vec![Turn::call("f", arguments.clone()), Turn::say("ok")]).await;
        converse(&model(&server)).await;
        let last = server.chats().pop().unwrap();
        assert_eq!(
            last.pointer("/messages/1/tool_calls/0/function/arguments"),
            Some(&json!("{}")),
            "{arguments}"
        );
        server.verify().unwrap();
    }
}

#[tokio::test]
async fn an_endpoint_may_answer_without_a_stream() {
    for stream in [true, false] {
        let server = serve(vec![Turn::call("f", json!({ "p": 1 })), Turn::say("Two words.")]).await;
        let mut config = config(&server);
        config.stream = stream;
        let (messages, text) = converse(&OpenAiModel::new(config).unwrap()).await;
        assert_eq!(text, "Two words.");
        assert_eq!(messages[2], Message::tool("call_1_1", "{\"p\":1}"));
        assert!(server.chats().iter().all(|chat| chat["stream"] == stream));
    }
}

#[tokio::test]
async fn thinking_goes_back_within_its_round_to_the_endpoint_that_sent_it() {
    let thought = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
        "reasoning": "Hmm.", "tool_calls": [{ "id": "a", "function": { "name": "f", "arguments": "{}" } }] } }] });
    let server = serve(vec![Turn { body: Some(thought), ..Turn::default() }, Turn::say("ok")]).await;
    converse(&model(&server)).await;
    let last = server.chats().pop().unwrap();
    assert_eq!(last.pointer("/messages/1/reasoning"), Some(&json!("Hmm.")));
}

#[tokio::test]
async fn the_key_is_sent_and_shown_nowhere() {
    let leak = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } });
    let server = serve(vec![Turn::say("ok"), Turn::fail(401, leak.clone()), Turn::stream(vec![leak])]).await;
    let model = model(&server);
    ModelAnswer::collect(model.chat(question())).await.unwrap();
    assert_eq!(server.requests()[0].headers["authorization"], format!("Bearer {KEY}"));
    for _ in 0..2 {
        let error = ModelAnswer::collect(model.chat(question())).await.unwrap_err();
        let shown = format!("{error} {error:?} {model:?} {:?}", config(&server));
        assert!(!shown.contains(KEY) && shown.contains("provided: ***"), "{shown}");
    }
}

#[tokio::test]
async fn what_arrived_before_an_abort_is_kept_only_if_the_answer_was_complete() {
    let word = json!({ "choices": [{ "delta": { "content": "x" } }] });
    let stop = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
    let ending = switchboard_llm::scripted::Ending::Abort;
    let server = serve(vec![
        Turn { then: ending, ..Turn::stream(vec![word.clone()]) },
        Turn { then: ending, ..Turn::stream(vec![word, stop]) },
    ])
    .await;
    let model = model(&server);
    let error = ModelAnswer::collect(model.chat(question())).await.unwrap_err();
    assert!(error.is_interrupted(), "{error:?}");
    let answer = ModelAnswer::collect(model.chat(question())).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("x", Finish::Stop));
    assert_eq!(answer.warnings.len(), 1);
}
