//! Scripts as data: what a server answers, what the client asks, and what must come of it. Each file of
//! `tests/data` is one kind of trouble and is played over HTTP and over a pipe.
//!
//! `format` is how a script is written, `play` how it is played; `legacy` plays them once more, in sessions.

mod format;
#[cfg(feature = "legacy")]
mod legacy;
mod play;

use format::{File, lengthen};
use play::Play;
use tokio::runtime::{Builder, Runtime};

fn file(text: &str) -> File {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    lengthen(&mut value);
    serde_json::from_value(value).unwrap()
}

/// One in real time, and one whose clock stands still until everybody waits.
fn runtimes() -> (Runtime, Runtime) {
    let new = Builder::new_current_thread;
    (new().enable_all().build().unwrap(), new().enable_all().start_paused(true).build().unwrap())
}

/// Plays a file: over HTTP in real time, over a pipe on a clock that stands still until everybody waits.
fn check(text: &str) {
    let file = file(text);
    let (real, paused) = runtimes();
    for script in &file.scripts {
        if script.only.as_deref() != Some("pipe") {
            real.block_on(Play::over_http(script));
        }
        if script.only.as_deref() != Some("http") {
            paused.block_on(Play::over_a_pipe(script));
        }
    }
}

#[test]
fn lists_end_whatever_their_cursors_say() {
    check(include_str!("../../data/cursors.json"));
}

#[test]
fn a_question_is_answered_where_it_may_be_asked_and_nowhere_else() {
    check(include_str!("../../data/questions.json"));
}

#[test]
fn an_invalid_definition_costs_itself_only() {
    check(include_str!("../../data/tool_definitions.json"));
}

#[test]
fn parameters_are_mirrored_exactly_as_the_schema_says() {
    check(include_str!("../../data/mirrored_parameters.json"));
}

#[test]
fn a_call_ends_as_what_it_is() {
    check(include_str!("../../data/call_outcomes.json"));
}

#[test]
fn every_value_of_structured_content_is_kept() {
    check(include_str!("../../data/structured_content.json"));
}

#[test]
fn output_schemas_are_read_by_their_own_dialect() {
    check(include_str!("../../data/output_schemas.json"));
}

#[test]
fn what_is_kept_belongs_to_whoever_asked_for_it() {
    check(include_str!("../../data/kept_answers.json"));
}
