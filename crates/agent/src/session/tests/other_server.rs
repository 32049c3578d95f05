//! A call that waits for an answer when its process ends, and a server that is another one by the time of the answer.

use super::full::{Made, SURE, orders, sure};
use super::*;
use crate::desk::Question;
use crate::policy::Why;

/// The only question that waits, as soon as there is one.
async fn question(session: &Session, run: &RunId) -> PendingView {
    let view = session.until(run, |view| !view.requests.is_empty() || view.status.is_over()).await.unwrap();
    let [request] = view.requests.as_slice() else { panic!("{view:?}") };
    request.clone()
}

fn agree(session: &Session, request: &PendingView) -> Why {
    let Question::Approval(approval) = &request.question else { panic!("{request:?}") };
    let reply = Reply::Approval { digest: approval.digest, choice: Choice::AllowOnce, rule: None };
    session.answer(&request.id, reply).unwrap();
    approval.why.clone()
}

#[test]
fn a_form_is_answered_to_the_server_that_asked_and_to_no_other() {
    for (hash, hash_after) in [("one", "one"), ("one", "two"), ("", "")] {
        let (first, second) = (Made::default(), Made::default());
        let (one, two) = (first.server(), second.server());
        let (goes_on, is_other) = (hash_after == "one", hash_after == "two");
        let store = memory();
        let host = |server, hash| {
            orders((server, hash), Policy::new(Mode::Interactive), (&[SURE], Arc::clone(&store)))
        };
        let after = || host(if is_other { &two } else { &one }, hash_after);
        let run = process(async {
            let session = host(&one, hash).await.open(interactive()).unwrap();
            let run = session.ask(RunRequest::new("Order")).unwrap();
            agree(&session, &question(&session, &run).await);
            assert!(matches!(question(&session, &run).await.question, Question::Form { .. }));
            run
        });
        process(async {
            let session = after().await.session_of(&run).unwrap();
            let [form] = session.pending().try_into().unwrap();
            session.answer(&form.id, sure()).unwrap();
            if goes_on {
                session.ended(&run).await.unwrap();
                return;
            }
            let asked = question(&session, &run).await;
            let why = agree(&session, &asked);
            assert_eq!(matches!(why, Why::Changed { .. }), is_other, "{why:?}");
            let asked = question(&session, &run).await.question;
            assert!(matches!(asked, Question::Form { .. }), "the answer was given to another: {asked:?}");
            assert_eq!((first.now(), second.now()), ([0, 0], [0, 0]));
        });
        if is_other {
            // The form is that of the other server now, also in the next process.
            process(async {
                let session = after().await.session_of(&run).unwrap();
                let [form] = session.pending().try_into().unwrap();
                session.answer(&form.id, sure()).unwrap();
                session.ended(&run).await.unwrap();
            });
        }
        let made = [first.now()[1], second.now()[1]];
        assert_eq!(made, [usize::from(goes_on), usize::from(is_other)], "{hash:?} {hash_after:?}");
    }
}
