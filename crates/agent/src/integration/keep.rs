//! Keeps what a tool gave: every block becomes an artefact, and what goes on through the host is small.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::resource::ResourceBody;
use switchboard_protocol::model::tool::CallToolResult;

use super::describe::audience;
use super::reduce::reduced;
use super::{Hold, Returned, same};
use crate::artefact::{ArtefactSink, NewArtefact};
use crate::limits::Limits;
use crate::name::{CallId, ServerName};
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
use crate::store::{ArtefactRecord, StoreError};

/// Blocks of one result that are looked at one by one. Those after them are kept together.
pub(super) const BLOCKS: usize = 64;

/// A larger result is kept on a thread where waiting for the disk holds nobody up.
const QUICK: usize = 256 * 1024;

/// Reads base64 with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Keeps what tools give.
#[derive(Clone)]
pub struct Keeper {
    sink: Arc<dyn ArtefactSink>,
    limits: Limits,
    /// Bytes that were given to be kept so far.
    kept: Arc<AtomicU64>,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl Keeper {
    /// Keeps in `sink`, for one run. The limits say how much that may be, and how much of it may still be given to a model.
    #[must_use]
    pub fn new(sink: Arc<dyn ArtefactSink>, limits: Limits) -> Self {
        Self { sink, limits, kept: Arc::default() }
    }

    pub(crate) fn sink(&self) -> &dyn ArtefactSink {
        &*self.sink
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Keeps what came of a call of a tool of this server.
    pub async fn keep(&self, outcome: ToolOutcome, server: &ServerName, call: CallId) -> Returned {
        let ToolOutcome::Result(result) = outcome else {
            return Returned::new(outcome, &self.limits);
        };
        if size(&result) <= QUICK {
            return Work { keeper: self, server, call }.result(&result);
        }
        let (keeper, server) = (self.clone(), server.clone());
        let work = move || Work { keeper: &keeper, server: &server, call }.result(&result);
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
            let failure = CallFailure::new(FailureKind::Malformed, "the host could not take it apart");
            Returned::new(ToolOutcome::Failed(failure.maybe_executed(true)), &self.limits)
        })
    }
}

/// What was kept of a result.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// For each block that is looked at.
    pub(super) blocks: Vec<Option<ArtefactRecord>>,
    /// The blocks after them.
    pub(super) rest: Option<ArtefactRecord>,
    pub(super) structured: Option<ArtefactRecord>,
    /// Why something could not be kept.
    pub(super) problem: Option<String>,
}

impl Kept {
    pub(super) fn records(&self) -> impl Iterator<Item = &ArtefactRecord> {
        self.blocks.iter().flatten().chain(&self.rest).chain(&self.structured)
    }
}

struct Work<'a> {
    keeper: &'a Keeper,
    server: &'a ServerName,
    call: CallId,
}

impl Work<'_> {
    fn result(&self, result: &CallToolResult) -> Returned {
        let mirrors = same::mirrors(result);
        let kept = self.keep(result, &mirrors);
        if let Some(problem) = &kept.problem {
            tracing::warn!(server = %self.server, %problem, "a result is not kept whole");
        }
        let content = super::content_of(result, &mirrors, &kept, Hold::of(&self.keeper.limits));
        let small = ToolOutcome::Result(Box::new(reduced(result, &mirrors, &kept)));
        Returned { outcome: small, content, problem: kept.problem }
    }

    fn keep(&self, result: &CallToolResult, mirrors: &[bool]) -> Kept {
        let mut kept = Kept::default();
        for (block, mirror) in result.content.iter().zip(mirrors) {
            // What the structured content says is kept with it.
            let record = if *mirror { None } else { self.block(block, &mut kept.problem) };
            kept.blocks.push(record);
        }
        if let Some(rest) = result.content.get(BLOCKS..).filter(|rest| !rest.is_empty()) {
            let bytes = serde_json::to_vec(rest).unwrap_or_default();
            let new = NewArtefact { kind: "unknown", name: Some("further content"), ..self.of_call(&bytes) };
            let new = NewArtefact { mime_type: Some("application/json"), ..new };
            kept.rest = self.put(new, &mut kept.problem);
        }
        if let Some(structured) = &result.structured_content {
            let bytes = structured.get().as_bytes();
            let new = NewArtefact {
                kind: "structured",
                mime_type: Some("application/json"),
                ..self.of_call(bytes)
            };
            kept.structured = self.put(new, &mut kept.problem);
        }
        kept
    }

    fn of_call<'a>(&'a self, bytes: &'a [u8]) -> NewArtefact<'a> {
        NewArtefact { call: Some(self.call), server: Some(self.server), bytes, ..NewArtefact::default() }
    }

    fn put(&self, new: NewArtefact<'_>, problem: &mut Option<String>) -> Option<ArtefactRecord> {
        let (bytes, limit) = (new.bytes.len() as u64, self.keeper.limits.kept_bytes);
        let room = |kept: u64| kept.checked_add(bytes).filter(|kept| *kept <= limit);
        let kept = self.keeper.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).map(drop);
        let full = |_| StoreError::new(format!("of one run, {limit} bytes are kept (kept_bytes)"));
        match kept.map_err(full).and_then(|()| self.keeper.sink.keep(new)) {
            Ok(record) => Some(record),
            Err(error) => {
                problem.get_or_insert_with(|| not_kept(&error));
                None
            }
        }
    }

    fn block(&self, block: &ContentBlock, problem: &mut Option<String>) -> Option<ArtefactRecord> {
        let decoded;
        let new = match block {
            ContentBlock::Text(text) if text.text.is_empty() => return None,
            ContentBlock::Text(text) => NewArtefact { kind: "text", ..self.of_call(text.text.as_bytes()) },
            ContentBlock::Image(media) | ContentBlock::Audio(media) => {
                decoded = decode(&media.data);
                let kind = if matches!(block, ContentBlock::Image(_)) { "image" } else { "audio" };
                NewArtefact { kind, mime_type: Some(&media.mime_type), ..self.of_call(&decoded) }
            }
            ContentBlock::ResourceLink(resource) => {
                decoded = serde_json::to_vec(resource).unwrap_or_default();
                NewArtefact {
                    kind: "resource_link",
                    name: Some(&resource.name),
                    mime_type: resource.mime_type.as_deref(),
                    uri: Some(&resource.uri),
                    ..self.of_call(&decoded)
                }
            }
            ContentBlock::Resource(embedded) => {
                let bytes = match &embedded.resource.body {
                    ResourceBody::Text(text) => text.as_bytes(),
                    ResourceBody::Blob(base64) => {
                        decoded = decode(base64);
                        &decoded
                    }
                };
                NewArtefact {
                    kind: "resource",
                    mime_type: embedded.resource.mime_type.as_deref(),
                    uri: Some(&embedded.resource.uri),
                    ..self.of_call(bytes)
                }
            }
            ContentBlock::Other(_) => {
                decoded = serde_json::to_vec(block).unwrap_or_default();
                NewArtefact { kind: "unknown", mime_type: Some("application/json"), ..self.of_call(&decoded) }
            }
        };
        self.put(NewArtefact { audience: audience(block), ..new }, problem)
    }
}

fn not_kept(error: &StoreError) -> String {
    format!("a part of the result could not be kept: {error}")
}

/// The bytes behind base64; the text itself if it is none.
pub(super) fn decode(base64: &str) -> Vec<u8> {
    decoded(base64).unwrap_or_else(|| base64.as_bytes().to_vec())
}

/// The bytes behind base64, if it is some.
pub(super) fn decoded(base64: &str) -> Option<Vec<u8>> {
    let decoded = BASE64.decode(base64).or_else(|_| {
        let digits: Vec<u8> = base64.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        BASE64.decode(digits)
    });
    decoded.ok()
}

/// About how large a result is.
fn size(result: &CallToolResult) -> usize {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(media) | ContentBlock::Audio(media) => media.data.len(),
        ContentBlock::ResourceLink(_) => 0,
        // It was read member by member; whatever it holds is not small.
        ContentBlock::Other(_) => QUICK,
        ContentBlock::Resource(embedded) => match &embedded.resource.body {
            ResourceBody::Text(text) | ResourceBody::Blob(text) => text.len(),
        },
    };
    let structured = result.structured_content.as_ref().map_or(0, |raw| raw.get().len());
    result.content.iter().map(block).sum::<usize>() + structured
}
