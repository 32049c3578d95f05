//! What holds on both wires: whole conversations, refusals, limits of size and time, and that the key stays hidden.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use switchboard_llm::scripted::{Ending, Figures, ScriptedModel, Turn};
use switchboard_llm::{
    CallDefect, ChatModel, Finish, Image, Message, ModelAnswer, ModelError, ModelEvent, Provider,
    SchemaDialect, ToolChoice, Usage, Warning,
};

use crate::support::{KEY, TestTimer, WIRES, config_of, model_of, question, serve, timed_of, word_of};

async fn ask(wire: Provider, turns: Vec<Turn>) -> (Result<ModelAnswer, ModelError>, ScriptedModel) {
    let server = serve(turns).await;
    let result = ModelAnswer::collect(model_of(wire, &server).chat(question())).await;
    (result, server)
}

/// Leads a conversation until the model makes no call, answering each call with its arguments.
async fn converse(model: &dyn ChatModel) -> (Vec<Message>, String) {
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

/// The ids of the calls and those of the answers to them, as the last request has them.
fn ids(wire: Provider, chat: &Value) -> (Vec<Value>, Vec<Value>) {
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for message in chat["messages"].as_array().unwrap() {
        if wire == Provider::OpenAi {
            asked.extend(
                message["tool_calls"].as_array().into_iter().flatten().map(|call| call["id"].clone()),
            );
            answered.extend(message.get("tool_call_id").cloned());
            continue;
        }
        for block in message["content"].as_array().unwrap() {
            asked.extend(block.get("id").cloned());
            answered.extend(block.get("tool_use_id").cloned());
        }
    }
    (asked, answered)
}

#[tokio::test]
async fn every_call_is_answered_once_under_an_id_of_its_own() {
    for wire in WIRES {
        let named = |id: &str, name: &str, arguments: Value| switchboard_llm::scripted::Call {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments,
        };
        let turn = |call| Turn { call, ..Turn::default() };
        let server = serve(vec![
            turn(vec![named("call_0", "f", json!({ "n": 1 })), named("call_0", "f", json!({ "n": 2 }))]),
            turn(vec![named("call_0", "f", json!({ "n": 3 }))]),
            turn(vec![named("x.y:0", "g", json!({ "n": 4 }))]),
            Turn::say("All done."),
        ])
        .await;
        let (messages, text) = converse(&*model_of(wire, &server)).await;
        assert_eq!(text, "All done.");
        let results: Vec<&str> = messages
            .iter()
            .filter_map(
                |message| if let Message::Tool { text, .. } = message { Some(text.as_str()) } else { None },
            )
            .collect();
        assert_eq!(results, ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}"]);
        let (asked, answered) = ids(wire, &server.chats().pop().unwrap());
        assert_eq!(asked, answered, "{wire:?}");
        let unique: std::collections::HashSet<String> = asked.iter().map(ToString::to_string).collect();
        assert_eq!(unique.len(), 4, "{asked:?}");
        server.verify().unwrap();
    }
}

#[tokio::test]
async fn nothing_is_an_empty_object_on_the_way_back() {
    for (wire, arguments) in WIRES.into_iter().flat_map(|wire| {
        [json!(""), json!("  \n"), json!(null), json!("{}"), json!("null"), json!({})]
            .map(|value| (wire, value))
    }) {
        let server = serve(vec![Turn::call("f", arguments.clone()), Turn::say("ok")]).await;
        let (messages, _) = converse(&*model_of(wire, &server)).await;
        let Message::Assistant { tool_calls, .. } = &messages[1] else { panic!("{messages:?}") };
        assert_eq!(tool_calls[0].arguments, "{}", "{wire:?} {arguments}");
        let sent = server.chats().pop().unwrap();
        let sent = match wire {
            Provider::OpenAi => sent.pointer("/messages/1/tool_calls/0/function/arguments").cloned(),
            _ => sent.pointer("/messages/1/content/0/input").map(|input| json!(input.to_string())),
        };
        assert_eq!(sent, Some(json!("{}")), "{wire:?} {arguments}");
    }
}

#[tokio::test]
async fn an_answer_may_come_whole_in_pieces_or_byte_by_byte() {
    for (wire, stream, cut_every) in
        WIRES.into_iter().flat_map(|wire| [(wire, true, None), (wire, true, Some(1)), (wire, false, Some(3))])
    {
        let figures = Figures { input: 100, output: 7, cached: 60, cache_write: 30 };
        let turn = Turn {
            think: Some("Hm, hm.".to_owned()),
            say: Some("Two words.".to_owned()),
            usage: figures,
            cut_every,
            ..Turn::calls([("f", json!({ "p": "é" })), ("g", json!({}))])
        };
        let server = serve(vec![turn]).await;
        let mut config = config_of(wire, &server);
        config.stream = stream;
        let model = timed_of(config, TestTimer::new(&[]));
        let answer = ModelAnswer::collect(model.chat(question())).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.thinking.as_str()), ("Two words.", "Hm, hm."));
        let calls: Vec<_> =
            answer.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!(calls, [("f", "{\"p\":\"é\"}"), ("g", "{}")]);
        let usage =
            Usage { input_tokens: 100, output_tokens: 7, cached_input_tokens: 60, cache_write_tokens: 30 };
        assert_eq!(answer.usage, Some(usage), "{wire:?} {stream}");
        assert_eq!((answer.finish, answer.warnings), (Finish::ToolCalls, vec![]));
    }
}

#[tokio::test]
async fn thinking_goes_back_with_the_results_even_after_a_restart() {
    for wire in WIRES {
        let turn = Turn { think: Some("Hmm.".to_owned()), ..Turn::call("f", json!({})) };
        let server = serve(vec![turn, Turn::say("ok"), Turn::say("ok")]).await;
        let mut request = question();
        let answer = ModelAnswer::collect(model_of(wire, &server).chat(request.clone())).await.unwrap();
        let id = answer.tool_calls[0].id.clone();
        // The conversation is written down and read again, and the model is a new one.
        let kept = serde_json::to_string(&answer.into_message()).unwrap();
        request.messages.push(serde_json::from_str(&kept).unwrap());
        request.messages.push(Message::tool(id, "done"));
        ModelAnswer::collect(model_of(wire, &server).chat(request.clone())).await.unwrap();
        let sent = server.chats().pop().unwrap();
        let (place, expected) = match wire {
            Provider::OpenAi => ("/messages/1/reasoning_content", json!("Hmm.")),
            _ => (
                "/messages/1/content/0",
                json!({ "type": "thinking", "thinking": "Hmm.", "signature": "signed-1" }),
            ),
        };
        assert_eq!(sent.pointer(place), Some(&expected), "{wire:?} {sent}");

        let other = match wire {
            Provider::OpenAi => Provider::Anthropic,
            _ => Provider::OpenAi,
        };
        ModelAnswer::collect(model_of(other, &server).chat(request)).await.unwrap();
        let sent = server.chats().pop().unwrap().to_string();
        assert!(
            !sent.contains("Hmm.") && !sent.contains("signed"),
            "another wire gets nothing of it: {sent}"
        );
    }
}

#[tokio::test]
async fn what_may_go_better_next_time_is_asked_again_with_the_endpoints_own_delay() {
    let busy = |status: u16, headers: &[(&str, &str)]| Turn {
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..Turn::fail(
            status,
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } }),
        )
    };
    for (wire, status, headers, delay) in WIRES.into_iter().flat_map(|wire| {
        [
            (wire, 429, vec![("retry-after", "7")], "7.0 s"),
            (wire, 529, vec![], "0.5 s"),
            (wire, 503, vec![("retry-after-ms", "7000")], "7.0 s"),
            (wire, 400, vec![("x-should-retry", "true")], "0.5 s"),
            (
                wire,
                429,
                vec![("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "7s")],
                "7.0 s",
            ),
        ]
    }) {
        let (result, server) = ask(wire, vec![busy(status, &headers), Turn::say("ok")]).await;
        let [Warning::Retrying { reason }] = &result.unwrap().warnings[..] else {
            panic!("one retry is told")
        };
        assert!(reason.contains(&status.to_string()) && reason.contains(delay), "{reason}");
        let chats = server.chats();
        assert_eq!(chats[0], chats[1], "the same request again");
        server.verify().unwrap();

        let (result, server) = ask(wire, vec![busy(status, &[("x-should-retry", "false")])]).await;
        assert_eq!(result.unwrap_err().status(), Some(status));
        server.verify().unwrap();
    }
}

#[tokio::test]
async fn an_error_before_the_answer_began_is_asked_again_and_one_within_it_is_told() {
    for wire in WIRES {
        let error = json!(
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
        );
        let (result, server) = ask(wire, vec![Turn::stream(vec![error.clone()]), Turn::say("ok")]).await;
        assert_eq!(result.unwrap().text, "ok");
        server.verify().unwrap();

        let (result, server) = ask(wire, vec![Turn::stream(vec![word_of(wire), error.clone()])]).await;
        let told = result.unwrap_err();
        assert!(told.is_interrupted() && told.to_string().contains("Overloaded"), "{told}");
        server.verify().unwrap();

        let (result, _) = ask(wire, vec![Turn::stream(vec![error]); 3]).await;
        assert!(result.unwrap_err().is_interrupted(), "it is not asked for ever");
    }
}

#[tokio::test]
async fn floods_end_at_the_limits_whatever_they_are_made_of() {
    let line = |data: &Value| format!("data: {data}\n\n");
    for (wire, pieces, limit) in WIRES.into_iter().flat_map(|wire| {
        let call = match wire {
            Provider::OpenAi => {
                json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "function": { "name": "f", "arguments": "{\"a\":[" } }] } }] })
            }
            _ => json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "[[" } }),
        };
        [
            (wire, line(&word_of(wire)), "max_answer_bytes (20000 bytes)"),
            (wire, line(&call), "max_answer_bytes (20000 bytes)"),
            (wire, ": ping\n\n".to_owned(), "max_answer_bytes (20000 bytes)"),
            (wire, "data: x\n".to_owned(), "max_event_bytes (5000 bytes)"),
            (wire, "data: never ending".to_owned(), "max_event_bytes (5000 bytes)"),
            (wire, "{\"x\":\"".to_owned(), "max_answer_bytes (20000 bytes)"),
            (wire, "\n \n".to_owned(), "max_answer_bytes (20000 bytes)"),
        ]
    }) {
        let turn = Turn { then: Ending::Flood, ..Turn::stream(vec![json!(pieces.repeat(100))]) };
        let server = serve(vec![turn]).await;
        let mut config = config_of(wire, &server);
        config.limits.max_answer_bytes = 20_000;
        config.limits.max_event_bytes = 5_000;
        let model = timed_of(config, TestTimer::new(&[]));
        let error = ModelAnswer::collect(model.chat(question())).await.unwrap_err();
        assert!(error.is_too_large() && error.to_string().contains(limit), "{wire:?} {pieces:?}: {error}");
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn an_answer_of_a_hundred_megabytes_is_given_up_at_the_usual_limit() {
    for wire in WIRES {
        let megabyte = "x".repeat(1 << 20);
        let text = word_of(wire).to_string().replace("\"x\"", &format!("\"{megabyte}\""));
        let turn = Turn { then: Ending::Flood, ..Turn::stream(vec![json!(format!("data: {text}\n\n"))]) };
        let (result, _server) = ask(wire, vec![turn]).await;
        let error = result.unwrap_err();
        assert!(error.is_too_large() && error.to_string().contains("max_answer_bytes"), "{error}");
    }
}

#[tokio::test]
async fn a_turn_of_garbage_ends_in_a_message_that_helps() {
    let noise: String = (0..4_000).map(|n: u32| char::from_u32(33 + n * 7 % 90).unwrap_or('x')).collect();
    for wire in WIRES {
        for turn in [
            Turn::stream(vec![json!(format!("data: {noise}\n\n"))]),
            Turn { body: Some(json!(format!("{{{noise}"))), ..Turn::default() },
            Turn { body: Some(json!("<html>Sign in</html>")), ..Turn::default() },
            Turn { body: Some(json!("")), ..Turn::default() },
        ] {
            let (result, _server) = ask(wire, vec![turn]).await;
            let error = result.unwrap_err();
            assert!(error.is_malformed() && error.hint().is_some(), "{error:?}");
            assert!(error.to_string().len() < 1_000, "{error}");
        }
        // Garbage as the model's own words is an answer; garbage as arguments is a call that is not made.
        let (result, _server) = ask(wire, vec![Turn::say(noise.clone())]).await;
        assert_eq!(result.unwrap().text, noise);
        let (result, _server) = ask(wire, vec![Turn::call("f", json!(format!("x{noise}")))]).await;
        let call = result.unwrap().tool_calls.pop().unwrap();
        assert_eq!(call.defect, Some(CallDefect::InvalidArguments), "{wire:?}");
    }
}

#[tokio::test]
async fn the_first_word_is_passed_on_while_the_rest_is_still_to_come() {
    for wire in WIRES {
        let turn = Turn { then: Ending::End, ..Turn::stream(vec![word_of(wire), word_of(wire)]) };
        let first = format!("data: {}\n\n", word_of(wire)).len();
        let server = serve(vec![Turn { hold: Some(first), ..turn }]).await;
        let model = model_of(wire, &server);
        let mut events = model.chat(question());
        assert_eq!(events.next().await.unwrap().unwrap(), ModelEvent::TextDelta("x".to_owned()));
        server.release();
        assert_eq!(events.next().await.unwrap().unwrap(), ModelEvent::TextDelta("x".to_owned()));
    }
}

#[tokio::test]
async fn silence_ends_in_a_message_and_a_complete_answer_waits_for_nobody() {
    for wire in WIRES {
        let hanging = Turn { then: Ending::Hang, ..Turn::stream(vec![word_of(wire)]) };
        let server = serve(vec![hanging]).await;
        let config = config_of(wire, &server);
        let idle = config.timeouts.idle;
        let timer = TestTimer::new(&[]);
        let model = timed_of(config, timer.clone());
        let mut events = model.chat(question());
        events.next().await.unwrap().unwrap();
        timer.release(idle);
        assert!(events.next().await.unwrap().unwrap_err().is_timeout());

        let stop = match wire {
            Provider::OpenAi => json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
            _ => json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        };
        let server =
            serve(vec![Turn { then: Ending::Hang, ..Turn::stream(vec![word_of(wire), stop]) }]).await;
        let model = timed_of(config_of(wire, &server), TestTimer::new(&[Duration::from_secs(2)]));
        let answer = ModelAnswer::collect(model.chat(question())).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), ("x", Finish::Stop));
        assert_eq!(answer.warnings, [Warning::Unterminated]);
    }
}

#[tokio::test]
async fn the_key_is_sent_where_the_wire_wants_it_and_shown_nowhere() {
    for wire in WIRES {
        let leak = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } });
        let server =
            serve(vec![Turn::say("ok"), Turn::fail(401, leak.clone()), Turn::stream(vec![leak])]).await;
        let model = model_of(wire, &server);
        ModelAnswer::collect(model.chat(question())).await.unwrap();
        let headers = &server.requests()[0].headers;
        match wire {
            Provider::OpenAi => assert_eq!(headers["authorization"], format!("Bearer {KEY}")),
            _ => assert!(headers["x-api-key"] == KEY && headers["anthropic-version"] == "2023-06-01"),
        }
        for _ in 0..2 {
            let error = ModelAnswer::collect(model.chat(question())).await.unwrap_err();
            let shown = format!("{error} {error:?} {:?}", config_of(wire, &server));
            assert!(!shown.contains(KEY) && shown.contains("provided: ***"), "{shown}");
        }
    }
}

#[tokio::test]
async fn what_an_endpoint_refuses_is_left_out_from_then_on() {
    let named = |words: &str| json!({ "error": { "message": words } });
    for (wire, words, gone, kept) in [
        (Provider::OpenAi, "image_url is not supported by this model", "image_url", "[image, image/png"),
        (Provider::OpenAi, "Invalid schema for function 'f'", "\"strict\"", "\"f\""),
        (Provider::Anthropic, "images are not supported", "base64", "[image, image/png"),
        (Provider::Anthropic, "tools.0.strict: Extra inputs", "\"strict\"", "\"f\""),
        (Provider::Anthropic, "cache_control: Extra inputs", "cache_control", "\"f\""),
        (Provider::Anthropic, "tool_choice.disable_parallel_tool_use: no", "disable_parallel", "\"any\""),
        (Provider::Anthropic, "max_tokens: 8192 > 99, the maximum", "8192", "\"max_tokens\":99"),
    ] {
        let server = serve(vec![Turn::fail(400, named(words)), Turn::say("ok"), Turn::say("ok")]).await;
        let mut config = config_of(wire, &server);
        config.capabilities.vision = true;
        let model = timed_of(config, TestTimer::new(&[]));
        let mut request = question();
        request.tools[0].strict = true;
        request.tool_choice = ToolChoice::Required;
        request.parallel_tool_calls = Some(false);
        if let Message::User { images, .. } = &mut request.messages[0] {
            images.push(Image::new("image/png", "iVBORw0KGgo="));
        }
        let first = ModelAnswer::collect(model.chat(request.clone())).await.unwrap();
        assert!(
            matches!(first.warnings[..], [Warning::OptionDropped { .. }]),
            "{words}: {:?}",
            first.warnings
        );
        let second = ModelAnswer::collect(model.chat(request)).await.unwrap();
        assert_eq!(second.warnings, [], "{words}");
        let chats: Vec<String> = server.chats().iter().map(ToString::to_string).collect();
        assert!(chats[0].contains(gone), "{words}: {}", chats[0]);
        for chat in &chats[1..] {
            assert!(!chat.contains(gone) && chat.contains(kept), "{words}: {chat}");
        }
        server.verify().unwrap();
    }
}

#[tokio::test]
async fn a_model_says_what_it_can_do() {
    for (wire, dialect) in WIRES.into_iter().zip([SchemaDialect::Generic, SchemaDialect::Anthropic]) {
        let server = serve(vec![]).await;
        let model = switchboard_llm::connect(config_of(wire, &server)).unwrap();
        assert_eq!((model.name(), model.capabilities().dialect), ("m", dialect));
    }
}
