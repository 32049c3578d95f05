//! A small copy of a result: what the record of a call and the journal hold.
//!
//! Every block names its artefact in its metadata. A long text keeps its head and tail, and media go: they are shown
//! from the artefact.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, json};
use switchboard_protocol::meta::MetaObject;
use switchboard_protocol::model::content::{
    ContentBlock, EmbeddedResource, MediaContent, OtherContent, TextContent,
};
use switchboard_protocol::model::resource::{Resource, ResourceBody, ResourceContents};
use switchboard_protocol::model::tool::CallToolResult;

use super::excerpt::ends;
use super::handle;
use super::keep::{BLOCKS, Kept};
use crate::store::ArtefactRecord;

/// The member of a block's metadata that names its artefact.
const ARTEFACT: &str = "switchboard/artefact";

/// Bytes of a text or a structured content that stay.
const INLINE: usize = 128 * 1024;

/// Bytes of base64 that stay.
const INLINE_MEDIA: usize = 4 * 1024;

/// A small copy of a result of which this was kept. Nothing large is copied on the way.
pub(super) fn reduced(result: &CallToolResult, mirrors: &[bool], kept: &Kept) -> CallToolResult {
    let structured = kept.structured.as_ref();
    let record = |at: usize| match mirrors.get(at) {
        Some(true) => structured,
        _ => kept.blocks.get(at).and_then(Option::as_ref),
    };
    let blocks = result.content.iter().take(BLOCKS).enumerate();
    let mut content: Vec<ContentBlock> = blocks.map(|(at, block)| reduced_block(block, record(at))).collect();
    if result.content.len() > BLOCKS {
        let hidden = result.content.len() - BLOCKS;
        let note = ContentBlock::text(format!("[{hidden} further parts{}]", handle(kept.rest.as_ref())));
        content.push(reduced_block(&note, kept.rest.as_ref()));
    }
    CallToolResult {
        result_type: result.result_type,
        content,
        structured_content: result.structured_content.as_deref().map(|raw| reduced_json(raw, structured)),
        is_error: result.is_error,
        meta: result.meta.clone(),
    }
}

/// A small copy of a result, for whoever only shows it.
pub(crate) fn small_copy(result: &CallToolResult) -> CallToolResult {
    reduced(result, &[], &Kept::default())
}

fn reduced_json(raw: &RawValue, record: Option<&ArtefactRecord>) -> Box<RawValue> {
    if raw.get().len() <= INLINE {
        return raw.to_owned();
    }
    let id = record.map(|record| record.id.as_str());
    let instead = json!({ ARTEFACT: id, "bytes": raw.get().len() });
    to_raw_value(&instead).unwrap_or_default()
}

fn reduced_block(block: &ContentBlock, record: Option<&ArtefactRecord>) -> ContentBlock {
    match block {
        ContentBlock::Text(text) => ContentBlock::Text(TextContent {
            text: shortened(&text.text, record),
            annotations: text.annotations.clone(),
            meta: meta(text.meta.as_ref(), record),
        }),
        ContentBlock::Image(media) => ContentBlock::Image(reduced_media(media, record)),
        ContentBlock::Audio(media) => ContentBlock::Audio(reduced_media(media, record)),
        ContentBlock::ResourceLink(resource) => ContentBlock::ResourceLink(Box::new(Resource {
            meta: meta(resource.meta.as_ref(), record),
            ..(**resource).clone()
        })),
        ContentBlock::Resource(embedded) => ContentBlock::Resource(EmbeddedResource {
            resource: ResourceContents {
                uri: embedded.resource.uri.clone(),
                mime_type: embedded.resource.mime_type.clone(),
                body: match &embedded.resource.body {
                    ResourceBody::Text(text) => ResourceBody::Text(shortened(text, record)),
                    ResourceBody::Blob(base64) => ResourceBody::Blob(short_base64(base64)),
                },
                meta: embedded.resource.meta.clone(),
            },
            annotations: embedded.annotations.clone(),
            meta: meta(embedded.meta.as_ref(), record),
        }),
        ContentBlock::Other(other) => {
            let large = serde_json::to_vec(&other.members).is_ok_and(|json| json.len() > INLINE_MEDIA);
            ContentBlock::Other(OtherContent {
                kind: other.kind.clone(),
                members: if large { Map::new() } else { other.members.clone() },
                annotations: other.annotations.clone(),
                meta: meta(other.meta.as_ref(), record),
            })
        }
    }
}

fn reduced_media(media: &MediaContent, record: Option<&ArtefactRecord>) -> MediaContent {
    MediaContent {
        data: short_base64(&media.data),
        mime_type: media.mime_type.clone(),
        annotations: media.annotations.clone(),
        meta: meta(media.meta.as_ref(), record),
    }
}

/// The metadata, which says where the whole block is.
fn meta(meta: Option<&MetaObject>, record: Option<&ArtefactRecord>) -> Option<MetaObject> {
    let mut meta = meta.cloned();
    if let Some(record) = record {
        meta.get_or_insert_default().insert(ARTEFACT.to_owned(), record.id.clone().into());
    }
    meta
}

fn shortened(text: &str, record: Option<&ArtefactRecord>) -> String {
    if text.len() <= INLINE {
        return text.to_owned();
    }
    let (head, tail) = ends(text, INLINE);
    let left_out = text.len() - head.len() - tail.len();
    let kept = record.map_or_else(String::new, |record| format!("; all of it is kept as {}", record.id));
    format!("{head}\n[… {left_out} of {} bytes left out here{kept} …]\n{tail}", text.len())
}

fn short_base64(base64: &str) -> String {
    if base64.len() > INLINE_MEDIA { String::new() } else { base64.to_owned() }
}
