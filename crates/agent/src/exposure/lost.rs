//! What a model is not told of a schema, where and why.

use std::fmt;

use serde::Serialize;

use crate::visible;

/// Losses kept for one tool. A schema with more of them repeats itself.
const MOST: usize = 64;

/// The longest place that is kept, in characters.
const LONGEST_PATH: usize = 200;

/// One thing that the schema of a tool says and a model does not see.
///
/// The original still validates the arguments, so what is lost costs at most a correction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Where it stands in the original schema, as a JSON pointer; empty at the root.
    pub path: String,
    /// The keyword, or what else it is.
    pub what: String,
    /// Why it is lost.
    pub why: String,
    /// Whether the model cannot write some arguments that the tool would take. Otherwise it may only write more
    /// than the tool takes.
    pub narrows: bool,
}

/// What whoever wrote the tool can do instead, by what is lost. The first that fits counts.
const SUGGESTIONS: [(&[&str], &str); 12] = [
    (
        &["anyOf", "oneOf", "allOf", "not", "if", "dependentSchemas", "dependentRequired"],
        "offer one tool for each way to call it, or check the rule in the tool and say it in the description",
    ),
    (&["properties"], "describe every property at the top level"),
    (&["$ref", "$dynamicRef", "$recursiveRef", "schema"], "make the schema flatter"),
    (&["prefixItems"], "use an object with named members instead of a tuple"),
    (&["pattern", "format", "contentEncoding"], "say the form of the text in the description"),
    (&["enum"], "list fewer values, or offer a tool that lists them and take a text"),
    (&["property"], "call the property with 1 to 64 letters, digits, '_', '.' and '-'"),
    (
        &["patternProperties", "additionalProperties", "unevaluatedProperties"],
        "take a list of objects with a name and a value",
    ),
    (&["any value", "type", "const"], "say which type the value has"),
    (&["description", "the tool's description"], "say it in fewer words"),
    (&["required"], "describe what is required as a property"),
    (&["strict"], "nothing needs to be done: the tool is offered without the provider's guarantee"),
];

impl Lost {
    /// What whoever wrote the tool can do instead, if there is something better.
    #[must_use]
    pub fn suggestion(&self) -> Option<&'static str> {
        let fits = |names: &[&str]| names.contains(&self.what.as_str());
        SUGGESTIONS.iter().find(|(names, _)| fits(names)).map(|(_, suggestion)| *suggestion)
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        write!(f, "{} at {}: {}", visible::line(&self.what), visible::line(path), self.why)
    }
}

/// The losses of one tool, each once, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    list: Vec<Lost>,
    /// Counts those again that are listed once, so that whoever compares two counts sees every loss.
    count: usize,
}

impl Losses {
    /// The model is told less than the schema says.
    pub(super) fn widened(&mut self, path: &str, what: &str, why: impl Into<String>) {
        self.push(path, what, why.into(), false);
    }

    /// The model is kept from something that the schema allows.
    pub(super) fn narrowed(&mut self, path: &str, what: &str, why: impl Into<String>) {
        self.push(path, what, why.into(), true);
    }

    fn push(&mut self, path: &str, what: &str, why: String, narrows: bool) {
        self.count += 1;
        let path = shortened(path);
        let known = |lost: &Lost| lost.path == path && lost.what == what && lost.narrows == narrows;
        if self.list.iter().any(known) {
            return;
        }
        match self.list.len() {
            MOST => {
                let why = "there is more of the same kind".to_owned();
                self.list.push(Lost { path: String::new(), what: "more".to_owned(), why, narrows });
            }
            // The list is known to be incomplete; that one of the rest narrows must not be forgotten.
            length if length > MOST => self.list[MOST].narrows |= narrows,
            _ => self.list.push(Lost { path, what: what.to_owned(), why, narrows }),
        }
    }

    /// Takes over what another list holds.
    pub(super) fn append(&mut self, other: Self) {
        for Lost { path, what, why, narrows } in other.list {
            self.push(&path, &what, why, narrows);
        }
    }

    /// The one reason that explains all others.
    pub(super) fn prepend(&mut self, lost: Lost) {
        self.count += 1;
        self.list.insert(0, lost);
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn into_list(self) -> Vec<Lost> {
        self.list
    }
}

fn shortened(path: &str) -> String {
    match path.char_indices().nth(LONGEST_PATH) {
        Some((end, _)) => format!("{}…", &path[..end]),
        None => path.to_owned(),
    }
}
