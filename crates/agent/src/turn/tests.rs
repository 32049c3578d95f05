//! Plays transcripts against the machine: `tests/data/turns.json` says what the model answers, what the person
//! and the tools say, and which conversation and which end must come of it.

mod budgets;
mod garbage;
mod side_by_side;
mod snapshots;

use std::collections::HashMap;

use serde::Deserialize;
use switchboard_llm::{CallDefect, ToolCallRequest};
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::CallToolResult;

use super::*;
use crate::exposure::Declared;
use crate::name::ServerName;
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
use crate::policy::{Mode, Permit, Policy, Proposal, decided};

const TOOLS: &str = r##"[
    {"name": "f", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    {"name": "g", "inputSchema": {"type": "object"}},
    {"name": "o", "inputSchema": {"type": "object", "required": ["p"], "properties": {
        "p": {"type": "string"}, "n": {"type": "integer"}, "maybe": {"type": ["string", "null"]},
        "in": {"type": "object", "properties": {"b": {"$ref": "#/$defs/flag"}, "c": {"type": "array", "items":
            {"type": "object", "properties": {"b": {"$ref": "#/$defs/flag"}}}}}}
    }, "$defs": {"flag": {"type": "boolean"}}}},
    {"name": "r", "inputSchema": {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}}
]"##;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transcript {
    what: String,
    #[serde(default)]
    steps: Option<u32>,
    #[serde(default)]
    calls: Option<u32>,
    #[serde(default)]
    rules: Vec<String>,
    /// Nobody can be asked: `fail` or `deny`. Else `rules` decide, and what asks is allowed.
    #[serde(default)]
    on_ask: Option<String>,
    answers: Vec<ScriptedAnswer>,
    /// What the tools say, by tool, in order. The default is `ok`.
    #[serde(default)]
    results: HashMap<String, Vec<String>>,
    /// The messages after the question, each as one line.
    messages: Vec<String>,
    end: String,
    #[serde(default)]
    notes: Vec<String>,
    made: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedAnswer {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<ScriptedCall>,
    #[serde(default)]
    finish: Option<Finish>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    #[serde(default)]
    id: Option<String>,
    name: String,
    #[serde(default)]
    arguments: String,
    #[serde(default)]
    defect: Option<CallDefect>,
}

impl ScriptedAnswer {
    fn answer(self) -> ModelAnswer {
        let tool_calls = self.calls.into_iter().map(|call| ToolCallRequest {
            id: call.id.unwrap_or_default(),
            name: call.name,
            arguments: call.arguments,
            defect: call.defect,
        });
        ModelAnswer {
            text: self.text,
            tool_calls: tool_calls.collect(),
            finish: self.finish.unwrap_or(Finish::Other("none".to_owned())),
            ..ModelAnswer::default()
        }
    }
}

fn exposure() -> Arc<Exposure> {
    let declared = Declared { tools: serde_json::from_str(TOOLS).unwrap(), invalid: Vec::new() };
    Arc::new(Exposure::compile([(ServerName::new("s").unwrap(), declared)]))
}

fn shown(message: &Message) -> String {
    match message {
        Message::System { text } => format!("system: {text}"),
        Message::User { text, .. } => format!("user: {text}"),
        Message::Assistant { text, tool_calls, .. } => {
            let calls =
                tool_calls.iter().map(|call| format!(" [{} {} {}]", call.id, call.name, call.arguments));
            format!("assistant: {text}{}", calls.collect::<String>())
        }
        Message::Tool { call_id, text, .. } => format!("tool {call_id}: {text}"),
    }
}

struct Player {
    turn: Turn,
    policy: Policy,
    answers: std::vec::IntoIter<ScriptedAnswer>,
    results: HashMap<String, std::vec::IntoIter<String>>,
    made: usize,
}

impl Player {
    fn new(transcript: &mut Transcript) -> Self {
        let mut limits = Limits::default();
        limits.steps = transcript.steps.unwrap_or(limits.steps);
        limits.calls = transcript.calls.unwrap_or(limits.calls);
        let mode = match transcript.on_ask.as_deref() {
            Some("fail") => Mode::Fail,
            Some("deny") => Mode::Deny,
            _ => Mode::Yes,
        };
        let policy = transcript
            .rules
            .iter()
            .fold(Policy::new(mode), |policy, rule| policy.rule(rule.parse().unwrap()));
        let results = std::mem::take(&mut transcript.results);
        Self {
            turn: Turn::new(exposure(), limits, Conversation::default(), "q"),
            policy,
            answers: std::mem::take(&mut transcript.answers).into_iter(),
            results: results.into_iter().map(|(tool, said)| (tool, said.into_iter())).collect(),
            made: 0,
        }
    }

    fn outcome(&mut self, tool: &str) -> ToolOutcome {
        let said = self.results.get_mut(tool).and_then(Iterator::next).unwrap_or_else(|| "ok".to_owned());
        match said.strip_prefix("fail: ") {
            Some(message) => ToolOutcome::Failed(CallFailure::new(FailureKind::Transport, message)),
            None => ToolOutcome::Result(Box::new(CallToolResult::of(vec![ContentBlock::text(said)]))),
        }
    }

    /// Plays to the end. Outcomes arrive in the reverse order of the calls.
    fn play(&mut self) -> String {
        let mut running = Vec::new();
        loop {
            match self.turn.poll_output() {
                Some(Output::AskModel(_)) => {
                    let answer =
                        self.answers.next().expect("the machine asks once more than the transcript answers");
                    self.turn.handle_answer(answer.answer());
                }
                Some(Output::AskConsent(proposal)) => {
                    let call = proposal.call;
                    let decision = decided(&self.policy, proposal);
                    self.turn.handle_decision(call, decision);
                }
                Some(Output::Invoke(permit)) => {
                    let proposal = permit.proposal();
                    let outcome = self.outcome(&proposal.tool.name);
                    running.push((proposal.call, outcome));
                    self.made += 1;
                }
                Some(Output::Cancel(call)) => running.retain(|(other, _)| *other != call),
                Some(Output::Finished(answer)) => return format!("finished: {}", answer.text),
                Some(Output::Stopped(reason)) => return format!("stopped: {reason}"),
                None => {
                    let (call, outcome) = running.pop().expect("the machine waits for nothing");
                    self.turn.handle_outcome(call, outcome);
                }
            }
        }
    }

    fn notes(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.turn.poll_event())
            .filter_map(|event| match event {
                Event::Selection(Selection::Note { text }) => Some(text),
                _ => None,
            })
            .collect()
    }
}

#[test]
fn every_transcript_comes_to_its_conversation_and_its_end() {
    let transcripts: Vec<Transcript> =
        serde_json::from_str(include_str!("../../tests/data/turns.json")).unwrap();
    for mut transcript in transcripts {
        let mut player = Player::new(&mut transcript);
        let end = player.play();
        let messages: Vec<String> = player.turn.conversation().messages().iter().skip(1).map(shown).collect();
        let what = &transcript.what;
        assert_eq!(messages.len(), transcript.messages.len(), "{what}: {messages:#?}");
        for (message, expected) in messages.iter().zip(&transcript.messages) {
            match expected.strip_suffix('…') {
                Some(beginning) => assert!(message.starts_with(beginning), "{what}: {message:?}"),
                None => assert_eq!(message, expected, "{what}"),
            }
        }
        match transcript.end.strip_suffix('…') {
            Some(beginning) => assert!(end.starts_with(beginning), "{what}: {end:?}"),
            None => assert_eq!(end, transcript.end, "{what}"),
        }
        assert_eq!(player.made, transcript.made, "{what}");
        assert_eq!(player.notes(), transcript.notes, "{what}");
        assert!(player.answers.next().is_none(), "{what}: not every answer was asked for");
        check_every_call_is_answered_once(player.turn.conversation().messages(), what);
    }
}

/// What every provider demands: after an assistant message, one tool message for each of its calls, in order.
fn check_every_call_is_answered_once(messages: &[Message], what: &str) {
    let mut expected = VecDeque::new();
    let mut used = std::collections::HashSet::new();
    for message in messages {
        match message {
            Message::Tool { call_id, text, .. } => {
                assert_eq!(expected.pop_front().as_ref(), Some(call_id), "{what}");
                assert!(!text.is_empty(), "{what}");
            }
            other => {
                assert!(expected.is_empty(), "{what}: a call is not answered");
                if let Message::Assistant { tool_calls, .. } = other {
                    for call in tool_calls {
                        assert!(used.insert(call.id.clone()), "{what}: the id {} is used twice", call.id);
                        assert!(
                            serde_json::from_str::<serde_json::Map<_, _>>(&call.arguments).is_ok(),
                            "{what}"
                        );
                        expected.push_back(call.id.clone());
                    }
                }
            }
        }
    }
    assert!(expected.is_empty(), "{what}: a call is not answered");
}

fn two_calls() -> ModelAnswer {
    ModelAnswer {
        tool_calls: vec![
            ToolCallRequest::new("a", "s__f", r#"{"n":1}"#),
            ToolCallRequest::new("b", "s__g", "{}"),
        ],
        ..ModelAnswer::default()
    }
}

fn turn_after(answer: ModelAnswer) -> Turn {
    let mut turn = Turn::new(exposure(), Limits::default(), Conversation::default(), "q");
    assert!(matches!(turn.poll_output(), Some(Output::AskModel(_))));
    turn.handle_answer(answer);
    turn
}

fn proposal(turn: &mut Turn) -> Proposal {
    match turn.poll_output() {
        Some(Output::AskConsent(proposal)) => proposal,
        other => panic!("expected a proposal, got {other:?}"),
    }
}

fn permit(proposal: Proposal) -> Permit {
    decided(&Policy::new(Mode::Yes), proposal).unwrap()
}

#[test]
fn an_interrupt_answers_every_open_call_and_ends_the_run() {
    for granted in [false, true] {
        let mut turn = turn_after(two_calls());
        let first = proposal(&mut turn);
        if granted {
            turn.handle_decision(first.call, Ok(permit(first)));
            let second = proposal(&mut turn);
            turn.handle_decision(second.call, Ok(permit(second)));
            assert!(matches!(turn.poll_output(), Some(Output::Invoke(_))));
        }
        turn.handle_interrupt();
        assert!(matches!(turn.poll_output(), Some(Output::Stopped(StopReason::Interrupted))), "{granted}");
        assert!(turn.poll_output().is_none());
        check_every_call_is_answered_once(turn.conversation().messages(), "interrupt");
        assert!(turn.records().iter().all(|record| matches!(record.status, CallStatus::Interrupted)));
        let made = |message: &Message| matches!(message, Message::Tool { text, .. } if text.contains("may have been"));
        let told = turn.conversation().messages().iter().filter(|message| made(message)).count();
        assert_eq!(told, if granted { 2 } else { 0 }, "only what was made may have been executed");
    }
}

#[test]
fn nothing_is_made_before_every_rule_has_spoken() {
    let mut turn = turn_after(two_calls());
    let (first, second) = (proposal(&mut turn), proposal(&mut turn));
    turn.handle_decision(first.call, Ok(permit(first)));
    assert!(turn.poll_output().is_none(), "the second rule may end the run");
    turn.handle_decision(second.call, Ok(permit(second)));
    let invoked: Vec<_> = std::iter::from_fn(|| turn.poll_output()).collect();
    assert!(matches!(invoked[..], [Output::Invoke(_), Output::Invoke(_)]), "{invoked:?}");
}

#[test]
fn input_that_nobody_asked_for_changes_nothing() {
    let mut turn = turn_after(two_calls());
    let (first, second) = (proposal(&mut turn), proposal(&mut turn));
    let early = ToolOutcome::Result(Box::new(CallToolResult::error("early")));
    turn.handle_outcome(first.call, early);
    turn.handle_answer(ModelAnswer { text: "again".to_owned(), ..ModelAnswer::default() });
    turn.handle_decision(CallId(99), Ok(permit(first.clone())));
    turn.handle_asked(CallId(99));
    turn.handle_cancel(CallId(99));
    assert!(turn.poll_output().is_none());
    turn.handle_decision(first.call, Ok(permit(first.clone())));
    turn.handle_decision(second.call, Ok(permit(second)));
    turn.handle_decision(first.call, Ok(permit(first)));
    assert!(matches!(turn.poll_output(), Some(Output::Invoke(_))));
    assert!(matches!(turn.poll_output(), Some(Output::Invoke(_))));
    assert!(turn.poll_output().is_none());
}

#[test]
fn arguments_reach_the_proposal_byte_for_byte() {
    let text = r#"{ "n" : 1 , "big": 123456789012345678901234567890, "e": "\u00e9" }"#;
    let answer =
        ModelAnswer { tool_calls: vec![ToolCallRequest::new("a", "s__f", text)], ..ModelAnswer::default() };
    assert_eq!(proposal(&mut turn_after(answer)).arguments.get(), text);
}

#[test]
fn a_second_question_goes_on_in_the_same_conversation() {
    let mut turn = turn_after(ModelAnswer { text: "one".to_owned(), ..ModelAnswer::default() });
    assert!(matches!(turn.poll_output(), Some(Output::Finished(_))));
    let next = Turn::new(exposure(), Limits::default(), turn.into_conversation(), "and now?");
    let messages: Vec<String> = next.conversation().messages().iter().map(shown).collect();
    assert_eq!(messages, ["user: q", "assistant: one", "user: and now?"]);
}
