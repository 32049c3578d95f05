//! One block of content as one line.
//!
//! Texts in it come from a server, so what is invisible in them is made visible and they cannot break out of their
//! line.

use switchboard_protocol::model::content::{ContentBlock, Role};
use switchboard_protocol::model::resource::{Resource, ResourceBody};

use crate::store::Audience;
use crate::visible;

/// The most characters of a name, URI or type in a line.
const SHOWN_CHARS: usize = 300;

/// Whom a block is for, if not for both.
pub(super) fn audience(block: &ContentBlock) -> Option<Audience> {
    let roles = block.annotations()?.audience.as_deref()?;
    match (roles.contains(&Role::User), roles.contains(&Role::Assistant)) {
        (true, false) => Some(Audience::Person),
        (false, true) => Some(Audience::Model),
        _ => None,
    }
}

/// What it is, without brackets around it.
pub(super) fn describe(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => format!("text, {}", bytes(text.text.len())),
        ContentBlock::Image(media) => media_line("image", &media.mime_type, &media.data),
        ContentBlock::Audio(media) => media_line("audio", &media.mime_type, &media.data),
        ContentBlock::ResourceLink(resource) => link(resource),
        ContentBlock::Resource(embedded) => {
            let contents = &embedded.resource;
            let mime = contents.mime_type.as_deref().unwrap_or("no type given");
            let size = match &contents.body {
                ResourceBody::Text(text) => text.len(),
                ResourceBody::Blob(base64) => decoded_len(base64),
            };
            format!("resource {}, {}, {}", shown(&contents.uri), shown(mime), bytes(size))
        }
        ContentBlock::Other(other) => format!("content of the unknown type {}", shown(&other.kind)),
    }
}

fn media_line(kind: &str, mime_type: &str, base64: &str) -> String {
    format!("{kind}, {}, {}", shown(mime_type), bytes(decoded_len(base64)))
}

fn link(resource: &Resource) -> String {
    let mut line = format!("link to the resource {} at {}", shown(&resource.name), shown(&resource.uri));
    for part in [&resource.mime_type, &resource.description].into_iter().flatten() {
        line.push_str(", ");
        line.push_str(&shown(part));
    }
    if let Some(size) = resource.size {
        line.push_str(&format!(", {size} bytes"));
    }
    line
}

pub(super) fn shown(text: &str) -> String {
    // A long text is not looked at to its end.
    let head = visible::head(text, SHOWN_CHARS * 4);
    let line = visible::line(head);
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if head.len() < text.len() => format!("{line}…"),
        None => line,
    }
}

pub(super) fn bytes(count: usize) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// The number of bytes that a base64 text stands for.
pub(super) fn decoded_len(base64: &str) -> usize {
    let digits = base64.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    digits * 3 / 4
}
