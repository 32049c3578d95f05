//! Rules of one run, which ask about what is allowed otherwise.

use super::full::{Made, PLAIN, orders};
use super::*;
use crate::desk::Question;
use crate::policy::ArgumentRule;

/// A session in whose first run the tool was allowed for as long as that.
async fn allowed(host: &Host, choice: Choice) -> Session {
    let session = host.open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Order")).unwrap();
    let view = session.settled(&run).await.unwrap();
    if let [request] = view.requests.as_slice() {
        let Question::Approval(approval) = &request.question else { panic!("{request:?}") };
        let rule = Some(ArgumentRule::any());
        session.answer(&request.id, Reply::Approval { digest: approval.digest, choice, rule }).unwrap();
    }
    session.ended(&run).await.unwrap();
    session
}

#[tokio::test]
async fn what_a_run_asks_about_no_rule_and_no_answer_beyond_the_run_allows() {
    let own = |rule: &str, on_ask| RunPolicy { rules: vec![rule.to_owned()], on_ask };
    let (ask, all, other) = ("ask orders/plain", "ask orders/*", "ask orders/sure");
    for (allows, choice) in
        [("", Choice::AllowAlways), ("", Choice::AllowSession), ("allow orders/plain", Choice::AllowOnce)]
    {
        for (policy, expected) in [
            (None, "ok"),
            (Some(own(other, Some(OnAsk::Fail))), "ok"),
            (Some(own(ask, None)), "asks"),
            (Some(own(all, None)), "asks"),
            (Some(own(ask, Some(OnAsk::Deny))), "denied"),
            (Some(own(all, Some(OnAsk::Deny))), "denied"),
            (Some(own(ask, Some(OnAsk::Fail))), "denied"),
        ] {
            let case = format!("{allows:?} {choice:?} {policy:?}");
            let made = Made::default();
            let rules = Policy::new(Mode::Interactive);
            let rules = if allows.is_empty() { rules } else { rules.rule(allows.parse().unwrap()) };
            let host = orders((&made.server(), "one"), rules, (&[PLAIN], memory())).await;
            let session = allowed(&host, choice).await;
            assert_eq!(made.now(), [1, 0], "{case}");
            let run = session.ask(RunRequest { policy, ..RunRequest::new("Order") }).unwrap();
            let mut view = session.settled(&run).await.unwrap();
            if let [request] = view.requests.as_slice() {
                assert_eq!((expected, made.now()), ("asks", [1, 0]), "{case}");
                let Question::Approval(approval) = &request.question else { panic!("{request:?}") };
                let offered: Vec<_> = approval.offers.iter().map(|offer| offer.choice).collect();
                assert_eq!(offered, [Choice::AllowOnce, Choice::AllowRun, Choice::Deny], "{case}");
                let (choice, rule) = (Choice::AllowRun, Some(ArgumentRule::any()));
                let reply = Reply::Approval { digest: approval.digest, choice, rule };
                session.answer(&request.id, reply).unwrap();
                view = session.ended(&run).await.unwrap();
            } else {
                assert_ne!(expected, "asks", "{case}");
            }
            let status = if expected == "asks" { "ok" } else { expected };
            assert_eq!(view.outcome.calls[0].status, status, "{case}");
            assert_eq!(made.now(), [if status == "ok" { 2 } else { 1 }, 0], "{case}");
        }
    }
}
