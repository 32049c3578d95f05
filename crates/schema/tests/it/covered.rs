//! `is_covered_by_type` against schemas that are really generated from Rust types.

#![expect(dead_code, reason = "the types exist for their schemas")]

use std::collections::{BTreeMap, HashSet};

use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_schema::{SchemaLimits, Validator, is_covered_by_type, is_covered_when_encoded};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

#[derive(Deserialize, JsonSchema)]
enum Told {
    /// The first.
    A,
    /// The second.
    B,
}

/// Arguments.
#[derive(Deserialize, JsonSchema)]
struct Plain {
    /// Where.
    location: String,
    #[serde(default)]
    units: Option<Units>,
    told: Told,
    days: Option<u32>,
    small: (u8, i16),
    ratio: f64,
    children: Vec<Plain>,
    more: BTreeMap<String, i64>,
    anything: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Covered {
    location: String,
    days: Option<u32>,
    small: u8,
    tiny: i8,
    ratio: f32,
    children: Vec<Option<i8>>,
    more: BTreeMap<String, i64>,
    free: serde_json::Map<String, Value>,
    anything: Value,
    #[serde(default = "seven")]
    limit: usize,
    flag: bool,
}

fn seven() -> usize {
    7
}

#[derive(Deserialize, JsonSchema)]
struct Empty {}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Closed {
    a: i32,
}

#[derive(Deserialize, JsonSchema)]
struct Ranged {
    #[schemars(range(min = 1, max = 7))]
    days: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Extended {
    #[schemars(extend("enum" = ["a", "b"]))]
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Positive {
    #[schemars(range(min = 0))]
    days: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Unique {
    names: HashSet<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    Circle { radius: f64 },
    Square { side: f64 },
}

fn check<T: JsonSchema>(expected: bool) {
    let schema = schema_for!(T).to_value();
    assert_eq!(is_covered_by_type(&schema), expected, "{schema:#}");
    Validator::compile(&schema, &SchemaLimits::default()).unwrap();
}

#[test]
fn plain_types_need_no_validator() {
    check::<Covered>(true);
    check::<Empty>(true);
    check::<Vec<Option<String>>>(true);
    check::<Value>(true);
}

/// What holds a struct or a unit enum may be given in a form that the schema does not know.
#[test]
fn what_decoding_takes_in_another_form_needs_one() {
    check_lenient::<Option<Units>>();
    check_lenient::<Vec<Told>>();
    check_lenient::<Vec<Empty>>();
    check_lenient::<BTreeMap<String, Option<Covered>>>();
    check_lenient::<Tree>();
}

fn check_lenient<T: JsonSchema>() {
    check::<T>(false);
    let schema = schema_for!(T).to_value();
    assert!(is_covered_when_encoded(&schema), "{schema:#}");
}

#[test]
fn what_says_more_than_the_type_needs_one() {
    check::<Closed>(false);
    check::<Ranged>(false);
    check::<Extended>(false);
    check::<Positive>(false);
    check::<Unique>(false);
    check::<Tagged>(false);
    check::<Plain>(false);
}

#[test]
fn unknown_keywords_say_more() {
    for schema in [
        json!({ "type": "string", "x-unknown": 1 }),
        json!({ "type": "object", "required": ["a"] }),
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object" }),
        json!({ "$ref": "#/$defs/missing" }),
        json!({ "$ref": "https://example.com/a" }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
        json!({ "type": ["string", "integer"] }),
        json!({ "type": "string", "format": "email" }),
        json!({ "type": "integer", "format": "uint8", "maximum": 7 }),
        json!({ "type": "integer", "minimum": 0 }),
        json!({ "items": [{}] }),
        json!(false),
        json!(null),
    ] {
        assert!(!is_covered_by_type(&schema), "{schema}");
    }
}

/// What the type refuses for a schema that is covered, the validator need not see: whatever the schema
/// refuses, decoding refuses too.
#[test]
fn decoding_refuses_all_that_a_covered_schema_refuses() {
    let schema = schema_for!(Covered).to_value();
    let validator = Validator::compile(&schema, &SchemaLimits::default()).unwrap();
    let good = json!({
        "location": "Oslo", "small": 1, "tiny": -1, "ratio": 1, "children": [],
        "more": { "a": 1 }, "free": {}, "anything": null, "flag": true
    });
    assert!(validator.is_valid(&good) && serde_json::from_value::<Covered>(good.clone()).is_ok());
    let names: Vec<String> = good.as_object().unwrap().keys().cloned().chain(["days".to_owned()]).collect();
    for name in names {
        for wrong in [
            json!(null),
            json!("x"),
            json!(-1),
            json!(300),
            json!(1.5),
            json!([]),
            json!([1]),
            json!({}),
            json!({ "a": "b" }),
            json!(true),
        ] {
            let mut value = good.clone();
            value[&name] = wrong;
            if serde_json::from_value::<Covered>(value.clone()).is_ok() {
                assert!(validator.is_valid(&value), "{value}");
            }
        }
    }
}
