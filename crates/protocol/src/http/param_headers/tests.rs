//! Annotations as tools write them, and calls as clients send them.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::*;

fn refusal(property: Value) -> String {
    let mut schema = json!({ "type": "object", "properties": {} });
    schema["properties"]["a"] = property;
    ParamHeaders::from_schema(&schema).unwrap_err().to_string()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

fn annotated() -> ParamHeaders {
    ParamHeaders::from_schema(&json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "limit": { "type": "integer", "x-mcp-header": "Limit" },
            "dry": { "type": ["boolean", "null"], "x-mcp-header": "Dry" },
            "o": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "x-mcp-header": { "type": "string" },
            "plain": { "type": "string", "default": { "x-mcp-header": "data" } }
        }
    }))
    .unwrap()
}

#[test]
fn annotations_are_found_with_their_paths() {
    let headers = annotated();
    let found: Vec<_> =
        headers.entries().iter().map(|entry| (entry.path().join("/"), entry.name().as_str())).collect();
    assert_eq!(
        found,
        [
            ("dry".to_owned(), "mcp-param-dry"),
            ("limit".to_owned(), "mcp-param-limit"),
            ("o/n".to_owned(), "mcp-param-n"),
            ("region".to_owned(), "mcp-param-region"),
        ]
    );
    assert!(ParamHeaders::from_schema(&json!({ "type": "object" })).unwrap().is_empty());
}

#[test]
fn prohibited_annotations_make_the_tool_invalid() {
    for (property, fault) in [
        (json!({ "type": "string", "x-mcp-header": "" }), "must not be empty"),
        (json!({ "type": "string", "x-mcp-header": 7 }), "must be a string"),
        (json!({ "type": "string", "x-mcp-header": null }), "must be a string"),
        (json!({ "type": "string", "x-mcp-header": "My Region" }), "token"),
        (json!({ "type": "string", "x-mcp-header": "A:B" }), "token"),
        (json!({ "type": "string", "x-mcp-header": "Région" }), "token"),
        (json!({ "type": "string", "x-mcp-header": "A\r\nEvil: 1" }), "control"),
        (json!({ "type": "string", "x-mcp-header": "A\tB" }), "control"),
        (json!({ "type": "number", "x-mcp-header": "A" }), "type must be"),
        (json!({ "type": "object", "x-mcp-header": "A" }), "type must be"),
        (json!({ "type": "array", "x-mcp-header": "A" }), "type must be"),
        (json!({ "type": "null", "x-mcp-header": "A" }), "type must be"),
        (json!({ "type": ["string", "integer"], "x-mcp-header": "A" }), "type must be"),
        (json!({ "type": ["null"], "x-mcp-header": "A" }), "type must be"),
        (json!({ "x-mcp-header": "A" }), "not declared"),
        (json!({ "$ref": "#/$defs/a", "x-mcp-header": "A" }), "not declared"),
    ] {
        let text = refusal(property);
        assert!(text.contains(fault) && text.contains("/properties/a"), "{text}");
    }
}

#[test]
fn names_are_unique_whatever_their_case() {
    for second in ["x", "X"] {
        let schema = json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "X" },
            "b": { "type": "string", "x-mcp-header": second }
        } });
        let error = ParamHeaders::from_schema(&schema).unwrap_err();
        assert!(error.to_string().contains("used twice") && error.path() == "/properties/b", "{error}");
    }
}

#[test]
fn annotations_off_the_chain_of_properties_are_refused() {
    let leaf = json!({ "type": "string", "x-mcp-header": "A" });
    let object = json!({ "type": "object", "properties": { "a": leaf } });
    for schema in [
        leaf.clone(),
        json!({ "items": leaf }),
        json!({ "properties": { "l": { "type": "array", "items": object } } }),
        json!({ "properties": { "l": { "prefixItems": [leaf] } } }),
        json!({ "allOf": [object] }),
        json!({ "anyOf": [{}, object] }),
        json!({ "oneOf": [object] }),
        json!({ "not": object }),
        json!({ "if": object }),
        json!({ "then": object }),
        json!({ "else": object }),
        json!({ "$defs": { "d": object } }),
        json!({ "definitions": { "d": leaf } }),
        json!({ "properties": { "o": { "anyOf": [leaf, { "type": "null" }] } } }),
        json!({ "additionalProperties": leaf }),
        json!({ "patternProperties": { "^x": leaf } }),
        json!({ "dependentSchemas": { "x": object } }),
        json!({ "contains": leaf }),
        json!({ "propertyNames": leaf }),
        json!({ "unevaluatedProperties": leaf }),
        json!({ "x-unknown": object }),
    ] {
        let error = ParamHeaders::from_schema(&schema).unwrap_err();
        assert!(error.to_string().contains("`properties` alone"), "{schema}: {error}");
    }
}

#[test]
fn the_number_and_the_nesting_of_annotations_are_bounded() {
    let many: Map<String, Value> = (0..=MAX_PARAM_HEADERS)
        .map(|index| (format!("p{index}"), json!({ "type": "string", "x-mcp-header": format!("P{index}") })))
        .collect();
    assert!(ParamHeaders::from_schema(&json!({ "properties": many })).is_err());
    let deep = (0..500).fold(json!({}), |inner, _| json!({ "not": inner }));
    assert!(ParamHeaders::from_schema(&deep).is_err());
}

#[test]
fn a_client_sends_the_values_that_are_there() {
    for (arguments, expected) in [
        (
            json!({ "region": "us-west1", "limit": 42, "dry": false, "o": { "n": -7 } }),
            "dry=false limit=42 n=-7 region=us-west1",
        ),
        (json!({ "region": "zone é", "o": { "n": null } }), "region==?base64?em9uZSDDqQ==?="),
        (json!({ "region": "", "o": 5, "other": { "region": "no" } }), "region="),
        (json!({ "limit": 42.0 }), "limit=42"),
        (json!({ "limit": 9_007_199_254_740_991_i64 }), "limit=9007199254740991"),
        (json!({}), ""),
    ] {
        let raw = to_raw_value(&arguments).unwrap();
        let headers = annotated();
        let sent = headers.headers_for(&*raw).unwrap();
        let text: Vec<String> = sent
            .iter()
            .map(|(name, value)| {
                format!("{}={}", name.as_str().trim_start_matches("mcp-param-"), value.to_str().unwrap())
            })
            .collect();
        assert_eq!(text.join(" "), expected, "{arguments}");
        let arguments = object(arguments);
        assert_eq!(headers.headers_for(&arguments).unwrap(), sent);
        let received: HeaderMap = sent.into_iter().collect();
        assert_eq!(headers.check(&received, &*raw), Ok(()));
        assert_eq!(headers.check(&received, &arguments), Ok(()));
    }
}

#[test]
fn a_client_refuses_what_no_header_can_carry() {
    for arguments in [
        json!({ "limit": 9_007_199_254_740_992_u64 }),
        json!({ "limit": u64::MAX }),
        json!({ "limit": -9_007_199_254_740_992_i64 }),
        json!({ "limit": 1.5 }),
        json!({ "region": ["a"] }),
        json!({ "region": {} }),
    ] {
        assert!(annotated().headers_for(&object(arguments.clone())).is_err(), "{arguments}");
    }
    for text in ["[]", "5", "null", "{"] {
        let error = serde_json::value::RawValue::from_string(text.to_owned())
            .map(|raw| annotated().headers_for(&*raw).is_err());
        assert!(error.unwrap_or(true), "{text}");
    }
}

/// `name=value` pairs, separated by `;`.
fn received(text: &str) -> HeaderMap {
    text.split(';')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            let name: HeaderName = format!("Mcp-Param-{name}").parse().unwrap();
            (name, HeaderValue::from_bytes(value.as_bytes()).unwrap())
        })
        .fold(HeaderMap::new(), |mut map, (name, value)| {
            map.append(name, value);
            map
        })
}

#[test]
fn a_server_compares_headers_with_arguments() {
    for (headers, arguments, fault) in [
        ("Region=us-west1", json!({ "region": "us-west1" }), None),
        ("Region==?base64?dXMtd2VzdDE=?=", json!({ "region": "us-west1" }), None),
        ("Region==?base64?IHBhZGRlZCA=?=", json!({ "region": " padded " }), None),
        ("Limit=42.0", json!({ "limit": 42 }), None),
        ("Limit=42", json!({ "limit": 42.0 }), None),
        ("Limit=4.2e1", json!({ "limit": 42 }), None),
        ("Dry=true;N=0", json!({ "dry": true, "o": { "n": 0 } }), None),
        ("", json!({ "region": null, "o": { "n": null } }), None),
        ("", json!({}), None),
        ("Region=us-west1", json!({}), Some("has no value")),
        ("Region=", json!({ "region": null }), Some("has no value")),
        ("N=0", json!({ "o": null }), Some("has no value")),
        ("N=0", json!({ "o": 5 }), Some("has no value")),
        ("Unknown=\u{e9}", json!({}), None),
        ("Region=", json!({ "region": "" }), None),
        ("", json!({ "region": "us-west1" }), Some("missing")),
        ("", json!({ "region": "" }), Some("missing")),
        ("", json!({ "dry": false }), Some("missing")),
        ("", json!({ "o": { "n": 0 } }), Some("missing")),
        ("Region=US-WEST1", json!({ "region": "us-west1" }), Some("but the argument")),
        ("Region=us-west1;Region=us-west1", json!({ "region": "us-west1" }), Some("more than once")),
        ("Region=\u{e9}", json!({ "region": "\u{e9}" }), Some("no header may carry")),
        ("Region=\u{e9}", json!({}), Some("no header may carry")),
        ("Region==?base64?%%%?=", json!({ "region": "x" }), Some("Base64")),
        ("Limit=43", json!({ "limit": 42 }), Some("but the argument")),
        ("Limit=42.5", json!({ "limit": 42 }), Some("but the argument")),
        ("Limit=+42", json!({ "limit": 42 }), Some("but the argument")),
        ("Limit=0x2a", json!({ "limit": 42 }), Some("but the argument")),
        ("Limit==?base64?IDQy?=", json!({ "limit": 42 }), Some("but the argument")),
        ("Limit=9007199254740993", json!({ "limit": 9_007_199_254_740_993_u64 }), Some("2^53")),
        ("", json!({ "limit": 9_007_199_254_740_993_u64 }), Some("2^53")),
        ("Limit=1.5", json!({ "limit": 1.5 }), Some("neither")),
        ("Dry=True", json!({ "dry": true }), Some("but the argument")),
        ("Region=x", json!({ "region": ["x"] }), Some("neither")),
        ("", json!({ "region": ["x"] }), None),
    ] {
        let raw = to_raw_value(&arguments).unwrap();
        let result = annotated().check(&received(headers), &*raw);
        match (&result, fault) {
            (Ok(()), None) => {}
            (Err(mismatch), Some(fault)) => assert!(mismatch.to_string().contains(fault), "{mismatch}"),
            _ => panic!("{headers} with {arguments}: {result:?}"),
        }
        assert_eq!(annotated().check(&received(headers), &object(arguments)), result);
    }
}

#[test]
fn equal_keys_count_as_they_do_for_a_decoder() {
    let raw = serde_json::value::RawValue::from_string(
        r#"{"region":"a","region":"b","r\u0065gion":"c"}"#.to_owned(),
    )
    .unwrap();
    assert_eq!(annotated().check(&received("Region=c"), &*raw), Ok(()));
    assert!(annotated().check(&received("Region=a"), &*raw).is_err());
}
