//! Forms: every kind of field, with answers that fit and answers that do not.

use serde_json::{Map, Value, json};
use switchboard_protocol::model::elicitation::ElicitSchema;

use super::{check, fill_defaults};

fn schema() -> ElicitSchema {
    serde_json::from_value(json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 5, "default": "Kim"},
            "mail": {"type": "string", "format": "email"},
            "site": {"type": "string", "format": "uri"},
            "born": {"type": "string", "format": "date"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 30},
            "score": {"type": "number", "default": 0.5},
            "ok": {"type": "boolean", "default": false},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "tags": {"type": "array", "minItems": 1, "maxItems": 2,
                     "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}}
        },
        "required": ["name", "age"]
    }))
    .unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

fn check_answer(content: Value, expected: Result<(), &str>) {
    let mut content = object(content);
    fill_defaults(&schema(), &mut content);
    match (check(&schema(), &content), expected) {
        (Ok(()), Ok(())) => {}
        (Err(why), Err(part)) if why.contains(part) => {}
        (got, expected) => panic!("{content:?}: {got:?}, expected {expected:?}"),
    }
}

#[test]
fn an_answer_is_checked_field_by_field() {
    check_answer(json!({}), Ok(()));
    check_answer(json!({"name": "K"}), Err("at least 2 characters"));
    check_answer(json!({"name": "Kimberly"}), Err("at most 5 characters"));
    check_answer(json!({"name": 7}), Err("must be a string"));
    check_answer(json!({"mail": "kim"}), Err("no valid email"));
    check_answer(json!({"mail": "kim@example.com"}), Ok(()));
    check_answer(json!({"site": "nowhere"}), Err("no valid uri"));
    check_answer(json!({"born": "2001-13-01"}), Err("no valid date"));
    check_answer(json!({"born": "2001-12-01"}), Ok(()));
    check_answer(json!({"age": 1.5}), Err("must be an integer"));
    check_answer(json!({"age": 151}), Err("at most 150"));
    check_answer(json!({"age": 151.0}), Err("at most 150"));
    check_answer(json!({"ok": "yes"}), Err("true or false"));
    check_answer(json!({"color": "green"}), Err("one of red, blue"));
    check_answer(json!({"tags": []}), Err("too few or too many"));
    check_answer(json!({"tags": ["a", "c"]}), Err("one of a, b"));
    check_answer(json!({"tags": ["a", "b"]}), Ok(()));
    check_answer(json!({"other": 1}), Err("no field \"other\""));
}

#[test]
fn defaults_fill_what_is_absent_or_null_and_nothing_else() {
    let mut content = object(json!({"name": "Ada", "age": null, "mail": null}));
    fill_defaults(&schema(), &mut content);
    assert_eq!(
        Value::Object(content),
        json!({"name": "Ada", "age": 30, "score": 0.5, "ok": false, "color": "red"})
    );
}
