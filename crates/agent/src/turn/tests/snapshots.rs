//! A turn that is written down at any moment goes on as if nothing had happened, but for the calls that were being
//! made.

use std::collections::BTreeMap;

use super::*;

/// A driver that may lose its process.
struct Driver {
    turn: Turn,
    answers: Vec<ModelAnswer>,
    asked: usize,
    /// The calls that were begun, by their number, and how often.
    made: BTreeMap<CallId, u32>,
    running: Vec<CallId>,
    /// What was proposed, by its number.
    proposed: BTreeMap<CallId, String>,
}

enum End {
    Finished(String),
    Stopped,
}

fn answers() -> Vec<ModelAnswer> {
    let call = |name: &str, arguments: &str| ToolCallRequest::new("x", name, arguments);
    let calls = |calls: Vec<ToolCallRequest>| ModelAnswer { tool_calls: calls, ..ModelAnswer::default() };
    vec![
        calls(vec![call("s__f", r#"{"n":1}"#), call("s__nothing", "{}"), call("s__g", "{}")]),
        calls(vec![call("s__o", r#"{"p":"a"}"#)]),
        ModelAnswer { text: "done".to_owned(), finish: Finish::Stop, ..ModelAnswer::default() },
    ]
}

impl Driver {
    fn new() -> Self {
        let turn = Turn::new(exposure(), Limits::default(), Conversation::default(), "q");
        let (made, running, proposed) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Self { turn, answers: answers(), asked: 0, made, running, proposed }
    }

    /// One thing that a driver does.
    fn step(&mut self) -> Option<End> {
        match self.turn.poll_output() {
            Some(Output::AskModel(step)) => {
                self.asked = step.number as usize;
                let answer = self.answers[self.asked - 1].clone();
                self.turn.handle_answer(answer);
            }
            Some(Output::AskConsent(proposal)) => {
                let (call, digest) = (proposal.call, proposal.digest().to_string());
                let before = self.proposed.insert(call, digest.clone());
                assert!(before.is_none_or(|before| before == digest), "the approval is for the same digest");
                self.turn.handle_decision(call, decided(&Policy::new(Mode::Yes), proposal));
            }
            Some(Output::Invoke(permit)) => {
                let call = permit.proposal().call;
                *self.made.entry(call).or_default() += 1;
                self.running.push(call);
            }
            Some(Output::Cancel(_)) => {}
            Some(Output::Finished(answer)) => return Some(End::Finished(answer.text)),
            Some(Output::Stopped(_)) => return Some(End::Stopped),
            None => {
                let call = self.running.pop().expect("the machine waits for nothing");
                let ok = CallToolResult::of(vec![ContentBlock::text(format!("ok {call}"))]);
                self.turn.handle_outcome(call, ToolOutcome::Result(Box::new(ok)));
            }
        }
        None
    }

    /// Loses the process: what is not written down is gone.
    fn crash(&mut self, exposure: Arc<Exposure>) {
        let text = serde_json::to_string(&self.turn.snapshot()).unwrap();
        let saved: TurnSnapshot = serde_json::from_str(&text).unwrap();
        assert!(saved.is_known());
        self.running.clear();
        self.turn = Turn::restore(exposure, Limits::default(), saved);
        let again = serde_json::to_string(&self.turn.snapshot()).unwrap();
        assert!(again.len() < 2 * text.len() + 1000);
    }

    fn play(mut self, crashes: impl Fn(usize) -> bool) -> (Self, End) {
        for at in 0..200 {
            if crashes(at) {
                self.crash(exposure());
            }
            if let Some(end) = self.step() {
                return (self, end);
            }
        }
        panic!("the run does not end");
    }

    fn messages(&self) -> Vec<String> {
        self.turn.conversation().messages().iter().map(shown).collect()
    }
}

const UNKNOWN: &str = "The outcome of the call is not known";

fn check_same(whole: &Driver, (crashed, end): (Driver, End), what: &str) {
    assert!(matches!(end, End::Finished(text) if text == "done"), "{what}");
    let (expected, found) = (whole.messages(), crashed.messages());
    assert_eq!(found.len(), expected.len(), "{what}: {found:#?}");
    for (found, expected) in found.iter().zip(&expected) {
        let unknown = found.contains(UNKNOWN) && expected.contains(": ok #");
        assert!(found == expected || unknown, "{what}: {found} for {expected}");
    }
    assert!(crashed.made.values().all(|times| *times == 1), "{what}: a call is never made twice");
    let unknown = crashed.turn.records().iter().filter(|record| matches!(record.status, CallStatus::Unknown));
    let told = found.iter().filter(|message| message.contains(UNKNOWN)).count();
    assert_eq!(unknown.count(), told, "{what}");
    assert_eq!(crashed.turn.records().len(), whole.turn.records().len(), "{what}");
    check_every_call_is_answered_once(crashed.turn.conversation().messages(), what);
}

#[test]
fn a_turn_goes_on_from_any_moment() {
    let (whole, _) = Driver::new().play(|_| false);
    for at in 0..40 {
        check_same(&whole, Driver::new().play(|now| now == at), &format!("at {at}"));
        check_same(&whole, Driver::new().play(|now| now == at || now == at + 1), &format!("twice at {at}"));
    }
    for every in 4..12 {
        check_same(&whole, Driver::new().play(|now| now % every == every - 1), &format!("every {every}"));
    }
}

#[test]
fn a_tool_that_is_gone_is_said_to_be_gone_and_one_that_changed_is_checked_again() {
    let tools = |text: &str| {
        let declared = Declared { tools: serde_json::from_str(text).unwrap(), invalid: Vec::new() };
        Arc::new(Exposure::compile([(ServerName::new("s").unwrap(), declared)]))
    };
    for (now, expected) in [
        ("[]", "no tool is called"),
        (r#"[{"name": "f", "inputSchema": {"type": "object", "required": ["z"]}}]"#, "do not fit"),
    ] {
        let mut turn = turn_after(ModelAnswer {
            tool_calls: vec![ToolCallRequest::new("a", "s__f", r#"{"n":1}"#)],
            ..ModelAnswer::default()
        });
        let saved = turn.snapshot();
        drop(proposal(&mut turn));
        let mut turn = Turn::restore(tools(now), Limits::default(), saved);
        assert!(matches!(turn.poll_output(), Some(Output::AskModel(_))));
        let last = turn.conversation().messages().last().map(shown).unwrap();
        assert!(last.contains("The tools have changed") && last.contains(expected), "{last}");
    }
}

#[test]
fn how_a_run_ended_is_told_again() {
    let mut turn = turn_after(ModelAnswer::default());
    turn.handle_interrupt();
    let saved = serde_json::to_string(&turn.snapshot()).unwrap();
    let mut again = Turn::restore(exposure(), Limits::default(), serde_json::from_str(&saved).unwrap());
    assert!(again.is_over());
    assert!(matches!(again.poll_output(), Some(Output::Stopped(StopReason::Interrupted))));
    let (driver, _) = Driver::new().play(|_| false);
    let mut again = Turn::restore(exposure(), Limits::default(), driver.turn.snapshot());
    assert!(
        matches!(again.poll_output(), Some(Output::Finished(answer)) if answer.text == "done" && answer.calls.len() == 4)
    );
}
