//! Names an argument: `a.b`, `a[0]`, `a[*]`, a JSON pointer, or `$`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::InvalidArgumentTest;
use crate::visible;

/// The longest path, in bytes.
const LONGEST: usize = 1000;

/// The most places that one path names in one call; more than that, and nobody can say.
const MOST_PLACES: usize = 10_000;

/// Where in the arguments to look.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ArgumentPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A member of an object, or an element of an array by its number.
    Into(String),
    /// All elements of an array.
    Every,
}

impl ArgumentPath {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The argument that it begins with.
    pub(super) fn first(&self) -> Option<&str> {
        match self.steps.first()? {
            Step::Into(name) => Some(name),
            Step::Every => None,
        }
    }

    /// What is there; `None` where nothing is. At least one.
    pub(super) fn places<'a>(&self, arguments: &'a Value) -> Vec<Option<&'a Value>> {
        let mut places = vec![Some(arguments)];
        for step in &self.steps {
            let mut next = Vec::new();
            for place in places {
                match (step, place) {
                    (Step::Into(name), Some(Value::Object(object))) => next.push(object.get(name)),
                    (Step::Into(index), Some(Value::Array(array))) => {
                        next.push(index.parse().ok().and_then(|index: usize| array.get(index)));
                    }
                    (Step::Every, Some(Value::Array(array))) if !array.is_empty() => {
                        next.extend(array.iter().map(Some));
                    }
                    _ => next.push(None),
                }
                if next.len() > MOST_PLACES {
                    return vec![None];
                }
            }
            places = next;
        }
        places
    }
}

impl FromStr for ArgumentPath {
    type Err = InvalidArgumentTest;

    fn from_str(text: &str) -> Result<Self, InvalidArgumentTest> {
        let invalid = || {
            InvalidArgumentTest::new(format!(
                "{} names no argument; write it as a.b, a[0], a[*], /a/b or $",
                visible::quoted(text, 100)
            ))
        };
        if text.is_empty() || text.len() > LONGEST {
            return Err(invalid());
        }
        let steps = if text == "$" {
            Vec::new()
        } else if let Some(pointer) = text.strip_prefix('/') {
            let unescaped = |step: &str| Step::Into(step.replace("~1", "/").replace("~0", "~"));
            pointer.split('/').map(unescaped).collect()
        } else {
            let dotted = text.strip_prefix("$.").unwrap_or(text);
            let mut steps = Vec::new();
            for part in dotted.split('.') {
                read_part(part, &mut steps).ok_or_else(invalid)?;
            }
            steps
        };
        Ok(Self { text: text.to_owned(), steps })
    }
}

/// Reads `name`, `name[0]`, `name[*][1]`.
fn read_part(part: &str, steps: &mut Vec<Step>) -> Option<()> {
    let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
    if name.is_empty() {
        return None;
    }
    steps.push(Step::Into(name.to_owned()));
    while !rest.is_empty() {
        let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
        steps.push(if index == "*" {
            Step::Every
        } else {
            index.parse::<usize>().ok()?;
            Step::Into(index.to_owned())
        });
        rest = after;
    }
    Some(())
}

impl fmt::Debug for ArgumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}
