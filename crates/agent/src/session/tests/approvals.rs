//! Several approvals that are open at once: an answer that covers another call answers its question, too.

use switchboard_server::Args;

use super::*;
use crate::desk::Question;
use crate::journal::Authorization;
use crate::policy::{ArgumentRule, Offer};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    path: String,
}

async fn write(Args(Place { path }): Args<Place>) -> String {
    format!("wrote {path}")
}

const INSIDE: &str = r#"{"path":"/home/me/docs/a"}"#;
const BESIDE: &str = r#"{"path":"/home/me/docs/b"}"#;
const ELSEWHERE: &str = r#"{"path":"/etc/passwd"}"#;

fn files(models: OneModel, store: &Arc<dyn Store>) -> Host {
    let server = Server::builder("files", "1.0")
        .tool(Tool::new("write", write))
        .tool(Tool::new("append", write))
        .build(())
        .unwrap();
    Host::builder(models)
        .connect(name("files"), Client::builder().in_process(&server))
        .policy(Policy::new(Mode::Interactive).home("/home/me"))
        .store(Arc::clone(store))
        .build()
}

/// The run once so many questions wait.
async fn waits_for(session: &Session, run: &RunId, count: usize) -> RunView {
    session.until(run, |view| view.requests.len() == count || view.status.is_over()).await.unwrap()
}

/// Says `choice` to the question about a call; with the rule that is offered, if it is to be narrow, else for any
/// arguments.
fn say_to(
    session: &Session,
    view: &RunView,
    (call, choice, narrow): (u32, Choice, bool),
) -> Result<(), AnswerError> {
    let request = view.requests.iter().find(|request| request.question.call() == Some(CallId(call))).unwrap();
    let Question::Approval(approval) = &request.question else { panic!("{request:?}") };
    let mut rules = approval.offers.iter().filter_map(|offer| offer.rule.clone());
    let rule = rules.find(|rule| narrow != (*rule == ArgumentRule::any()));
    session.answer(&request.id, Reply::Approval { digest: approval.digest, choice, rule })
}

/// What was said of questions and by whom calls were allowed, in the words of the journal.
fn said(entries: &[Entry]) -> Vec<String> {
    let word = |entry: &Entry| match &entry.event {
        Event::Authorization(Authorization::Answered { request, answer }) => {
            Some(format!("{} answered {answer}", &request[request.find('.')? + 1..]))
        }
        Event::Authorization(Authorization::Withdrawn { request, reason }) => {
            Some(format!("{} withdrawn: {reason}", &request[request.find('.')? + 1..]))
        }
        Event::Authorization(Authorization::Granted { call, by, .. }) => Some(format!("{} by {by}", call.0)),
        Event::Authorization(Authorization::Denied { call, .. }) => Some(format!("{} denied", call.0)),
        _ => None,
    };
    entries.iter().filter_map(word).collect()
}

#[tokio::test]
async fn an_answer_for_more_than_once_answers_the_open_questions_that_it_covers() {
    let lasts = [(Choice::AllowRun, "run"), (Choice::AllowSession, "session")];
    for ((choice, word), narrow) in lasts.into_iter().flat_map(|lasts| [(lasts, false), (lasts, true)]) {
        let asked = calls(&[
            ("files__write", INSIDE),
            ("files__write", BESIDE),
            ("files__write", ELSEWHERE),
            ("files__append", INSIDE),
        ]);
        let store = memory();
        let session = files(script([asked, say("Done.")]), &store).open(interactive()).unwrap();
        let run = session.ask(RunRequest::new("Write")).unwrap();
        let view = waits_for(&session, &run, 4).await;
        say_to(&session, &view, (1, choice, narrow)).unwrap();
        // Another tool, and what the rule does not cover, stay questions.
        let left = if narrow { vec![3, 4] } else { vec![4] };
        let now = waits_for(&session, &run, left.len()).await;
        let still: Vec<_> = now.requests.iter().filter_map(|request| request.question.call()).collect();
        assert_eq!(still, left.iter().copied().map(CallId).collect::<Vec<_>>(), "{word} {narrow}");
        let late = say_to(&session, &view, (2, Choice::Deny, false)).unwrap_err();
        assert!(matches!(late, AnswerError::Taken(_)), "{late}");
        for call in left {
            say_to(&session, &now, (call, Choice::AllowOnce, false)).unwrap();
        }
        let view = session.ended(&run).await.unwrap();
        assert!(view.outcome.calls.iter().all(|call| call.status == "ok"), "{:?}", view.outcome.calls);
        let said = said(&store.entries(session.id(), 0, 1000).unwrap());
        let place = |start: &str| said.iter().position(|line| line.starts_with(start)).expect(start);
        let (answered, granted) = (place(&format!("1 answered {word}")), place("1 by the person"));
        let withdrawn = place("2 withdrawn: the person's earlier answer (files/write");
        assert!(answered < withdrawn && withdrawn < granted, "{said:?}");
        assert!(withdrawn < place("2 by the person's earlier answer"), "{said:?}");
    }
}

#[tokio::test]
async fn a_rule_that_is_not_offered_is_refused() {
    let asked = calls(&[("files__write", INSIDE)]);
    let session = files(script([asked, say("Done.")]), &memory()).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Write")).unwrap();
    let view = waits_for(&session, &run, 1).await;
    let Question::Approval(approval) = &view.requests[0].question else { panic!("{view:?}") };
    let mut rules = approval.offers.iter().filter_map(|offer| offer.rule.clone());
    let mut doubled = rules.find(|rule| *rule != ArgumentRule::any()).unwrap();
    doubled.0.extend(doubled.0.clone());
    for choice in [Choice::AllowOnce, Choice::AllowRun, Choice::AllowSession] {
        let reply = Reply::Approval { digest: approval.digest, choice, rule: Some(doubled.clone()) };
        let error = session.answer(&view.requests[0].id, reply).unwrap_err();
        assert!(matches!(error, AnswerError::NotThis(_)), "{error}");
    }
    say_to(&session, &view, (1, Choice::AllowSession, true)).unwrap();
    assert_eq!(session.ended(&run).await.unwrap().outcome.calls[0].status, "ok");
}

#[tokio::test]
async fn an_answer_for_more_than_once_says_for_which_calls() {
    let asked = calls(&[("files__write", INSIDE), ("files__append", r#"{"path":""}"#)]);
    let session = files(script([asked, say("Done.")]), &memory()).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Write")).unwrap();
    let view = waits_for(&session, &run, 2).await;
    for request in &view.requests {
        let Question::Approval(approval) = &request.question else { panic!("{request:?}") };
        for (choice, rule) in [
            (Choice::AllowRun, None),
            (Choice::AllowSession, None),
            // The server is in no configuration, so nothing lasts longer than the session.
            (Choice::AllowAlways, None),
            (Choice::AllowAlways, Some(ArgumentRule::any())),
        ] {
            let reply = Reply::Approval { digest: approval.digest, choice, rule };
            let error = session.answer(&request.id, reply).unwrap_err().to_string();
            for offer in &approval.offers {
                let offer = serde_json::to_string(offer).unwrap();
                assert!(error.contains(&offer), "{offer} is not named: {error}");
            }
        }
    }
    assert_eq!(session.pending().len(), 2);
}

#[tokio::test]
async fn each_offer_is_an_answer_as_it_came() {
    let mut asked = Vec::new();
    // Once, this run, this session where the path is inside, this session, no.
    for offer in 0..5 {
        let step = |path: &str| calls(&[("files__write", path)]);
        let models = script([step(INSIDE), step(BESIDE), step(ELSEWHERE), say("Done.")]);
        let session = files(models, &memory()).open(interactive()).unwrap();
        let run = session.ask(RunRequest::new("Write")).unwrap();
        let mut questions = 0;
        while let Some(request) = waits_for(&session, &run, 1).await.requests.pop() {
            let Question::Approval(approval) = request.question else { panic!("{request:?}") };
            assert_eq!(approval.offers.len(), 5);
            let Offer { choice, rule, .. } = approval.offers[if questions == 0 { offer } else { 4 }].clone();
            session.answer(&request.id, Reply::Approval { digest: approval.digest, choice, rule }).unwrap();
            questions += 1;
        }
        asked.push(questions);
    }
    assert_eq!(asked, [3, 1, 2, 1, 3]);
}

#[tokio::test]
async fn an_answer_for_once_or_a_no_leaves_the_other_question_open() {
    for choice in [Choice::AllowOnce, Choice::Deny] {
        let asked = calls(&[("files__write", INSIDE), ("files__write", INSIDE)]);
        let session = files(script([asked, say("Done.")]), &memory()).open(interactive()).unwrap();
        let run = session.ask(RunRequest::new("Write")).unwrap();
        let view = waits_for(&session, &run, 2).await;
        say_to(&session, &view, (1, choice, false)).unwrap();
        let view = waits_for(&session, &run, 1).await;
        say_to(&session, &view, (2, Choice::AllowOnce, false)).unwrap();
        let view = session.ended(&run).await.unwrap();
        assert_eq!(view.outcome.calls[1].status, "ok");
    }
}

/// What waits in one process is answered in another: the run asks again there, one call after the other.
#[test]
fn open_questions_of_an_earlier_process_are_answered_by_an_answer_that_covers_them() {
    for no in [false, true] {
        let store = memory();
        let (id, before) = process(async {
            let asked = calls(&[("files__write", INSIDE), ("files__write", BESIDE)]);
            let session = files(script([asked]), &store).open(interactive()).unwrap();
            let run = session.ask(RunRequest::new("Write")).unwrap();
            (session.id().to_owned(), waits_for(&session, &run, 2).await)
        });
        process(async {
            let session = files(script([say("Done.")]), &store).session_of(&before.id).unwrap();
            if no {
                // Both are answered before the run asks again. A no counts, whatever else was said.
                session.lock().current.as_ref().unwrap().take_over();
                say_to(&session, &before, (2, Choice::Deny, false)).unwrap();
                session.lock().current.as_ref().unwrap().leave();
            }
            say_to(&session, &before, (1, Choice::AllowRun, false)).unwrap();
            let view = session.ended(&before.id).await.unwrap();
            let second = if no { "denied" } else { "ok" };
            let calls: Vec<_> = view.outcome.calls.iter().map(|call| call.status.as_str()).collect();
            assert_eq!(calls, ["ok", second]);
        });
        let said = said(&store.entries(&id, 0, 1000).unwrap());
        assert_eq!(
            said.iter().any(|line| line.starts_with("2 withdrawn: the person's earlier answer")),
            !no,
            "{said:?}"
        );
    }
}
