//! Questions on their way to a client of an older revision, and the answers back. What a server says is
//! valid in the published schema of its revision, and what it hears is valid in the modern one.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use switchboard_protocol::era::Revision;
use switchboard_protocol::era::legacy::question::{Inexpressible, ask, read_answer};
use switchboard_protocol::model::input::InputRequest;
use switchboard_testkit::{dated, wire};

pub(super) const DATES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

pub(super) fn revision(date: &str) -> Revision {
    Revision::legacy(date).unwrap()
}

pub(super) fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

pub(super) fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap()
}

pub(super) fn elicit(properties: &Value) -> Value {
    let schema = json!({"type": "object", "properties": properties, "required": []});
    json!({"method": "elicitation/create",
           "params": {"mode": "form", "message": "Where?", "requestedSchema": schema}})
}

pub(super) fn url() -> Value {
    json!({"method": "elicitation/create",
           "params": {"mode": "url", "message": "Pay", "url": "https://pay.example/7"}})
}

/// The parameters of the request, once its method and its shape are checked.
fn asked(question: &Value, date: &str) -> Result<Value, Inexpressible> {
    let request: InputRequest = serde_json::from_value(question.clone()).unwrap();
    let asked = ask(&request, revision(date), "el-1")?;
    assert_eq!(asked.method, question["method"].as_str().unwrap());
    let params = value(&asked.params);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": asked.method, "params": params});
    dated::check_message(date, message.to_string().as_bytes(), "");
    Ok(params)
}

#[track_caller]
fn check(question: &Value, date: &str, expected: &Value) {
    match asked(question, date) {
        Ok(params) => assert_eq!(&params, expected, "{date}: {question}"),
        Err(why) => panic!("{date}: {why}: {question}"),
    }
}

#[track_caller]
fn refused(question: &Value, date: &str, parts: &[&str]) {
    let why = asked(question, date).unwrap_err().to_string();
    for part in parts.iter().chain([&date]) {
        assert!(why.contains(part), "{why:?} lacks {part:?}");
    }
}

#[test]
fn a_field_keeps_what_its_answer_depends_on() {
    let titled = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
    for (modern, structured, newest) in [
        // The kinds of fields of every date; only a switch has a default from the beginning.
        (
            json!({"type": "boolean", "title": "Sure?", "default": false}),
            json!({"type": "boolean", "title": "Sure?", "default": false}),
            json!({"type": "boolean", "title": "Sure?", "default": false}),
        ),
        (
            json!({"type": "string", "minLength": 1, "maxLength": 9, "format": "email", "default": "a@b.example"}),
            json!({"type": "string", "minLength": 1, "maxLength": 9, "format": "email"}),
            json!({"type": "string", "minLength": 1, "maxLength": 9, "format": "email", "default": "a@b.example"}),
        ),
        (
            json!({"type": "integer", "description": "How many", "minimum": 1, "maximum": 5, "default": 2}),
            json!({"type": "integer", "description": "How many", "minimum": 1, "maximum": 5}),
            json!({"type": "integer", "description": "How many", "minimum": 1, "maximum": 5, "default": 2}),
        ),
        // A format that no revision names is left out.
        (
            json!({"type": "string", "format": "hostname"}),
            json!({"type": "string"}),
            json!({"type": "string"}),
        ),
        (
            json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
        ),
        (
            json!({"type": "string", "oneOf": titled, "default": "g"}),
            json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]}),
            json!({"type": "string", "oneOf": titled, "default": "g"}),
        ),
        (
            json!({"type": "string", "enum": ["r"], "enumNames": ["Red"]}),
            json!({"type": "string", "enum": ["r"], "enumNames": ["Red"]}),
            json!({"type": "string", "enum": ["r"], "enumNames": ["Red"]}),
        ),
    ] {
        let question = elicit(&json!({"x": modern}));
        let params = |field: Value| elicit(&json!({"x": field}))["params"].clone();
        let mut without_mode = params(structured);
        without_mode.as_object_mut().unwrap().remove("mode");
        check(&question, "2025-06-18", &without_mode);
        check(&question, "2025-11-25", &params(newest));
    }
}

#[test]
fn fields_stay_in_order_and_a_dialect_is_named_where_it_may_be() {
    let text = r#"{"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "properties": {"z": {"type": "boolean"}, "a": {"type": "number"}}, "required": ["z"]}}}"#;
    let request: InputRequest = serde_json::from_str(text).unwrap();
    for (date, expected) in [
        (
            "2025-06-18",
            concat!(
                r#"{"message":"?","requestedSchema":{"type":"object","#,
                r#""properties":{"z":{"type":"boolean"},"a":{"type":"number"}},"required":["z"]}}"#
            ),
        ),
        (
            "2025-11-25",
            concat!(
                r#"{"mode":"form","message":"?","requestedSchema":{"#,
                r#""$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","#,
                r#""properties":{"z":{"type":"boolean"},"a":{"type":"number"}},"required":["z"]}}"#
            ),
        ),
    ] {
        assert_eq!(ask(&request, revision(date), "").unwrap().params.get(), expected);
    }
}

#[test]
fn what_a_revision_cannot_ask_is_named() {
    let form = elicit(&json!({"x": {"type": "boolean"}}));
    for date in ["2024-11-05", "2025-03-26"] {
        refused(&form, date, &["elicitation"]);
        refused(&url(), date, &["elicitation"]);
    }
    refused(&url(), "2025-06-18", &["address"]);
    for items in [json!({"type": "string", "enum": ["a"]}), json!({"anyOf": [{"const": "a", "title": "A"}]})]
    {
        let several = elicit(&json!({"colour": {"type": "array", "items": items, "default": ["a"]}}));
        refused(&several, "2025-06-18", &["several choices", "\"colour\""]);
        check(&several, "2025-11-25", &several["params"]);
    }
}

#[test]
fn an_address_is_named_where_a_revision_has_addresses() {
    let expected =
        json!({"mode": "url", "elicitationId": "el-1", "message": "Pay", "url": "https://pay.example/7"});
    check(&url(), "2025-11-25", &expected);
}

#[test]
fn roots_are_asked_for_in_every_revision() {
    for date in DATES {
        check(&json!({"method": "roots/list"}), date, &json!({}));
        check(
            &json!({"method": "roots/list", "params": {"_meta": {"x": 1}}}),
            date,
            &json!({"_meta": {"x": 1}}),
        );
    }
}

fn sampling(messages: &Value) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": messages, "maxTokens": 9, "systemPrompt": "Be brief", "includeContext": "thisServer",
        "temperature": 0.5, "stopSequences": ["."], "metadata": {"a": 1},
        "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 1.0}}})
}

#[test]
fn a_message_has_one_block_where_a_revision_has_no_more() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let question = sampling(&json!([
        {"role": "user", "content": [text("one"), image]},
        {"role": "assistant", "content": [text("two")]},
        {"role": "user", "content": []},
        {"role": "user", "content": text("three")},
    ]));
    let single = sampling(&json!([
        {"role": "user", "content": text("one")},
        {"role": "user", "content": image},
        {"role": "assistant", "content": text("two")},
        {"role": "user", "content": text("three")},
    ]));
    for date in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        check(&question, date, &single["params"]);
    }
    check(&question, "2025-11-25", &question["params"]);
}

#[test]
fn sound_and_metadata_go_where_a_revision_has_them() {
    let sound = |rest: Value| {
        let mut block = json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
        block.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        sampling(&json!([{"role": "user", "content": block}]))
    };
    let hints = json!({"annotations": {"priority": 1.0, "lastModified": "2025-01-01"}, "_meta": {"x": 1}});
    refused(&sound(json!({})), "2024-11-05", &["sound", "messages/0"]);
    for (date, given, kept) in [
        ("2025-03-26", hints.clone(), json!({"annotations": {"priority": 1.0}})),
        ("2025-03-26", json!({"annotations": {"lastModified": "2025-01-01"}}), json!({})),
        ("2025-06-18", hints.clone(), hints.clone()),
        ("2025-11-25", hints.clone(), hints.clone()),
    ] {
        check(&sound(given), date, &sound(kept)["params"]);
    }
    // A message of its own has metadata only where it may have several blocks.
    let meta = |meta: Value| {
        let mut message = json!({"role": "user", "content": {"type": "text", "text": "x"}});
        message.as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
        sampling(&json!([message]))
    };
    let question = meta(json!({"_meta": {"x": 1}}));
    check(&question, "2025-06-18", &meta(json!({}))["params"]);
    check(&question, "2025-11-25", &question["params"]);
}

#[test]
fn a_model_gets_tools_only_where_a_revision_has_them_in_sampling() {
    let mut with_tools = sampling(&json!([{"role": "user", "content": {"type": "text", "text": "x"}}]));
    with_tools["params"]["tools"] = json!([
        {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
        {"name": "u", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
    ]);
    with_tools["params"]["toolChoice"] = json!({"mode": "required"});
    let used = sampling(&json!([
        {"role": "user", "content": {"type": "text", "text": "x"}},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "content": [],
                                      "structuredContent": [1, 2]}]},
    ]));
    for date in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        refused(&with_tools, date, &["tools"]);
        refused(&used, date, &["use of a tool", "messages/1"]);
    }
    // Structured output was an object: another schema is left out, and another value becomes text.
    let mut expected = with_tools["params"].clone();
    expected["tools"][1].as_object_mut().unwrap().remove("outputSchema");
    check(&with_tools, "2025-11-25", &expected);
    let mut expected = used["params"].clone();
    expected["messages"][2]["content"] =
        json!([{"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "[1,2]"}]}]);
    check(&used, "2025-11-25", &expected);
}

/// What a client said, and how it reads as an answer of the modern model; `Err` is a part of the fault.
#[track_caller]
fn hears(question: &Value, said: &Value, expected: Result<Value, &str>) {
    let request: InputRequest = serde_json::from_value(question.clone()).unwrap();
    match (read_answer(&request, &raw(said)), expected) {
        (Ok(heard), Ok(expected)) => {
            let heard = value(&heard);
            assert_eq!(heard, expected, "{said}");
            wire::check("InputResponse", &heard);
        }
        (Err(fault), Err(part)) => assert!(fault.contains(part), "{fault:?} lacks {part:?}"),
        (heard, _) => panic!("{heard:?}: {said}"),
    }
}

#[test]
fn what_the_person_said_is_understood_as_real_clients_say_it() {
    let form = elicit(&json!({"x": {"type": "string"}}));
    for (question, said, expected) in [
        (
            &form,
            json!({"action": "accept", "content": {"x": "a"}}),
            Ok(json!({"action": "accept", "content": {"x": "a"}})),
        ),
        (&form, json!({"action": "decline"}), Ok(json!({"action": "decline"}))),
        (&form, json!({"action": "cancel", "content": null, "_meta": {}}), Ok(json!({"action": "cancel"}))),
        (&form, json!({"action": "decline", "content": {}}), Ok(json!({"action": "decline"}))),
        (&form, json!({"action": "reject"}), Ok(json!({"action": "decline"}))),
        (&form, json!({"action": "accept"}), Ok(json!({"action": "accept"}))),
        (&form, json!({"action": "accept", "content": null}), Ok(json!({"action": "accept"}))),
        (
            &form,
            json!({"action": "accept", "content": {"x": "a", "y": null}}),
            Ok(json!({"action": "accept", "content": {"x": "a"}})),
        ),
        (&url(), json!({"action": "accept", "content": {}}), Ok(json!({"action": "accept"}))),
        // What is no clear word is no word: a person is never said to have agreed.
        (&form, json!({"content": {"x": "a"}}), Err("action")),
        (&form, json!({"action": "yes"}), Err("yes")),
        (&form, json!({"action": null}), Err("malformed")),
        (&form, json!({"action": "accept", "content": "a"}), Err("malformed")),
        (&form, json!(["accept", {"x": "a"}]), Err("no object")),
    ] {
        hears(question, &said, expected);
    }
}

#[test]
fn what_the_model_said_keeps_its_shape() {
    let question = sampling(&json!([]));
    let said = |content: Value| json!({"role": "assistant", "model": "m", "content": content});
    let block = json!({"type": "text", "text": "x"});
    for (given, expected) in [
        (said(block.clone()), Ok(said(block.clone()))),
        // Also where only newer revisions have lists.
        (said(json!([block, block])), Ok(said(json!([block, block])))),
        (
            json!({"role": "assistant", "model": "m", "content": block, "stopReason": null, "extra": 1}),
            Ok(said(block.clone())),
        ),
        (json!({"role": "assistant", "content": block}), Err("model")),
        (json!({"model": "m", "content": block}), Err("role")),
        (json!({"role": "assistant", "model": "m"}), Err("content")),
        (said(json!(null)), Err("malformed")),
        (said(json!({"type": "video"})), Err("video")),
    ] {
        hears(&question, &given, expected);
    }
}

#[test]
fn roots_are_read_as_they_are() {
    let question = json!({"method": "roots/list"});
    for (said, expected) in [
        (json!({"roots": []}), Ok(json!({"roots": []}))),
        (
            json!({"roots": [{"uri": "file:///a", "name": null}], "_meta": {}}),
            Ok(json!({"roots": [{"uri": "file:///a"}]})),
        ),
        (json!({}), Err("roots")),
        (json!({"roots": [{"name": "a"}]}), Err("uri")),
    ] {
        hears(&question, &said, expected);
    }
}
