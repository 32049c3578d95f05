//! What is sent for a conversation.

use serde_json::{Value, json};

use crate::anthropic::request::encode;
use crate::message::{CallDefect, Image, Message, ToolCallRequest};
use crate::model::{ChatRequest, ToolChoice};
use crate::wire::learned::{Learned, RequestOption};
use crate::wire::tests::answers::tool;
use crate::{ModelConfig, Thinking};

/// The first bytes of a PNG.
const PNG: &str = "iVBORw0KGgo=";

fn config() -> ModelConfig {
    ModelConfig::anthropic("http://h", "claude-sonnet-4-5").unwrap()
}

fn body(request: &ChatRequest, config: &ModelConfig, learned: Learned) -> Value {
    serde_json::from_slice(&encode(request, config, learned).unwrap().body).unwrap()
}

fn asking(messages: Vec<Message>) -> ChatRequest {
    ChatRequest { messages, ..ChatRequest::default() }
}

/// Compares the messages without the marks of the cache, which have a test of their own.
fn check(messages: Vec<Message>, expected: &Value) {
    let mut learned = Learned::default();
    learned.reject(RequestOption::CacheControl);
    assert_eq!(&body(&asking(messages), &config(), learned)["messages"], expected);
}

fn calls(text: &str, calls: Vec<ToolCallRequest>) -> Message {
    Message::Assistant { text: text.to_owned(), thinking: String::new(), tool_calls: calls, reasoning: None }
}

fn call(id: &str, arguments: &str) -> ToolCallRequest {
    ToolCallRequest::new(id, "f", arguments)
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn tool_use(id: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "f", "input": input })
}

fn result(id: &str, content: &Value) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": content })
}

#[test]
fn turns_alternate_and_results_come_first() {
    check(
        vec![
            Message::user("Hi"),
            Message::user("there"),
            calls("Let me look.", vec![call("a", "{\"z\":1}"), call("b", "")]),
            Message::tool("b", "two"),
            Message::Tool { call_id: "a".to_owned(), text: "no".to_owned(), images: vec![], is_error: true },
            Message::user("And?"),
            Message::assistant("Done."),
        ],
        &json!([
            { "role": "user", "content": [text("Hi"), text("there")] },
            { "role": "assistant", "content": [text("Let me look."), tool_use("a", &json!({ "z": 1 })), tool_use("b", &json!({}))] },
            { "role": "user", "content": [
                result("b", &json!([text("two")])),
                { "type": "tool_result", "tool_use_id": "a", "content": [text("no")], "is_error": true },
                text("And?"),
            ] },
            { "role": "assistant", "content": [text("Done.")] },
        ]),
    );
}

#[test]
fn what_the_endpoint_would_refuse_is_mended() {
    let broken = ToolCallRequest { defect: Some(CallDefect::Truncated), ..call("toolu:1/x", "{\"a\":") };
    check(
        vec![
            Message::assistant("Earlier."),
            Message::user("  "),
            calls(" \n", vec![broken, call("d", "{}"), call("d", "{}")]),
            Message::tool("toolu:1/x", ""),
            Message::tool("d", "one"),
            Message::system("Be brief."),
            Message::assistant(""),
            Message::tool("gone", "late"),
        ],
        &json!([
            { "role": "user", "content": [text("[The beginning of the conversation is left out.]")] },
            { "role": "assistant", "content": [text("Earlier."), tool_use("toolu_1_x", &json!({})), tool_use("d", &json!({})), tool_use("call_3", &json!({}))] },
            { "role": "user", "content": [
                result("toolu_1_x", &json!([])),
                result("d", &json!([text("one")])),
                { "type": "tool_result", "tool_use_id": "call_3", "is_error": true,
                    "content": [text("There is no result: the call was interrupted.")] },
                text("[Instruction of the host] Be brief."),
                text("[Result of the earlier call gone]"),
                text("late"),
            ] },
        ]),
    );
}

#[test]
fn pictures_stand_where_they_belong_or_in_words() {
    let png = || Image::new("image/png", PNG);
    let svg = || Image::new("image/svg+xml", "PHN2Zy8+");
    let messages = || {
        vec![
            Message::User { text: "See".to_owned(), images: vec![png(), svg()] },
            calls("", vec![call("a", "{}")]),
            Message::Tool {
                call_id: "a".to_owned(),
                text: "shot".to_owned(),
                images: vec![png()],
                is_error: false,
            },
        ]
    };
    let picture =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PNG } });
    check(
        messages(),
        &json!([
            { "role": "user", "content": [text("See"), picture,
                text("[image, image/svg+xml, 6 bytes, shown to user; this endpoint takes PNG, JPEG, GIF and WebP]")] },
            { "role": "assistant", "content": [tool_use("a", &json!({}))] },
            { "role": "user", "content": [result("a", &json!([text("shot"), picture]))] },
        ]),
    );
    let mut blind = config();
    blind.capabilities.vision = false;
    let sent = body(&asking(messages()), &blind, Learned::default()).to_string();
    assert!(
        !sent.contains(PNG) && sent.matches("[image, image/png, 8 bytes, shown to user]").count() == 2,
        "{sent}"
    );
}

fn thought(model: &str) -> Message {
    let reasoning = json!({ "wire": "anthropic", "model": model, "parts": [
        { "type": "thinking", "thinking": "Hmm.", "signature": "s" }, { "type": "text", "bytes": 3 },
        { "type": "redacted_thinking", "data": "x" }, { "type": "call" }, { "type": "text", "bytes": 2 },
    ] });
    Message::Assistant {
        text: "Néok".to_owned(),
        thinking: "Hmm.".to_owned(),
        tool_calls: vec![call("a", "{}"), call("b", "{}")],
        reasoning: Some(reasoning.to_string()),
    }
}

#[test]
fn thinking_goes_back_unchanged_and_in_its_place_to_the_model_that_thought_it() {
    let thinking = json!({ "type": "thinking", "thinking": "Hmm.", "signature": "s" });
    let redacted = json!({ "type": "redacted_thinking", "data": "x" });
    let (a, b) = (tool_use("a", &json!({})), tool_use("b", &json!({})));
    let whole = json!([thinking, text("Né"), redacted, a, text("ok"), b]);
    let mut changed = thought("claude-sonnet-4-5");
    if let Message::Assistant { text, .. } = &mut changed {
        text.push('!');
    }
    for (message, expected) in [
        (thought("claude-sonnet-4-5"), whole),
        (changed, json!([thinking, redacted, text("Néok!"), a, b])),
        (thought("claude-opus-4-1"), json!([text("Néok"), a, b])),
    ] {
        let sent = body(&asking(vec![Message::user("?"), message]), &config(), Learned::default());
        assert_eq!(sent["messages"][1]["content"], expected);
    }
}

#[test]
fn thinking_is_asked_for_only_where_the_wire_allows_it() {
    let mut config = config();
    config.thinking = Some(Thinking::Budget(2_000));
    let asked = |messages: Vec<Message>, tool_choice: ToolChoice, config: &ModelConfig| {
        let request = ChatRequest {
            messages,
            tools: vec![tool("f")],
            tool_choice,
            temperature: Some(0.5),
            max_tokens: Some(100),
            ..ChatRequest::default()
        };
        body(&request, config, Learned::default())
    };
    let question = || Message::user("?");
    let results = || [Message::tool("a", "1"), Message::tool("b", "2")];
    let with = |message: Message| [vec![question(), message], results().to_vec()].concat();

    let sent = asked(vec![question()], ToolChoice::Auto, &config);
    assert_eq!(sent["thinking"], json!({ "type": "enabled", "budget_tokens": 2_000 }));
    assert!(sent["max_tokens"] == 3_024 && sent.get("temperature").is_none(), "{sent}");
    let sent = asked(with(thought("claude-sonnet-4-5")), ToolChoice::Auto, &config);
    assert!(sent.get("thinking").is_some(), "{sent}");

    let forced = asked(vec![question()], ToolChoice::Required, &config);
    let begun_without =
        asked(with(calls("", vec![call("a", "{}"), call("b", "{}")])), ToolChoice::Auto, &config);
    for sent in [forced, begun_without] {
        assert!(sent.get("thinking").is_none() && sent["temperature"] == 0.5, "{sent}");
        assert_eq!(sent["max_tokens"], 100);
    }
    config.thinking = Some(Thinking::Adaptive);
    let sent = asked(vec![question()], ToolChoice::Auto, &config);
    assert_eq!((&sent["thinking"], &sent["max_tokens"]), (&json!({ "type": "adaptive" }), &json!(100)));
}

#[test]
fn the_choice_of_tools_has_its_own_words() {
    for (choice, parallel, expected) in [
        (ToolChoice::Auto, None, json!(null)),
        (ToolChoice::Auto, Some(true), json!(null)),
        (ToolChoice::Auto, Some(false), json!({ "type": "auto", "disable_parallel_tool_use": true })),
        (ToolChoice::None, Some(false), json!({ "type": "none" })),
        (ToolChoice::Required, None, json!({ "type": "any" })),
        (
            ToolChoice::Named("f".to_owned()),
            Some(false),
            json!({ "type": "tool", "name": "f", "disable_parallel_tool_use": true }),
        ),
    ] {
        let request = ChatRequest {
            messages: vec![Message::user("?")],
            tools: vec![tool("f")],
            tool_choice: choice,
            parallel_tool_calls: parallel,
            ..ChatRequest::default()
        };
        assert_eq!(body(&request, &config(), Learned::default())["tool_choice"], expected, "{request:?}");
    }
}

#[test]
fn the_whole_request_with_its_marks_is_the_same_bytes_each_time() {
    let mut strict = tool("zeta");
    strict.strict = true;
    strict.description = "Zs.".to_owned();
    strict.parameters =
        serde_json::from_str(r#"{"type":"object","properties":{"z":{},"a":{}},"required":[]}"#).unwrap();
    let request = ChatRequest {
        messages: vec![Message::system("Be brief."), Message::system("Be kind."), Message::user("?")],
        tools: vec![strict, tool("alpha")],
        temperature: Some(0.0),
        ..ChatRequest::default()
    };
    let encoded = encode(&request, &config(), Learned::default()).unwrap();
    assert_eq!(
        String::from_utf8(encoded.body).unwrap(),
        concat!(
            r#"{"model":"claude-sonnet-4-5","max_tokens":64000,"#,
            r#""system":[{"type":"text","text":"Be brief.\n\nBe kind.","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"?","cache_control":{"type":"ephemeral"}}]}],"#,
            r#""tools":[{"name":"zeta","description":"Zs.","#,
            r#""input_schema":{"type":"object","properties":{"z":{},"a":{}},"required":[]},"strict":true},"#,
            r#"{"name":"alpha","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"#,
            r#""temperature":0.0,"stream":true}"#,
        )
    );
}

#[test]
fn an_answer_always_has_a_limit() {
    let unknown = ModelConfig::anthropic("http://h", "nobody-knows").unwrap();
    let mut taught = Learned::default();
    taught.reject(RequestOption::MaxOutput);
    let mut told = taught;
    told.max_output_tokens = Some(5_000);
    for (config, learned, wanted, expected) in [
        (&config(), Learned::default(), None, 64_000),
        (&config(), Learned::default(), Some(10), 10),
        (&config(), Learned::default(), Some(1_000_000), 64_000),
        (&config(), taught, None, 4_096),
        (&config(), told, None, 5_000),
        (&config(), told, Some(0), 1),
        (&unknown, Learned::default(), None, 8_192),
    ] {
        let request = ChatRequest { max_tokens: wanted, ..asking(vec![Message::user("?")]) };
        assert_eq!(body(&request, config, learned)["max_tokens"], expected);
    }
}
