//! Lays out results for people: structured content as aligned text, what was asked for first.
//!
//! Nothing is computed, with one exception: fields that hold Unix time by their name are shown as ISO 8601 in UTC,
//! which means the same everywhere. Nothing is left out, except in the answer to a question, and behind the longest
//! text, which is said. Text of a server cannot move the cursor or hide itself. Where to look next: `render/node.rs` for how structured content is read, `render/table.rs` for
//! the columns, `render/unit.rs` for units.

mod node;
mod table;
mod time;
mod unit;

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::CallToolResult;

use self::node::Node;
use crate::router::words;
use crate::visible;
use crate::{integration, limits::Limits};

/// A result with at most this many names of fields is shown whole, whatever was asked.
const FEW_FIELDS: usize = 6;

/// The longest text of a result, in bytes. What is over is left out with a note.
pub(crate) const LONGEST_TEXT: usize = 64 * 1024;

/// The most fields that a question is compared with.
const MOST_FIELDS: usize = 10_000;

/// The most fields that get a line of their own.
const MOST_LINES: usize = 40;

/// The most characters of the name of a field or a place in a line.
const NAME_CHARS: usize = 60;

/// The most characters of what a server says about a field.
const SAID_CHARS: usize = 500;

/// The most bytes of a name that are compared with a question.
const NAME_BYTES: usize = 256;

/// The deepest level of a schema in which the description of a field is looked for.
const SCHEMA_DEPTH: usize = 12;

/// The result as text for a person at a command that has `--json`, without an empty line at its end.
///
/// ```
/// use switchboard_agent::render;
/// use switchboard_protocol::model::tool::CallToolResult;
///
/// let result: CallToolResult = serde_json::from_str(
///     r#"{"content": [], "structuredContent": {"Indoor": {"CO2": 640, "When": 0}, "Bedroom": {"CO2": 780}}}"#,
/// )?;
/// let lines: Vec<_> = render::result(&result).lines().map(str::to_owned).collect();
/// assert_eq!(lines, [
///     "      Indoor                Bedroom",
///     "CO2   640                   780",
///     "When  1970-01-01T00:00:00Z  -",
/// ]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn result(result: &CallToolResult) -> String {
    let text = structured(result).map_or_else(|| text(result), |node| table::lay_out(&node));
    cut(text, "--json shows all")
}

/// Where a person finds what an answer leaves out, in a terminal and on a page.
const WHOLE: &str = "the result of the call has all";

/// The text as far as it fits, whole lines if there are any, and a note about the rest and `where_it_is`.
fn cut(mut text: String, where_it_is: &str) -> String {
    if text.len() > LONGEST_TEXT {
        let end = visible::head(&text, LONGEST_TEXT).len();
        let end = text[..end].rfind('\n').filter(|at| *at > end / 2).unwrap_or(end);
        text.truncate(end);
        text.push_str(&format!("\n(the rest is left out; {where_it_is})"));
    }
    text
}

/// The result as text for a person who asked `question`: the fields that it speaks of in one line each, then those
/// that have to do with it, then how many are left. A small result, and one in which nothing was asked for by name, is
/// shown whole. `output_schema` is where the units of fields are described.
#[must_use]
pub(crate) fn answer(result: &CallToolResult, question: &str, output_schema: Option<&RawValue>) -> String {
    let Some(node) = structured(result) else { return cut(text(result), WHOLE) };
    let all = names(&node);
    if all.len() > MOST_FIELDS {
        return cut(table::lay_out(&node), WHOLE);
    }
    let schema = output_schema.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let asked = Asked::read(&node, question);
    if asked.fields.is_empty() {
        return cut(table::lay_out(&node), WHOLE);
    }
    let mut parts = vec![asked.lines(schema.as_ref()).join("\n")];
    let pruned = node.keep(&|path, name| asked.is_related(path, name));
    let related = if all.len() <= FEW_FIELDS { Some(&node) } else { pruned.as_ref() };
    let shown = related.map(names).unwrap_or_default();
    // What the lines say already is not said again.
    if let Some(related) = related.filter(|_| shown.len() > asked.fields.len().min(MOST_LINES)) {
        parts.push(table::lay_out(related));
    }
    match all.len() - shown.len() {
        0 => {}
        1 => parts.push(format!("(1 more field; {WHOLE})")),
        more => parts.push(format!("({more} more fields; {WHOLE})")),
    }
    cut(parts.join("\n\n"), WHOLE)
}

/// The names of all fields, each once.
fn names(node: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    node.leaves(&mut Vec::new(), &mut |_, name, _| {
        names.insert(name.to_owned());
    });
    names
}

/// The structured content, or a text that is JSON and holds more than one value.
fn structured(result: &CallToolResult) -> Option<Node> {
    if let Some(raw) = &result.structured_content {
        return Node::parse(raw.get());
    }
    match result.content.as_slice() {
        [ContentBlock::Text(text)] if text.text.trim_start().starts_with(['{', '[']) => {
            Node::parse(&text.text)
        }
        _ => None,
    }
}

fn text(result: &CallToolResult) -> String {
    let plain: Option<Vec<&str>> = result
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    let text = match plain {
        Some(texts) if !texts.is_empty() => texts.join("\n"),
        _ => {
            let everything = Limits { result_bytes: usize::MAX, ..Limits::default() };
            let outcome = crate::ToolOutcome::Result(Box::new(result.clone()));
            integration::integrate(&outcome, &everything).text
        }
    };
    visible::text(text.trim_end())
}

/// What a question speaks of in a result.
struct Asked<'a> {
    /// Its terms.
    terms: Vec<String>,
    /// The fields that it names, and only in the places that it names, if it names some.
    fields: Vec<Field<'a>>,
    /// Whether it names places.
    somewhere: bool,
}

/// A field that a question speaks of, with all places where it stands.
struct Field<'a> {
    name: &'a str,
    values: Vec<(Vec<&'a str>, String)>,
}

impl<'a> Asked<'a> {
    fn read(node: &'a Node, question: &str) -> Self {
        let terms = words::terms(question);
        let mut fields: Vec<Field<'_>> = Vec::new();
        let mut best = 0;
        let mut index: HashMap<&str, usize> = HashMap::new();
        node.leaves(&mut Vec::new(), &mut |path, name, value| {
            let own = words::terms(head(name));
            // Every word of the field's name is asked for; more of them make a better field.
            if own.is_empty() || !own.iter().all(|term| terms.contains(term)) || own.len() < best {
                return;
            }
            if own.len() > best {
                best = own.len();
                fields.clear();
                index.clear();
            }
            let place = (path.to_vec(), value.to_owned());
            match index.get(name).and_then(|at| fields.get_mut(*at)) {
                Some(field) => field.values.push(place),
                None => {
                    index.insert(name, fields.len());
                    fields.push(Field { name, values: vec![place] });
                }
            }
        });
        let mut asked = Self { terms, fields: Vec::new(), somewhere: false };
        // A place that the question names is the only one that counts.
        if fields.iter().any(|field| field.values.iter().any(|(path, _)| asked.names_place(path))) {
            asked.somewhere = true;
            fields.iter_mut().for_each(|field| field.values.retain(|(path, _)| asked.names_place(path)));
            fields.retain(|field| !field.values.is_empty());
        }
        asked.fields = fields;
        asked
    }

    fn names_place(&self, path: &[&str]) -> bool {
        path.iter().any(|step| self.names(step))
    }

    fn names(&self, text: &str) -> bool {
        words::terms(head(text)).iter().any(|term| self.terms.contains(term))
    }

    /// Whether a field has to do with the question: a word of its name is asked for, where it is asked for.
    fn is_related(&self, path: &[&str], name: &str) -> bool {
        self.names(name) && (!self.somewhere || self.names_place(path))
    }

    /// One line for each field.
    fn lines(&self, schema: Option<&Value>) -> Vec<String> {
        self.fields.iter().take(MOST_LINES).map(|field| line(field, schema)).collect()
    }
}

/// As much of a name as is compared.
fn head(name: &str) -> &str {
    visible::head(name, NAME_BYTES)
}

fn line(field: &Field<'_>, schema: Option<&Value>) -> String {
    let description = schema.and_then(|schema| description(schema, field.name, SCHEMA_DEPTH));
    let unit =
        description.and_then(unit::of).filter(|_| field.values.iter().all(|(_, value)| is_number(value)));
    let mut room = LONGEST_TEXT;
    let values: Vec<String> = field
        .values
        .iter()
        .map_while(|value| {
            room = room.checked_sub(value.1.len() + 1)?;
            Some(value)
        })
        .map(|(path, value)| {
            let place: Vec<String> = path.iter().map(|step| visible::short(step, NAME_CHARS)).collect();
            let value = unit.map_or_else(|| value.clone(), |unit| format!("{value} {unit}"));
            if place.is_empty() { value } else { format!("{} {value}", place.join(" / ")) }
        })
        .collect();
    // Without a unit, what the server says about the field is all that there is to say.
    let said = description
        .filter(|_| unit.is_none())
        .map(|text| format!(" ({})", visible::short(text.trim_end_matches('.'), SAID_CHARS)));
    format!("{}: {}{}", visible::short(field.name, NAME_CHARS), values.join(", "), said.unwrap_or_default())
}

fn is_number(shown: &str) -> bool {
    shown.parse::<f64>().is_ok()
}

/// What the schema says about a field, wherever in it the field stands.
fn description<'a>(schema: &'a Value, field: &str, depth: usize) -> Option<&'a str> {
    let members = schema.as_object().filter(|_| depth > 0)?;
    if let Some(text) =
        members.get("properties").and_then(|all| all.get(field)).and_then(|one| one["description"].as_str())
    {
        return Some(text);
    }
    members.values().find_map(|member| description(member, field, depth - 1))
}

/// An instant, given in milliseconds since 1970-01-01 UTC, for people.
pub(crate) fn instant(unix_ms: u64) -> String {
    time::iso(unix_ms / 1000).unwrap_or_else(|| "an unknown time".to_owned())
}

#[cfg(test)]
mod tests;
