//! What endpoints say when they refuse, and small things of the wire.

use std::time::Duration;

use super::super::delay::{retry_after, should_retry};
use super::super::failure::Failure;
use super::super::image::{Shown, show};
use super::super::learned::{RequestOption, rejected_option};
use crate::http_client::{endpoint, is_loopback, parse_base_url};
use crate::message::Image;
use http::{HeaderMap, HeaderName};

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
        (
            vec![("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m30.5s")],
            Some(90_500),
        ),
        (
            vec![
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "20ms"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "6s"),
            ],
            Some(6_000),
        ),
        (vec![("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "6s")], None),
        (vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "soon")], None),
        (
            vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1792567689000"), ("date", date)],
            Some(9_000),
        ),
        (
            vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1792567689"), ("date", date)],
            Some(9_000),
        ),
        (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "3")], Some(3_000)),
        (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1792567689")], None),
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
        let lesson = rejected_option(status, &failure, &sent);
        assert_eq!(lesson.map(|lesson| lesson.option), option, "{status} {message}");
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

#[test]
fn an_endpoint_may_say_itself_whether_to_ask_again() {
    for (value, expected) in [("true", Some(true)), ("false", Some(false)), ("perhaps", None)] {
        let headers = [(HeaderName::from_static("x-should-retry"), value.parse().unwrap())];
        assert_eq!(should_retry(&headers.into_iter().collect()), expected, "{value}");
    }
    assert_eq!(should_retry(&HeaderMap::new()), None);
}

#[test]
fn what_an_error_teaches_holds_for_good_or_only_once() {
    use RequestOption::{CacheControl, Images, MaxOutput, Strict, ThinkingBlocks, ThinkingParameter};
    for (message, sent, option, lasting, instead) in [
        ("image_url is only supported by certain models", Images, Images, true, None),
        (
            "image input is not supported - hint: you may need to provide the mmproj",
            Images,
            Images,
            true,
            None,
        ),
        ("Could not process image", Images, Images, false, None),
        ("Invalid schema for function 'f': 'required' is missing", Strict, Strict, true, None),
        ("max_tokens: 64000 > 8192, which is the maximum", MaxOutput, MaxOutput, true, Some(8_192)),
        ("max_tokens is too large", MaxOutput, MaxOutput, true, None),
        (
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            ThinkingBlocks,
            ThinkingBlocks,
            false,
            None,
        ),
        ("thinking.type: Input should be 'adaptive'", ThinkingParameter, ThinkingParameter, true, None),
        ("cache_control: Extra inputs are not permitted", CacheControl, CacheControl, true, None),
    ] {
        let failure = Failure { message: message.to_owned(), code: String::new() };
        let lesson = rejected_option(400, &failure, &[sent]).unwrap();
        assert_eq!((lesson.option, lesson.lasting, lesson.instead), (option, lasting, instead), "{message}");
    }
}

#[test]
fn a_picture_is_shown_with_the_type_that_it_has_or_told_in_words() {
    const PNG: &str = "iVBORw0KGgo=";
    for (media_type, data, shown) in [
        ("image/png", PNG, Ok("image/png")),
        ("image/jpeg", PNG, Ok("image/png")),
        ("application/octet-stream", PNG, Ok("image/png")),
        ("IMAGE/JPG; q=1", "AAAA", Ok("image/jpeg")),
        ("image/webp", "UklGRg==", Ok("image/webp")),
        ("image/svg+xml", "PHN2Zy8+", Err("6 bytes, shown to user; this endpoint takes PNG")),
        ("image/png", "not base64!", Err("not base64")),
        ("image/png", "", Err("0 bytes, its data is not base64")),
        ("image/png", "iVBORw0KGgoAAAAA", Err("too large")),
    ] {
        let image = Image::new(media_type, data);
        match (show(&image, true, 12), shown) {
            (Shown::Picture { media_type, .. }, Ok(expected)) => assert_eq!(media_type, expected),
            (Shown::Words(words), Err(expected)) => assert!(words.contains(expected), "{words}"),
            (shown, _) => panic!("{media_type} {data}: {shown:?}"),
        }
        let words = "[image, image/png, 8 bytes, shown to user]".to_owned();
        assert_eq!(show(&Image::new("image/png", PNG), false, 12), Shown::Words(words));
    }
}
