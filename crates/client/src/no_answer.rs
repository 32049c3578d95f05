//! What is said when a server gave no answer that shows what it is: the cause first, and that it may
//! be of the legacy era last, since that is the rarer reason.

use std::time::Duration;

use url::Url;

use crate::error::{Error, Kind, excerpt, seconds};
use crate::http::without_query;
use crate::pipe::Traces;

const OR_LEGACY: &str = "or it speaks only legacy revisions, which are not spoken yet";

/// A process or a pipe ended before anything was answered.
pub(crate) fn ended(error: &Error, traces: &Traces) -> Error {
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
    Error::new(Kind::Gone, error.delivery(), format!("{how} before it answered{}", noise(traces)))
        .hint(format!("{stderr}{OR_LEGACY}"))
}

/// Nothing was answered in time.
pub(crate) fn silent(error: &Error, waited: Duration, traces: &Traces) -> Error {
    let stderr = stderr(traces, "it wrote nothing to stderr");
    let message = format!("it answered nothing within {}{}", seconds(waited), noise(traces));
    Error::new(Kind::Silent, error.delivery(), message).hint(format!(
        "{stderr}if it is still starting, allow it more time (`connect_time` and `start_time` of Limits); {OR_LEGACY}"
    ))
}

/// A status that any web server gives for an address that it does not know.
pub(crate) fn nothing_there(error: &Error, status: u16, url: &Url) -> Error {
    let shown = without_query(url);
    let mut message = format!("HTTP {status} at {shown}: no MCP server answers at this path");
    if let Some(said) = error.said() {
        message.push_str(&format!(" (it says: {said})"));
    }
    let path = if url.path().trim_end_matches('/').ends_with("/mcp") {
        "check the path of the URL."
    } else {
        "is it /mcp?"
    };
    Error::new(Kind::Http, error.delivery(), message)
        .status(status, error.retry_after())
        .hint(format!("{path} Or it speaks only legacy revisions, which are not spoken yet"))
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
