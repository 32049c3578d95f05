//! The copy of a schema that a model sees.
//!
//! It differs from the original only at its root, and only where providers refuse a whole request otherwise:
//! `$schema` is stripped, and `properties` is added where it is missing. All other members stay, in their order,
//! because the order means something to models.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The members of an object, in their order, their values as text.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The copy, or why there can be none.
pub(super) fn for_model(original: &RawValue) -> Result<Box<RawValue>, String> {
    let mut members: Members = serde_json::from_str(original.get()).map_err(|error| error.to_string())?;
    members.0.retain(|(name, _)| name != "$schema");
    if !members.0.iter().any(|(name, _)| name == "properties") {
        let empty = RawValue::from_string("{}".to_owned()).map_err(|error| error.to_string())?;
        members.0.push(("properties".to_owned(), empty));
    }
    serde_json::value::to_raw_value(&members).map_err(|error| error.to_string())
}
