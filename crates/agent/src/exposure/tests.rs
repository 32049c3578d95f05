//! The compiler of tools: what is offered, under which name, with which schema.

use serde_json::value::RawValue;
use switchboard_protocol::model::tool::decode_tool;

use super::*;

fn declared(list: &str) -> Declared {
    let raw: Vec<Box<RawValue>> = serde_json::from_str(list).unwrap();
    let mut declared = Declared::default();
    for definition in raw {
        match decode_tool(&definition) {
            Ok(tool) => declared.tools.push(tool),
            Err(invalid) => declared.invalid.push(invalid),
        }
    }
    declared
}

fn server(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

fn compile(list: &str) -> Exposure {
    Exposure::compile([(server("s"), declared(list))])
}

#[test]
fn a_tool_without_parameters_gets_empty_properties_in_the_copy_only() {
    let exposure = compile(include_str!("../../tests/data/tools_without_parameters.json"));
    let copies: Vec<_> =
        exposure.tools().iter().map(|tool| (tool.name(), tool.definition().parameters.get())).collect();
    assert_eq!(
        copies,
        [
            ("s__a", r#"{"type":"object","properties":{}}"#),
            ("s__b", r#"{"type":"object","additionalProperties":false,"properties":{}}"#),
            ("s__c", r#"{"type":"object","properties":{}}"#),
        ]
    );
    assert!(!exposure.tools()[0].tool().input_schema.get().contains("properties"));
    let left_out: Vec<_> = exposure.left_out().iter().map(|left| left.tool.as_str()).collect();
    assert_eq!(left_out, ["d", "e", "f"]);
    assert!(exposure.left_out().iter().all(|left| !left.reason.is_empty()));
}

#[test]
fn the_copy_loses_its_dialect_and_keeps_the_order_of_members() {
    let exposure = compile(
        r#"[{"name":"t","inputSchema":{"type":"object","$schema":"http://json-schema.org/draft-07/schema#",
            "required":["z"],"properties":{"z":{"type":"integer"},"a":{"type":"string"}}}}]"#,
    );
    assert_eq!(
        exposure.tools()[0].definition().parameters.get(),
        r#"{"type":"object","required":["z"],"properties":{"z":{"type":"integer"},"a":{"type":"string"}}}"#
    );
    assert!(exposure.tools()[0].check(&serde_json::json!({})).is_err(), "the original is validated against");
}

#[test]
fn one_unusable_tool_costs_itself_only() {
    let exposure = compile(
        r#"[{"name":"good","inputSchema":{"type":"object"}},
            {"name":"remote","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://h.example/x"}}}},
            {"name":"broken","inputSchema":{"type":"object","properties":{"a":{"type":"sting"}}}},
            {"name":"dialect","inputSchema":{"type":"object","$schema":"https://schemas.example/mine"}},
            {"name":"good","inputSchema":{"type":"object"}}]"#,
    );
    let names: Vec<_> = exposure.tools().iter().map(ExposedTool::name).collect();
    assert_eq!(names, ["s__dialect", "s__good"]);
    let left_out: Vec<_> = exposure.left_out().iter().map(|left| left.tool.as_str()).collect();
    assert_eq!(left_out, ["good", "broken", "remote"]);
    assert_eq!(exposure.unchecked()[0].tool, "dialect");
}

#[test]
fn the_order_does_not_depend_on_who_answers_first() {
    let one = || {
        declared(
            r#"[{"name":"b","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]"#,
        )
    };
    let two = || declared(r#"[{"name":"c","inputSchema":{"type":"object"}}]"#);
    let names = |exposure: &Exposure| -> Vec<String> {
        exposure.tools().iter().map(|tool| tool.name().to_owned()).collect()
    };
    let forth = Exposure::compile([(server("x"), one()), (server("w"), two())]);
    let back = Exposure::compile([(server("w"), two()), (server("x"), one())]);
    assert_eq!(names(&forth), ["w__c", "x__a", "x__b"]);
    assert_eq!(names(&forth), names(&back));
}

#[test]
fn names_fit_every_provider_and_never_meet() {
    let long = "n".repeat(80);
    let servers = ["a", "a_", "a__b", "_", "é", "a b", "a.b", &long, "9"];
    let tools = ["b", "_b", "b__c", "c", "", "é", "ü", "a.b", "a b", &long, "x_a41b2c3d4e5f6071"];
    let mut seen = HashMap::new();
    for server in servers {
        for tool in tools {
            let name = exposed_name(server, tool);
            assert!(!name.is_empty() && name.len() <= MAX_TOOL_NAME, "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{name}");
            assert_eq!(seen.insert(name.clone(), (server, tool)), None, "{name}");
        }
    }
}

#[test]
fn a_change_of_anything_visible_changes_the_digest() {
    let base = r#"[{"name":"t","title":"T","description":"D","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]"#;
    let digest = |list: &str| compile(list).tools()[0].digest();
    for (from, to) in
        [("\"T\"", "\"U\""), ("\"D\"", "\"E\""), ("true", "false"), ("\"object\"", "\"object\",\"x\":1")]
    {
        assert_ne!(digest(base), digest(&base.replace(from, to)), "{from}");
    }
    assert_eq!(digest(base), digest(base));
}

#[test]
fn a_tool_with_a_name_longer_than_any_may_be_is_left_out_and_named_shortly() {
    let tool = |length: usize| {
        format!(r#"{{"name": "{}", "inputSchema": {{"type": "object"}}}}"#, "é".repeat(length))
    };
    let exposure = compile(&format!("[{},{},{}]", tool(128), tool(129), tool(70_000)));
    assert_eq!(exposure.tools().len(), 1);
    for left_out in exposure.left_out() {
        assert_eq!(left_out.tool.chars().count(), 129, "{}", left_out.reason);
        assert_eq!(left_out.reason, "its name is longer than 128 characters");
    }
    assert_eq!(exposure.left_out().len(), 2);
}

mod dialects;
mod lowering;
mod many;
mod properties;
