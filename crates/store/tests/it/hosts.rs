//! Hosts on a disk: one that fills up, and one that two of them share.

use std::sync::Arc;

use switchboard_agent::policy::Mode;
use switchboard_agent::store::RunStatus;
use switchboard_agent::{RunRequest, SessionOptions};

use crate::kill::{call, hosted, say};
use crate::support::sqlite;

#[tokio::test]
async fn a_disk_that_fills_up_ends_the_run_with_a_clear_message_and_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(sqlite(folder.path()).max_bytes(512 * 1024).unwrap());
    let flood = "x".repeat(1 << 20);
    let answers = vec![call("1", "s__quick"), say("First."), say(&flood), say("Third.")];
    let host = hosted(store.clone(), Mode::Yes, answers);
    let session = host.open(SessionOptions::default()).unwrap();
    let first = session.ask(RunRequest::new("One?")).unwrap();
    assert_eq!(session.ended(&first).await.unwrap().status, RunStatus::Finished);

    let second = session.ask(RunRequest::new("Two?")).unwrap();
    let view = session.ended(&second).await.unwrap();
    let error = view.outcome.error.clone().unwrap_or_else(|| panic!("{view:?}"));
    assert_eq!((view.status, error.code.as_str()), (RunStatus::Failed, "storage"), "{error:?}");
    assert!(error.message.contains("the disk is full") && error.hint.is_some(), "{error:?}");

    let kept = host.run(&first).unwrap();
    assert_eq!((kept.status, kept.outcome.answer.as_deref()), (RunStatus::Finished, Some("First.")));
    // The conversation does not fit any more; another one does.
    assert_eq!(session.ask(RunRequest::new("Three?")).unwrap_err().code(), "storage");
    let other = host.open(SessionOptions::default()).unwrap();
    let third = other.ask(RunRequest::new("Three?")).unwrap();
    assert_eq!(other.ended(&third).await.unwrap().outcome.answer.as_deref(), Some("Third."));
}

#[tokio::test]
async fn of_two_hosts_on_one_session_the_second_is_told_and_may_have_it_once_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let one = hosted(Arc::new(sqlite(folder.path())), Mode::Yes, vec![say("First.")]);
    let other = hosted(Arc::new(sqlite(folder.path())), Mode::Yes, vec![say("Second.")]);
    let session = one.open(SessionOptions::default()).unwrap();
    let run = session.ask(RunRequest::new("One?")).unwrap();
    session.ended(&run).await.unwrap();
    let id = session.id().to_owned();
    let refused = other.session(&id).unwrap_err();
    assert_eq!(refused.code(), "session_held");
    assert!(refused.to_string().contains(&format!("({})", std::process::id())), "{refused}");
    assert_eq!(other.delete(&id).unwrap_err().code(), "session_held");
    assert_eq!(other.run(&run).unwrap().outcome.answer.as_deref(), Some("First."), "reading is free");
    drop(session);
    // The task of the run lets go of it a moment after its end.
    let taken = loop {
        match other.session(&id) {
            Ok(session) => break session,
            Err(error) => assert_eq!(error.code(), "session_held"),
        }
        tokio::task::yield_now().await;
    };
    let run = taken.ask(RunRequest::new("Two?")).unwrap();
    assert_eq!(taken.ended(&run).await.unwrap().outcome.answer.as_deref(), Some("Second."));
}
