//! Content blocks: text, image, audio, resource link, embedded resource, and those of a kind that came later.
//!
//! Where to look next: `model/content/read.rs` for how a block is read in one pass.

mod read;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::resource::{Resource, ResourceContents};
use crate::meta::MetaObject;

/// Who a message is from or for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints for whoever shows or uses a piece of content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// For whom it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// From 0 (optional) to 1 (required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed, as ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// One piece of content.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(MediaContent),
    /// Sound.
    Audio(MediaContent),
    /// A resource to read elsewhere.
    ResourceLink(Box<Resource>),
    /// A resource with its contents.
    Resource(EmbeddedResource),
    /// A kind that this library does not know. It costs itself only, not the result that it is in.
    #[serde(untagged)]
    Other(OtherContent),
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// A picture or a sound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaContent {
    /// The bytes in base64.
    pub data: String,
    /// Their MIME type.
    pub mime_type: String,
    /// Hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// A resource with its contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedResource {
    /// The contents.
    pub resource: ResourceContents,
    /// Hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// A block of a kind that this library does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherContent {
    /// The member `type`.
    pub kind: String,
    /// Its members, without those named here.
    pub members: Map<String, Value>,
    /// Hints.
    pub annotations: Option<Annotations>,
    /// Metadata.
    pub meta: Option<MetaObject>,
}

impl Serialize for OtherContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.kind)?;
        for (name, member) in &self.members {
            map.serialize_entry(name, member)?;
        }
        if let Some(annotations) = &self.annotations {
            map.serialize_entry("annotations", annotations)?;
        }
        if let Some(meta) = &self.meta {
            map.serialize_entry("_meta", meta)?;
        }
        map.end()
    }
}

impl ContentBlock {
    /// A block of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), ..TextContent::default() })
    }

    /// A picture, its bytes in base64.
    #[must_use]
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(MediaContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..MediaContent::default()
        })
    }

    /// A sound, its bytes in base64.
    #[must_use]
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(MediaContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..MediaContent::default()
        })
    }

    /// A resource with its contents.
    #[must_use]
    pub fn resource(resource: ResourceContents) -> Self {
        Self::Resource(EmbeddedResource { resource, annotations: None, meta: None })
    }

    /// The hints of the block.
    #[must_use]
    pub fn annotations(&self) -> Option<&Annotations> {
        match self {
            Self::Text(block) => block.annotations.as_ref(),
            Self::Image(block) | Self::Audio(block) => block.annotations.as_ref(),
            Self::ResourceLink(block) => block.annotations.as_ref(),
            Self::Resource(block) => block.annotations.as_ref(),
            Self::Other(block) => block.annotations.as_ref(),
        }
    }
}
