//! Sessions of the legacy era, from the client's end of a pipe. The scripts in `tests/data/legacy` are played
//! once for every revision that they are about, and every message of the server is held against the published
//! schema of that revision.

mod bounds;
mod chaos;
mod house;
mod http;
mod layers;
mod play;

use play::{File, play};
use switchboard_protocol::Revision;

async fn check(text: &str) {
    let file: File = serde_json::from_str(text).unwrap();
    let mut played = 0;
    for script in &file.scripts {
        for revision in Revision::LEGACY.iter().filter(|revision| script.is_about(**revision)) {
            play(script, *revision).await;
            played += 1;
        }
    }
    assert!(played >= file.scripts.len(), "a script is about no revision");
}

#[tokio::test]
async fn a_handshake_opens_a_session_and_nothing_else_does() {
    check(include_str!("../../data/legacy/handshake.json")).await;
}

#[tokio::test]
async fn the_era_of_a_message_is_told_by_what_it_says() {
    check(include_str!("../../data/legacy/eras.json")).await;
}

#[tokio::test]
async fn answers_have_what_their_revision_has() {
    check(include_str!("../../data/legacy/answers.json")).await;
}

#[tokio::test]
async fn questions_are_requests_of_the_server_and_the_call_goes_on_with_the_answers() {
    check(include_str!("../../data/legacy/questions.json")).await;
}

#[tokio::test]
async fn changes_are_told_as_they_come_to_whoever_is_ready() {
    check(include_str!("../../data/legacy/changes.json")).await;
}

#[tokio::test]
async fn several_messages_in_an_array_are_for_one_revision() {
    check(include_str!("../../data/legacy/batches.json")).await;
}

#[tokio::test]
async fn what_breaks_a_rule_is_told_which_one() {
    check(include_str!("../../data/legacy/rules.json")).await;
}
