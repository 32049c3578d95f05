//! Reads a block in one flat pass.
//!
//! serde's internally tagged form would buffer every block, and a block is often the largest thing in an answer.
//! Members that no known kind has are kept only as long as the block may turn out to be of another kind.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{Annotations, ContentBlock, EmbeddedResource, MediaContent, OtherContent, TextContent};
use crate::meta::MetaObject;
use crate::model::capability::Icon;
use crate::model::resource::{Resource, ResourceContents};

const KNOWN: [&str; 5] = ["text", "image", "audio", "resource_link", "resource"];

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Block)
    }
}

struct Block;

impl<'de> Visitor<'de> for Block {
    type Value = ContentBlock;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block of content")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ContentBlock, A::Error> {
        let mut flat = Flat::default();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            flat.read(&name, &mut map)?;
        }
        flat.block()
    }
}

/// The members of all kinds.
#[derive(Default)]
struct Flat {
    kind: Option<String>,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    resource: Option<ResourceContents>,
    uri: Option<String>,
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    size: Option<u64>,
    icons: Option<Vec<Icon>>,
    annotations: Option<Annotations>,
    meta: Option<MetaObject>,
    others: Map<String, Value>,
}

impl Flat {
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "type" => once(&mut self.kind, "type", map),
            "annotations" => once(&mut self.annotations, "annotations", map),
            "_meta" => once(&mut self.meta, "_meta", map),
            _ if self.kind.as_deref().is_some_and(is_other) => self.keep(name, map),
            "text" => once(&mut self.text, "text", map),
            "data" => once(&mut self.data, "data", map),
            "mimeType" => once(&mut self.mime_type, "mimeType", map),
            "resource" => once(&mut self.resource, "resource", map),
            "uri" => once(&mut self.uri, "uri", map),
            "name" => once(&mut self.name, "name", map),
            "title" => once(&mut self.title, "title", map),
            "description" => once(&mut self.description, "description", map),
            "size" => once(&mut self.size, "size", map),
            "icons" => once(&mut self.icons, "icons", map),
            _ if self.kind.is_some() => map.next_value::<IgnoredAny>().map(drop),
            _ => self.keep(name, map),
        }
    }

    fn keep<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        self.others.insert(name.to_owned(), map.next_value()?);
        Ok(())
    }

    fn block<E: Error>(self) -> Result<ContentBlock, E> {
        let kind = self.kind.as_deref().ok_or_else(|| E::missing_field("type"))?;
        Ok(match kind {
            "text" => ContentBlock::Text(TextContent {
                text: need(self.text, "text")?,
                annotations: self.annotations,
                meta: self.meta,
            }),
            "image" => ContentBlock::Image(self.media()?),
            "audio" => ContentBlock::Audio(self.media()?),
            "resource" => ContentBlock::Resource(EmbeddedResource {
                resource: need(self.resource, "resource")?,
                annotations: self.annotations,
                meta: self.meta,
            }),
            "resource_link" => ContentBlock::ResourceLink(Box::new(Resource {
                uri: need(self.uri, "uri")?,
                name: need(self.name, "name")?,
                title: self.title,
                description: self.description,
                mime_type: self.mime_type,
                size: self.size,
                icons: self.icons,
                annotations: self.annotations,
                meta: self.meta,
            })),
            _ => ContentBlock::Other(self.other()?),
        })
    }

    fn media<E: Error>(self) -> Result<MediaContent, E> {
        Ok(MediaContent {
            data: need(self.data, "data")?,
            mime_type: need(self.mime_type, "mimeType")?,
            annotations: self.annotations,
            meta: self.meta,
        })
    }

    /// What was read as a member of a known kind, before the kind was known, belongs to this one.
    fn other<E: Error>(self) -> Result<OtherContent, E> {
        let mut members = self.others;
        let texts = [
            ("text", self.text),
            ("data", self.data),
            ("mimeType", self.mime_type),
            ("uri", self.uri),
            ("name", self.name),
            ("title", self.title),
            ("description", self.description),
        ];
        let texts = texts.into_iter().filter_map(|(name, text)| text.map(|text| (name, text)));
        members.extend(texts.map(|(name, text)| (name.to_owned(), Value::String(text))));
        if let Some(size) = self.size {
            members.insert("size".to_owned(), size.into());
        }
        if let Some(resource) = self.resource {
            members.insert("resource".to_owned(), serde_json::to_value(resource).map_err(E::custom)?);
        }
        if let Some(icons) = self.icons {
            members.insert("icons".to_owned(), serde_json::to_value(icons).map_err(E::custom)?);
        }
        let kind = self.kind.unwrap_or_default();
        Ok(OtherContent { kind, members, annotations: self.annotations, meta: self.meta })
    }
}

fn is_other(kind: &str) -> bool {
    !KNOWN.contains(&kind)
}

/// `null` is as good as nothing; a name that comes twice is nobody's guess.
fn once<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    place: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if place.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *place = map.next_value()?;
    Ok(())
}

fn need<T, E: Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(name))
}

#[cfg(test)]
mod tests {
    use super::super::ContentBlock;

    fn check(text: &str, expected: &str) {
        let block: ContentBlock = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&block).unwrap(), expected, "{text}");
    }

    #[test]
    fn a_block_of_an_unknown_kind_is_kept_as_it_came() {
        let holo = r#"{"type":"hologram","x":1}"#;
        check(holo, holo);
        check(r#"{"x":1,"type":"hologram"}"#, holo);
        check(
            r#"{"text":"t","size":2,"type":"hologram","data":{"a":[null]},"annotations":{"audience":["user"]}}"#,
            r#"{"type":"hologram","data":{"a":[null]},"size":2,"text":"t","annotations":{"audience":["user"]}}"#,
        );
    }

    #[test]
    fn a_member_that_a_known_kind_does_not_have_is_not_kept() {
        let text = r#"{"type":"text","text":"t"}"#;
        check(r#"{"x":{"y":[1]},"type":"text","text":"t","z":0}"#, text);
        check(r#"{"text":"t","type":"text","data":null}"#, text);
    }

    #[test]
    fn what_is_no_block_says_why() {
        for (text, why) in [
            ("{}", "missing field `type`"),
            (r#"{"type":"text"}"#, "missing field `text`"),
            (r#"{"type":"text","text":1}"#, "invalid type"),
            (r#"{"type":"text","text":"a","text":"b"}"#, "duplicate field `text`"),
            (r#"{"type":"image","data":""}"#, "missing field `mimeType`"),
            ("[]", "a block of content"),
        ] {
            let error = serde_json::from_str::<ContentBlock>(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
