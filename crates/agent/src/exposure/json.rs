//! JSON as a tree that keeps the order of members.
//!
//! The order of properties means something to models and decides about the bytes that a prompt cache compares;
//! `serde_json::Value` sorts. Only the compiler of schemas uses this. Where to look next: `lower`.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// Any JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    /// Names are unique.
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_u64(&self) -> Option<u64> {
        match self {
            // A count may be written as 2.0.
            Self::Number(number) => number.as_u64().or_else(|| {
                let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
                format!("{float:.0}").parse().ok()
            }),
            _ => None,
        }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    pub(super) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn as_object(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// A member of an object.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.as_object()?.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The name of its type in JSON Schema; a number without a fraction is an integer.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(number) if number.as_f64().is_some_and(|float| float.fract() == 0.0) => "integer",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Its length as compact JSON, in bytes; stops counting soon after `enough`.
    pub(super) fn length(&self, enough: usize) -> usize {
        match self {
            Self::Null => 4,
            Self::Bool(_) => 5,
            Self::Number(number) => number.to_string().len(),
            Self::String(text) => text.len() + 2,
            Self::Array(items) => items
                .iter()
                .fold(2, |sum, item| if sum > enough { sum } else { sum + 1 + item.length(enough) }),
            Self::Object(members) => members.iter().fold(2, |sum, (name, value)| {
                if sum > enough { sum } else { sum + 4 + name.len() + value.length(enough) }
            }),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A tree of texts and numbers can always be written.
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| sequence.serialize_element(item))?;
                sequence.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members: Vec<(String, Json)> = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(unique(members)))
    }
}

/// Of a name given twice the last value counts, as for the validator, at the place of the first.
fn unique(members: Vec<(String, Json)>) -> Vec<(String, Json)> {
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).all(|pair| pair[0] != pair[1]) {
        return members;
    }
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(String, Json)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        match places.get(&name) {
            Some(place) => kept[*place].1 = value,
            None => {
                places.insert(name.clone(), kept.len());
                kept.push((name, value));
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn order_and_spelling_stay_and_the_last_of_two_counts() {
        for (text, written) in [
            (r#"{"z":1,"a":[true,null,-2,0.5,"é\n"],"m":{}}"#, None),
            (r#"{"a":1,"b":2,"a":3}"#, Some(r#"{"a":3,"b":2}"#)),
            ("\"x\"", None),
        ] {
            let json: Json = serde_json::from_str(text).unwrap();
            assert_eq!(json.to_string(), written.unwrap_or(text));
        }
    }
}
