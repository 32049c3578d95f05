//! Content blocks: text, image, audio, resource link, embedded resource.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::capability::Icon;
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
        }
    }
}

// One flat pass instead of serde's internally tagged form: that one buffers every block, and a
// block is often the largest thing in an answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Flat {
    r#type: String,
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
    #[serde(rename = "_meta")]
    meta: Option<MetaObject>,
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flat = Flat::deserialize(deserializer)?;
        let need = |value: Option<String>, field| value.ok_or_else(|| de::Error::missing_field(field));
        Ok(match flat.r#type.as_str() {
            "text" => Self::Text(TextContent {
                text: need(flat.text, "text")?,
                annotations: flat.annotations,
                meta: flat.meta,
            }),
            kind @ ("image" | "audio") => {
                let media = MediaContent {
                    data: need(flat.data, "data")?,
                    mime_type: need(flat.mime_type, "mimeType")?,
                    annotations: flat.annotations,
                    meta: flat.meta,
                };
                if kind == "image" { Self::Image(media) } else { Self::Audio(media) }
            }
            "resource" => Self::Resource(EmbeddedResource {
                resource: flat.resource.ok_or_else(|| de::Error::missing_field("resource"))?,
                annotations: flat.annotations,
                meta: flat.meta,
            }),
            "resource_link" => Self::ResourceLink(Box::new(Resource {
                uri: need(flat.uri, "uri")?,
                name: need(flat.name, "name")?,
                title: flat.title,
                description: flat.description,
                mime_type: flat.mime_type,
                size: flat.size,
                icons: flat.icons,
                annotations: flat.annotations,
                meta: flat.meta,
            })),
            other => {
                let known = &["text", "image", "audio", "resource_link", "resource"];
                return Err(de::Error::unknown_variant(other, known));
            }
        })
    }
}
