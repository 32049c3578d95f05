//! What is said when a server gave no answer that shows what it is: the cause first. Where legacy revisions
//! may not be spoken, that it may be of that era comes last, since that is the rarer reason; where they may,
//! everything that was tried is named.

use std::time::Duration;

use url::Url;

use crate::error::{Error, Kind, excerpt, seconds};
use crate::http::without_query;
use crate::pipe::Traces;

/// The rarer reason, where it was not tried.
const OR_LEGACY: &str = "or it speaks only legacy revisions, which this client does not";

/// A process or a pipe ended before anything was answered.
pub(crate) fn ended(error: &Error, traces: &Traces, tried: Option<&str>) -> Error {
    use switchboard_transport::Disconnected::{EndOfStream, LineTooLong};
    let how = match (traces.status, &traces.end) {
        (_, Some(end @ LineTooLong { .. })) => lower(&end.to_string()),
        (Some(status), _) => match status.code() {
            Some(code) => format!("it ended with status {code}"),
            None => format!("it was ended ({status})"),
        },
        (None, None | Some(EndOfStream)) => "it closed its output".to_owned(),
        (None, Some(end)) => lower(&end.to_string()),
    };
    let stderr = stderr(traces, "it wrote nothing to stderr; start it by hand to see why");
    let said = match tried {
        None => format!("{how} before it answered{}", noise(traces)),
        Some(tried) => format!("{how} before it answered ({tried}){}", noise(traces)),
    };
    hinted(Error::new(Kind::Gone, error.delivery(), said), stderr, tried)
}

/// Nothing was answered in time.
pub(crate) fn silent(error: &Error, waited: Duration, traces: &Traces, tried: Option<&str>) -> Error {
    let stderr = stderr(traces, "it wrote nothing to stderr");
    let message = match tried {
        None => format!("it answered nothing within {}{}", seconds(waited), noise(traces)),
        Some(tried) => format!("it answered nothing within {} ({tried}){}", seconds(waited), noise(traces)),
    };
    let hint = format!(
        "{stderr}if it is still starting, allow it more time (`connect_time` and `start_time` of Limits); "
    );
    hinted(Error::new(Kind::Silent, error.delivery(), message), hint, tried)
}

fn hinted(error: Error, mut hint: String, tried: Option<&str>) -> Error {
    if tried.is_none() {
        hint.push_str(OR_LEGACY);
    }
    let hint = hint.trim_end_matches("; ").trim_end();
    if hint.is_empty() { error } else { error.hint(hint) }
}

/// A status that any web server gives for an address that it does not know.
pub(crate) fn nothing_there(error: &Error, status: u16, url: &Url, tried: Option<&str>) -> Error {
    let shown = without_query(url);
    let mut message = format!("HTTP {status} at {shown}: no MCP server answers at this path");
    if let Some(said) = error.said() {
        message.push_str(&format!(" (it says: {said})"));
    }
    let path = if url.path().trim_end_matches('/').ends_with("/mcp") {
        "check the path of the URL"
    } else {
        "is it /mcp?"
    };
    let hint = match tried {
        None if path.ends_with('?') => format!("{path} O{}", &OR_LEGACY[1..]),
        None => format!("{path}. O{}", &OR_LEGACY[1..]),
        Some(tried) => {
            message.push_str(&format!("; tried {tried}"));
            path.to_owned()
        }
    };
    Error::new(Kind::Http, error.delivery(), message).status(status, error.retry_after()).hint(hint)
}

fn noise(traces: &Traces) -> String {
    let (first, lines) = &traces.noise;
    let first = excerpt(first);
    match lines {
        0 => String::new(),
        1 => format!(" (a line on its stdout was no JSON-RPC message: '{first}')"),
        lines => format!(" ({lines} lines on its stdout were no JSON-RPC messages, the first: '{first}')"),
    }
}

/// What it wrote to stderr, up to whatever follows; nothing where there is no such stream.
fn stderr(traces: &Traces, none: &str) -> String {
    match traces.stderr.as_deref() {
        None => String::new(),
        Some("") => format!("{none}; "),
        Some(said) if said.contains('\n') => format!("its stderr:\n{said}\n"),
        Some(said) => format!("its stderr: {said}; "),
    }
}

fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
