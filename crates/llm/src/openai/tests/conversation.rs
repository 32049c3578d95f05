//! What is sent for a conversation.

use serde_json::{Value, json};

use super::super::ThinkingField;
use super::super::learned::{Learned, RequestOption};
use super::super::request::{Encoded, encode};
use super::tool;
use crate::model::{CallDefect, ChatRequest, Message, ToolCallRequest, ToolChoice};

fn encoded(messages: Vec<Message>, learned: Learned) -> (Value, Encoded) {
    let request = ChatRequest { messages, ..ChatRequest::default() };
    let encoded = encode(&request, "m", false, learned).unwrap();
    (serde_json::from_slice(&encoded.body).unwrap(), encoded)
}

fn check(messages: Vec<Message>, expected: &Value) {
    let (body, _) = encoded(messages, Learned::default());
    assert_eq!(&body["messages"], expected);
}

fn calls(calls: Vec<ToolCallRequest>) -> Message {
    Message::Assistant { text: String::new(), thinking: "hm".to_owned(), tool_calls: calls }
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
    let encoded = encode(&request, "m", true, Learned::default()).unwrap();
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
    let encoded = encode(&request, "m", false, Learned::default()).unwrap();
    assert_eq!(
        String::from_utf8(encoded.body).unwrap(),
        r#"{"model":"m","messages":[{"role":"user","content":"?"}],"stream":false}"#
    );
}
