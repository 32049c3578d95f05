//! The id of an object that is no message, so that whoever waits for an answer gets one.
//!
//! Read only when the ordinary reading has failed. It is lenient about everything but the id itself: names
//! may be there twice, values may be of any kind, and strings may hold what no text can.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::id::RequestId;

/// What could be read.
#[derive(Debug, Default)]
pub(super) struct Salvaged {
    /// The id, if it is one and there is no second one that differs.
    pub(super) id: Option<RequestId>,
    /// It has an outcome and no method: nobody waits for an answer to an answer.
    pub(super) is_response: bool,
}

/// Reads the members of an object; `None` if the text is no JSON object.
pub(super) fn members(bytes: &[u8]) -> Option<Salvaged> {
    std::str::from_utf8(bytes).ok()?;
    let mut decoder = serde_json::Deserializer::from_slice(bytes);
    let found = decoder.deserialize_map(Members).ok()?;
    decoder.end().ok()?;
    Some(found)
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Salvaged;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Salvaged, A::Error> {
        let (mut id, mut has_method, mut has_outcome) = (None, false, false);
        while let Some(name) = members.next_key_seed(Name)? {
            match name {
                Member::Id => {
                    let text = members.next_value::<&RawValue>()?;
                    let found = serde_json::from_str::<RequestId>(text.get()).ok();
                    id = match id {
                        None => Some(found),
                        Some(known) if known == found => Some(known),
                        Some(_) => Some(None),
                    };
                    continue;
                }
                Member::Method => has_method = true,
                Member::Outcome => has_outcome = true,
                Member::Other => {}
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(Salvaged { id: id.flatten(), is_response: has_outcome && !has_method })
    }
}

enum Member {
    Id,
    Method,
    Outcome,
    Other,
}

/// Names are read as bytes: half of a surrogate pair is no text, but it may stand in JSON.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Member, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<Member, E> {
        Ok(match name {
            b"id" => Member::Id,
            b"method" => Member::Method,
            b"result" | b"error" => Member::Outcome,
            _ => Member::Other,
        })
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Member, E> {
        self.visit_bytes(name.as_bytes())
    }
}
