//! What becomes of each construct in each dialect, as data.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_llm::SchemaDialect;

use super::dialects::breaches;
use super::{Exposure, ExposureOptions, Lost, declared, server};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// As text: the order of properties counts.
    schema: Box<RawValue>,
    r#in: BTreeMap<String, Expected>,
    /// Arguments that the tool takes, and some that it does not, whatever a model sees.
    #[serde(default)]
    valid: Vec<Value>,
    #[serde(default)]
    invalid: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    parameters: Option<Value>,
    /// Place and keyword of each loss.
    lost: Vec<String>,
    #[serde(default)]
    told: Vec<String>,
    #[serde(default)]
    strict: bool,
    nulls: Option<Nulls>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nulls {
    arguments: Value,
    absent: Vec<String>,
}

fn compiled(schema: impl Display, dialect: SchemaDialect) -> Exposure {
    let list = format!(r#"[{{"name":"t","inputSchema":{schema}}}]"#);
    let options = ExposureOptions { dialect, ..ExposureOptions::default() };
    Exposure::compile_for([(server("s"), declared(&list))], &options)
}

fn check(case: &Case, dialect: SchemaDialect, expected: &Expected) {
    let name = format!("{} in {dialect}", case.name);
    let exposure = compiled(&case.schema, dialect);
    let [tool] = exposure.tools() else { panic!("{name}: {:?}", exposure.left_out()) };
    let definition = tool.definition();
    assert_eq!(breaches(dialect, definition), [""; 0], "{name}");
    if let Some(parameters) = &expected.parameters {
        let seen: Value = serde_json::from_str(definition.parameters.get()).unwrap();
        assert_eq!(seen.to_string(), parameters.to_string(), "{name}");
    }
    let lost: Vec<String> =
        tool.lost().iter().map(|Lost { path, what, .. }| format!("{path} {what}")).collect();
    assert_eq!(lost, expected.lost, "{name}");
    assert_eq!(definition.strict, expected.strict, "{name}: {:?}", tool.lost());
    for part in &expected.told {
        assert!(definition.description.contains(part), "{name}: {}", definition.description);
    }
    if let Some(Nulls { arguments, absent }) = &expected.nulls {
        assert_eq!(tool.absent(arguments), *absent, "{name}");
    }
}

#[test]
fn each_construct_becomes_what_the_dialect_takes() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../../tests/data/lowering.json")).unwrap();
    for case in &cases {
        for (dialect, expected) in &case.r#in {
            check(case, dialect.parse().unwrap(), expected);
        }
        let exposure = compiled(&case.schema, SchemaDialect::Anthropic);
        for (arguments, fits) in case
            .valid
            .iter()
            .map(|value| (value, true))
            .chain(case.invalid.iter().map(|value| (value, false)))
        {
            assert_eq!(exposure.tools()[0].check(arguments).is_ok(), fits, "{}: {arguments}", case.name);
        }
    }
}

#[test]
fn descriptions_are_texts_and_no_longer_than_the_provider_takes() {
    let long: String = "aé漢🙂".chars().cycle().take(20_000).collect();
    let list = json!([
        {"name": "n", "description": null, "inputSchema": {"type": "object"}},
        {"name": "m", "title": "M", "inputSchema": {"type": "object"}},
        {"name": "e", "description": "", "inputSchema": {"type": "object"}},
        {"name": "l", "description": long,
         "inputSchema": {"type": "object", "properties": {"p": {"type": "string", "description": null}}}}
    ]);
    for dialect in SchemaDialect::ALL {
        let options = ExposureOptions { dialect, ..ExposureOptions::default() };
        let exposure = Exposure::compile_for([(server("s"), declared(&list.to_string()))], &options);
        let described: Vec<(&str, usize)> = exposure
            .tools()
            .iter()
            .map(|tool| (tool.tool().name.as_str(), tool.definition().description.chars().count()))
            .collect();
        assert_eq!(described[0], ("e", 0));
        assert_eq!(described[2..], [("m", 1), ("n", 0)]);
        let tool = &exposure.tools()[1];
        assert!(tool.definition().description.ends_with("… [cut]"), "{dialect}");
        assert_eq!(breaches(dialect, tool.definition()), [""; 0]);
        assert_eq!(tool.lost()[0].what, "the tool's description");
        assert!(!tool.definition().parameters.get().contains("description"), "{dialect}");
        assert_eq!(tool.tool().description.as_deref(), Some(long.as_str()), "what the server wrote stays");
    }
    let options = ExposureOptions { max_description: Some(100), ..ExposureOptions::default() };
    let exposure = Exposure::compile_for([(server("s"), declared(&list.to_string()))], &options);
    assert!(exposure.tools()[1].definition().description.chars().count() <= 100);
}

#[test]
fn references_that_multiply_are_cut_before_they_fill_the_window() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let (left, right) = (next.clone(), next);
        definitions.insert(
            format!("d{level}"),
            json!({"type": "object", "properties": {"left": left, "right": right}}),
        );
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let schema =
        json!({"type": "object", "properties": {"bomb": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    for dialect in SchemaDialect::ALL {
        // A schema in a dialect that nobody knows is not measured before.
        let unknown = json!({"$schema": "https://schemas.example/x", "type": "object",
            "properties": schema["properties"], "$defs": schema["$defs"]});
        for schema in [&schema, &unknown] {
            let exposure = compiled(schema, dialect);
            for tool in exposure.tools() {
                assert!(tool.definition().parameters.get().len() < 64 * 1024, "{dialect}");
                assert!(tool.lost().iter().any(|lost| lost.why.contains("too deep")), "{:?}", tool.lost());
            }
            assert_eq!(exposure.tools().len() + exposure.left_out().len(), 1);
        }
    }
}

#[test]
fn a_list_of_values_that_would_fill_the_window_is_named_in_words() {
    let values: Vec<Value> = (0..5_000).map(|number| json!(format!("value-{number}"))).collect();
    let schema = json!({"type": "object", "properties": {"v": {"enum": values}}});
    for dialect in SchemaDialect::ALL {
        let exposure = compiled(&schema, dialect);
        let tool = &exposure.tools()[0];
        let seen = tool.definition().parameters.get();
        assert!(seen.len() < 1_000 && seen.contains("5000 values in all"), "{dialect}: {seen}");
        assert_eq!(breaches(dialect, tool.definition()), [""; 0]);
        assert!(tool.check(&json!({"v": "value-4999"})).is_ok() && tool.check(&json!({"v": "x"})).is_err());
    }
}
