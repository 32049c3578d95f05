//! What an answer for more than once could be bound to, derived from the arguments: a path stays under its folder, an
//! address at its host.

use std::path::Path;

use serde_json::Value;

use crate::policy::argument::{ArgumentTest, Place, folder_of, host_of};
use crate::policy::grants::ArgumentRule;

/// The most tests of one proposal; a call with more such arguments is not one that a short rule describes.
const MOST: usize = 4;

/// Names that say that an argument is a path.
const PATH_WORDS: [&str; 8] = ["path", "file", "filename", "dir", "directory", "folder", "cwd", "root"];

/// A rule that this call fits, if its arguments say where it acts. `None` means: the tool, whatever its arguments.
pub(in crate::policy) fn propose(arguments: &Value, place: Place<'_>) -> Option<ArgumentRule> {
    let mut tests = Vec::new();
    for (name, value) in arguments.as_object()? {
        let is_every = value.is_array();
        let texts: Vec<&str> = match value {
            Value::String(text) => vec![text],
            Value::Array(elements) => {
                elements.iter().map(Value::as_str).collect::<Option<_>>().unwrap_or_default()
            }
            _ => continue,
        };
        tests.extend(test(&path_to(name, is_every), &texts, (name, place)));
    }
    // Only what surely fits the call itself is worth an offer.
    tests.retain(|test: &ArgumentTest| test.surely(arguments, place));
    (!tests.is_empty() && tests.len() <= MOST).then_some(ArgumentRule(tests))
}

/// The argument, as a path names it.
fn path_to(name: &str, is_every: bool) -> String {
    let is_plain = !name.is_empty() && !name.starts_with(['$', '/']) && !name.contains(['.', '[', ']']);
    match (is_plain, is_every) {
        (true, true) => format!("{name}[*]"),
        (true, false) => name.to_owned(),
        // A pointer has no way to name all elements.
        (false, true) => String::new(),
        (false, false) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
    }
}

fn test(path: &str, texts: &[&str], (name, place): (&str, Place<'_>)) -> Option<ArgumentTest> {
    if path.is_empty() || texts.is_empty() {
        return None;
    }
    if let Some(hosts) = texts.iter().map(|text| host_of(text)).collect::<Option<Vec<_>>>() {
        let mut hosts = hosts;
        hosts.sort_unstable();
        hosts.dedup();
        return ArgumentTest::host_in(path, hosts).ok();
    }
    if !texts.iter().all(|text| is_path(name, text)) {
        return None;
    }
    let mut folders = texts.iter().map(|text| folder_of(text, place));
    let mut common = folders.next()??;
    for folder in folders {
        let folder = folder?;
        while !folder.starts_with(&common) {
            common.pop();
        }
    }
    // Everything is no rule.
    common.parent()?;
    // Neither is everything that is the person's; a single file there may be one.
    if place.home == Some(common.as_path()) {
        let [text] = texts else { return None };
        return ArgumentTest::equals(path, Value::String((*text).to_owned())).ok();
    }
    ArgumentTest::inside(path, vec![shown(&common, place)?]).ok()
}

/// The folder with `~` where it is in the home.
fn shown(folder: &Path, place: Place<'_>) -> Option<String> {
    if let Some(rest) = place.home.and_then(|home| folder.strip_prefix(home).ok()) {
        let rest = rest.to_str()?;
        return Some(if rest.is_empty() { "~".to_owned() } else { format!("~/{rest}") });
    }
    folder.to_str().map(str::to_owned)
}

fn is_path(name: &str, text: &str) -> bool {
    let clear = ["/", "~/", "./", "../", "file://"].iter().any(|start| text.starts_with(start));
    let named = || {
        let name = name.to_ascii_lowercase();
        PATH_WORDS
            .iter()
            .any(|word| name == *word || name == format!("{word}s") || name.ends_with(&format!("_{word}")))
            || name.ends_with("path")
    };
    clear || (named() && !text.contains("://"))
}
