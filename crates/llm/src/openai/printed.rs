//! Notices a call that was printed as text because the server has no tool template for the model.
//!
//! It only recognises: such a call is reported and never made.

use serde::Deserialize;
use serde_json::value::RawValue;

/// How much text is looked at, in bytes: a printed call stands at the start of an answer or is the whole of it.
pub(super) const MAX_LOOK: usize = 16 * 1024;

#[derive(Deserialize)]
struct Printed {
    name: String,
    #[serde(default, alias = "parameters")]
    arguments: Option<Box<RawValue>>,
}

/// The tool and the arguments' text, if `text` prints a call of one of `tools`.
pub(super) fn find(text: &str, tools: &[String]) -> Option<(String, String)> {
    let known = |name: &str| tools.iter().any(|tool| tool == name);
    let candidates =
        [between(text, "<tool_call>", "</tool_call>"), between(text, "```json", "```"), Some(text.trim())];
    for candidate in candidates.into_iter().flatten() {
        if let Ok(printed) = serde_json::from_str::<Printed>(candidate)
            && known(&printed.name)
        {
            let arguments = printed.arguments.map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned());
            return Some((printed.name, arguments));
        }
    }
    let call = text.trim().trim_start_matches('[').trim_end_matches(']');
    let (name, rest) = call.split_once('(')?;
    let arguments = rest.strip_suffix(')')?;
    known(name).then(|| (name.to_owned(), arguments.to_owned()))
}

/// What stands between two marks; a missing closing mark is the end of the text.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close).map_or(rest, |(inner, _)| inner).trim())
}
