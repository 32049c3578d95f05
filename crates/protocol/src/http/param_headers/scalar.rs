//! Reads the annotated values out of a call's arguments, and nothing else.
//!
//! One pass over the arguments; what is not annotated is skipped without being stored, so a megabyte of
//! text beside an annotated region costs no copy.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{ParamHeader, SAFE_INTEGER};

/// What was found at the path of one annotated parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    /// Null or not there.
    Absent,
    /// A text.
    Text(Cow<'a, str>),
    /// An integer that is exact everywhere.
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
    /// A number with a fraction.
    Number(f64),
    /// An integer beyond ±(2^53 − 1).
    Unsafe,
    /// An object or an array.
    Other,
}

impl Scalar<'_> {
    /// The text that a header carries for the value, before it is encoded.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Integer(integer) => Some(Cow::Owned(integer.to_string())),
            Self::Boolean(true) => Some(Cow::Borrowed("true")),
            Self::Boolean(false) => Some(Cow::Borrowed("false")),
            Self::Absent | Self::Number(_) | Self::Unsafe | Self::Other => None,
        }
    }
}

/// The integer that a header states: `42`, and just so `42.0` or `4.2e1`.
pub(super) fn integer_of(header: &str) -> Option<i64> {
    // The grammar of JSON numbers, whose parser would also allow white space around them.
    if header.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return None;
    }
    let number: serde_json::Number = serde_json::from_str(header).ok()?;
    let scalar = number.as_i64().map(integer).or_else(|| number.as_f64().map(fraction));
    match scalar {
        Some(Scalar::Integer(integer)) => Some(integer),
        _ => None,
    }
}

fn integer(value: i64) -> Scalar<'static> {
    if value.unsigned_abs() <= SAFE_INTEGER { Scalar::Integer(value) } else { Scalar::Unsafe }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the range check makes both conversions exact"
)]
fn fraction(value: f64) -> Scalar<'static> {
    if value.fract() != 0.0 {
        Scalar::Number(value)
    } else if value.abs() <= SAFE_INTEGER as f64 {
        Scalar::Integer(value as i64)
    } else {
        Scalar::Unsafe
    }
}

/// The values of the annotated parameters, in the order of `entries`.
pub(super) fn read<'a, D: Deserializer<'a>>(
    arguments: D,
    entries: &[ParamHeader],
) -> Result<Vec<Scalar<'a>>, D::Error> {
    let mut found = vec![Scalar::Absent; entries.len()];
    let candidates: Vec<usize> = (0..entries.len()).collect();
    Object { entries, candidates: &candidates, depth: 0, found: &mut found }.deserialize(arguments)?;
    Ok(found)
}

/// An object on the way to the annotated values `candidates`, whose paths lead here in `depth` steps.
struct Object<'s, 'a> {
    entries: &'s [ParamHeader],
    candidates: &'s [usize],
    depth: usize,
    found: &'s mut [Scalar<'a>],
}

impl<'a> DeserializeSeed<'a> for Object<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Object<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the arguments as an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<Key<'a>>()? {
            let matching: Vec<usize> = self
                .candidates
                .iter()
                .copied()
                .filter(|&index| self.entries[index].path.get(self.depth).is_some_and(|step| *step == key.0))
                .collect();
            let last = |index: &&usize| self.entries[**index].path.len() == self.depth + 1;
            if let Some(&index) = matching.iter().find(last) {
                // The last of two equal keys counts, as it does for whoever decodes the arguments.
                self.found[index] = map.next_value_seed(Value)?;
            } else if matching.is_empty() {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(Object {
                    entries: self.entries,
                    candidates: &matching,
                    depth: self.depth + 1,
                    found: self.found,
                })?;
            }
        }
        Ok(())
    }

    // Anything but an object on the way has no annotated members. The arguments themselves are an object.
    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<(), S::Error> {
        if self.depth == 0 {
            return Err(S::Error::custom("the arguments are not an object"));
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        self.nothing()
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.nothing()
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        self.nothing()
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.nothing()
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.nothing()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.nothing()
    }
}

impl Object<'_, '_> {
    fn nothing<E: serde::de::Error>(&self) -> Result<(), E> {
        if self.depth == 0 { Err(E::custom("the arguments are not an object")) } else { Ok(()) }
    }
}

/// A key, borrowed where it holds no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The value of one annotated parameter.
struct Value;

impl<'a> DeserializeSeed<'a> for Value {
    type Value = Scalar<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Scalar<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Value {
    type Value = Scalar<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Scalar<'a>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'a>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar<'a>, E> {
        Ok(integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar<'a>, E> {
        Ok(i64::try_from(value).map_or(Scalar::Unsafe, integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar<'a>, E> {
        Ok(fraction(value))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar<'a>, E> {
        Ok(Scalar::Boolean(value))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'a>, E> {
        Ok(Scalar::Absent)
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<Scalar<'a>, S::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Scalar<'a>, M::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}
