//! Request ids and progress tokens: a string or an integer, echoed with the type they came in.
//!
//! `1` and `"1"` are different ids. A number that is not an integer is no id; neither is `null`
//! [spec: basic, Requests].

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The id of a JSON-RPC request.
///
/// Integers are kept exactly, over the whole range that JSON parsers agree on (`i64` and `u64`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    /// An integer.
    Integer(i128),
    /// A string, kept byte for byte.
    String(Box<str>),
}

impl RequestId {
    /// Bytes of the text of an id or a progress token that is read from a peer. Both are kept for as long as
    /// a request runs and repeated in every message about it.
    pub const MAX_BYTES: usize = 1024;
}

impl From<i64> for RequestId {
    fn from(value: i64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<&str> for RequestId {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::String(value) => write!(f, "{value:?}"),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(value) => match i64::try_from(*value) {
                Ok(small) => serializer.serialize_i64(small),
                Err(_) => serializer.serialize_i128(*value),
            },
            Self::String(value) => serializer.serialize_str(value),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl de::Visitor<'_> for IdVisitor {
    type Value = RequestId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string of at most {} bytes or an integer", RequestId::MAX_BYTES)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<RequestId, E> {
        Ok(RequestId::Integer(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<RequestId, E> {
        Ok(RequestId::Integer(value.into()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<RequestId, E> {
        if value.len() > RequestId::MAX_BYTES {
            return Err(E::invalid_length(value.len(), &self));
        }
        Ok(RequestId::String(value.into()))
    }
}

/// Names the progress notifications of one request [spec: basic/patterns/progress].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProgressToken(pub RequestId);

#[cfg(test)]
mod tests {
    use super::RequestId;

    #[test]
    fn an_id_is_echoed_with_its_json_type() {
        for text in ["1", "0", "-7", "9007199254740993", "18446744073709551615", r#""1""#, r#""7f0c-é""#] {
            let id: RequestId = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&id).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_string_and_no_integer_is_no_id() {
        for text in ["null", "1.5", "1e3", "true", "[]", "{}", "99999999999999999999999"] {
            assert!(serde_json::from_str::<RequestId>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_id_that_is_too_long_is_none() {
        let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes));
        assert!(serde_json::from_str::<RequestId>(&text(RequestId::MAX_BYTES)).is_ok());
        assert!(serde_json::from_str::<RequestId>(&text(RequestId::MAX_BYTES + 1)).is_err());
    }

    #[test]
    fn the_integer_1_and_the_string_1_are_different_ids() {
        assert_ne!(RequestId::from(1), RequestId::from("1"));
    }
}
