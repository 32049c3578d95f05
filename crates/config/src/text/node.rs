//! A value of a file, with its place.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A place in a file; both count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Where lines begin, so that a place is found without counting from the start again.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// The place of a byte.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Position { line, column: before.chars().count() + 1 }
    }
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) at: Position,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file. The place of a member is that of its key.
    Table(Vec<(String, Position, Node)>),
}

/// Why a file or a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: Position,
    pub(crate) message: String,
}

/// A key that nobody reads, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownKey {
    pub(crate) path: Vec<String>,
    pub(crate) at: Position,
}

impl Node {
    /// The members, if it is a table.
    pub(crate) fn members(&self) -> &[(String, Position, Self)] {
        match &self.kind {
            Kind::Table(members) => members,
            _ => &[],
        }
    }

    /// A member by its key. The last one wins where a file has it twice.
    pub(crate) fn member(&self, key: &str) -> Option<&Self> {
        self.members().iter().rev().find(|(name, _, _)| name == key).map(|(_, _, node)| node)
    }

    /// The elements, if it is a list.
    pub(crate) fn elements(&self) -> &[Self] {
        match &self.kind {
            Kind::List(elements) => elements,
            _ => &[],
        }
    }

    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, for people.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Table(_) => "a table",
        }
    }

    /// The value without places. Of a key that occurs twice, the last one counts.
    pub(crate) fn value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(bool) => Value::Bool(*bool),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(elements) => elements.iter().map(Self::value).collect(),
            Kind::Table(members) => {
                let members = members.iter().map(|(key, _, node)| (key.clone(), node.value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// Reads it as a type; a mistake has the place of the value that it is about. Also returns the keys that the type
    /// does not know.
    ///
    /// # Errors
    /// When a value is of another kind, or one is missing.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<(T, Vec<UnknownKey>), Fault> {
        let mut unknown = Vec::new();
        let mut track = serde_path_to_error::Track::new();
        let value = self.value();
        let deserializer = serde_path_to_error::Deserializer::new(&value, &mut track);
        let mut ignored = |path: serde_ignored::Path<'_>| {
            let path = keys(&path);
            let at = self.place(path.iter().map(String::as_str));
            unknown.push(UnknownKey { path, at });
        };
        let read = T::deserialize(serde_ignored::Deserializer::new(deserializer, &mut ignored));
        match read {
            Ok(read) => Ok((read, unknown)),
            Err(error) => {
                let path = track.path();
                let keys: Vec<String> = path.iter().filter_map(segment).collect();
                let at = self.place(keys.iter().map(String::as_str));
                let name = if keys.is_empty() { String::new() } else { format!("{}: ", keys.join(".")) };
                Err(Fault { at, message: format!("{name}{error}") })
            }
        }
    }

    /// The place of the value at this path, or of the last part of the path that exists.
    pub(crate) fn place<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Position {
        let (mut node, mut at) = (self, self.at);
        for key in path {
            let index = || key.parse::<usize>().ok();
            if let Some((_, place, next)) = node.members().iter().rev().find(|(name, _, _)| name == key) {
                (node, at) = (next, *place);
            } else if let Some(next) = index().and_then(|index| node.elements().get(index)) {
                (node, at) = (next, next.at);
            } else {
                break;
            }
        }
        at
    }
}

fn segment(segment: &serde_path_to_error::Segment) -> Option<String> {
    match segment {
        serde_path_to_error::Segment::Seq { index } => Some(index.to_string()),
        serde_path_to_error::Segment::Map { key } => Some(key.clone()),
        _ => None,
    }
}

fn keys(path: &serde_ignored::Path<'_>) -> Vec<String> {
    use serde_ignored::Path;
    match path {
        Path::Root => Vec::new(),
        Path::Seq { parent, index } => {
            let mut path = keys(parent);
            path.push(index.to_string());
            path
        }
        Path::Map { parent, key } => {
            let mut path = keys(parent);
            path.push(key.clone());
            path
        }
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            keys(parent)
        }
    }
}
