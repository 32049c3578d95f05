//! Structured content, read so that the order of its members stays.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::time;
use crate::visible;

/// A JSON value in the order in which it was written. Scalars are kept as they are shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// A value without parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl Node {
    /// Reads a JSON text; `None` if it is none, or nested too deeply.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Visits every scalar that is the member of an object, with the names that lead there, its own name, and
    /// how it is shown.
    pub(super) fn leaves<'a>(
        &'a self,
        path: &mut Vec<&'a str>,
        visit: &mut impl FnMut(&[&'a str], &'a str, &str),
    ) {
        match self {
            Self::Scalar(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.leaves(path, visit)),
            Self::Map(members) => {
                for (name, member) in members {
                    if let Self::Scalar(scalar) = member {
                        visit(path, name, &scalar.show(name));
                    } else {
                        path.push(name);
                        member.leaves(path, visit);
                        path.pop();
                    }
                }
            }
        }
    }

    /// A value without parts that fits a line.
    pub(super) fn is_short(&self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.lines().is_none())
    }

    /// The same without the members that `wanted` does not want, and without what is empty then.
    pub(super) fn keep(&self, wanted: &impl Fn(&[&str], &str) -> bool) -> Option<Self> {
        self.kept(&mut Vec::new(), wanted)
    }

    fn kept<'a>(&'a self, path: &mut Vec<&'a str>, wanted: &impl Fn(&[&str], &str) -> bool) -> Option<Self> {
        match self {
            Self::Scalar(_) => None,
            Self::List(items) => {
                let items: Vec<Self> = items.iter().filter_map(|item| item.kept(path, wanted)).collect();
                (!items.is_empty()).then_some(Self::List(items))
            }
            Self::Map(members) => {
                let mut kept = Vec::new();
                for (name, member) in members {
                    if let Self::Scalar(_) = member {
                        if wanted(path, name) {
                            kept.push((name.clone(), member.clone()));
                        }
                        continue;
                    }
                    path.push(name);
                    kept.extend(member.kept(path, wanted).map(|member| (name.clone(), member)));
                    path.pop();
                }
                (!kept.is_empty()).then_some(Self::Map(kept))
            }
        }
    }
}

impl Scalar {
    /// The value as the field `name` shows it, on one line.
    pub(super) fn show(&self, name: &str) -> String {
        let instant = match self {
            Self::Integer(number) => u64::try_from(*number).ok(),
            Self::Unsigned(number) => Some(*number),
            _ => None,
        };
        if let Some(instant) = instant.filter(|_| time::is_named_time(name)).and_then(time::iso) {
            return instant;
        }
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(true) => "yes".to_owned(),
            Self::Bool(false) => "no".to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Unsigned(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Text(text) => in_a_line(text),
        }
    }

    /// The lines of a text that has several.
    pub(super) fn lines(&self) -> Option<Vec<String>> {
        let Self::Text(text) = self else { return None };
        let text = visible::text(text.trim_end());
        text.contains('\n').then(|| text.lines().map(str::to_owned).collect())
    }
}

/// A text in one line: what it ends with is not shown, and where another line begins is marked.
fn in_a_line(text: &str) -> String {
    visible::text(text.trim_end()).replace('\n', " ⏎ ").replace('\t', "  ")
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Node::Map(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Scalar::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(Scalar::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(Scalar::Integer(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(Scalar::Unsigned(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(Scalar::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(Scalar::Text(value.to_owned())))
    }
}
