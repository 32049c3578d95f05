//! What is sent for a conversation.

use serde_json::{Value, json};

use super::super::reply::Reply;
use super::super::request::encode;
use crate::message::{CallDefect, Message, ToolCallRequest};
use crate::model::{ChatRequest, ToolChoice};
use crate::wire::Encoded;
use crate::wire::learned::{Learned, RequestOption, ThinkingField};
use crate::wire::tests::answers::tool;
use crate::{Image, ModelConfig};

fn config(stream: bool) -> ModelConfig {
    let mut config = ModelConfig::openai("http://h/v1", "m").unwrap();
    config.stream = stream;
    config
}

fn encoded(messages: Vec<Message>, learned: Learned) -> (Value, Encoded<Reply>) {
    let request = ChatRequest { messages, ..ChatRequest::default() };
    let encoded = encode(&request, &config(false), learned).unwrap();
    (serde_json::from_slice(&encoded.body).unwrap(), encoded)
}

fn check(messages: Vec<Message>, expected: &Value) {
    let (body, _) = encoded(messages, Learned::default());
    assert_eq!(&body["messages"], expected);
}

fn calls(calls: Vec<ToolCallRequest>) -> Message {
    Message::Assistant { text: String::new(), thinking: "hm".to_owned(), tool_calls: calls, reasoning: None }
}

fn wire_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

#[test]
fn every_role_has_its_form_and_content_is_never_null() {
    check(
        vec![
            Message::system("Be brief."),
            Message::user("Hi"),
            calls(vec![ToolCallRequest::new("a", "f", "{\"z\":1,\"a\":2}")]),
            Message::tool("a", "done"),
            Message::assistant("Bye"),
        ],
        &json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hi" },
            { "role": "assistant", "content": "", "tool_calls": [wire_call("a", "f", "{\"z\":1,\"a\":2}")] },
            { "role": "tool", "content": "done", "tool_call_id": "a" },
            { "role": "assistant", "content": "Bye" },
        ]),
    );
}

#[test]
fn a_doubled_id_is_rewritten_in_the_call_and_in_its_answer_together() {
    check(
        vec![
            Message::user("?"),
            calls(vec![
                ToolCallRequest::new("x", "f", "{\"n\":1}"),
                ToolCallRequest::new("x", "f", "{\"n\":2}"),
            ]),
            Message::tool("x", "one"),
            Message::tool("x", "two"),
            calls(vec![ToolCallRequest::new("x", "f", "{\"n\":3}"), ToolCallRequest::new("", "g", "")]),
            Message::tool("", "four"),
            Message::tool("x", "three"),
        ],
        &json!([
            { "role": "user", "content": "?" },
            { "role": "assistant", "content": "",
              "tool_calls": [wire_call("x", "f", "{\"n\":1}"), wire_call("call_2", "f", "{\"n\":2}")] },
            { "role": "tool", "content": "one", "tool_call_id": "x" },
            { "role": "tool", "content": "two", "tool_call_id": "call_2" },
            { "role": "assistant", "content": "",
              "tool_calls": [wire_call("call_3", "f", "{\"n\":3}"), wire_call("call_4", "g", "{}")] },
            { "role": "tool", "content": "four", "tool_call_id": "call_4" },
            { "role": "tool", "content": "three", "tool_call_id": "call_3" },
        ]),
    );
}

#[test]
fn a_broken_call_does_not_break_the_next_request() {
    let broken = |name: &str, arguments: &str, defect| ToolCallRequest {
        defect: Some(defect),
        ..ToolCallRequest::new("a", name, arguments)
    };
    for (call, name, arguments) in [
        (broken("f", "{\"a\":", CallDefect::Truncated), "f", "{}"),
        (broken("f", "nonsense", CallDefect::InvalidArguments), "f", "{}"),
        (broken("", "{\"a\":1}", CallDefect::Nameless), "unknown", "{\"a\":1}"),
        (ToolCallRequest::new("a", "functions.f<|x|>", "  "), "functions_f__x__", "{}"),
        (ToolCallRequest::new("a", "é".repeat(100), "null"), &"_".repeat(64), "{}"),
    ] {
        check(
            vec![Message::user("?"), calls(vec![call])],
            &json!([
                { "role": "user", "content": "?" },
                { "role": "assistant", "content": "", "tool_calls": [wire_call("a", name, arguments)] },
            ]),
        );
    }
}

#[test]
fn thinking_goes_back_only_in_its_round_and_only_where_it_came_from() {
    let thought = |text: &str| Message::Assistant {
        text: "t".to_owned(),
        thinking: text.to_owned(),
        tool_calls: Vec::new(),
        reasoning: None,
    };
    let conversation = || vec![Message::user("1"), thought("old"), Message::user("2"), thought("new")];
    let (body, _) = encoded(conversation(), Learned::default());
    assert!(!body.to_string().contains("reasoning"), "an endpoint that never sent the field does not get it");
    for field in [ThinkingField::ReasoningContent, ThinkingField::Reasoning] {
        let mut learned = Learned::default();
        learned.thinking_field = Some(field);
        let (body, _) = encoded(conversation(), learned);
        assert_eq!(body["messages"][1], json!({ "role": "assistant", "content": "t" }));
        assert_eq!(
            body["messages"][3],
            json!({ "role": "assistant", "content": "t", (field.name()): "new" })
        );
        learned.reject(RequestOption::Thinking(field));
        let (body, _) = encoded(conversation(), learned);
        assert_eq!(body["messages"][3], json!({ "role": "assistant", "content": "t" }));
    }
}

#[test]
fn tools_keep_their_order_and_the_text_of_their_schema() {
    let mut first = tool("zeta");
    first.parameters =
        serde_json::from_str(r#"{"type":"object","properties":{"z":{},"a":{}},"required":[]}"#).unwrap();
    let request = ChatRequest {
        messages: vec![Message::user("?")],
        tools: vec![first, tool("alpha")],
        tool_choice: ToolChoice::Named("alpha".to_owned()),
        parallel_tool_calls: Some(false),
        temperature: Some(0.0),
        max_tokens: Some(100),
    };
    let encoded = encode(&request, &config(true), Learned::default()).unwrap();
    assert_eq!(
        String::from_utf8(encoded.body).unwrap(),
        concat!(
            r#"{"model":"m","messages":[{"role":"user","content":"?"}],"#,
            r#""tools":[{"type":"function","function":{"name":"zeta","description":"","#,
            r#""parameters":{"type":"object","properties":{"z":{},"a":{}},"required":[]}}},"#,
            r#"{"type":"function","function":{"name":"alpha","description":"","parameters":{"type":"object"}}}],"#,
            r#""tool_choice":{"type":"function","function":{"name":"alpha"}},"parallel_tool_calls":false,"#,
            r#""temperature":0.0,"max_tokens":100,"stream":true,"stream_options":{"include_usage":true}}"#,
        )
    );
    assert_eq!(encoded.sent.len(), 5);
}

#[test]
fn options_about_tools_are_not_sent_without_tools() {
    let request = ChatRequest {
        messages: vec![Message::user("?")],
        tool_choice: ToolChoice::Required,
        parallel_tool_calls: Some(true),
        ..ChatRequest::default()
    };
    let encoded = encode(&request, &config(false), Learned::default()).unwrap();
    assert_eq!(
        String::from_utf8(encoded.body).unwrap(),
        r#"{"model":"m","messages":[{"role":"user","content":"?"}],"stream":false}"#
    );
}

/// The first bytes of a PNG.
const PNG: &str = "iVBORw0KGgo=";

fn with_pictures() -> Vec<Message> {
    let png = || Image::new("image/png", PNG);
    let result = |id: &str, images| Message::Tool {
        call_id: id.to_owned(),
        text: format!("shot {id}"),
        images,
        is_error: false,
    };
    vec![
        Message::User { text: "See".to_owned(), images: vec![png(), Image::new("image/tiff", "AAAA")] },
        calls(vec![ToolCallRequest::new("a", "f", "{}"), ToolCallRequest::new("b", "f", "{}")]),
        result("a", vec![png()]),
        result("b", vec![png(), png()]),
        Message::assistant("Nice."),
    ]
}

#[test]
fn pictures_of_results_follow_in_a_message_of_the_user_that_names_the_call() {
    let mut seeing = config(false);
    seeing.capabilities.vision = true;
    let request = ChatRequest { messages: with_pictures(), ..ChatRequest::default() };
    let sent = encode(&request, &seeing, Learned::default()).unwrap();
    assert_eq!(sent.sent, [RequestOption::Images]);
    let sent: Value = serde_json::from_slice(&sent.body).unwrap();
    let text = |text: &str| json!({ "type": "text", "text": text });
    let picture =
        json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{PNG}") } });
    let tiff = "[image, image/tiff, 3 bytes, shown to user; this endpoint takes PNG, JPEG, GIF and WebP]";
    assert_eq!(
        sent["messages"],
        json!([
            { "role": "user", "content": [text(&format!("See\n{tiff}")), picture] },
            { "role": "assistant", "content": "", "tool_calls": [wire_call("a", "f", "{}"), wire_call("b", "f", "{}")] },
            { "role": "tool", "content": "shot a", "tool_call_id": "a" },
            { "role": "tool", "content": "shot b", "tool_call_id": "b" },
            { "role": "user", "content": [
                text("Pictures that the call a returned:"), picture,
                text("Pictures that the call b returned:"), picture, picture,
            ] },
            { "role": "assistant", "content": "Nice." },
        ])
    );

    seeing.capabilities.images_in_tool_results = true;
    let sent = encode(&request, &seeing, Learned::default()).unwrap();
    let sent: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(sent["messages"][2]["content"], json!([text("shot a"), picture]));
    assert_eq!(sent["messages"].as_array().unwrap().len(), 5);
}

#[test]
fn a_model_that_takes_no_pictures_is_told_about_them() {
    let mut learned = Learned::default();
    learned.reject(RequestOption::Images);
    let mut seeing = config(false);
    seeing.capabilities.vision = true;
    for (config, learned) in [(config(false), Learned::default()), (seeing, learned)] {
        let request = ChatRequest { messages: with_pictures(), ..ChatRequest::default() };
        let sent: Value = serde_json::from_slice(&encode(&request, &config, learned).unwrap().body).unwrap();
        assert_eq!(sent["messages"][2]["content"], "shot a\n[image, image/png, 8 bytes, shown to user]");
        assert!(!sent.to_string().contains(PNG), "{sent}");
    }
}

#[test]
fn what_was_kept_goes_back_in_its_round_to_the_model_that_it_came_from() {
    let kept = |model: &str| {
        json!({ "wire": "openai", "model": model, "field": "reasoning",
            "details": [{ "type": "reasoning.encrypted", "data": "QUJD" }], "calls": [null, { "x": 1 }] })
    };
    let answer = |model: &str| Message::Assistant {
        text: String::new(),
        thinking: "Hmm.".to_owned(),
        tool_calls: vec![ToolCallRequest::new("a", "f", "{}"), ToolCallRequest::new("b", "f", "{}")],
        reasoning: Some(kept(model).to_string()),
    };
    let (body, sent) = encoded(vec![Message::user("?"), answer("m")], Learned::default());
    let message = &body["messages"][1];
    assert_eq!(message["reasoning"], "Hmm.");
    assert_eq!(message["reasoning_details"], kept("m")["details"]);
    assert_eq!(message["tool_calls"][0].get("extra_content"), None);
    assert_eq!(message["tool_calls"][1]["extra_content"], json!({ "x": 1 }));
    assert_eq!(sent.sent.len(), 2);
    for messages in [vec![Message::user("?"), answer("other")], vec![answer("m"), Message::user("Later.")]] {
        let (body, _) = encoded(messages, Learned::default());
        assert!(!body.to_string().contains("reasoning") && !body.to_string().contains("extra"), "{body}");
    }
}

#[test]
fn the_limit_of_an_answer_is_never_lost() {
    let (older, newer) = (RequestOption::MaxTokens, RequestOption::MaxCompletionTokens);
    for (url, rejected, member) in [
        ("http://h/v1", vec![], "max_tokens"),
        ("http://h/v1", vec![older], "max_completion_tokens"),
        ("https://api.openai.com/v1", vec![], "max_completion_tokens"),
        ("https://api.openai.com/v1", vec![newer], "max_tokens"),
        ("http://h/v1", vec![older, newer], "max_tokens"),
    ] {
        let config = ModelConfig::openai(url, "m").unwrap();
        let request = ChatRequest { max_tokens: Some(9), ..ChatRequest::default() };
        let sent = encode(&request, &config, Learned::default().without(&rejected)).unwrap();
        let sent: Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!(sent[member], 9, "{url} {rejected:?}");
    }
}

#[test]
fn only_tools_that_are_strict_say_so_and_only_where_it_is_accepted() {
    let mut strict = tool("f");
    strict.strict = true;
    let request = ChatRequest { tools: vec![strict, tool("g")], ..ChatRequest::default() };
    let mut learned = Learned::default();
    for expected in [json!(true), json!(null)] {
        let sent = encode(&request, &config(false), learned).unwrap();
        let sent: Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!(sent["tools"][0]["function"]["strict"], expected);
        assert_eq!(sent["tools"][1]["function"]["strict"], json!(null));
        learned.reject(RequestOption::Strict);
    }
}
