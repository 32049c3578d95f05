//! Hundreds of tools of several servers, one of them hostile to every dialect: one request that every provider takes,
//! the same bytes after every restart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_llm::SchemaDialect;

use super::dialects::breaches;
use super::{Declared, Exposure, ExposureOptions, LeftOutCause, ServerName, declared, server};

/// What the hostile server declares.
const HOSTILE: &str = include_str!("../../../tests/data/hostile_tools.json");

/// Tools of five ordinary servers; with the hostile one's there are 312.
const ORDINARY: usize = 290;

/// An ordinary tool: a few parameters, some of them shared.
fn ordinary(number: usize) -> Value {
    let mut properties = serde_json::Map::new();
    for parameter in 0..(number % 5 + 1) {
        let schema = match (number + parameter) % 4 {
            0 => json!({"type": "string", "description": format!("Parameter {parameter} of tool {number}")}),
            1 => json!({"type": "integer", "minimum": 0, "maximum": 100, "default": 10}),
            2 => json!({"anyOf": [{"$ref": "#/$defs/Range"}, {"type": "null"}], "default": null}),
            _ => json!({"type": "array", "items": {"enum": ["one", "two", "three"]}, "maxItems": 3}),
        };
        properties.insert(format!("p{parameter}"), schema);
    }
    json!({
        "name": format!("tool_{number}"),
        "description": format!("Does what tool {number} does, in about as many words as tools are described in."),
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": ["p0"],
            "$defs": {"Range": {"type": "object", "properties": {"from": {"type": "string", "format": "date"},
                "to": {"type": "string", "format": "date"}}, "required": ["from"]}}
        }
    })
}

/// Six servers, listed in an order that `turn` decides.
fn servers(turn: usize) -> Vec<(ServerName, Declared)> {
    let mut servers: Vec<(ServerName, Declared)> = Vec::new();
    for number in 0..5 {
        let mut tools: Vec<Value> = (0..ORDINARY).filter(|tool| tool % 5 == number).map(ordinary).collect();
        let length = tools.len();
        tools.rotate_left(turn * 7 % length);
        servers.push((server(&format!("server-{number}")), declared(&json!(tools).to_string())));
    }
    // Definitions are texts: the order of members stays as the server wrote it.
    let mut hostile: Vec<Box<RawValue>> = serde_json::from_str(HOSTILE).unwrap();
    if turn % 2 == 1 {
        hostile.reverse();
    }
    servers.push((server("hostile"), declared(&serde_json::to_string(&hostile).unwrap())));
    servers.rotate_left(turn % 6);
    servers
}

fn bytes(exposure: &Exposure) -> String {
    serde_json::to_string(&exposure.definitions()).unwrap()
}

#[test]
fn one_request_for_each_dialect_and_the_same_bytes_after_every_restart() {
    let mut written: Vec<(SchemaDialect, String)> = Vec::new();
    for dialect in SchemaDialect::ALL {
        let options = ExposureOptions { dialect, ..ExposureOptions::default() };
        let exposure = Exposure::compile_for(servers(0), &options);
        assert_eq!(exposure.tools().len() + exposure.left_out().len(), 312, "{dialect}");
        for tool in exposure.tools() {
            assert_eq!(breaches(dialect, tool.definition()), [""; 0], "{}", tool.name());
        }
        let names: std::collections::HashSet<&str> = exposure.names().map(|(name, _, _)| name).collect();
        assert_eq!(names.len(), exposure.tools().len());
        written.push((dialect, bytes(&exposure)));
    }
    let mut kept = String::from("[]");
    for start in 1..=10 {
        // What was written down is read back.
        let offered: Vec<String> = serde_json::from_str(&kept).unwrap();
        let options = ExposureOptions { offered: &offered, ..ExposureOptions::default() };
        let again = Exposure::compile_for(servers(start), &options);
        for (dialect, written) in &written {
            assert_eq!(bytes(&again.for_dialect(*dialect)), *written, "{dialect}: start {start}");
        }
        if start % 2 == 0 {
            kept = json!(again.offered()).to_string();
        }
    }
}

#[test]
fn what_comes_later_comes_after_what_was_offered() {
    let (late, early): (Vec<_>, Vec<_>) =
        servers(0).into_iter().partition(|(server, _)| server.as_str() == "server-1");
    let before = Exposure::compile(early);
    let offered = before.offered().to_vec();
    let options = ExposureOptions { offered: &offered, ..ExposureOptions::default() };
    let with = Exposure::compile_for(servers(3), &options);
    assert!(bytes(&with).starts_with(bytes(&before).trim_end_matches(']')), "the cached part stays");
    assert_eq!(with.tools().len(), before.tools().len() + late[0].1.tools.len());
    // A server that goes takes its tools with it and no place of others; it comes back to its own.
    let all = with.offered().to_vec();
    let options = ExposureOptions { offered: &all, ..ExposureOptions::default() };
    let gone = servers(0).into_iter().filter(|(server, _)| server.as_str() != "server-3");
    let without = Exposure::compile_for(gone, &options);
    let left: Vec<&str> =
        with.names().filter(|(_, server, _)| server.as_str() != "server-3").map(|(name, ..)| name).collect();
    assert_eq!(without.names().map(|(name, ..)| name).collect::<Vec<_>>(), left);
    let kept = without.offered().to_vec();
    let options = ExposureOptions { offered: &kept, ..ExposureOptions::default() };
    assert_eq!(bytes(&Exposure::compile_for(servers(5), &options)), bytes(&with));
}

#[test]
fn the_list_of_what_is_lost_of_hostile_tools_is_right() {
    let mut report = String::new();
    for dialect in SchemaDialect::ALL {
        let options = ExposureOptions { dialect, ..ExposureOptions::default() };
        let exposure = Exposure::compile_for(servers(0), &options);
        let hostile = server("hostile");
        writeln!(report, "## {dialect}").unwrap();
        for tool in exposure.tools().iter().filter(|tool| *tool.server() == hostile) {
            let strict = if tool.definition().strict { ", strict" } else { "" };
            writeln!(report, "{}{strict}", tool.tool().name).unwrap();
            for lost in tool.lost() {
                writeln!(report, "  {}{lost}", if lost.narrows { "narrower: " } else { "" }).unwrap();
            }
        }
        for left in exposure.left_out() {
            let name: String = left.tool.chars().take(24).collect();
            writeln!(report, "{name} is left out: {}", left.reason).unwrap();
        }
    }
    insta::assert_snapshot!(report);
}

#[test]
fn filters_hide_and_rename_and_never_take_a_name_away() {
    let list = r#"[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}},
        {"name":"c","inputSchema":{"type":"object"}},{"name":"d","inputSchema":{"type":"object"}}]"#;
    let rename = [("a", "b"), ("c", "see")].map(|(from, to)| (from.to_owned(), to.to_owned()));
    let filter = super::ToolFilter {
        exclude: vec!["d*".into()],
        rename: BTreeMap::from(rename),
        ..Default::default()
    };
    let options =
        ExposureOptions { filters: BTreeMap::from([(server("s"), filter)]), ..ExposureOptions::default() };
    let exposure = Exposure::compile_for([(server("s"), declared(list))], &options);
    let names: Vec<(&str, &str)> = exposure.names().map(|(name, _, tool)| (name, tool)).collect();
    assert_eq!(names, [("s__b", "b"), ("s__see", "c")]);
    let left: Vec<(&str, LeftOutCause)> =
        exposure.left_out().iter().map(|left| (left.tool.as_str(), left.cause)).collect();
    assert_eq!(left, [("d", LeftOutCause::Filtered), ("a", LeftOutCause::Clash)]);
    assert!(exposure.token_cost(&server("s")) > 0);
    assert_eq!(exposure.token_cost(&server("s")), exposure.total_token_cost());
}
