//! Answers as servers of this wire write them, and what is sent to them.

mod conversation;
mod think;

use super::reply::{Context, Reply};
use crate::wire::tests::answers::Answers;
use crate::{ModelConfig, OpenAiModel, RetryPolicy};

fn answers() -> Answers<Reply> {
    Answers::load("answers", |case| {
        let used_ids = case.used_ids.iter().cloned().collect();
        Reply::new(Context { model: "m".to_owned(), used_ids, tools: case.tools.clone() })
    })
}

#[test]
fn every_difference_is_read_the_same_however_the_bytes_are_cut() {
    answers().check_cuts();
}

#[tokio::test]
async fn every_difference_is_read_over_http() {
    let client = |server: &crate::scripted::ScriptedModel| {
        let mut config = ModelConfig::openai(&server.base_url(), "m").unwrap();
        config.retry = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
        Box::new(OpenAiModel::new(config).unwrap()) as Box<dyn crate::ChatModel>
    };
    answers().check_http(client).await;
}

#[test]
fn nothing_can_be_executed_before_the_answer_has_ended() {
    answers().check_order();
}

#[test]
fn a_damaged_answer_is_read_or_refused_but_never_more() {
    answers().check_damage();
}
