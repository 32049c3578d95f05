//! What is said about a value that does not fit.

use serde_json::{Value, json};
use switchboard_schema::{SchemaLimits, Validator};

fn check(schema: &Value, value: &Value, expected: &[&str]) {
    let validator = Validator::compile(schema, &SchemaLimits::default()).unwrap();
    let found: Vec<String> = match validator.validate(value) {
        Ok(()) => Vec::new(),
        Err(violations) => violations.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found, expected, "{schema} on {value}");
    assert_eq!(validator.is_valid(value), expected.is_empty());
}

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {
            "location": { "type": "string", "minLength": 1 },
            "units": { "enum": ["metric", "imperial", "kelvin"] },
            "days": { "type": "integer", "minimum": 1, "maximum": 7 }
        },
        "required": ["location"],
        "additionalProperties": false
    })
}

#[test]
fn a_violation_names_place_expectation_and_value() {
    check(&weather(), &json!({ "location": "Oslo", "units": "metric", "days": 2 }), &[]);
    for (value, expected) in [
        (
            json!({ "location": "Oslo", "units": "x" }),
            "/units: expected one of metric, imperial, kelvin; got \"x\"",
        ),
        (json!({}), "/location: expected a value, it is required; got nothing"),
        (json!({ "location": 3 }), "/location: expected a string; got 3"),
        (json!({ "location": "" }), "/location: expected at least 1 characters; got \"\""),
        (json!({ "location": "Oslo", "days": 9 }), "/days: expected at most 7; got 9"),
        (json!({ "location": "Oslo", "days": 1.5 }), "/days: expected an integer; got 1.5"),
        (json!({ "location": "Oslo", "days": null }), "/days: expected an integer; got null"),
        (
            json!({ "location": "Oslo", "unit": "x" }),
            "/unit: expected no property but days, location, units; got the unknown property \"unit\"",
        ),
        (json!([1, 2]), "(root): expected an object; got an array of 2"),
    ] {
        check(&weather(), &value, &[expected]);
    }
}

#[test]
fn all_findings_are_named_together() {
    check(
        &weather(),
        &json!({ "units": "x", "days": 0 }),
        &[
            "/days: expected at least 1; got 0",
            "/units: expected one of metric, imperial, kelvin; got \"x\"",
            "/location: expected a value, it is required; got nothing",
        ],
    );
}

#[test]
fn allowed_values_are_a_list_for_programs_too() {
    let validator = Validator::compile(&weather(), &SchemaLimits::default()).unwrap();
    let violations = validator.validate(&json!({ "location": "Oslo", "units": 1 })).unwrap_err();
    assert_eq!(violations[0].allowed.as_deref().unwrap(), ["metric", "imperial", "kelvin"]);
    assert_eq!(violations[0].path, "/units");
}

#[test]
fn alternatives_are_told_by_the_one_that_was_meant() {
    let shape = json!({
        "oneOf": [
            { "properties": { "kind": { "const": "circle" }, "radius": { "type": "number" } }, "required": ["kind", "radius"] },
            { "properties": { "kind": { "const": "square" }, "side": { "type": "number" } }, "required": ["kind", "side"] }
        ]
    });
    check(&shape, &json!({ "kind": "square", "side": "wide" }), &["/side: expected a number; got \"wide\""]);
    let optional = json!({ "anyOf": [{ "type": "object", "properties": { "a": { "type": "string" } } }, { "type": "null" }] });
    check(&optional, &json!({ "a": 1 }), &["/a: expected a string; got 1"]);
    check(&optional, &json!(3), &["(root): expected an object, or null; got 3"]);
    let variants = json!({ "oneOf": [{ "const": "a", "description": "the first" }, { "const": "b" }] });
    check(&variants, &json!("c"), &["(root): expected one of a, b; got \"c\""]);
}

#[test]
fn keywords_at_the_root_are_enforced() {
    let either = json!({
        "type": "object",
        "anyOf": [
            { "properties": { "content": { "type": "string" } }, "required": ["content"] },
            { "properties": { "url": { "type": "string" } }, "required": ["url"] }
        ]
    });
    check(&either, &json!({ "url": "x" }), &[]);
    check(
        &either,
        &json!({}),
        &["(root): expected the property content, or the property url; got an empty object"],
    );
    let conditional = json!({
        "type": "object",
        "allOf": [{ "if": { "properties": { "mode": { "const": "s" } } }, "then": { "properties": { "size": { "maximum": 10 } } } }]
    });
    check(&conditional, &json!({ "mode": "m", "size": 11 }), &[]);
    check(&conditional, &json!({ "mode": "s", "size": 11 }), &["/size: expected at most 10; got 11"]);
}

#[test]
fn tuples_follow_the_rules_of_their_dialect() {
    let draft_07 = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "t": { "type": "array", "items": [{ "type": "string" }, { "type": "integer" }] } }
    });
    check(&draft_07, &json!({ "t": ["a", 1, "more"] }), &[]);
    check(&draft_07, &json!({ "t": ["a", "b"] }), &["/t/1: expected an integer; got \"b\""]);
    let latest = json!({ "properties": { "t": { "prefixItems": [{ "type": "string" }] } } });
    check(&latest, &json!({ "t": ["a", 1] }), &[]);
    check(&latest, &json!({ "t": [1] }), &["/t/0: expected a string; got 1"]);
    let draft_2019 = json!({
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "items": [{ "type": "string" }], "additionalItems": false
    });
    check(&draft_2019, &json!(["a", 1]), &["(root): expected no more than 1 items; got an array of 2"]);
}

#[test]
fn any_json_value_can_be_checked() {
    let schema = json!({ "type": ["array", "null", "boolean", "integer"], "items": { "type": "string" } });
    for value in [json!([]), json!(null), json!(false), json!(0), json!(["a"]), json!(1.0)] {
        check(&schema, &value, &[]);
    }
    check(&schema, &json!("a"), &["(root): expected null or a boolean or an integer or an array; got \"a\""]);
}

#[test]
fn references_and_definitions_of_both_names_are_followed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "q": { "$ref": "#/$defs/Q", "description": "sibling text" },
            "old": { "$ref": "#/definitions/O" }
        },
        "required": ["q"],
        "additionalProperties": false,
        "$defs": {
            "Q": { "type": "object", "properties": { "limit": { "type": "integer", "default": 20 }, "mode": { "$ref": "#/$defs/M" } } },
            "M": { "type": "string", "enum": ["fit", "raw"] }
        },
        "definitions": { "O": { "type": ["string", "null"] } }
    });
    check(&schema, &json!({ "q": { "mode": "fit" }, "old": null }), &[]);
    check(&schema, &json!({ "q": { "mode": "x" } }), &["/q/mode: expected one of fit, raw; got \"x\""]);
}

#[test]
fn look_around_in_patterns_is_understood() {
    let schema = json!({ "pattern": "^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z]+\\.[a-z]{2,}$" });
    check(&schema, &json!("a.b@example.org"), &[]);
    check(
        &schema,
        &json!("a..b@example.org"),
        &[
            "(root): expected text matching the pattern ^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z]+\\.[a-z]{2,}$; got \"a..b@example.org\"",
        ],
    );
}
