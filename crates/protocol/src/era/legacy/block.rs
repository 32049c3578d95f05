//! Content blocks as an older revision has them.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use super::Features;
use super::result::{Contents, Meta};
use crate::model::capability::Icon;
use crate::model::content::{Annotations, ContentBlock, MediaContent, OtherContent, Role};
use crate::model::resource::Resource;

/// One block.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text(Text<'a>),
    Image(Media<'a>),
    Audio(Media<'a>),
    ResourceLink(Link<'a>),
    Resource(Embedded<'a>),
}

#[derive(Serialize)]
pub(super) struct Text<'a> {
    text: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Hints<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Media<'a> {
    data: &'a str,
    mime_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Hints<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Link<'a> {
    uri: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icons: Option<&'a [Icon]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Hints<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

#[derive(Serialize)]
pub(super) struct Embedded<'a> {
    resource: Contents<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Hints<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

/// Annotations.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hints<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<&'a [Role]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<&'a str>,
}

impl<'a> Hints<'a> {
    fn of(annotations: Option<&'a Annotations>, features: &Features) -> Option<Self> {
        let annotations = annotations?;
        let last_modified = annotations.last_modified.as_deref();
        let hints = Self {
            audience: annotations.audience.as_deref(),
            priority: annotations.priority,
            last_modified: last_modified.filter(|_| features.definition_meta),
        };
        let said = hints.audience.is_some() || hints.priority.is_some() || hints.last_modified.is_some();
        said.then_some(hints)
    }
}

impl<'a> Block<'a> {
    /// The block, or a text in its place where the revision has no such block.
    pub(super) fn of(block: &'a ContentBlock, features: &Features) -> Self {
        let annotations = Hints::of(block.annotations(), features);
        match block {
            ContentBlock::Text(text) => Self::Text(Text {
                text: Cow::Borrowed(&text.text),
                annotations,
                meta: Meta::of_definition(text.meta.as_ref(), features),
            }),
            ContentBlock::Image(media) => Self::Image(Media::of(media, annotations, features)),
            ContentBlock::Audio(media) if features.audio => {
                Self::Audio(Media::of(media, annotations, features))
            }
            ContentBlock::Audio(media) => Self::text(Cow::Owned(about_audio(media)), annotations),
            ContentBlock::ResourceLink(link) if features.resource_links => {
                Self::ResourceLink(Link::of(link, annotations, features))
            }
            ContentBlock::ResourceLink(link) => Self::text(Cow::Owned(about_link(link)), annotations),
            ContentBlock::Resource(embedded) => Self::Resource(Embedded {
                resource: Contents::of(&embedded.resource, features),
                annotations,
                meta: Meta::of_definition(embedded.meta.as_ref(), features),
            }),
            ContentBlock::Other(other) => Self::text(Cow::Owned(about_other(other)), annotations),
        }
    }

    /// A text in the place of what cannot be said.
    pub(super) fn text(text: Cow<'a, str>, annotations: Option<Hints<'a>>) -> Self {
        Self::Text(Text { text, annotations, meta: None })
    }
}

impl<'a> Media<'a> {
    fn of(media: &'a MediaContent, annotations: Option<Hints<'a>>, features: &Features) -> Self {
        Self {
            data: &media.data,
            mime_type: &media.mime_type,
            annotations,
            meta: Meta::of_definition(media.meta.as_ref(), features),
        }
    }
}

impl<'a> Link<'a> {
    fn of(link: &'a Resource, annotations: Option<Hints<'a>>, features: &Features) -> Self {
        Self {
            uri: &link.uri,
            name: &link.name,
            title: link.title.as_deref().filter(|_| features.titles),
            description: link.description.as_deref(),
            mime_type: link.mime_type.as_deref(),
            size: link.size,
            icons: link.icons.as_deref().filter(|_| features.icons),
            annotations,
            meta: Meta::of_definition(link.meta.as_ref(), features),
        }
    }
}

fn about_other(other: &OtherContent) -> String {
    format!(
        "[Content of the type {:?} was left out: the protocol revision of this session has none]",
        other.kind
    )
}

fn about_audio(media: &MediaContent) -> String {
    let data = media.data.trim_end_matches('=');
    // Four characters of base64 are three bytes.
    let bytes = data.len() / 4 * 3 + data.len() % 4 * 3 / 4;
    format!(
        "[Audio ({}, {bytes} bytes) was left out: the protocol revision of this session has none]",
        media.mime_type
    )
}

fn about_link(link: &Resource) -> String {
    let mut text = format!("[Resource {:?} at {}", link.name, link.uri);
    // Writing to a string cannot fail.
    let _ = match (&link.mime_type, link.size) {
        (Some(mime), Some(size)) => write!(text, " ({mime}, {size} bytes)"),
        (Some(mime), None) => write!(text, " ({mime})"),
        (None, Some(size)) => write!(text, " ({size} bytes)"),
        (None, None) => Ok(()),
    };
    if let Some(description) = &link.description {
        text.push_str(": ");
        text.push_str(description);
    }
    text.push(']');
    text
}
