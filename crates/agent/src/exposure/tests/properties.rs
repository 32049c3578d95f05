//! Any schema: each dialect takes what it is given, and whatever the tool takes can still be written.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use switchboard_llm::SchemaDialect;
use switchboard_schema::{SchemaLimits, Validator};

use super::dialects::breaches;
use super::{ExposedTool, Exposure, ExposureOptions, declared, server};

const NAMES: [&str; 6] = ["a", "b", "kind", "we ird", "", "x.y-z"];

/// Schemas for single values.
fn leaf() -> impl Strategy<Value = Value> {
    let fixed = vec![
        json!({}),
        json!(true),
        json!(false),
        json!({"type": "string", "description": null}),
        json!({"type": "string", "minLength": 1, "maxLength": 3_000, "description": ""}),
        json!({"type": "string", "pattern": "^(?=a)a*$"}),
        json!({"type": "string", "pattern": "^[a-c]+$", "format": "uri"}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": ["string", "null"], "default": null}),
        json!({"type": ["integer", "boolean", "null"]}),
        json!({"type": "integer", "minimum": 0, "maximum": 3}),
        json!({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}),
        json!({"type": "boolean", "title": "T", "deprecated": true}),
        json!({"type": "null"}),
        json!({"enum": ["a", "b", "", null, 1, true]}),
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "integer", "enum": [1, 2]}),
        json!({"const": "a"}),
        json!({"const": {"deep": [1]}}),
        json!({"type": "array"}),
        json!({"type": "object"}),
        json!({"minLength": 2}),
        json!({"minimum": 2}),
        json!({"$ref": "#/$defs/d"}),
        json!({"$ref": "#/$defs/e", "description": "beside"}),
        json!({"$ref": "#/$defs/e", "minProperties": 1}),
        json!({"$ref": "#"}),
        json!({"$ref": "#anchored"}),
    ];
    select(fixed)
}

fn object(inner: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Value> {
    let further = prop_oneof![
        4 => Just(None),
        2 => Just(Some(json!(false))),
        1 => Just(Some(json!(true))),
        1 => inner.clone().prop_map(Some),
    ];
    let names = subsequence(NAMES.to_vec(), 0..4);
    let extra = select(vec![
        json!({}),
        json!({"patternProperties": {"^k": {"type": "string"}}}),
        json!({"minProperties": 1}),
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"propertyNames": {"maxLength": 4}}),
        json!({"unevaluatedProperties": false}),
        json!({"description": "an object"}),
    ]);
    (names, vec(inner, 4), any::<u8>(), further, extra).prop_map(|(names, schemas, mask, further, extra)| {
        let mut schema = extra.as_object().cloned().unwrap_or_default();
        schema.insert("type".into(), "object".into());
        let required: Vec<Value> = names
            .iter()
            .enumerate()
            .filter(|(at, _)| mask & (1 << at) != 0)
            .map(|(_, name)| json!(name))
            .collect();
        let properties: Map<String, Value> =
            names.into_iter().zip(schemas).map(|(name, schema)| (name.to_owned(), schema)).collect();
        if !properties.is_empty() {
            schema.insert("properties".into(), Value::Object(properties));
            schema.insert("required".into(), Value::Array(required));
        }
        if let Some(further) = further {
            schema.insert("additionalProperties".into(), further);
        }
        Value::Object(schema)
    })
}

fn schema() -> impl Strategy<Value = Value> + Clone {
    leaf().boxed().prop_recursive(3, 24, 4, |inner| {
        let list = vec(inner.clone(), 1..4);
        let three = (inner.clone(), inner.clone(), inner.clone());
        prop_oneof![
            3 => object(inner.clone()),
            1 => list.clone().prop_map(|list| json!({"anyOf": list})),
            1 => list.clone().prop_map(|list| json!({"oneOf": list, "description": "one of"})),
            1 => list.clone().prop_map(|list| json!({"allOf": list})),
            1 => inner.clone().prop_map(|schema| json!({"not": schema})),
            1 => three.clone().prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            1 => inner.clone().prop_map(|schema| json!({"type": "array", "items": schema, "minItems": 1})),
            1 => three.clone().prop_map(|(a, b, c)| json!({"type": "array", "prefixItems": [a, b], "items": c})),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"type": "array", "prefixItems": [a], "items": false, "contains": b, "maxContains": 2})),
            1 => (list, object(inner.clone())).prop_map(|(list, mut object)| {
                object["anyOf"] = json!(list);
                object
            }),
            1 => three.prop_map(|(a, b, c)| json!({"type": "object", "properties": {"a": a}, "allOf": [b, {"properties": {"a": c}}]})),
        ]
    })
}

/// The schema of a tool's arguments.
fn root() -> impl Strategy<Value = Value> {
    let combinator = select(vec!["anyOf", "oneOf", "allOf", "none", "none"]);
    (object(schema()), combinator, vec(object(schema()), 1..3), schema(), object(schema())).prop_map(
        |(mut root, combinator, list, d, e)| {
            if combinator != "none" {
                root[combinator] = json!(list);
            }
            root["$defs"] = json!({"d": d, "e": e, "f": {"$anchor": "anchored", "type": "string"}});
            root
        },
    )
}

/// Chooses among what a schema allows.
struct Chooser(u64);

impl Chooser {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    /// A value that may fit; whether it does, the validator says.
    fn value(&mut self, root: &Value, schema: &Value, depth: usize) -> Value {
        if depth == 0 {
            return json!("a");
        }
        if let Some(target) = schema["$ref"].as_str().and_then(|text| root.pointer(text.strip_prefix('#')?)) {
            return self.value(root, target, depth - 1);
        }
        for list in ["enum", "anyOf", "oneOf", "allOf"] {
            if let Some(list_of) = schema[list].as_array().filter(|list| !list.is_empty()) {
                let one = &list_of[self.below(list_of.len())];
                let chosen = if list == "enum" { one.clone() } else { self.value(root, one, depth - 1) };
                return self.with_members(root, schema, (chosen, depth));
            }
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let types = ["string", "integer", "null", "object", "array", "number", "boolean"];
        let named = match &schema["type"] {
            Value::String(name) => name.clone(),
            Value::Array(names) => names[self.below(names.len())].as_str().unwrap().to_owned(),
            _ => types[self.below(types.len())].to_owned(),
        };
        match named.as_str() {
            "string" => json!(["a", "b", "", "ab", "abc"][self.below(5)]),
            "integer" => json!([0, 1, 2, 7][self.below(4)]),
            "number" => json!([0.5, 1.0, 2.25][self.below(3)]),
            "boolean" => json!(self.below(2) == 0),
            "null" => Value::Null,
            "array" => {
                let length = self.below(4);
                let of = |at: usize| schema["prefixItems"].get(at).unwrap_or(&schema["items"]).clone();
                (0..length).map(|at| self.value(root, &of(at), depth - 1)).collect()
            }
            _ => self.with_members(root, schema, (json!({}), depth)),
        }
    }

    fn with_members(&mut self, root: &Value, schema: &Value, (value, depth): (Value, usize)) -> Value {
        let Value::Object(mut members) = value else { return value };
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let required = schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
            if (required || self.below(2) == 0) && !members.contains_key(name) {
                members.insert(name.clone(), self.value(root, property, depth - 1));
            }
        }
        if self.below(4) == 0 && schema.get("properties").is_none() {
            members.insert("k".into(), self.value(root, &schema["additionalProperties"], depth - 1));
        }
        Value::Object(members)
    }
}

/// The same as plain JSON Schema: OpenAPI says `nullable` instead of a type.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let nullable = members.get("nullable") == Some(&json!(true));
            let each = members.iter().filter(|(name, _)| *name != "nullable");
            let mut out: Map<String, Value> =
                each.map(|(name, value)| (name.clone(), plain(value))).collect();
            if nullable {
                out["type"] = json!([out["type"], "null"]);
                if let Some(Value::Array(values)) = out.get_mut("enum") {
                    values.push(Value::Null);
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// The value as a model in strict mode writes it: every property given, null for what is absent, nothing else.
fn strictly(root: &Value, schema: &Value, value: &Value) -> Option<Value> {
    if let Some(pointer) = schema["$ref"].as_str() {
        return strictly(root, root.pointer(pointer.strip_prefix('#')?)?, value);
    }
    if let Some(list) = schema["anyOf"].as_array() {
        return list.iter().find_map(|schema| strictly(root, schema, value));
    }
    let written = match (value, schema.get("properties"), schema.get("items")) {
        (Value::Object(members), Some(Value::Object(properties)), _) => {
            let mut out = Map::new();
            for (name, property) in properties {
                let member = members.get(name).unwrap_or(&Value::Null);
                out.insert(name.clone(), strictly(root, property, member)?);
            }
            Value::Object(out)
        }
        (Value::Array(items), _, Some(schema)) => {
            items.iter().map(|item| strictly(root, schema, item)).collect::<Option<Value>>()?
        }
        _ => value.clone(),
    };
    let mut alone = schema.clone();
    alone["$defs"] = root["$defs"].clone();
    if alone["$defs"].is_null() {
        alone.as_object_mut()?.remove("$defs");
    }
    // Inside, references to the whole must not be followed: the parts were looked at before.
    for name in ["properties", "items", "required"] {
        alone.as_object_mut()?.remove(name);
    }
    if alone["type"] == "object" || alone["additionalProperties"] == false {
        alone.as_object_mut()?.remove("additionalProperties");
    }
    let fits = Validator::compile(&alone, &SchemaLimits::default()).ok()?.is_valid(&written);
    fits.then_some(written)
}

fn compiled(schema: &Value, dialect: SchemaDialect) -> Exposure {
    let list = json!([{"name": "t", "description": "d", "inputSchema": schema}]).to_string();
    let options = ExposureOptions { dialect, ..ExposureOptions::default() };
    Exposure::compile_for([(server("s"), declared(&list))], &options)
}

fn check_widening(original: &Value, tool: &ExposedTool, seed: u64) -> Result<(), TestCaseError> {
    if tool.lost().iter().any(|lost| lost.narrows) {
        return Ok(());
    }
    let lowered: Value = serde_json::from_str(tool.definition().parameters.get()).unwrap();
    let validator = Validator::compile(&plain(&lowered), &SchemaLimits::default()).unwrap();
    let mut chooser = Chooser(seed);
    for _ in 0..16 {
        let value = chooser.value(original, original, 6);
        if tool.check(&value).is_err() {
            continue;
        }
        if tool.definition().strict {
            let written = strictly(&lowered, &lowered, &value);
            prop_assert!(written.is_some(), "{value} cannot be written by {lowered}");
            continue;
        }
        prop_assert!(validator.is_valid(&value), "{value} does not fit {lowered}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_dialect_takes_any_schema_and_what_the_tool_takes_can_be_written(original in root(), seed in any::<u64>()) {
        for dialect in SchemaDialect::ALL {
            let exposure = compiled(&original, dialect);
            prop_assert_eq!(exposure.tools().len() + exposure.left_out().len(), 1);
            for tool in exposure.tools() {
                let found = breaches(dialect, tool.definition());
                prop_assert!(found.is_empty(), "{found:?} in {}", tool.definition().parameters);
                prop_assert!(tool.definition().parameters.get().len() <= 128 * 1024);
                check_widening(&original, tool, seed)?;
            }
        }
    }

    #[test]
    fn no_document_panics(name in "[a-z$]{1,8}", values in vec(schema(), 1..3), keyword in select(vec![
        "properties", "items", "prefixItems", "required", "enum", "type", "anyOf", "$ref", "$dynamicRef", "not",
        "additionalProperties", "dependencies", "description", "minimum", "pattern", "$defs", "exclusiveMinimum",
    ])) {
        // In a dialect that nobody knows nothing is validated, so anything may stand anywhere.
        for value in [json!(values), json!(values[0]), json!("#/x"), json!(-1), json!(null), json!({"a": values})] {
            let schema = json!({"$schema": "https://schemas.example/mine", "type": "object", keyword: value.clone(),
                "properties": {"a": {keyword: value, name.as_str(): values[0]}}});
            for dialect in SchemaDialect::ALL {
                for tool in compiled(&schema, dialect).tools() {
                    let found = breaches(dialect, tool.definition());
                    prop_assert!(found.is_empty(), "{found:?} in {}", tool.definition().parameters);
                }
            }
        }
    }
}
