//! Which schemas compile, and what is said of those that do not.

use serde_json::{Value, json};
use switchboard_schema::{SUPPORTED_DIALECTS, SchemaError, SchemaLimits, Validator};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Compiles,
    UnsupportedDialect,
    ExternalRef,
    TooLarge,
    Invalid,
}

fn check(schema: &Value, limits: &SchemaLimits) -> Verdict {
    match Validator::compile(schema, limits) {
        Ok(_) => Verdict::Compiles,
        Err(error) if error.is_unsupported_dialect() => Verdict::UnsupportedDialect,
        Err(error) if error.is_external_ref() => Verdict::ExternalRef,
        Err(error) if error.is_too_large() => Verdict::TooLarge,
        Err(error) if error.is_invalid() => Verdict::Invalid,
        Err(error) => panic!("{error} has no predicate"),
    }
}

fn refusal(schema: &Value) -> SchemaError {
    Validator::compile(schema, &SchemaLimits::default()).unwrap_err()
}

#[test]
fn schemas_without_parameters_compile_and_accept_an_empty_object() {
    for schema in [
        json!({ "type": "object" }),
        json!({ "type": "object", "additionalProperties": false }),
        json!({ "type": "object", "properties": {} }),
        json!({}),
        json!(true),
    ] {
        let validator = Validator::compile(&schema, &SchemaLimits::default()).unwrap();
        assert_eq!(validator.validate(&json!({})), Ok(()), "{schema}");
    }
    for schema in [json!(null), json!([]), json!("object")] {
        assert_eq!(check(&schema, &SchemaLimits::default()), Verdict::Invalid, "{schema}");
    }
}

#[test]
fn each_schema_is_read_by_the_dialect_it_declares() {
    use Verdict::{Compiles, Invalid, UnsupportedDialect};
    for (dialect, verdict) in [
        ("https://json-schema.org/draft/2020-12/schema", Compiles),
        ("http://json-schema.org/draft/2020-12/schema#", Compiles),
        ("https://json-schema.org/draft/2019-09/schema", Compiles),
        ("https://json-schema.org/draft/2019-09/schema#", Compiles),
        ("http://json-schema.org/draft-07/schema#", Compiles),
        ("http://json-schema.org/draft-07/schema", Compiles),
        ("https://json-schema.org/draft-07/schema", Compiles),
        ("https://json-schema.org/draft-07/schema#", Compiles),
        ("http://json-schema.org/draft-06/schema#", Compiles),
        ("http://json-schema.org/draft-04/schema#", Compiles),
        ("http://json-schema.org/schema#", UnsupportedDialect),
        ("https://schemas.example/my-dialect", UnsupportedDialect),
        ("", UnsupportedDialect),
    ] {
        let schema = json!({ "$schema": dialect, "type": "object" });
        assert_eq!(check(&schema, &SchemaLimits::default()), verdict, "{dialect}");
    }
    assert_eq!(check(&json!({ "$schema": 7 }), &SchemaLimits::default()), Invalid);
    let text = refusal(&json!({ "$schema": "https://schemas.example/my-dialect" })).to_string();
    assert!(text.starts_with("JSON Schema dialect \"https://schemas.example/my-dialect\" is not supported"));
    assert!(SUPPORTED_DIALECTS.iter().all(|dialect| text.contains(dialect)), "{text}");
}

#[test]
fn references_stay_within_the_document() {
    use Verdict::{Compiles, ExternalRef, Invalid, UnsupportedDialect};
    for (schema, verdict) in [
        (json!({ "$ref": "#/$defs/a", "$defs": { "a": {} } }), Compiles),
        (json!({ "$ref": "#/$defs/a%20b", "$defs": { "a b": {} } }), Compiles),
        (json!({ "$ref": "#here", "$defs": { "a": { "$anchor": "here" } } }), Compiles),
        (json!({ "properties": { "next": { "$ref": "#" } } }), Compiles),
        (json!({ "properties": { "$ref": { "type": "string" } } }), Compiles),
        (json!({ "const": { "$ref": "https://example.com/a" } }), Compiles),
        (json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }), Compiles),
        (
            json!({ "$id": "https://example.com/root", "$ref": "item",
                    "$defs": { "a": { "$id": "https://example.com/item", "type": "string" } } }),
            Compiles,
        ),
        (json!({ "$ref": "https://example.com/a.json" }), ExternalRef),
        (json!({ "$ref": "http://127.0.0.1:1/a.json#/x" }), ExternalRef),
        (json!({ "$ref": "file:///etc/passwd" }), ExternalRef),
        (json!({ "$ref": "other.json" }), ExternalRef),
        (json!({ "properties": { "a": { "items": { "$ref": "https://example.com/a" } } } }), ExternalRef),
        (json!({ "$defs": { "unused": { "$ref": "https://example.com/a" } } }), ExternalRef),
        (json!({ "$dynamicRef": "https://example.com/a#b" }), ExternalRef),
        (json!({ "$ref": "#/$defs/a" }), Invalid),
        (json!({ "$ref": "#nowhere" }), Invalid),
        (json!({ "$ref": "#/$defs/%zz", "$defs": {} }), Invalid),
        (
            json!({ "$defs": { "a": { "$id": "https://example.com/a", "$schema": "https://example.com/d" } } }),
            UnsupportedDialect,
        ),
    ] {
        assert_eq!(check(&schema, &SchemaLimits::default()), verdict, "{schema}");
    }
    assert_eq!(
        refusal(&json!({ "$ref": "https://example.com/a.json" })).to_string(),
        "$ref \"https://example.com/a.json\" points outside the schema, and nothing is fetched; \
         copy the referenced schema into $defs and refer to it as #/$defs/NAME"
    );
}

#[test]
fn an_invalid_schema_is_refused_with_its_place() {
    for (schema, place) in [
        (json!({ "type": "strnig" }), "/type"),
        (json!({ "properties": { "a": { "minLength": "3" } } }), "/properties/a/minLength"),
        (json!({ "pattern": "(" }), "pattern"),
        (json!({ "required": "a" }), "/required"),
    ] {
        let error = refusal(&schema);
        assert!(error.is_invalid(), "{schema}: {error}");
        assert!(error.to_string().contains(place), "{schema}: {error}");
    }
}

#[test]
fn each_limit_is_the_one_that_refuses() {
    let tight = |change: fn(&mut SchemaLimits)| {
        let mut limits = SchemaLimits::default();
        change(&mut limits);
        limits
    };
    let schema = json!({ "properties": { "a": { "pattern": "^a{20}$" } } });
    assert_eq!(check(&schema, &SchemaLimits::default()), Verdict::Compiles);
    for (limits, what) in [
        (tight(|limits| limits.bytes = 10), "bytes"),
        (tight(|limits| limits.depth = 2), "levels of nesting"),
        (tight(|limits| limits.subschemas = 1), "subschemas"),
        (tight(|limits| limits.patterns = 0), "regular expressions"),
    ] {
        let error = Validator::compile(&schema, &limits).unwrap_err();
        assert!(error.is_too_large() && error.to_string().contains(what), "{error}");
    }
    assert_eq!(check(&schema, &tight(|limits| limits.pattern_bytes = 10)), Verdict::Invalid);
}
