//! Reading of fields that no two servers write alike: what is missing, null or of another type is nothing, and
//! never fails the rest.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A value of the wanted type, or nothing.
pub(crate) fn maybe<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: for<'a> Deserialize<'a>,
{
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

/// The items of a list that are of the wanted type; nothing if it is no list.
pub(crate) fn items<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: for<'a> Deserialize<'a>,
{
    let raws: Vec<Box<RawValue>> = maybe(deserializer)?.unwrap_or_default();
    Ok(raws.iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect())
}

/// A string; a number counts as its digits, everything else as nothing.
pub(crate) fn string<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(raw.map(|raw| as_string(&raw)).unwrap_or_default())
}

pub(crate) fn as_string(raw: &RawValue) -> String {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).unwrap_or_default(),
        Some(b'0'..=b'9' | b'-') => text.to_owned(),
        _ => String::new(),
    }
}

/// A number, also if it is written as a string.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(string(deserializer)?.parse().ok())
}
