//! Rules of the specification that need no clock and no second caller: a request, what is said, the reply.
//! Each file of `tests/data/rules` is one kind of rule; each script in it is played over HTTP and over a
//! pipe, and every message is held against the published schema.
//!
//! `house` is the server that they are played against, `play` how.

mod house;
mod objects;
mod play;

use std::path::Path;

use play::{File, over_a_pipe, over_http};

/// Plays a file over every transport that can play it.
async fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rules").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let file: File = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(!file.scripts.is_empty());
    for script in &file.scripts {
        if script.only.as_deref() != Some("pipe") {
            over_http(script).await;
        }
        if script.only.as_deref() != Some("http") {
            over_a_pipe(script).await;
        }
    }
}

#[tokio::test]
async fn every_reply_says_whose_it_is() {
    check("replies.json").await;
}

#[tokio::test]
async fn what_a_request_lacks_or_has_wrong_is_named() {
    check("bad_requests.json").await;
}

#[tokio::test]
async fn what_is_no_request_is_never_answered() {
    check("no_requests.json").await;
}

#[tokio::test]
async fn progress_and_log_messages_come_only_as_they_were_asked_for() {
    check("speech.json").await;
}

#[tokio::test]
async fn a_state_is_good_for_its_caller_its_request_and_its_time() {
    check("states.json").await;
}

#[tokio::test]
async fn questions_are_asked_only_of_those_who_can_answer() {
    check("questions.json").await;
}

#[tokio::test]
async fn lists_are_cut_into_pages_by_cursors_that_nobody_else_makes() {
    check("pages.json").await;
}

#[tokio::test]
async fn no_uri_leaves_its_template() {
    check("uris.json").await;
}

#[tokio::test]
async fn completions_are_bounded_and_know_their_context() {
    check("completions.json").await;
}

#[tokio::test]
async fn any_json_value_is_structured_content() {
    check("structured_content.json").await;
}
