//! Objects of which only a member here and there is read: the others keep their order and their text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The members of an object in their order, each value as text.
pub(super) struct Members<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Ordered)
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

pub(super) fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

/// Whether the root of a schema has the type of an object, the only one that legacy revisions allow for what a
/// tool gives.
pub(super) fn describes_object(schema: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Root<'a> {
        #[serde(borrow)]
        r#type: Option<&'a RawValue>,
    }
    is_object(schema)
        && serde_json::from_str::<Root<'_>>(schema.get())
            .is_ok_and(|root| root.r#type.map(RawValue::get) == Some("\"object\""))
}
