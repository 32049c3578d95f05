//! Questions and answers with one thing wrong, at every place and in every way: what is taken is still valid
//! for whoever reads it next, and nothing panics.

use serde_json::{Value, json};
use switchboard_protocol::era::legacy::question::{Asked, answer, read_answer, read_question};
use switchboard_protocol::era::legacy::upgrade::{required_urls, result};
use switchboard_protocol::error::ProtocolError;
use switchboard_protocol::method::Method;
use switchboard_protocol::model::input::InputRequest;
use switchboard_testkit::{dated, wire};

use super::question::{DATES, elicit, raw, revision, url, value};

/// Every value that differs from this one at one place.
fn spoilt(whole: &Value) -> Vec<Value> {
    let wrong = [
        json!(null),
        json!(true),
        json!(-7),
        json!(1e300),
        json!("u:v"),
        json!([]),
        json!({}),
        json!([7, {}]),
    ];
    let mut found = Vec::from(wrong);
    match whole {
        Value::Object(members) => {
            for (name, inner) in members {
                found.extend(spoilt(inner).into_iter().map(|value| {
                    let mut changed = members.clone();
                    changed.insert(name.clone(), value);
                    Value::Object(changed)
                }));
                let mut without = members.clone();
                without.remove(name);
                found.push(Value::Object(without));
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                found.extend(spoilt(inner).into_iter().map(|value| {
                    let mut changed = items.clone();
                    changed[at] = value;
                    Value::Array(changed)
                }));
            }
        }
        _ => {}
    }
    found
}

fn questions() -> [Value; 4] {
    [
        elicit(&json!({
            "c": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "a"},
            "n": {"type": "integer", "minimum": 1},
            "m": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1},
        })),
        url(),
        json!({"method": "sampling/createMessage", "params": {"maxTokens": 9, "messages": [
            {"role": "user", "content": [{"type": "text", "text": "x"},
                                         {"type": "tool_use", "id": "1", "name": "t", "input": {}}]}]}}),
        json!({"method": "roots/list", "params": {}}),
    ]
}

#[test]
fn a_question_with_something_wrong_is_refused_or_still_a_question() {
    for question in questions() {
        let method = question["method"].as_str().unwrap();
        for params in spoilt(&question["params"]) {
            for date in DATES {
                match read_question(method, Some(&raw(&params)), revision(date)) {
                    Ok(Asked::Ping) => panic!("{method} is no ping"),
                    Ok(Asked::Input { request, .. }) => {
                        let read = serde_json::to_value(&request).unwrap();
                        serde_json::from_value::<InputRequest>(read).unwrap();
                    }
                    Err(error) => assert!(matches!(error.code.0, -32601 | -32602), "{error}"),
                }
            }
        }
    }
}

#[test]
fn an_answer_with_something_wrong_is_refused_or_still_valid() {
    let text = json!({"type": "text", "text": "x"});
    let answers = [
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept"}),
        json!({"role": "assistant", "model": "m", "content": [text], "stopReason": "endTurn"}),
        json!({"roots": [{"uri": "file:///a", "name": "A", "_meta": {}}]}),
    ];
    for (question, valid) in questions().into_iter().zip(answers) {
        let request: InputRequest = serde_json::from_value(question.clone()).unwrap();
        let method = question["method"].as_str().unwrap();
        for given in spoilt(&valid).into_iter().chain([valid]) {
            if let Ok(heard) = read_answer(&request, &raw(&given)) {
                wire::check("InputResponse", &value(&heard));
            }
            for date in DATES {
                let has_method = method != "elicitation/create" || date >= "2025-06-18";
                if let (true, Ok(said)) = (has_method, answer(&request, &raw(&given), revision(date))) {
                    dated::check_result(date, method, &value(&said));
                }
            }
        }
    }
}

#[test]
fn a_result_or_refusal_with_something_wrong_is_read_without_harm() {
    let whole = json!({"resultType": "input_required", "content": [{"type": "text", "text": "x"}],
                       "structuredContent": {}, "toolResult": {}, "isError": false});
    for given in spoilt(&whole) {
        if let Ok(read) = result(Method::CallTool, raw(&given)) {
            let read = value(&read);
            assert!(matches!(read["resultType"], Value::Null), "{given}");
            assert!(read.get("structuredContent").is_none_or(|value| !value.is_null()), "{given}");
        }
    }
    let address = json!({"mode": "url", "elicitationId": "a", "url": "u:v", "message": ""});
    let data = json!({"elicitations": [url()["params"], address]});
    for data in spoilt(&data) {
        let error = json!({"code": -32042, "message": "m", "data": data});
        let error: ProtocolError = serde_json::from_value(error).unwrap();
        assert!(required_urls(&error).is_none_or(|urls| !urls.is_empty()));
    }
}
