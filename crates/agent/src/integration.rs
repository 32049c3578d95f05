//! Turns what came of a call into what the model reads.
//!
//! The last stage of a call. Each piece of content is kept as an artefact ([`Keeper`]) and described: a text as
//! itself, as far as the budget goes; a picture as a picture where the model takes it; everything else as one line
//! with a handle. One rule for a tool that answers twice: a text that is the same JSON as the structured content is
//! sent once, everything else is sent. What is meant for the person only is not given to the model. Failures are
//! marked and kept apart. A message is never empty, never holds base64, and is never longer than its budget but for
//! the marks that say what is missing.
//!
//! Where to look next: `integration/keep.rs` for what is kept, `integration/content.rs` for the budget of a result,
//! `turn` for the budgets of a step and a run.

mod attach;
mod content;
mod describe;
mod excerpt;
mod keep;
mod reduce;
mod same;
mod shares;

use switchboard_llm::Image;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::resource::ResourceBody;
use switchboard_protocol::model::tool::CallToolResult;

pub use self::attach::{Attached, Attachment, AttachmentContent};
pub(crate) use self::content::Content;
use self::content::{Part, Picture};
use self::describe::{audience, describe};
use self::excerpt::Excerpt;
pub use self::keep::Keeper;
use self::keep::{BLOCKS, Kept};
pub(crate) use self::reduce::small_copy;
pub(crate) use self::shares::shares;
use crate::digest::Digest;
use crate::limits::Limits;
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
use crate::store::{ArtefactRecord, Audience};
use crate::visible;

const NO_DETAILS: &str = "The tool reported an error and gave no details.";
const NO_OUTPUT: &str = "The tool succeeded and returned no output.";
const ERROR_LEAD: &str = "The tool reported an error:\n";

/// Bytes of a text that are looked at to tell whether it is the same as another.
const SAMPLE: usize = 128 * 1024;

/// Bytes of each text that are held for the model where its budget is not known yet.
const HELD: usize = 1 << 20;

/// How much of a result is held until it is known how much of it the model is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    /// Bytes of a text.
    pub(crate) text: usize,
    /// Bytes of a picture, and how many of them.
    pub(crate) picture: usize,
    pub(crate) pictures: u32,
}

impl Hold {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self { text: limits.result_bytes, picture: limits.image_bytes, pictures: limits.images }
    }
}

/// What the model reads as the answer to its call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolMessage {
    /// The text. Never empty.
    pub text: String,
    /// The pictures that go with it.
    pub images: Vec<Image>,
    /// What was kept of it, in order.
    pub artefacts: Vec<ArtefactRecord>,
    /// Bytes that were cut out of the middle, and are marked there.
    pub left_out_bytes: Option<usize>,
    /// Whether the call failed, in whichever way.
    pub failed: bool,
    /// Whether it names something that the host's own tools read.
    pub readable: bool,
}

/// How many pictures a model may still be given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pictures {
    /// Whether it takes any.
    pub(crate) taken: bool,
    pub(crate) left: u32,
}

impl Pictures {
    pub(crate) fn none() -> Self {
        Self { taken: false, left: 0 }
    }
}

/// What came of a call, taken apart: small enough to be passed on, and ready to be given to a model.
#[derive(Clone, Debug)]
pub struct Returned {
    pub(crate) outcome: ToolOutcome,
    pub(crate) content: Content,
    /// Why something could not be kept.
    pub(crate) problem: Option<String>,
}

impl Returned {
    /// Takes an outcome apart without keeping it anywhere.
    #[must_use]
    pub fn new(outcome: ToolOutcome, limits: &Limits) -> Self {
        let content = taken_apart(&outcome, limits);
        Self { outcome, content, problem: None }
    }

    /// What came of the call. What was kept elsewhere is cut here.
    #[must_use]
    pub fn outcome(&self) -> &ToolOutcome {
        &self.outcome
    }

    /// The outcome alone.
    #[must_use]
    pub fn into_outcome(self) -> ToolOutcome {
        self.outcome
    }

    /// What was kept of it, in order.
    #[must_use]
    pub fn artefacts(&self) -> &[ArtefactRecord] {
        self.content.artefacts()
    }
}

impl From<ToolOutcome> for Returned {
    fn from(outcome: ToolOutcome) -> Self {
        Self::new(outcome, &Limits { result_bytes: HELD, ..Limits::default() })
    }
}

/// What the model reads about `outcome`, if nothing is kept and it takes no pictures.
///
/// ```
/// use switchboard_agent::{Limits, ToolOutcome, integrate};
/// use switchboard_protocol::model::tool::CallToolResult;
///
/// let outcome = ToolOutcome::Result(Box::new(CallToolResult::error("date must be in the future")));
/// let message = integrate(&outcome, &Limits::default());
/// assert_eq!(message.text, "The tool reported an error:\ndate must be in the future");
/// assert!(message.failed);
/// ```
#[must_use]
pub fn integrate(outcome: &ToolOutcome, limits: &Limits) -> ToolMessage {
    taken_apart(outcome, limits).fit(limits.result_bytes, &mut Pictures::none())
}

fn taken_apart(outcome: &ToolOutcome, limits: &Limits) -> Content {
    match outcome {
        ToolOutcome::Result(result) => {
            content_of(result, &same::mirrors(result), &Kept::default(), Hold::of(limits))
        }
        ToolOutcome::Failed(failure) => Content::said(failed(failure), limits.error_bytes),
    }
}

/// What a tool said when it failed, for a person; a placeholder if it said nothing.
pub(crate) fn said(result: &CallToolResult, bytes: usize) -> String {
    let hold = Hold { text: bytes, picture: 0, pictures: 0 };
    let mut content = content_of(result, &same::mirrors(result), &Kept::default(), hold);
    content.lead.clear();
    NO_DETAILS.clone_into(&mut content.otherwise);
    content.fit(bytes, &mut Pictures::none()).text
}

/// All blocks in their order, then the structured content, unless a text says the same.
fn content_of(result: &CallToolResult, mirrors: &[bool], kept: &Kept, mut hold: Hold) -> Content {
    let failed = result.is_error();
    let mut content = Content {
        lead: if failed { ERROR_LEAD.to_owned() } else { String::new() },
        otherwise: if failed { NO_DETAILS } else { NO_OUTPUT }.to_owned(),
        failed,
        artefacts: kept.records().cloned().collect(),
        fingerprint: Some(fingerprint(result)),
        ..Content::default()
    };
    for (at, (block, mirror)) in result.content.iter().zip(mirrors).enumerate() {
        if !mirror {
            let record = kept.blocks.get(at).and_then(Option::as_ref);
            content.parts.extend(part(block, record, &mut hold));
        }
    }
    if let Some(hidden) = result.content.len().checked_sub(BLOCKS).filter(|hidden| *hidden > 0) {
        let line = format!("[{hidden} further parts{}]", handle(kept.rest.as_ref()));
        content.parts.push(Part { line, readable: kept.rest.is_some(), ..Part::default() });
    }
    if let Some(structured) = &result.structured_content {
        let line = if content.parts.is_empty() { "" } else { "Structured content:" };
        let body = Some(Excerpt::of(structured.get(), hold.text, id(kept.structured.as_ref())));
        content.parts.push(Part { line: line.to_owned(), body, ..Part::default() });
    }
    if let Some(problem) = &kept.problem {
        content.parts.push(Part { line: format!("[{}]", visible::line(problem)), ..Part::default() });
    }
    content
}

/// One block, or `None` for an empty text.
fn part(block: &ContentBlock, record: Option<&ArtefactRecord>, hold: &mut Hold) -> Option<Part> {
    if audience(block) == Some(Audience::Person) {
        let line = format!("[{} meant for the person only]", describe(block));
        return Some(Part { line, ..Part::default() });
    }
    let described = || format!("[{}{}]", describe(block), handle(record));
    Some(match block {
        ContentBlock::Text(text) if text.text.is_empty() => return None,
        ContentBlock::Text(text) => {
            let body = Some(Excerpt::of(&text.text, hold.text, id(record)));
            Part { body, ..Part::default() }
        }
        ContentBlock::Image(media) => {
            let picture = Some(Picture::of(&media.mime_type, &media.data, hold));
            Part { line: described(), picture, kept: record.is_some(), ..Part::default() }
        }
        ContentBlock::Audio(_) => {
            let shown = if record.is_some() { ", shown to the person" } else { "" };
            Part { line: format!("[{}{}{shown}]", describe(block), handle(record)), ..Part::default() }
        }
        ContentBlock::ResourceLink(_) | ContentBlock::Other(_) => {
            Part { line: described(), readable: record.is_some(), ..Part::default() }
        }
        ContentBlock::Resource(embedded) => match &embedded.resource.body {
            ResourceBody::Text(text) => {
                let body = Some(Excerpt::of(text, hold.text, id(record)));
                Part { line: format!("[{}]", describe(block)), body, ..Part::default() }
            }
            ResourceBody::Blob(base64) => {
                let mime_type = embedded.resource.mime_type.as_deref().unwrap_or_default();
                let is_picture = mime_type.starts_with("image/");
                let picture = is_picture.then(|| Picture::of(mime_type, base64, hold));
                Part { line: described(), picture, kept: record.is_some(), ..Part::default() }
            }
        },
    })
}

fn id(record: Option<&ArtefactRecord>) -> Option<String> {
    record.map(|record| record.id.clone())
}

/// What a line says of the artefact behind it.
fn handle(record: Option<&ArtefactRecord>) -> String {
    record.map_or_else(String::new, |record| format!(", id {}", record.id))
}

/// Results that say the same have the same one; what is long is compared by its ends.
fn fingerprint(result: &CallToolResult) -> Digest {
    let mut parts: Vec<Digest> = vec![Digest::of(&[&[u8::from(result.is_error())]])];
    let sample = |what: &str, text: &str| {
        let head = visible::head(text, SAMPLE);
        let tail = &text.as_bytes()[text.len().saturating_sub(SAMPLE).max(head.len())..];
        Digest::of(&[what.as_bytes(), &text.len().to_be_bytes(), head.as_bytes(), tail])
    };
    for block in &result.content {
        parts.push(match block {
            ContentBlock::Text(text) => sample("text", &text.text),
            ContentBlock::Image(media) | ContentBlock::Audio(media) => sample(&media.mime_type, &media.data),
            ContentBlock::ResourceLink(resource) => sample("link", &resource.uri),
            ContentBlock::Resource(embedded) => match &embedded.resource.body {
                ResourceBody::Text(body) | ResourceBody::Blob(body) => sample(&embedded.resource.uri, body),
            },
            ContentBlock::Other(other) => {
                sample(&other.kind, &serde_json::to_string(&other.members).unwrap_or_default())
            }
        });
    }
    parts.extend(result.structured_content.as_deref().map(|raw| sample("structured", raw.get())));
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    Digest::of(&parts.iter().map(String::as_bytes).collect::<Vec<_>>())
}

fn failed(failure: &CallFailure) -> String {
    let said = visible::text(failure.message.trim());
    let mut text = match failure.kind {
        FailureKind::Protocol { code } => format!("The server refused the call (error {code}): {said}"),
        FailureKind::Transport => format!("The server could not be reached: {said}"),
        FailureKind::Unauthorized => "The server wants the person to log in first.".to_owned(),
        FailureKind::Timeout { .. } if said.is_empty() => format!("The call {}.", failure.kind),
        FailureKind::Timeout { .. } => format!("The call {}: {said}", failure.kind),
        FailureKind::Limit => format!("The call reached a limit: {said}"),
        FailureKind::Malformed => format!("The server returned a malformed result: {said}"),
        FailureKind::InputNeeded => {
            "The tool wants to ask the person something before it goes on, and nobody can be asked here."
                .to_owned()
        }
        FailureKind::Changed => format!(
            "The call was not made: {said}. Look at the tool as it is now, and call it again if it still does what is \
             needed."
        ),
        FailureKind::Interrupted => "The call was interrupted.".to_owned(),
    };
    // Many transports say it themselves.
    if failure.maybe_executed && !said.contains("may have been executed") {
        let ended = text.ends_with(['.', '!', '?', '…']);
        text.push_str(if ended { "" } else { "." });
        text.push_str(" It may have been executed all the same.");
    }
    text
}

#[cfg(test)]
mod tests;
