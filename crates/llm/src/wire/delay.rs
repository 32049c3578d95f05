//! When an endpoint wants to be asked again. Dates are taken relative to the endpoint's own clock.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// From this number on, a figure is a moment in milliseconds; from the next one on, in seconds; below, a span.
const EPOCH_MS: f64 = 1e12;
const EPOCH_S: f64 = 1e9;

/// Whether the endpoint says itself that asking again makes sense, or that it does not.
pub(crate) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match text(headers, "x-should-retry")? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The delay that the endpoint asks for: said outright, or told by the limit that is used up.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    if let Some(delay) = text(headers, "retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return seconds(delay / 1000.0);
    }
    if let Some(value) = text(headers, RETRY_AFTER.as_str()) {
        return match value.parse::<f64>() {
            Ok(delay) => seconds(delay),
            Err(_) => until(headers, httpdate::parse_http_date(value).ok()?),
        };
    }
    // The limit that lasts longest decides.
    ["requests", "tokens"]
        .iter()
        .filter(|what| is_used_up(headers, &format!("x-ratelimit-remaining-{what}")))
        .filter_map(|what| reset(headers, &format!("x-ratelimit-reset-{what}")))
        .chain(
            is_used_up(headers, "x-ratelimit-remaining")
                .then(|| reset(headers, "x-ratelimit-reset"))
                .flatten(),
        )
        .max()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn is_used_up(headers: &HeaderMap, name: &str) -> bool {
    text(headers, name).and_then(|value| value.parse::<f64>().ok()).is_some_and(|left| left <= 0.0)
}

/// When a limit is full again: a span such as `1m30.5s` or `20ms`, a number of seconds, or a moment.
fn reset(headers: &HeaderMap, name: &str) -> Option<Duration> {
    let value = text(headers, name)?;
    let Ok(number) = value.parse::<f64>() else {
        return span(value);
    };
    if number < EPOCH_S {
        return seconds(number);
    }
    let since_epoch = seconds(if number >= EPOCH_MS { number / 1000.0 } else { number })?;
    until(headers, SystemTime::UNIX_EPOCH.checked_add(since_epoch)?)
}

/// A span as Go writes it.
fn span(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let unit = match &tail[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total = total.checked_add(seconds(number.parse::<f64>().ok()? * unit)?)?;
        rest = &tail[letters..];
    }
    (!text.is_empty()).then_some(total)
}

fn until(headers: &HeaderMap, moment: SystemTime) -> Option<Duration> {
    let now = httpdate::parse_http_date(text(headers, DATE.as_str())?).ok()?;
    Some(moment.duration_since(now).unwrap_or_default())
}

fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value).ok()
}
