//! Sessions over HTTP: what is served in which session, what streams say and say again, and what is left of
//! clients that never come back. The scripts in `tests/data/legacy/http_*.json` are played once for every
//! revision that they are about.

mod bounds;
mod callers;
mod chaos;
mod client;
mod desk;
mod play;
mod sse;
mod streams;

use play::{File, play};
use switchboard_protocol::Revision;

async fn check(text: &str) {
    let file: File = serde_json::from_str(text).unwrap();
    for script in &file.scripts {
        let about = Revision::LEGACY.iter().filter(|revision| script.is_about(**revision));
        let mut played = 0;
        for revision in about {
            play(script, *revision).await;
            played += 1;
        }
        assert!(played > 0, "{script:?} is about no revision");
    }
}

#[tokio::test]
async fn a_session_is_opened_used_and_ended() {
    check(include_str!("../../../data/legacy/http_sessions.json")).await;
}

#[tokio::test]
async fn what_is_refused_is_refused_with_the_right_status_and_a_reason() {
    check(include_str!("../../../data/legacy/http_refusals.json")).await;
}

#[tokio::test]
async fn several_messages_are_answered_together_where_the_revision_has_that() {
    check(include_str!("../../../data/legacy/http_batches.json")).await;
}

#[tokio::test]
async fn both_eras_are_served_at_one_address() {
    check(include_str!("../../../data/legacy/http_eras.json")).await;
}

#[tokio::test]
async fn heads_and_ids_are_read_as_in_any_era() {
    check(include_str!("../../../data/legacy/http_heads.json")).await;
}
