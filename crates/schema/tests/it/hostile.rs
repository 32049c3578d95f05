//! Schemas and values that ask for more work than they are worth. Each test ends at once or not at all.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use switchboard_schema::{SchemaLimits, Validator};

fn compile(schema: &Value) -> Result<Validator, switchboard_schema::SchemaError> {
    Validator::compile(schema, &SchemaLimits::default())
}

fn is_refused_as_too_large(schema: &Value) {
    let error = compile(schema).unwrap_err();
    assert!(error.is_too_large(), "{error}");
}

fn definitions(count: usize, definition: impl Fn(usize) -> Value) -> Map<String, Value> {
    (0..count).map(|index| (format!("d{index}"), definition(index))).collect()
}

#[test]
fn ten_thousand_alternatives_are_refused() {
    let branches: Vec<Value> = (0..10_000).map(|index| json!({ "const": index })).collect();
    is_refused_as_too_large(&json!({ "anyOf": branches }));
}

#[test]
fn a_deeply_nested_schema_is_refused() {
    let nested = |keyword: &str| (0..60).fold(json!({}), |inner, _| json!({ keyword: { "a": inner } }));
    is_refused_as_too_large(&nested("properties"));
    let mut text = String::new();
    for _ in 0..100 {
        text.write_str("{\"not\":").unwrap();
    }
    text.push_str("{}");
    text.push_str(&"}".repeat(100));
    is_refused_as_too_large(&serde_json::from_str(&text).unwrap());
}

#[test]
fn a_long_chain_of_references_is_refused_where_it_would_nest() {
    let chain = |hop: fn(usize) -> Value| json!({ "$ref": "#/$defs/d0", "$defs": definitions(2_000, hop) });
    // In place: each link is one more evaluation inside the other.
    is_refused_as_too_large(&chain(|index| match index {
        1_999 => json!({ "type": "string" }),
        index => json!({ "allOf": [{ "$ref": format!("#/$defs/d{}", index + 1) }] }),
    }));
    // Through members: the value would have to be that deep.
    let linked = chain(|index| match index {
        1_999 => json!({ "type": "string" }),
        index => json!({ "properties": { "next": { "$ref": format!("#/$defs/d{}", index + 1) } } }),
    });
    let validator = compile(&linked).unwrap();
    assert!(validator.validate(&json!({ "next": { "next": {} } })).is_ok());
}

#[test]
fn a_reference_that_never_descends_is_refused() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/b" }] }, "b": { "$ref": "#/$defs/a" } } }),
    ] {
        let error = compile(&schema).unwrap_err();
        assert!(error.is_invalid() && error.to_string().contains("refers to itself"), "{error}");
    }
}

#[test]
fn recursion_into_the_value_is_fine() {
    let schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#" } } },
        "required": ["name"]
    });
    let validator = compile(&schema).unwrap();
    assert!(
        validator.validate(&json!({ "name": "a", "children": [{ "name": "b", "children": [] }] })).is_ok()
    );
    let violations =
        validator.validate(&json!({ "name": "a", "children": [{ "children": [] }] })).unwrap_err();
    assert_eq!(violations[0].to_string(), "/children/0/name: expected a value, it is required; got nothing");
}

fn doubling(count: usize, last: &Value) -> Value {
    let definitions = definitions(count, |index| {
        if index == count - 1 {
            return last.clone();
        }
        let next = json!({ "$ref": format!("#/$defs/d{}", index + 1) });
        json!({ "anyOf": [next, next] })
    });
    json!({ "$ref": "#/$defs/d0", "$defs": definitions })
}

#[test]
fn branches_that_double_at_each_definition_are_refused() {
    is_refused_as_too_large(&doubling(30, &json!({ "type": "string" })));
    is_refused_as_too_large(&doubling(30, &json!({ "items": { "$ref": "#" } })));
    let few = compile(&doubling(5, &json!({ "type": "string" }))).unwrap();
    assert_eq!(few.validate(&json!("a")), Ok(()));
    assert_eq!(few.validate(&json!(1)).unwrap_err()[0].to_string(), "(root): expected a string; got 1");
}

#[test]
fn branches_that_double_at_each_level_of_the_value_are_refused_when_it_is_deep() {
    let schema = json!({
        "properties": { "a": { "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }, "leaf": { "type": "string" } }
    });
    let validator = compile(&schema).unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({ "leaf": 1 }), |inner, _| json!({ "a": inner }));
    for (depth, text) in [(2, "a string at /a/leaf"), (17, "too many to list"), (100, "bounded time")] {
        let violations = validator.validate(&nested(depth)).unwrap_err();
        assert!(violations.len() == 1 || depth == 2, "{violations:?}");
        assert!(violations[0].to_string().contains(text), "{depth}: {}", violations[0]);
    }
}

#[test]
fn large_plain_values_are_always_checked() {
    let validator = compile(&json!({ "items": { "properties": { "a": { "type": "integer" } } } })).unwrap();
    let value = Value::Array(vec![json!({ "a": 1 }); 100_000]);
    assert_eq!(validator.validate(&value), Ok(()));
}

#[test]
fn deep_expressions_of_many_operators_are_checked() {
    let operator = |name: &str| {
        json!({
            "properties": { "op": { "const": name }, "left": { "$ref": "#" }, "right": { "$ref": "#" } },
            "required": ["op"]
        })
    };
    let operators: Vec<Value> = ["+", "-", "*", "/", "%", "^"].map(operator).into();
    let validator = compile(&json!({ "oneOf": operators })).unwrap();
    let value = (0..60).fold(json!({ "op": "+" }), |left, _| json!({ "op": "*", "left": left }));
    assert_eq!(validator.validate(&value), Ok(()));
    let wrong = (0..60).fold(json!({ "op": "&" }), |left, _| json!({ "op": "*", "left": left }));
    assert!(validator.validate(&wrong).is_err());
}

#[test]
fn a_value_deeper_than_the_limit_is_refused_and_not_followed() {
    let validator = compile(&json!({ "items": { "$ref": "#" } })).unwrap();
    let nested = |depth: usize| (0..depth).fold(json!([]), |inner, _| json!([inner]));
    assert!(validator.validate(&nested(120)).is_ok());
    let violations = validator.validate(&nested(200)).unwrap_err();
    assert!(violations[0].expected.starts_with("at most 128 levels"), "{}", violations[0]);
    assert!(!validator.is_valid(&nested(200)));
}

#[test]
fn long_chains_on_deep_values_fit_the_stack() {
    let links = definitions(28, |index| match index {
        27 => json!({ "items": { "$ref": "#" } }),
        index => json!({ "allOf": [{ "$ref": format!("#/$defs/d{}", index + 1) }] }),
    });
    let validator = compile(&json!({ "$ref": "#/$defs/d0", "$defs": links })).unwrap();
    for depth in 0..128 {
        let value = (0..depth).fold(json!([]), |inner, _| json!([inner]));
        let _ = validator.validate(&value);
    }
}

#[test]
fn violations_are_bounded() {
    let validator = compile(&json!({ "items": { "type": "integer" } })).unwrap();
    let value = Value::Array(vec![json!("x"); 1_000]);
    assert_eq!(validator.validate(&value).unwrap_err().len(), SchemaLimits::default().violations);
}

#[test]
fn a_pattern_that_backtracks_without_end_is_stopped() {
    let validator = compile(&json!({ "pattern": "^(?=(a+)+$)(a|a)+$" })).unwrap();
    let value = json!(format!("{}b", "a".repeat(60)));
    assert!(validator.validate(&value).is_err());
    let linear = compile(&json!({ "pattern": "^(a+)+$" })).unwrap();
    assert!(linear.validate(&json!(format!("{}b", "a".repeat(10_000)))).is_err());
}

#[test]
fn texts_of_the_value_are_cut_and_escaped() {
    let validator = compile(&json!({ "properties": { "a": { "type": "integer" } } })).unwrap();
    let violations =
        validator.validate(&json!({ "a": format!("\u{1b}[2J{}", "é".repeat(5_000)) })).unwrap_err();
    let text = violations[0].to_string();
    assert!(text.chars().count() < 150 && !text.contains('\u{1b}') && text.contains('…'), "{text}");
}
