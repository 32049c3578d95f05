//! What the person gives beside the question: texts, pictures, and other files.

use serde::{Deserialize, Serialize};

use super::content::{Content, Part, Picture};
use super::describe::{bytes, decoded_len, shown};
use super::excerpt::Excerpt;
use super::{Hold, Keeper};
use crate::artefact::NewArtefact;
use crate::digest::Digest;
use crate::limits::Limits;
use crate::name::ServerName;

/// What goes with a question: a file, or a resource of a server.
///
/// As JSON it has `name`, `media_type` and one of `text`, `data` (base64) and `resource` (`{"server", "uri"}`).
///
/// ```
/// use switchboard_agent::{Attachment, AttachmentContent};
///
/// let notes: Attachment = serde_json::from_str(r#"{"name": "notes.txt", "text": "buy tea"}"#)?;
/// assert_eq!(notes.media_type, "text/plain");
/// let both = serde_json::from_str::<Attachment>(r#"{"text": "", "data": ""}"#);
/// assert!(both.is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Attachment {
    /// Its name, for people and for the model.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// What is in it.
    pub content: AttachmentContent,
}

/// What is in an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachmentContent {
    /// Text.
    Text(String),
    /// Bytes in base64.
    Base64(String),
    /// What a server has, read when the run begins.
    Resource {
        /// Who has it.
        server: ServerName,
        /// Where it has it.
        uri: String,
    },
}

/// An attachment as JSON.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    media_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<WrittenResource>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenResource {
    server: ServerName,
    uri: String,
}

impl TryFrom<Written> for Attachment {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { name, media_type, text, data, resource } = written;
        let (usual, content) = match (text, data, resource) {
            (Some(text), None, None) => ("text/plain", AttachmentContent::Text(text)),
            (None, Some(data), None) => ("application/octet-stream", AttachmentContent::Base64(data)),
            (None, None, Some(WrittenResource { server, uri })) => {
                ("", AttachmentContent::Resource { server, uri })
            }
            _ => return Err("an attachment has one of `text`, `data` (base64) and `resource`"),
        };
        let media_type = if media_type.is_empty() { usual.to_owned() } else { media_type };
        Ok(Self { name, media_type, content })
    }
}

impl From<Attachment> for Written {
    fn from(Attachment { name, media_type, content }: Attachment) -> Self {
        let written = Self { name, media_type, ..Self::default() };
        match content {
            AttachmentContent::Text(text) => Self { text: Some(text), ..written },
            AttachmentContent::Base64(data) => Self { data: Some(data), ..written },
            AttachmentContent::Resource { server, uri } => {
                Self { resource: Some(WrittenResource { server, uri }), ..written }
            }
        }
    }
}

impl Attachment {
    /// What a server is asked for, if it is a resource.
    pub(crate) fn address(&self) -> Option<&str> {
        match &self.content {
            AttachmentContent::Resource { uri, .. } => Some(uri),
            AttachmentContent::Text(_) | AttachmentContent::Base64(_) => None,
        }
    }

    /// Its bytes: the content and what it is called by. `None` if what is said to be base64 is none.
    pub(crate) fn bytes(&self) -> Option<usize> {
        let content = match &self.content {
            AttachmentContent::Text(text) => text.len(),
            AttachmentContent::Base64(base64) => super::keep::decoded(base64)?.len(),
            AttachmentContent::Resource { uri, .. } => uri.len(),
        };
        Some(self.name.len() + self.media_type.len() + content)
    }
}

/// Attachments, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Attached(pub(crate) Content);

impl Attached {
    /// Takes attachments apart without keeping them anywhere: what is long is cut.
    #[must_use]
    pub fn new(attachments: &[Attachment], limits: &Limits) -> Self {
        Self::with(attachments, limits, |_| None)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.artefacts().is_empty() && self.0.bytes() == 0
    }

    fn with(
        attachments: &[Attachment],
        limits: &Limits,
        mut keep: impl FnMut(&Attachment) -> Option<crate::store::ArtefactRecord>,
    ) -> Self {
        let mut hold = Hold::of(limits);
        let mut content = Content::default();
        let mut prints = Vec::new();
        for attachment in attachments {
            let record = keep(attachment);
            content.parts.push(part(attachment, record.as_ref().map(|record| record.id.clone()), &mut hold));
            content.artefacts.extend(record);
            prints.push(attachment.name.as_bytes());
        }
        content.fingerprint = Some(Digest::of(&prints));
        Self(content)
    }
}

impl Keeper {
    /// Keeps attachments and takes them apart.
    #[must_use]
    pub fn attach(&self, attachments: &[Attachment]) -> Attached {
        Attached::with(attachments, self.limits(), |attachment| {
            let decoded;
            let (kind, bytes) = match &attachment.content {
                AttachmentContent::Text(text) => ("text", text.as_bytes()),
                // Nobody has read it, so there is nothing to keep.
                AttachmentContent::Resource { .. } => return None,
                AttachmentContent::Base64(base64) => {
                    decoded = super::keep::decode(base64);
                    let kind = attachment.media_type.split('/').next().unwrap_or_default();
                    let kind = ["image", "audio"].into_iter().find(|known| *known == kind);
                    (kind.unwrap_or("unknown"), &decoded[..])
                }
            };
            let new = NewArtefact {
                kind,
                name: Some(&attachment.name),
                mime_type: Some(&attachment.media_type),
                bytes,
                ..NewArtefact::default()
            };
            match self.sink().keep(new) {
                Ok(record) => Some(record),
                Err(problem) => {
                    tracing::warn!(%problem, "an attachment is not kept");
                    None
                }
            }
        })
    }
}

fn part(attachment: &Attachment, id: Option<String>, hold: &mut Hold) -> Part {
    let Attachment { name, media_type, content } = attachment;
    let size = match content {
        AttachmentContent::Text(text) => text.len(),
        AttachmentContent::Base64(base64) => decoded_len(base64),
        AttachmentContent::Resource { server, uri } => {
            return Part {
                line: format!("[{} of {server}, which was not read]", shown(uri)),
                ..Part::default()
            };
        }
    };
    let handle = id.as_ref().map_or_else(String::new, |id| format!(", id {id}"));
    let line = |handle: &str| {
        format!("[attached file {}, {}, {}{handle}]", shown(name), shown(media_type), bytes(size))
    };
    match content {
        AttachmentContent::Text(text) => {
            Part { line: line(""), body: Some(Excerpt::of(text, hold.text, id)), ..Part::default() }
        }
        AttachmentContent::Base64(base64) => {
            let picture = media_type.starts_with("image/").then(|| Picture::of(media_type, base64, hold));
            Part { line: line(&handle), picture, ..Part::default() }
        }
        AttachmentContent::Resource { .. } => Part::default(),
    }
}
