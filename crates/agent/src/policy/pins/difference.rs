//! How two definitions of a tool differ, field by field and line by line.
//!
//! What is compared is what is shown: invisible characters are written out first, so that a change of one is seen.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use similar::{ChangeTag, TextDiff};

use super::definition::{Definition, ServerIdentity};
use crate::visible;

/// Lines around a change.
const CONTEXT: usize = 3;
/// The most lines of one field that are shown.
const MOST_LINES: usize = 500;
/// The longest text that is compared line by line, in bytes.
const LONGEST: usize = 256 * 1024;
/// How long the comparison of one field may take before it becomes coarse; of one that is short, as long as it takes, so
/// that the same is shown each time.
const PATIENCE: Duration = Duration::from_millis(200);
/// The most lines, of both together, of what is short.
const SHORT_LINES: usize = 2000;

/// What is different between a definition that somebody agreed to and the one that is there now. Shown as a unified
/// difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The fields that differ.
    pub fields: Vec<FieldDifference>,
}

/// What is different in one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldDifference {
    /// Which: `description`, `input schema` and so on.
    pub field: String,
    /// The changed lines and some around them.
    pub lines: Vec<DifferenceLine>,
    /// Lines that are not shown because there are too many.
    #[serde(default)]
    pub left_out: usize,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferenceLine {
    /// What became of it.
    pub change: LineChange,
    /// Its text, with everything invisible made visible.
    pub text: String,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineChange {
    /// It is as it was.
    Same,
    /// It is gone.
    Removed,
    /// It is new.
    Added,
    /// Lines that stayed as they were are not shown here.
    Gap,
}

impl Difference {
    pub(super) fn between(
        (old, old_identity): (&Definition, &ServerIdentity),
        (new, new_identity): (&Definition, &ServerIdentity),
    ) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(shown_text).unwrap_or_default();
        let json = |text: &Option<String>| text.as_deref().map(shown_json).unwrap_or_default();
        let fields = [
            (
                "server",
                shown_server(old_identity, new_identity, "as it was agreed to"),
                shown_server(new_identity, old_identity, "another by now"),
            ),
            ("title", text(&old.title), text(&new.title)),
            ("description", text(&old.description), text(&new.description)),
            ("input schema", shown_json(&old.input_schema), shown_json(&new.input_schema)),
            ("output schema", json(&old.output_schema), json(&new.output_schema)),
            ("annotations", json(&old.annotations), json(&new.annotations)),
        ];
        let fields = fields.into_iter().filter(|(_, old, new)| old != new);
        Self { fields: fields.map(|(field, old, new)| FieldDifference::between(field, &old, &new)).collect() }
    }
}

/// What it is configured as, part by part; where nothing of that differs that can be shown, that it is another.
fn shown_server(identity: &ServerIdentity, other: &ServerIdentity, which: &str) -> String {
    let mut shown = identity.to_string();
    let is_another = identity.configuration != other.configuration;
    if is_another && identity.parts != other.parts && !identity.parts.is_empty() && !other.parts.is_empty() {
        for part in &identity.parts {
            shown.push('\n');
            shown.push_str(&visible::line(part));
        }
    } else if is_another {
        let hash = identity.configuration.as_deref().unwrap_or("none");
        let hash = visible::short(hash, 16);
        shown.push_str(&format!("\nits command or address, with all that is given to it: {which} ({hash})"));
    }
    shown
}

fn shown_text(text: &str) -> String {
    text.lines().map(visible::line).collect::<Vec<_>>().join("\n")
}

fn shown_json(text: &str) -> String {
    let raw = RawValue::from_string(text.to_owned());
    raw.map_or_else(|_| visible::line(text), |raw| visible::json(&raw))
}

impl FieldDifference {
    fn between(field: &str, old: &str, new: &str) -> Self {
        let (old, new) = (visible::head(old, LONGEST), visible::head(new, LONGEST));
        // A last line is the same line whether something follows it or not.
        let ended = |text: &str| if text.is_empty() { String::new() } else { format!("{text}\n") };
        let (old, new) = (ended(old), ended(new));
        let mut comparison = TextDiff::configure();
        if old.lines().count() + new.lines().count() > SHORT_LINES {
            comparison.timeout(PATIENCE);
        }
        let diff = comparison.diff_lines(&old, &new);
        let (mut lines, mut left_out) = (Vec::new(), 0);
        for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
            if index > 0 {
                lines.push(DifferenceLine { change: LineChange::Gap, text: String::new() });
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                if lines.len() >= MOST_LINES {
                    left_out += 1;
                    continue;
                }
                let how = match change.tag() {
                    ChangeTag::Equal => LineChange::Same,
                    ChangeTag::Delete => LineChange::Removed,
                    ChangeTag::Insert => LineChange::Added,
                };
                let text = change.value().trim_end_matches('\n').to_owned();
                lines.push(DifferenceLine { change: how, text });
            }
        }
        if lines.is_empty() {
            let text = "it differs after the first 256 KiB".to_owned();
            lines.push(DifferenceLine { change: LineChange::Added, text });
        }
        Self { field: field.to_owned(), lines, left_out }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, field) in self.fields.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}", field.field)?;
            for DifferenceLine { change, text } in &field.lines {
                let sign = match change {
                    LineChange::Same => ' ',
                    LineChange::Removed => '-',
                    LineChange::Added => '+',
                    LineChange::Gap => '…',
                };
                write!(f, "\n{}", format!("{sign} {text}").trim_end())?;
            }
            if field.left_out > 0 {
                write!(f, "\n… and {} more lines", field.left_out)?;
            }
        }
        Ok(())
    }
}
