//! A model that says anything: the run ends, every call is answered once, and nothing grows without bound.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

use super::*;

fn call() -> impl Strategy<Value = ToolCallRequest> {
    let name = prop_oneof![
        Just("s__f".to_owned()),
        Just("s__r".to_owned()),
        Just("switchboard__read_artefact".to_owned()),
        any::<String>(),
    ];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just(r#"{"n":1}"#.to_owned()),
        Just(r#"{"n":1,"n":2}"#.to_owned()),
        Just("[".repeat(500)),
        any::<String>(),
    ];
    let defect = prop_oneof![
        Just(None),
        Just(Some(CallDefect::Truncated)),
        Just(Some(CallDefect::InvalidArguments)),
        Just(Some(CallDefect::Nameless)),
    ];
    (any::<String>(), name, arguments, defect).prop_map(|(id, name, arguments, defect)| ToolCallRequest {
        defect,
        ..ToolCallRequest::new(id, name, arguments)
    })
}

fn answer() -> impl Strategy<Value = ModelAnswer> {
    let finish = prop_oneof![Just(Finish::Stop), Just(Finish::Length), Just(Finish::ContentFilter)];
    (any::<String>(), prop::collection::vec(call(), 0..6), finish).prop_map(|(text, tool_calls, finish)| {
        ModelAnswer { text, tool_calls, finish, ..ModelAnswer::default() }
    })
}

proptest! {
    #[test]
    fn a_run_ends_whatever_the_model_says(answers in prop::collection::vec(answer(), 1..12)) {
        let limits = Limits { steps: 6, calls: 8, ..Limits::default() };
        let mut turn = Turn::new(exposure(), limits, Conversation::default(), "q");
        let mut answers = answers.into_iter().cycle();
        for _ in 0..1000 {
            match turn.poll_output() {
                Some(Output::AskModel(_)) => turn.handle_answer(answers.next().unwrap()),
                Some(Output::AskConsent(proposal)) => {
                    let call = proposal.call;
                    turn.handle_decision(call, decided(&Policy::new(Mode::Yes), proposal));
                }
                Some(Output::Invoke(permit)) => {
                    let ok = CallToolResult::of(vec![ContentBlock::text("ok")]);
                    turn.handle_outcome(permit.proposal().call, ToolOutcome::Result(Box::new(ok)));
                }
                Some(Output::Cancel(_)) => {}
                Some(Output::Finished(_) | Output::Stopped(_)) => break,
                None => panic!("the machine waits for nothing"),
            }
        }
        assert!(turn.is_over());
        check_every_call_is_answered_once(turn.conversation().messages(), "garbage");
        for message in turn.conversation().messages() {
            if let Message::Assistant { tool_calls, .. } = message {
                let allowed = |name: &str| {
                    (1..=64).contains(&name.len())
                        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
                };
                assert!(tool_calls.iter().all(|call| allowed(&call.name)));
            }
        }
    }
}

#[test]
fn an_answer_with_more_calls_than_a_run_may_make_is_cut_and_ends_the_run() {
    let limits = Limits { calls: 4, ..Limits::default() };
    let mut turn = Turn::new(exposure(), limits, Conversation::default(), "q");
    turn.poll_output();
    let tool_calls = (0..100_000).map(|_| ToolCallRequest::new("", "nothing", "{}")).collect();
    turn.handle_answer(ModelAnswer { tool_calls, ..ModelAnswer::default() });
    assert!(matches!(turn.poll_output(), Some(Output::Stopped(StopReason::CallLimit(4)))));
    assert_eq!(turn.records().len(), 4);
    check_every_call_is_answered_once(turn.conversation().messages(), "flood");
}
