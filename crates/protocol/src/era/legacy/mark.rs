//! What tells a modern request from one of a session, wherever it stands: it names its revision itself.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::meta::PROTOCOL_VERSION;

/// Whether the `_meta` of these parameters names a revision, as that of every modern request does.
///
/// No legacy request has that name, so that it counts whatever is under it: what is wrong with that is for
/// the modern era to say. It counts however it is written, and however often.
#[must_use]
pub fn names_revision(params: Option<&RawValue>) -> bool {
    let Some(text) = params.map(RawValue::get) else { return false };
    may_name_revision(text.as_bytes())
        && serde_json::from_str::<Params>(text).is_ok_and(|Params { meta: Meta(names_it) }| names_it)
}

/// False for most requests of a session, which need not be decoded to be told. The name has a slash; it may
/// be written with escapes.
pub(crate) fn may_name_revision(text: &[u8]) -> bool {
    // Most have neither, and to prepare the longer search costs more than to read them.
    memchr::memchr2(b'/', b'\\', text).is_some()
        && (memchr::memchr(b'\\', text).is_some()
            || memchr::memmem::find(text, PROTOCOL_VERSION.as_bytes()).is_some())
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Meta,
}

/// Whether the name is in it. Nothing else of it is kept.
struct Meta(bool);

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Names).map(Self)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut is_there = false;
        while let Some(name) = map.next_key::<Name>()? {
            is_there |= name.0;
            map.next_value::<IgnoredAny>()?;
        }
        Ok(is_there)
    }
}

/// Whether a member has the name. It is read as bytes: half of a surrogate pair is no text, but it may stand
/// in JSON.
struct Name(bool);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Letters).map(Self)
    }
}

struct Letters;

impl Visitor<'_> for Letters {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<bool, E> {
        Ok(name == PROTOCOL_VERSION.as_bytes())
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        self.visit_bytes(name.as_bytes())
    }
}
