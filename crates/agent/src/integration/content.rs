//! One block of content as text for a model.
//!
//! What is not text becomes one line that says what it is. Texts in it come from a server, so what is
//! invisible in them is made visible and they cannot break out of their line.

use switchboard_protocol::model::content::{ContentBlock, Role};
use switchboard_protocol::model::resource::{Resource, ResourceBody};

use crate::visible;

/// The most characters of a name, URI or type in a line.
const SHOWN_CHARS: usize = 300;

/// The text, or `None` for an empty one.
pub(super) fn for_model(block: &ContentBlock) -> Option<String> {
    let audience = block.annotations().and_then(|hints| hints.audience.as_ref());
    if audience.is_some_and(|roles| !roles.is_empty() && !roles.contains(&Role::Assistant)) {
        return Some(format!("[{} meant for the person only]", describe(block)));
    }
    match block {
        ContentBlock::Text(text) => Some(text.text.clone()).filter(|text| !text.is_empty()),
        ContentBlock::Resource(embedded) => match &embedded.resource.body {
            ResourceBody::Text(text) => Some(format!("[{}]\n{text}", describe(block))),
            ResourceBody::Blob(_) => Some(format!("[{}]", describe(block))),
        },
        _ => Some(format!("[{}]", describe(block))),
    }
}

fn describe(block: &ContentBlock) -> String {
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

fn shown(text: &str) -> String {
    let line = visible::line(text);
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn bytes(count: usize) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// The number of bytes that a base64 text stands for.
fn decoded_len(base64: &str) -> usize {
    let digits = base64.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    digits * 3 / 4
}
