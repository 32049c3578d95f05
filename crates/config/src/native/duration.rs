//! Lengths of time as people write them.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A length of time: `"30s"`, `"5m"`, `"1h 30m"`, or whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length(pub(crate) Duration);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"30s\" or \"5m\", or whole seconds")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Length, E> {
                let read = humantime::parse_duration(text).map(Length);
                read.map_err(|error| {
                    E::custom(format!("{text:?} is no time ({error}); write it like \"30s\" or \"5m\""))
                })
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Length, E> {
                Ok(Length(Duration::from_secs(seconds)))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Length {
    fn schema_name() -> Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A length of time: \"30s\", \"5m\", \"1h 30m\", or whole seconds",
            "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }]
        })
    }
}
