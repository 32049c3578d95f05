//! Lays out results for people: structured content as aligned text, what was asked for first.
//!
//! Nothing is left out and nothing is computed, with one exception: fields that hold Unix time by their name
//! are shown as ISO 8601 in UTC, which means the same everywhere. Text of a server cannot move the cursor or
//! hide itself. Where to look next: `render/node.rs` for how structured content is read, `render/table.rs` for
//! the columns.

mod node;
mod table;
mod time;

use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::CallToolResult;

use self::node::Node;
use crate::router::words;
use crate::visible;
use crate::{integration, limits::Limits};

/// The deepest level of a schema in which the description of a field is looked for.
const SCHEMA_DEPTH: usize = 12;

/// The result as text for a person, without an empty line at its end.
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
    match structured(result) {
        Some(node) => table::lay_out(&node),
        None => text(result),
    }
}

/// The result as text for a person who asked `question`: the fields that it speaks of in one line each, then
/// everything. `output_schema` is where the units of fields are described.
#[must_use]
pub(crate) fn answer(result: &CallToolResult, question: &str, output_schema: Option<&RawValue>) -> String {
    let Some(node) = structured(result) else { return text(result) };
    let schema = output_schema.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let lines = asked_for(&node, question, schema.as_ref());
    let table = table::lay_out(&node);
    if lines.is_empty() { table } else { format!("{}\n\n{table}", lines.join("\n")) }
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
    lines(&text)
}

/// Several lines, in which nothing else moves the cursor. Backslashes stay: nobody decides by this text.
fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.trim_end().chars() {
        match character {
            '\n' | '\t' => out.push(character),
            '\r' => {}
            other if visible::is_invisible(other) => out.push('�'),
            other => out.push(other),
        }
    }
    out
}

/// A field that the question speaks of, with all places where it stands.
struct Asked<'a> {
    name: &'a str,
    values: Vec<(Vec<&'a str>, String)>,
}

/// One line for each field whose name the question speaks of.
fn asked_for(node: &Node, question: &str, schema: Option<&Value>) -> Vec<String> {
    let asked = words::terms(question);
    let mut fields: Vec<Asked<'_>> = Vec::new();
    let mut best = 0;
    node.leaves(&mut Vec::new(), &mut |path, name, value| {
        let own = words::terms(name);
        // Every word of the field's name is asked for; more of them make a better field.
        if own.is_empty() || !own.iter().all(|term| asked.contains(term)) || own.len() < best {
            return;
        }
        if own.len() > best {
            best = own.len();
            fields.clear();
        }
        let place = (path.to_vec(), value.to_owned());
        match fields.iter_mut().find(|field| field.name == name) {
            Some(field) => field.values.push(place),
            None => fields.push(Asked { name, values: vec![place] }),
        }
    });
    let speaks_of =
        |path: &[&str]| path.iter().any(|step| words::terms(step).iter().any(|term| asked.contains(term)));
    // A place that the question names is the only one that counts.
    if fields.iter().any(|field| field.values.iter().any(|(path, _)| speaks_of(path))) {
        fields.iter_mut().for_each(|field| field.values.retain(|(path, _)| speaks_of(path)));
        fields.retain(|field| !field.values.is_empty());
    }
    fields.iter().map(|field| line(field, schema)).collect()
}

fn line(field: &Asked<'_>, schema: Option<&Value>) -> String {
    let values: Vec<String> = field
        .values
        .iter()
        .map(|(path, value)| {
            let place: Vec<String> = path.iter().map(|step| visible::line(step)).collect();
            if place.is_empty() { value.clone() } else { format!("{} {value}", place.join(" / ")) }
        })
        .collect();
    let description = schema.and_then(|schema| description(schema, field.name, SCHEMA_DEPTH));
    let description = description.map(|text| format!(" ({})", visible::line(text.trim_end_matches('.'))));
    format!("{}: {}{}", visible::line(field.name), values.join(", "), description.unwrap_or_default())
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

#[cfg(test)]
mod tests;
