//! Results as an older revision has them: views that borrow the modern result and serialise in one pass.
//!
//! What the revision cannot say is left out, apart from what a reader would miss: a block of a kind that
//! the revision does not know becomes a text that says what it was, and structured content that it cannot
//! carry becomes a text with the same JSON, unless one is there already.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Features;
use super::block::Block;
use crate::era::Revision;
use crate::meta::{MetaObject, is_reserved_key};
use crate::model::completion::{CompleteResult, Completion};
use crate::model::content::{ContentBlock, Role};
use crate::model::prompt::GetPromptResult;
use crate::model::resource::{ReadResourceResult, ResourceBody, ResourceContents};
use crate::model::tool::CallToolResult;

/// What a tool gave.
#[must_use]
pub fn call_tool(result: &CallToolResult, revision: Revision) -> impl Serialize + '_ {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct View<'a> {
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        structured_content: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Meta<'a>>,
    }
    let features = Features::of(revision);
    let mut content: Vec<_> = result.content.iter().map(|block| Block::of(block, features)).collect();
    let (kept, lost) = match result.structured_content.as_deref() {
        Some(value) if features.structured_output && value.get().starts_with('{') => (Some(value), None),
        lost => (None, lost),
    };
    if let Some(value) = lost
        && !is_mirrored(value, &result.content)
    {
        content.push(Block::text(Cow::Borrowed(value.get()), None));
    }
    View {
        content,
        structured_content: kept,
        is_error: result.is_error,
        meta: Meta::of_any(result.meta.as_ref()),
    }
}

/// Whether a text block says the same as the structured content.
pub(super) fn is_mirrored(value: &RawValue, content: &[ContentBlock]) -> bool {
    let raw = value.get();
    let texts = || {
        content.iter().filter_map(|block| match block {
            ContentBlock::Text(block) => Some(block.text.trim()),
            _ => None,
        })
    };
    if texts().any(|text| text == raw) {
        return true;
    }
    let Ok(value) = serde_json::from_str::<Value>(raw) else { return false };
    texts().any(|text| {
        // A string may stand there without its quotes; anything else only as JSON.
        value.as_str().is_some_and(|value| value.trim() == text)
            || text.as_bytes().first() == raw.as_bytes().first()
                && serde_json::from_str::<Value>(text).is_ok_and(|mirror| mirror == value)
    })
}

/// What a resource holds.
#[must_use]
pub fn read_resource(result: &ReadResourceResult, revision: Revision) -> impl Serialize + '_ {
    #[derive(Serialize)]
    struct View<'a> {
        contents: Vec<Contents<'a>>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Meta<'a>>,
    }
    let features = Features::of(revision);
    View {
        contents: result.contents.iter().map(|contents| Contents::of(contents, features)).collect(),
        meta: Meta::of_any(result.meta.as_ref()),
    }
}

/// An expanded prompt.
#[must_use]
pub fn get_prompt(result: &GetPromptResult, revision: Revision) -> impl Serialize + '_ {
    #[derive(Serialize)]
    struct Message<'a> {
        role: Role,
        content: Block<'a>,
    }
    #[derive(Serialize)]
    struct View<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        messages: Vec<Message<'a>>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Meta<'a>>,
    }
    let features = Features::of(revision);
    let messages = result.messages.iter();
    View {
        description: result.description.as_deref(),
        messages: messages
            .map(|message| Message { role: message.role, content: Block::of(&message.content, features) })
            .collect(),
        meta: Meta::of_any(result.meta.as_ref()),
    }
}

/// Suggestions. Every revision has the same.
#[must_use]
pub fn complete(result: &CompleteResult) -> impl Serialize + '_ {
    #[derive(Serialize)]
    struct View<'a> {
        completion: &'a Completion,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Meta<'a>>,
    }
    View { completion: &result.completion, meta: Meta::of_any(result.meta.as_ref()) }
}

/// Contents of a resource.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contents<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    // The specification's union of text and blob contents has no tag but the member's name.
    #[serde(flatten)]
    body: &'a ResourceBody,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

impl<'a> Contents<'a> {
    pub(super) fn of(contents: &'a ResourceContents, features: &Features) -> Self {
        Self {
            uri: &contents.uri,
            mime_type: contents.mime_type.as_deref(),
            body: &contents.body,
            meta: Meta::of_definition(contents.meta.as_ref(), features),
        }
    }
}

/// Metadata without the keys that the protocol reserves: they mean something in the modern revision only.
pub(super) struct Meta<'a>(&'a MetaObject);

impl<'a> Meta<'a> {
    /// Metadata of a result, which every revision has.
    pub(super) fn of_any(meta: Option<&'a MetaObject>) -> Option<Self> {
        meta.filter(|meta| meta.keys().any(|key| !is_reserved_key(key))).map(Self)
    }

    /// Metadata of a definition, of contents or of a block.
    pub(super) fn of_definition(meta: Option<&'a MetaObject>, features: &Features) -> Option<Self> {
        Self::of_any(meta.filter(|_| features.definition_meta))
    }
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(key, _)| !is_reserved_key(key)))
    }
}
