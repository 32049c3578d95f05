//! Questions of a server of an older revision, as a client reads and answers them. What a client says is
//! valid in the published schema of the revision.

use serde_json::{Value, json};
use switchboard_protocol::era::legacy::question::{Asked, answer, ask, read_question};
use switchboard_protocol::model::input::InputRequest;
use switchboard_testkit::dated;

use super::question::{DATES, elicit, raw, revision, url, value};

const ELICIT: &str = "elicitation/create";
const SAMPLING: &str = "sampling/createMessage";

/// The question in the modern model and the name of its address; `Err` is the code and a part of the fault.
#[track_caller]
fn check(method: &str, params: &Value, date: &str, expected: Result<(Value, Option<&str>), (i64, &str)>) {
    let params = (!params.is_null()).then(|| raw(params));
    match (read_question(method, params.as_deref(), revision(date)), expected) {
        (Ok(Asked::Input { request, elicitation_id }), Ok((question, id))) => {
            assert_eq!(serde_json::to_value(&request).unwrap(), question, "{date}");
            assert_eq!(elicitation_id.as_deref(), id, "{date}");
        }
        (Err(error), Err((code, part))) => {
            assert_eq!(error.code.0, code, "{error}");
            assert!(error.message.contains(part), "{:?} lacks {part:?}", error.message);
        }
        (found, _) => panic!("{date}: {method}: {found:?}"),
    }
}

#[test]
fn a_question_of_a_session_is_one_of_the_modern_model() {
    let named = json!({"x": {"type": "string", "enum": ["r", "g", "b"], "enumNames": ["Red", "Green"]}});
    let titled = json!({"x": {"type": "string", "oneOf": [
        {"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}, {"const": "b", "title": "b"}]}});
    let mut without_mode = elicit(&named)["params"].clone();
    without_mode.as_object_mut().unwrap().remove("mode");
    for date in ["2025-06-18", "2025-11-25"] {
        check(ELICIT, &without_mode, date, Ok((elicit(&titled), None)));
        check(ELICIT, &elicit(&named)["params"], date, Ok((elicit(&titled), None)));
    }
    let address = json!({"mode": "url", "elicitationId": "7", "url": "https://pay.example/7", "message": "Pay", "task": {}});
    check(ELICIT, &address, "2025-11-25", Ok((url(), Some("7"))));
    let sampling = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}],
                          "maxTokens": 5, "includeContext": "none"});
    for date in DATES {
        check(SAMPLING, &sampling, date, Ok((json!({"method": SAMPLING, "params": sampling}), None)));
        for params in [json!(null), json!({})] {
            check("roots/list", &params, date, Ok((json!({"method": "roots/list", "params": {}}), None)));
        }
        for params in [None, Some(raw(&json!({"_meta": {}}))), Some(raw(&json!(7)))] {
            let asked = read_question("ping", params.as_deref(), revision(date));
            assert!(matches!(asked, Ok(Asked::Ping)), "{asked:?}");
        }
    }
}

#[test]
fn what_a_revision_has_not_is_refused_with_its_place() {
    let form = &elicit(&json!({}))["params"];
    for date in ["2024-11-05", "2025-03-26"] {
        check(ELICIT, form, date, Err((-32601, ELICIT)));
    }
    let address = json!({"mode": "url", "elicitationId": "7", "url": "https://a.example", "message": "m"});
    check(ELICIT, &address, "2025-06-18", Err((-32602, "mode")));
    let tools = json!({"messages": [], "maxTokens": 1, "tools": []});
    for date in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        check(SAMPLING, &tools, date, Err((-32602, "tools")));
    }
    for (method, params, expected) in [
        ("tools/list", json!({}), (-32601, "tools/list")),
        ("tasks/get", json!({}), (-32601, "tasks/get")),
        ("", json!({}), (-32601, "")),
        (ELICIT, json!(null), (-32602, "message")),
        (ELICIT, json!({"message": "?"}), (-32602, "requestedSchema")),
        (
            ELICIT,
            json!({"message": "?", "requestedSchema": {"type": "array", "properties": {}}}),
            (-32602, "array"),
        ),
        (ELICIT, json!({"mode": "voice", "message": "?"}), (-32602, "voice")),
        (
            ELICIT,
            json!({"mode": "url", "message": "?", "url": "https://a.example"}),
            (-32602, "elicitationId"),
        ),
        (ELICIT, json!({"mode": "url", "message": "?", "elicitationId": "1"}), (-32602, "url")),
        (SAMPLING, json!({"messages": []}), (-32602, "maxTokens")),
        (
            SAMPLING,
            json!({"messages": [{"role": "system", "content": []}], "maxTokens": 1}),
            (-32602, "system"),
        ),
        ("roots/list", json!([]), (-32602, "roots/list")),
    ] {
        check(method, &params, "2025-11-25", Err(expected));
    }
}

/// What a client answers in a revision; `Err` is a part of why it cannot.
#[track_caller]
fn says(question: &Value, date: &str, given: &Value, expected: Result<Value, &str>) {
    let request: InputRequest = serde_json::from_value(question.clone()).unwrap();
    match (answer(&request, &raw(given), revision(date)), expected) {
        (Ok(said), Ok(expected)) => {
            let said = value(&said);
            assert_eq!(said, expected, "{date}: {given}");
            dated::check_result(date, question["method"].as_str().unwrap(), &said);
        }
        (Err(why), Err(part)) => assert!(why.contains(part), "{why:?} lacks {part:?}"),
        (said, _) => panic!("{date}: {said:?}: {given}"),
    }
}

#[test]
fn an_answer_of_a_person_has_content_only_in_an_accepted_form() {
    let form = elicit(&json!({}));
    let accepted = json!({"action": "accept", "content": {"x": "a", "n": 1, "b": true}});
    for date in ["2025-06-18", "2025-11-25"] {
        says(&form, date, &accepted, Ok(accepted.clone()));
        says(&form, date, &json!({"action": "decline", "content": {}}), Ok(json!({"action": "decline"})));
        says(&form, date, &json!({"action": "no"}), Err("malformed"));
    }
    let several = json!({"action": "accept", "content": {"x": ["a", "b"]}});
    says(&form, "2025-11-25", &several, Ok(several.clone()));
    says(&url(), "2025-11-25", &accepted, Ok(json!({"action": "accept"})));
}

#[test]
fn an_answer_of_a_model_is_one_block_where_a_revision_has_no_more() {
    let question = json!({"method": SAMPLING, "params": {"messages": [], "maxTokens": 1}});
    let said = |content: Value| json!({"role": "assistant", "model": "m", "stopReason": "endTurn", "content": content});
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let sound = json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
    let used = json!({"type": "tool_use", "id": "1", "name": "t", "input": {}});
    for (content, single) in [
        (text("a"), Ok(text("a"))),
        (json!([text("a")]), Ok(text("a"))),
        (json!([image]), Ok(image.clone())),
        (json!([text("a"), text("b")]), Ok(text("a\nb"))),
        (json!([]), Ok(text(""))),
        (json!([text("a"), image]), Err("one block")),
        (used.clone(), Err("use of a tool")),
        (json!([text("a"), used]), Err("use of a tool")),
    ] {
        for date in ["2024-11-05", "2025-03-26", "2025-06-18"] {
            says(&question, date, &said(content.clone()), single.clone().map(said));
        }
        says(&question, "2025-11-25", &said(content.clone()), Ok(said(content)));
    }
    says(&question, "2024-11-05", &said(sound.clone()), Err("sound"));
    says(&question, "2025-03-26", &said(sound.clone()), Ok(said(sound)));
}

#[test]
fn roots_have_metadata_only_where_a_revision_has_it() {
    let question = json!({"method": "roots/list"});
    let given = json!({"roots": [{"uri": "file:///a", "name": "A", "_meta": {"x": 1}}]});
    let plain = json!({"roots": [{"uri": "file:///a", "name": "A"}]});
    for (date, expected) in DATES.into_iter().zip([&plain, &plain, &given, &given]) {
        says(&question, date, &given, Ok(expected.clone()));
    }
}

#[test]
fn a_question_survives_the_way_to_a_client_of_every_revision_that_has_it() {
    for question in [
        elicit(&json!({"x": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}})),
        elicit(&json!({"x": {"type": "number", "minimum": 1}, "y": {"type": "boolean", "default": true}})),
        url(),
        json!({"method": "roots/list", "params": {}}),
        json!({"method": SAMPLING, "params": {"maxTokens": 1, "messages": [
            {"role": "user", "content": {"type": "text", "text": "x"}}]}}),
    ] {
        let request: InputRequest = serde_json::from_value(question.clone()).unwrap();
        for date in DATES {
            let Ok(asked) = ask(&request, revision(date), "el-1") else { continue };
            let id = (question == url()).then_some("el-1");
            check(asked.method, &value(&asked.params), date, Ok((question.clone(), id)));
        }
    }
}
