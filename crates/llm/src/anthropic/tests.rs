//! Answers as servers of this wire write them, and what is sent to them.

mod conversation;

use url::Url;

use super::reply::Reply;
use super::{below, models_url};
use crate::wire::tests::answers::Answers;
use crate::{AnthropicModel, ModelConfig, RetryPolicy};

fn answers() -> Answers<Reply> {
    Answers::load("messages", |case| Reply::new("m", case.used_ids.iter().cloned().collect()))
}

#[test]
fn every_difference_is_read_the_same_however_the_bytes_are_cut() {
    answers().check_cuts();
}

#[tokio::test]
async fn every_difference_is_read_over_http() {
    let client = |server: &crate::scripted::ScriptedModel| {
        let mut config = ModelConfig::anthropic(&server.base_url(), "m").unwrap();
        config.retry = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
        Box::new(AnthropicModel::new(config).unwrap()) as Box<dyn crate::ChatModel>
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

#[test]
fn base_urls_are_taken_as_people_write_them() {
    for (base, url) in [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("http://h/anthropic", "http://h/anthropic/v1/messages"),
        ("http://h/v1/messages?beta=true", "http://h/v1/messages?beta=true"),
    ] {
        let base = Url::parse(base).unwrap();
        assert_eq!(below(&base, "messages").as_str(), url);
        assert!(models_url(&base).path().ends_with("/v1/models"));
    }
}
