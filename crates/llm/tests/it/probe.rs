//! The live probe: what each kind of model is said to do.

use serde_json::json;
use switchboard_llm::scripted::{Script, ScriptedModel, Turn};
use switchboard_llm::{ModelConfig, Outcome, ProbeReport, Provider, RetryPolicy, probe};

use crate::support::{WIRES, config_of, serve};

fn word(word: &str) -> Turn {
    Turn::call("note_word", json!({ "word": word }))
}

/// What a model that can do everything answers.
fn able() -> Vec<Turn> {
    vec![
        Turn::say("one two three"),
        word("switchboard"),
        Turn::say("It is 4711."),
        Turn::calls([("note_word", json!({ "word": "left" })), ("note_word", json!({ "word": "right" }))]),
        word("strict"),
        Turn::say("Red."),
    ]
}

fn outcomes(report: &ProbeReport) -> Vec<(&'static str, Outcome)> {
    report.steps.iter().map(|step| (step.step, step.outcome)).collect()
}

async fn check(wire: Provider, turns: Vec<Turn>, expected: [Outcome; 8]) -> ProbeReport {
    let server = serve(turns).await;
    let mut config = config_of(wire, &server);
    config.retry = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
    let report = probe(&config).await;
    let mut found = outcomes(&report);
    found.sort_by_key(|(step, _)| {
        ["answer", "stream", "call", "result", "parallel", "strict", "image", "usage"]
            .iter()
            .position(|known| known == step)
    });
    let found: Vec<Outcome> = found.into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(found, expected, "{wire:?} {report:#?}");
    server.verify().unwrap();
    report
}

#[tokio::test]
async fn a_model_that_does_everything_passes_everything() {
    for wire in WIRES {
        let report = check(wire, able(), [Outcome::Pass; 8]).await;
        assert!(report.is_usable() && report.capabilities.vision && report.capabilities.parallel_tool_calls);
        assert_eq!((report.usage.input_tokens, report.usage.output_tokens), (60, 30));
    }
}

#[tokio::test]
async fn what_a_model_does_not_do_is_said_and_the_rest_is_tried_all_the_same() {
    use Outcome::{Fail, Pass, Skipped, Unsupported};
    for wire in WIRES {
        let refused = |words: &str| Turn::fail(400, json!({ "error": { "message": words } }));
        let mut turns = able();
        turns[3] = word("left");
        turns[5] = refused("image input is not supported");
        turns.push(Turn::say("I see no picture."));
        let report = check(wire, turns, [Pass, Pass, Pass, Pass, Unsupported, Pass, Unsupported, Pass]).await;
        assert!(!report.capabilities.vision && !report.capabilities.parallel_tool_calls);

        let turns = vec![
            Turn::say("one"),
            Turn::say("I cannot call tools."),
            Turn::say("Sorry."),
            refused("strict: Extra inputs are not permitted"),
            word("strict"),
            Turn::say("Blue."),
        ];
        let report =
            check(wire, turns, [Pass, Unsupported, Fail, Skipped, Fail, Unsupported, Fail, Pass]).await;
        assert!(!report.is_usable());
        let said = &report.steps.iter().find(|step| step.step == "call").unwrap().said;
        assert!(said.contains("I cannot call tools."), "{said}");
    }
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_one_failure_and_not_eight() {
    use Outcome::{Fail, Skipped};
    for wire in WIRES {
        let turns = vec![Turn::fail(401, json!({ "error": { "message": "no such key" } }))];
        let expected = [Fail, Skipped, Skipped, Skipped, Skipped, Skipped, Skipped, Skipped];
        let report = check(wire, turns, expected).await;
        assert!(
            report.steps[0].said.contains("no such key")
                && report.steps[0].said.contains("check the API key")
        );
        assert!(serde_json::to_string(&report).unwrap().contains("\"skipped\""));
    }
}

#[tokio::test]
async fn where_it_was_is_said_without_what_may_be_secret() {
    let server = ScriptedModel::start(Script::default()).await.unwrap();
    let config = ModelConfig::openai(&format!("{}?key=hidden", server.base_url()), "m").unwrap();
    let report = probe(&config).await;
    let shown = serde_json::to_string(&report).unwrap();
    assert!(shown.contains(&server.address().to_string()) && !shown.contains("hidden"), "{shown}");
}
