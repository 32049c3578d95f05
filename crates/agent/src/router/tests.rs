//! Questions against the definitions of three real servers: which tool is picked, with which arguments, and
//! what is said when none is.

use std::collections::BTreeMap;

use serde::Deserialize;
use switchboard_protocol::model::tool::Tool;

use super::*;
use crate::exposure::{Declared, Exposure};

fn exposure(only: &[&str]) -> Exposure {
    let servers: BTreeMap<String, Vec<Tool>> =
        serde_json::from_str(include_str!("../../tests/data/three_servers.json")).unwrap();
    let declared = servers.into_iter().filter(|(name, _)| only.is_empty() || only.contains(&name.as_str()));
    Exposure::compile(
        declared
            .map(|(name, tools)| (ServerName::new(name).unwrap(), Declared { tools, invalid: Vec::new() })),
    )
}

fn pick(exposure: &Exposure, question: &str) -> String {
    let question = Question::read(question);
    let candidates = rank(&question, exposure.tools());
    match candidates.into_iter().find(|candidate| candidate.share >= THRESHOLD) {
        Some(candidate) => {
            let missing: Vec<String> =
                candidate.filled.missing.iter().map(|parameter| format!(" ?{}", parameter.name)).collect();
            let arguments = Value::Object(candidate.filled.arguments);
            format!("{} {arguments}{}", candidate.tool.tool().name, missing.concat())
        }
        None => "none".to_owned(),
    }
}

#[derive(Deserialize)]
struct Case {
    question: String,
    picks: String,
}

#[test]
fn every_question_picks_what_the_table_says() {
    let exposure = exposure(&[]);
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../tests/data/questions.json")).unwrap();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let picked = pick(&exposure, &case.question);
            (picked != case.picks)
                .then(|| format!("{}\n  wanted {}\n  picked {picked}", case.question, case.picks))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_station_is_picked_however_few_other_tools_there_are() {
    for servers in [&["station"][..], &["station", "calculator"], &["city", "station"]] {
        assert_eq!(pick(&exposure(servers), "How warm is it right now?"), "get_climate {}", "{servers:?}");
        assert_eq!(pick(&exposure(servers), "Tell me a joke"), "none", "{servers:?}");
    }
}

#[test]
fn whoever_is_not_picked_is_told_with_its_scores() {
    let exposure = exposure(&[]);
    let error = no_tool_fits(&rank(
        &Question::read("Tell me a joke about the weather station's humor"),
        exposure.tools(),
    ));
    assert_eq!(error.exit_code(), 7);
    assert!(error.message().contains("station/get_climate (score "), "{error}");
    let error = no_tool_fits(&rank(&Question::read("Tell me a joke"), exposure.tools()));
    assert!(error.message().ends_with("none of the 4 tools speaks of any of them"), "{error}");
    assert!(no_tool_fits(&[]).message().ends_with("there are no tools"));
}

#[test]
fn a_missing_argument_is_named_with_its_description() {
    let exposure = exposure(&["city"]);
    let candidates = rank(&Question::read("What's the weather?"), exposure.tools());
    let error = missing_arguments(&candidates[0]);
    assert_eq!(error.exit_code(), 1);
    assert_eq!(error.code(), "missing_arguments");
    assert_eq!(
        error.message(),
        "the question does not say what city/get_weather must know: location (A city, such as Paris.)"
    );
}

struct Replies(std::sync::Mutex<Vec<&'static str>>);

impl Ask for Replies {
    fn ask<'a>(&'a self, _missing: &'a Missing) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(self.0.lock().unwrap().pop().map(str::to_owned)))
    }
}

#[tokio::test]
async fn a_person_is_asked_until_the_value_fits() {
    let exposure = exposure(&["city"]);
    let candidates = rank(&Question::read("What's the current weather?"), exposure.tools());
    let router = Router::new().ask(Replies(std::sync::Mutex::new(vec!["Oslo", "  "])));
    let arguments = router.complete(&candidates[0]).await.unwrap();
    assert_eq!(Value::Object(arguments).to_string(), r#"{"location":"Oslo"}"#);
    let nobody = Router::new().ask(Replies(std::sync::Mutex::new(Vec::new())));
    assert!(nobody.complete(&candidates[0]).await.is_err());
}

#[test]
fn replies_are_read_as_the_schema_wants_them() {
    let units = Kind::OneOf(vec![Value::from("metric"), Value::from("kelvin")]);
    for (kind, reply, expected) in [
        (Kind::Text, "12", Some(r#""12""#)),
        (Kind::Integer, "12", Some("12")),
        (Kind::Integer, "1.5", None),
        (Kind::Number, "1.5", Some("1.5")),
        (Kind::Number, "NaN", None),
        (Kind::Flag, "Yes", Some("true")),
        (Kind::Flag, "maybe", None),
        (units.clone(), "METRIC", Some(r#""metric""#)),
        (units, "x", None),
        (Kind::Other, "[1]", Some("[1]")),
        (Kind::Text, "", None),
    ] {
        let value = value_of(&kind, reply).ok().map(|value| value.to_string());
        assert_eq!(value.as_deref(), expected, "{kind:?} {reply}");
    }
}

#[test]
fn many_tools_and_a_long_question_are_ranked_all_the_same() {
    let tool = |at: usize| {
        let description = "speaks of one thing ".repeat(200);
        serde_json::from_value(serde_json::json!({
            "name": format!("tool_{at}"), "description": description, "inputSchema": {"type": "object"},
        }))
        .unwrap()
    };
    let tools = (0..1000).map(tool).collect();
    let exposure =
        Exposure::compile([(ServerName::new("many").unwrap(), Declared { tools, invalid: Vec::new() })]);
    let question = Question::read(&format!("tool 7 {}", "word Another one ".repeat(7000)));
    assert!(question.words.len() <= 200, "{}", question.words.len());
    assert_eq!(rank(&question, exposure.tools()).len(), 1000);
}
