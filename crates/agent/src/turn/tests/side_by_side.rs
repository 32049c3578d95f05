//! Decisions and calls that go on at the same time, and the time that counts meanwhile.

use std::time::{Duration, Instant};

use super::*;

/// Two servers with the tools of the others.
fn exposure_of(servers: &[&str]) -> Arc<Exposure> {
    let declared = || Declared { tools: serde_json::from_str(TOOLS).unwrap(), invalid: Vec::new() };
    Arc::new(Exposure::compile(servers.iter().map(|name| (ServerName::new(name).unwrap(), declared()))))
}

fn asks(calls: &[(&str, &str)]) -> ModelAnswer {
    let call = |(at, (name, arguments)): (usize, &(&str, &str))| {
        ToolCallRequest::new(format!("id{at}"), *name, *arguments)
    };
    ModelAnswer { tool_calls: calls.iter().enumerate().map(call).collect(), ..ModelAnswer::default() }
}

fn turn_with(servers: &[&str], calls: &[(&str, &str)], limits: Limits) -> (Turn, Vec<Proposal>) {
    let mut turn = Turn::new(exposure_of(servers), limits, Conversation::default(), "q");
    assert!(matches!(turn.poll_output(), Some(Output::AskModel(_))));
    turn.handle_answer(asks(calls));
    let proposals = calls.iter().map(|_| proposal(&mut turn)).collect();
    (turn, proposals)
}

fn invoked(turn: &mut Turn) -> Vec<CallId> {
    std::iter::from_fn(|| turn.poll_output())
        .map(|output| match output {
            Output::Invoke(permit) => permit.proposal().call,
            other => panic!("expected a call, got {other:?}"),
        })
        .collect()
}

fn ok() -> ToolOutcome {
    ToolOutcome::Result(Box::new(CallToolResult::of(vec![ContentBlock::text("ok")])))
}

fn texts(turn: &Turn) -> Vec<String> {
    let messages = turn.conversation().messages().iter();
    messages.filter(|message| matches!(message, Message::Tool { .. })).map(shown).collect()
}

const THREE: [(&str, &str); 3] = [("a__g", "{}"), ("b__g", "{}"), ("a__f", "{\"n\":1}")];

#[test]
fn a_slow_answer_of_a_person_holds_up_nothing_but_its_own_server() {
    let (mut turn, proposals) = turn_with(&["a", "b"], &THREE, Limits::default());
    let [first, second, third] = &proposals[..] else { panic!() };
    turn.handle_asked(first.call);
    for rest in [second, third] {
        turn.handle_decision(rest.call, Ok(permit(rest.clone())));
    }
    assert_eq!(invoked(&mut turn), [second.call], "the third comes after the first on its server");
    turn.handle_outcome(second.call, ok());
    turn.handle_decision(first.call, Ok(permit(first.clone())));
    assert_eq!(invoked(&mut turn), [first.call, third.call]);
    turn.handle_outcome(third.call, ok());
    turn.handle_outcome(first.call, ok());
    assert_eq!(texts(&turn), ["tool id0: ok", "tool id1: ok", "tool id2: ok"]);
    assert!(matches!(turn.poll_output(), Some(Output::AskModel(_))));
}

#[test]
fn a_denial_that_ends_the_run_withdraws_what_is_asked() {
    let (mut turn, proposals) = turn_with(&["a", "b"], &THREE, Limits::default());
    turn.handle_asked(proposals[0].call);
    turn.handle_decision(proposals[1].call, Ok(permit(proposals[1].clone())));
    let denied = decided(&Policy::new(Mode::Fail), proposals[2].clone());
    turn.handle_decision(proposals[2].call, denied);
    assert!(matches!(turn.poll_output(), Some(Output::Cancel(call)) if call == proposals[0].call));
    assert!(matches!(turn.poll_output(), Some(Output::Stopped(StopReason::ApprovalNeeded(_)))));
    assert_eq!(texts(&turn).len(), 3);
}

/// Cancels a call in each of its states and says what comes out of it.
#[test]
fn a_call_is_cancelled_in_whatever_state_it_is() {
    const UNMADE: &str = "The call was not made: the person cancelled it.";
    for (state, cancels, expected) in [
        ("decided", true, UNMADE),
        ("asked", true, UNMADE),
        ("permitted", false, UNMADE),
        ("told", false, UNMADE),
        ("made", true, "The person cancelled the call; the server may still be running it."),
        ("answered", false, "ok"),
    ] {
        let (mut turn, proposals) = turn_with(&["a", "b"], &THREE[..2], Limits::default());
        let [first, second] = &proposals[..] else { panic!() };
        if state == "asked" {
            turn.handle_asked(first.call);
        }
        if ["permitted", "told", "made", "answered"].contains(&state) {
            turn.handle_decision(first.call, Ok(permit(first.clone())));
        }
        if ["told", "made", "answered"].contains(&state) {
            turn.handle_asked(second.call);
        }
        if ["made", "answered"].contains(&state) {
            assert_eq!(invoked(&mut turn), [first.call]);
        }
        if state == "answered" {
            turn.handle_outcome(first.call, ok());
        }
        turn.handle_cancel(first.call);
        let told = matches!(turn.poll_output(), Some(Output::Cancel(call)) if call == first.call);
        assert_eq!(told, cancels, "{state}");
        turn.handle_decision(first.call, Ok(permit(first.clone())));
        turn.handle_outcome(first.call, ok());
        turn.handle_decision(second.call, Ok(permit(second.clone())));
        assert_eq!(invoked(&mut turn), [second.call], "{state}: the run goes on");
        turn.handle_outcome(second.call, ok());
        assert_eq!(texts(&turn)[0], format!("tool id0: {expected}"), "{state}");
        let cancelled = matches!(turn.records()[0].status, CallStatus::Cancelled);
        assert_eq!(cancelled, state != "answered", "{state}");
    }
}

#[test]
fn no_time_counts_while_a_person_is_asked() {
    let limits = Limits { wall_clock: Some(Duration::from_secs(10)), ..Limits::default() };
    let (mut turn, proposals) = turn_with(&["a", "b"], &THREE[..2], limits);
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    turn.handle_timeout(at(0));
    assert_eq!(turn.poll_timeout(), Some(at(10)));
    turn.handle_timeout(at(4));
    turn.handle_asked(proposals[0].call);
    assert_eq!(turn.poll_timeout(), None);
    turn.handle_timeout(at(3600));
    turn.handle_decision(proposals[0].call, Ok(permit(proposals[0].clone())));
    assert_eq!((turn.active_time(), turn.poll_timeout()), (Duration::from_secs(4), Some(at(3606))));
    turn.handle_decision(proposals[1].call, Ok(permit(proposals[1].clone())));
    assert_eq!(invoked(&mut turn).len(), 2);
    turn.handle_questions(1);
    turn.handle_timeout(at(7200));
    turn.handle_questions(0);
    turn.handle_outcome(proposals[1].call, ok());
    turn.handle_timeout(at(7205));
    assert!(!turn.is_over());
    turn.handle_timeout(at(7206));
    let stopped = turn.poll_output();
    assert!(matches!(stopped, Some(Output::Stopped(StopReason::TimeLimit(10_000)))), "{stopped:?}");
    let texts = texts(&turn);
    assert!(texts[0].contains("may have been executed") && texts[1] == "tool id1: ok", "{texts:?}");
    assert_eq!(turn.poll_timeout(), None);
}

#[test]
fn the_time_ends_a_run_while_the_model_is_asked() {
    let limits = Limits { wall_clock: Some(Duration::from_secs(1)), ..Limits::default() };
    let mut turn = Turn::new(exposure(), limits, Conversation::default(), "q");
    let start = Instant::now();
    turn.handle_timeout(start);
    turn.handle_timeout(start + Duration::from_secs(1));
    assert!(matches!(turn.poll_output(), Some(Output::Stopped(StopReason::TimeLimit(_)))));
}

#[test]
fn the_tokens_of_all_answers_are_limited() {
    let limits = Limits { tokens: Some(100), ..Limits::default() };
    let usage = |input_tokens, output_tokens| Some(Usage { input_tokens, output_tokens, ..Usage::default() });
    for (usage, ends) in
        [(usage(60, 39), false), (usage(60, 40), true), (usage(u64::MAX, 5), true), (None, false)]
    {
        let mut turn = Turn::new(exposure_of(&["a"]), limits.clone(), Conversation::default(), "q");
        assert!(matches!(turn.poll_output(), Some(Output::AskModel(_))));
        turn.handle_answer(ModelAnswer { usage, ..asks(&THREE[..1]) });
        let proposed = proposal(&mut turn);
        turn.handle_decision(proposed.call, Ok(permit(proposed.clone())));
        turn.poll_output();
        turn.handle_outcome(proposed.call, ok());
        let next = turn.poll_output();
        assert_eq!(matches!(next, Some(Output::Stopped(StopReason::TokenLimit(100)))), ends, "{usage:?}");
        let mut answered = Turn::new(exposure(), limits.clone(), Conversation::default(), "q");
        answered.handle_answer(ModelAnswer { usage, text: "done".to_owned(), ..ModelAnswer::default() });
        assert!(answered.is_over(), "an answer that is there is not thrown away");
    }
}
