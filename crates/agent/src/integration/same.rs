//! Whether a text and a structured content say the same, without holding either a second time.
//!
//! Both are read once, as a stream, into a hash in which neither the layout, nor the order of members, nor the spelling
//! of a number counts.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::CallToolResult;

use super::keep::BLOCKS;

/// For each block that is looked at, whether it is a text that says what the structured content says.
pub(super) fn mirrors(result: &CallToolResult) -> Vec<bool> {
    let blocks = result.content.iter().take(BLOCKS);
    let Some(structured) = result.structured_content.as_deref().and_then(|raw| meaning(raw.get())) else {
        return blocks.map(|_| false).collect();
    };
    blocks
        .map(|block| matches!(block, ContentBlock::Text(text) if meaning(&text.text) == Some(structured)))
        .collect()
}

fn meaning(text: &str) -> Option<u64> {
    // Most texts are no JSON at all.
    let begins = |first: char| first.is_ascii_digit() || "{[\"-tfn".contains(first);
    if !text.trim_start().starts_with(begins) {
        return None;
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let meaning = Meaning.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(meaning)
}

fn hash(kind: &str, value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    kind.hash(&mut hasher);
    value.hash(&mut hasher);
    hasher.finish()
}

struct Meaning;

impl<'de> DeserializeSeed<'de> for Meaning {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Meaning {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        // A sum does not care for the order.
        let (mut sum, mut count) = (0_u64, 0_u64);
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let value = map.next_value_seed(Self)?;
            sum = sum.wrapping_add(hash("member", (name, value)));
            count += 1;
        }
        Ok(hash("object", (sum, count)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u64, A::Error> {
        let mut all = hash("array", 0);
        while let Some(item) = items.next_element_seed(Self)? {
            all = hash("item", (all, item));
        }
        Ok(all)
    }

    fn visit_bool<E>(self, value: bool) -> Result<u64, E> {
        Ok(hash("bool", value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<u64, E> {
        Ok(hash("integer", i128::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(hash("integer", i128::from(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<u64, E> {
        #[expect(clippy::cast_possible_truncation, reason = "only whole numbers that fit are cast")]
        let whole = (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64);
        Ok(match whole {
            Some(whole) => hash("integer", i128::from(whole)),
            None => hash("number", value.to_bits()),
        })
    }

    fn visit_str<E>(self, value: &str) -> Result<u64, E> {
        Ok(hash("string", value))
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(hash("null", 0))
    }
}
