//! What endpoints say when they refuse, and small things of the wire.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use proptest::prelude::any;
use proptest::proptest;

use super::super::failure::{Failure, retry_after};
use super::super::learned::{RequestOption, rejected_option};
use super::super::think::{Piece, ThinkSplitter};
use crate::http_client::{endpoint, is_loopback, parse_base_url};

#[test]
fn errors_are_understood_in_every_shape() {
    let long = "x".repeat(10_000);
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for (body, words) in [
        (
            r#"{"error":{"message":"No such model","type":"invalid","code":"model_not_found"}}"#,
            "No such model (model_not_found)",
        ),
        (r#"{"error":{"message":"No such model","type":"invalid","code":null}}"#, "No such model (invalid)"),
        (r#"{"error":"no model"}"#, "no model"),
        (r#"{"detail":"Not Found"}"#, "Not Found"),
        (
            r#"{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted","type":"value_error"}]}"#,
            "body.stream_options: extra fields not permitted (value_error)",
        ),
        (r#"{"object":"error","message":"too long","code":400}"#, "too long (400)"),
        (
            r#"[{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}]"#,
            "slow down (429)",
        ),
        (r#"{"error":{"message":"","type":"internal_server_error"}}"#, "internal_server_error"),
        (r#"{"error":{"message":{"text":"inner"}}}"#, "no reason given"),
        ("upstream\n\tconnect  error", "upstream connect error"),
        ("<!DOCTYPE html><p>502", "the answer is a web page"),
        ("", "no reason given"),
        ("null", "no reason given"),
        (deep.as_str(), "no reason given"),
        (long.as_str(), &format!("{}…", "x".repeat(500))),
    ] {
        assert_eq!(Failure::read(body.as_bytes()).words(), words, "{}", &body[..body.len().min(80)]);
    }
}

#[test]
fn the_delay_is_read_in_every_form() {
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    for (headers, delay) in [
        (vec![("retry-after", "7")], Some(7_000)),
        (vec![("retry-after", " 1.5 ")], Some(1_500)),
        (vec![("retry-after-ms", "250"), ("retry-after", "7")], Some(250)),
        (vec![("retry-after", "Wed, 21 Oct 2026 07:28:09 GMT"), ("date", date)], Some(9_000)),
        (vec![("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT"), ("date", date)], Some(0)),
        (vec![("retry-after", date)], None),
        (vec![("retry-after", "-1")], None),
        (vec![("retry-after", "soon")], None),
        (vec![("retry-after", "1e400")], None),
        (vec![], None),
    ] {
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        assert_eq!(retry_after(&map), delay.map(Duration::from_millis), "{headers:?}");
    }
}

#[test]
fn a_rejected_option_is_found_by_its_whole_name() {
    use RequestOption::{MaxTokens, ParallelToolCalls, StreamOptions, ToolChoice};
    let sent = [ToolChoice, ParallelToolCalls, MaxTokens, StreamOptions];
    for (status, message, option) in [
        (400, "Unknown parameter: 'stream_options'.", Some(StreamOptions)),
        (422, "body.parallel_tool_calls: extra fields not permitted", Some(ParallelToolCalls)),
        (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", Some(MaxTokens)),
        (400, "max_tokens_total is too large", None),
        (400, "tool_choice \"required\" is not supported", Some(ToolChoice)),
        (500, "", Some(ToolChoice)),
        (500, "boom", None),
        (429, "stream_options", None),
        (401, "tool_choice", None),
    ] {
        let failure = Failure { message: message.to_owned(), code: String::new() };
        assert_eq!(rejected_option(status, &failure, &sent), option, "{status} {message}");
        assert_eq!(rejected_option(status, &failure, &[]), None, "what was not sent cannot be dropped");
    }
}

#[test]
fn base_urls_are_taken_as_people_write_them() {
    for (base, url) in [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        (" http://127.0.0.1:11434 ", "http://127.0.0.1:11434/v1/chat/completions"),
        ("http://h/openai/v4?api-version=2", "http://h/openai/v4/chat/completions?api-version=2"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
    ] {
        assert_eq!(endpoint(&parse_base_url(base).unwrap(), "/chat/completions").as_str(), url);
    }
    for wrong in ["", "api.openai.com/v1", "ftp://h/v1", "https://key@h/v1", "https://:key@h/v1"] {
        let error = parse_base_url(wrong).unwrap_err();
        assert!(
            error.is_configuration() && error.hint().is_some() && !error.to_string().contains("key@"),
            "{wrong}"
        );
    }
    for (url, loopback) in [
        ("http://127.0.0.1:1", true),
        ("http://127.8.8.8", true),
        ("http://[::1]:8080", true),
        ("http://localhost", true),
        ("http://localhost.example", false),
        ("http://10.0.0.1", false),
    ] {
        assert_eq!(is_loopback(&parse_base_url(url).unwrap()), loopback, "{url}");
    }
}

proptest! {
    #[test]
    fn thinking_is_found_however_the_text_is_cut(
        text in "( |\n)?(<think>)?[a-c<>/]{0,6}(</think>)?\n?[a-c<]{0,6}",
        cuts in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let split = |chunks: &[String]| {
            let (mut shown, mut thought) = (String::new(), String::new());
            let mut splitter = ThinkSplitter::default();
            let mut pieces: Vec<Piece> = chunks.iter().flat_map(|chunk| splitter.push(chunk)).collect();
            pieces.extend(splitter.finish());
            for piece in pieces {
                match piece {
                    Piece::Text(text) => shown.push_str(&text),
                    Piece::Thinking(text) => thought.push_str(&text),
                }
            }
            (shown, thought)
        };
        let mut chunks = vec![String::new()];
        for (position, letter) in text.chars().enumerate() {
            if cuts[position % cuts.len()] {
                chunks.push(String::new());
            }
            chunks.last_mut().unwrap().push(letter);
        }
        assert_eq!(split(&chunks), split(&[text]));
    }
}
