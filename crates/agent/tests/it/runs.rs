//! Runs of an agent, from the question to the answer or to the exit code.

use serde_json::value::RawValue;
use switchboard_agent::journal::{Event, Execution, Integration, ResultEvent, WireDirection};
use switchboard_agent::{AgentError, Interrupt, Router};

use crate::support::{Signals, agent, events, name, scripted, stages};

#[tokio::test]
async fn a_model_over_http_calls_a_tool_over_mcp_and_answers() {
    let (endpoint, model) = scripted(include_str!("../data/scripts/climate.json")).await;
    let (builder, memory) = agent(model, &Signals::default());
    let answer = builder.build().unwrap().run("How warm is it right now?").await.unwrap();
    endpoint.verify().unwrap();
    assert_eq!(answer.text, "It is 21.5 degrees inside.");
    assert_eq!((answer.steps, answer.calls.len(), answer.selector.as_str()), (2, 1, "scripted"));
    assert_eq!(
        stages(&memory.entries()),
        [
            "authorization",
            "declaration",
            "discovery",
            "execution",
            "exposure",
            "integration",
            "invocation",
            "result",
            "selection"
        ]
    );
}

#[tokio::test]
async fn everything_that_goes_wrong_in_a_call_is_told_to_the_model_and_the_run_goes_on() {
    let (endpoint, model) = scripted(include_str!("../data/scripts/failures.json")).await;
    let (builder, memory) = agent(model, &Signals::default());
    let answer = builder.build().unwrap().run("Try everything").await.unwrap();
    endpoint.verify().unwrap();
    assert_eq!(answer.text, "Nothing worked.");
    let added = events(&memory).into_iter().filter_map(|event| match event {
        Event::Integration(Integration::Added { text, .. }) => Some(text),
        _ => None,
    });
    let added: Vec<String> = added.collect();
    assert_eq!(added[0], "The tool reported an error:\n2020-01-01 must be in the future");
    assert!(
        added[1].starts_with("The tool reported an error:\n") && !added[1].contains("a bug"),
        "{}",
        added[1]
    );
    assert!(added[2].contains("no tool is called \"house__nothing\""), "{}", added[2]);
    assert!(added[3].contains("- /day: expected"), "{}", added[3]);
}

#[tokio::test]
async fn the_router_gives_a_true_answer_from_a_real_call() {
    let (builder, memory) = agent(Router::new(), &Signals::default());
    let answer = builder.build().unwrap().run("How warm is it right now?").await.unwrap();
    assert_eq!(answer.text, "Temperature: Indoor 21.5, Balcony 7.3");
    let wire = |wanted: WireDirection| {
        events(&memory).into_iter().any(|event| match event {
            Event::Execution(Execution::Wire { direction, message, .. }) => {
                direction == wanted
                    && message.to_string().contains(match wanted {
                        WireDirection::Sent => r#""method":"tools/call""#,
                        WireDirection::Received => "structuredContent",
                    })
            }
            _ => false,
        })
    };
    assert!(wire(WireDirection::Sent) && wire(WireDirection::Received), "the wire is in the journal");
}

#[tokio::test]
async fn an_interrupt_reaches_the_server() {
    let signals = Signals::default();
    let (_endpoint, model) = scripted(r#"{"turns": [{"call": [{"name": "house__wait"}]}]}"#).await;
    let interrupt = Interrupt::default();
    let (builder, memory) = agent(model, &signals);
    let agent = builder.interrupt(interrupt.clone()).build().unwrap();
    let stop = async {
        signals.started.notified().await;
        interrupt.trigger();
    };
    let (result, ()) = tokio::join!(agent.run("Wait"), stop);
    assert_eq!(result.unwrap_err().exit_code(), 130);
    signals.cancelled.notified().await;
    assert!(events(&memory).iter().any(|event| matches!(
        event,
        Event::Result { outcome: ResultEvent::Failed { maybe_executed: true, .. }, .. }
    )));
}

#[tokio::test]
async fn progress_of_a_call_is_in_the_journal() {
    let (builder, memory) = agent(Router::new(), &Signals::default());
    let arguments = RawValue::from_string("{}".to_owned()).unwrap();
    builder.build().unwrap().call(&name(), "slow", arguments).await.unwrap();
    let progress = events(&memory).into_iter().find_map(|event| match event {
        Event::Execution(Execution::Progress { done, total, .. }) => Some((done, total)),
        _ => None,
    });
    assert_eq!(progress, Some((1.0, Some(2.0))));
}

#[tokio::test]
async fn a_model_that_fails_ends_the_run_with_its_own_code() {
    let (_endpoint, model) =
        scripted(r#"{"turns": [{"status": 400, "body": {"error": {"message": "context too long"}}}]}"#).await;
    let (builder, _memory) = agent(model, &Signals::default());
    let error: AgentError = builder.build().unwrap().run("q").await.unwrap_err();
    assert_eq!((error.exit_code(), error.code()), (7, "model_failed"));
    assert!(error.message().contains("context too long"), "{error}");
    let json = serde_json::to_value(&error).unwrap();
    assert_eq!(json["code"], "model_failed");
}
