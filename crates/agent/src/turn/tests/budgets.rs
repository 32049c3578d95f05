//! The budgets of a step and a run, and the host's own tools, which come with the first cut.

use std::sync::Arc;

use switchboard_llm::Capabilities;

use super::*;
use crate::artefact::SessionArtefacts;
use crate::integration::{Keeper, Returned};
use crate::journal::Journal;
use crate::store::MemoryStore;

fn keeper(limits: &Limits) -> Keeper {
    let store = Arc::new(MemoryStore::default());
    Keeper::new(Arc::new(SessionArtefacts::new(store, "s", Journal::new())), limits.clone())
}

async fn kept(limits: &Limits, blocks: Vec<ContentBlock>) -> Returned {
    let result = ToolOutcome::Result(Box::new(CallToolResult::of(blocks)));
    keeper(limits).keep(result, &ServerName::new("s").unwrap(), CallId(1)).await
}

fn begin(limits: &Limits, vision: bool) -> Turn {
    Turn::begin(TurnOptions {
        exposure: exposure(),
        limits: limits.clone(),
        conversation: Conversation::default(),
        question: "q".to_owned(),
        attachments: Attached::default(),
        capabilities: Capabilities { vision, ..Capabilities::UNKNOWN },
    })
}

/// One step in which the model makes calls that give these results; the next question to the model.
fn step(turn: &mut Turn, first: usize, results: Vec<Returned>) -> Step {
    let call = |at: usize| ToolCallRequest::new("", "s__f", format!(r#"{{"n":{at}}}"#));
    let tool_calls = (first..first + results.len()).map(call).collect();
    turn.handle_answer(ModelAnswer { tool_calls, ..ModelAnswer::default() });
    let proposals: Vec<Proposal> = results.iter().map(|_| proposal(turn)).collect();
    for proposed in &proposals {
        turn.handle_decision(proposed.call, Ok(permit(proposed.clone())));
    }
    for (proposed, result) in proposals.iter().zip(results) {
        assert!(matches!(turn.poll_output(), Some(Output::Invoke(_))));
        turn.handle_outcome(proposed.call, result);
    }
    asked(turn)
}

fn asked(turn: &mut Turn) -> Step {
    match turn.poll_output() {
        Some(Output::AskModel(step)) => step,
        other => panic!("expected a question to the model, got {other:?}"),
    }
}

fn lengths(step: &Step, last: usize) -> Vec<usize> {
    let messages = &step.request.messages;
    let text = |message: &Message| match message {
        Message::Tool { text, .. } => text.len(),
        other => panic!("{other:?}"),
    };
    messages[messages.len() - last..].iter().map(text).collect()
}

#[tokio::test]
async fn a_step_and_a_run_cost_no_more_than_their_budgets_and_short_results_stay_whole() {
    let limits = Limits { result_bytes: 8_000, step_bytes: 10_000, run_bytes: 16_000, ..Limits::default() };
    let mut turn = begin(&limits, false);
    let first = asked(&mut turn);
    let result = |bytes: usize| kept(&limits, vec![ContentBlock::text("x".repeat(bytes))]);
    let results = vec![result(100_000).await, result(1_000).await, result(100_000).await];
    let next = step(&mut turn, 0, results);
    let lengths_now = lengths(&next, 3);
    assert_eq!(lengths_now[1], 1_000);
    assert!(lengths_now[0].abs_diff(4_500) < 300 && lengths_now[2].abs_diff(4_500) < 300, "{lengths_now:?}");
    let next = step(&mut turn, 10, vec![result(100_000).await, result(100_000).await]);
    let left: usize = lengths(&next, 2).iter().sum();
    assert!(left < 6_800, "{left}");
    let next = step(&mut turn, 20, vec![result(100_000).await]);
    assert!(lengths(&next, 1)[0] < 900, "handles stay, whatever was used up");
    assert!(
        matches!(next.request.messages.last(), Some(Message::Tool { text, .. }) if text.contains("kept as a"))
    );
    turn.handle_answer(ModelAnswer { text: "done".to_owned(), ..ModelAnswer::default() });
    let Some(Output::Finished(answer)) = turn.poll_output() else { panic!() };
    assert_eq!(answer.notes.len(), 1);
    assert!(answer.notes[0].contains("raise the limit"), "{:?}", answer.notes);
    let own = |step: &Step| step.request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let (before, after) = (own(&first), own(&next));
    assert_eq!(after[..before.len()], before[..], "they come last, so that a prompt cache holds");
    assert_eq!(
        after[before.len()..],
        ["switchboard__read_artefact", "switchboard__read_resource", "switchboard__search_artefact"]
    );
    let conversation: Conversation =
        serde_json::from_str(&serde_json::to_string(turn.conversation()).unwrap()).unwrap();
    let mut later = Turn::new(exposure(), limits, conversation, "and?");
    assert_eq!(own(&asked(&mut later)), after, "they stay on offer");
}

#[tokio::test]
async fn the_hosts_tools_are_unknown_before_there_is_something_to_read() {
    let limits = Limits::default();
    let mut turn = begin(&limits, false);
    asked(&mut turn);
    let read = |id: &str| ModelAnswer {
        tool_calls: vec![ToolCallRequest::new(
            "",
            "switchboard__read_artefact",
            format!(r#"{{"id":"{id}"}}"#),
        )],
        ..ModelAnswer::default()
    };
    turn.handle_answer(read("a"));
    let next = asked(&mut turn);
    assert!(
        matches!(next.request.messages.last(), Some(Message::Tool { text, .. }) if text.contains("no tool is called"))
    );
    let link = r#"{"type":"resource_link","uri":"file:///x","name":"x"}"#;
    step(&mut turn, 0, vec![kept(&limits, vec![serde_json::from_str(link).unwrap()]).await]);
    turn.handle_answer(read("a"));
    let proposed = proposal(&mut turn);
    assert_eq!((proposed.server.as_str(), proposed.tool.name.as_str()), ("switchboard", "read_artefact"));
}

#[tokio::test]
async fn pictures_are_given_up_to_the_limit_of_a_run_and_only_to_a_model_that_takes_them() {
    for (vision, expected) in [(true, [2, 1]), (false, [0, 0])] {
        let limits = Limits { images: 3, ..Limits::default() };
        let mut turn = begin(&limits, vision);
        asked(&mut turn);
        let mut given = Vec::new();
        for step_number in 0..2 {
            let blocks =
                vec![ContentBlock::image("AAAA", "image/png"), ContentBlock::image("BBBB", "image/png")];
            let next = step(&mut turn, step_number * 10, vec![kept(&limits, blocks).await]);
            let Some(Message::Tool { text, images, .. }) = next.request.messages.last() else { panic!() };
            assert!(!text.contains("AAAA"), "base64 never appears as text");
            given.push(images.len());
        }
        assert_eq!(given, expected);
    }
}

#[test]
fn attachments_follow_the_question() {
    let attachment = |name: &str, media_type: &str, content| crate::Attachment {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        content,
    };
    let attachments = [
        attachment("a.txt", "text/plain", crate::AttachmentContent::Text("tea".to_owned())),
        attachment("b.png", "image/png", crate::AttachmentContent::Base64("AAAA".to_owned())),
    ];
    let limits = Limits::default();
    let mut turn = Turn::begin(TurnOptions {
        exposure: exposure(),
        limits: limits.clone(),
        conversation: Conversation::default(),
        question: "What is it?".to_owned(),
        attachments: Attached::new(&attachments, &limits),
        capabilities: Capabilities { vision: true, ..Capabilities::UNKNOWN },
    });
    let step = asked(&mut turn);
    let Some(Message::User { text, images }) = step.request.messages.last() else { panic!() };
    assert_eq!(
        text,
        "What is it?\n\n[attached file a.txt, text/plain, 3 bytes]\ntea\n[attached file b.png, image/png, 3 bytes, attached]"
    );
    assert_eq!((images.len(), &*step.question), (1, "What is it?"));
}
