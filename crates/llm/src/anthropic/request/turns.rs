//! Makes a conversation fit the wire: turns that alternate, results first, no empty text, nothing unanswered.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::kept::{Kept, KeptPart};
use super::CacheControl;
use crate::config::ModelConfig;
use crate::message::{Image, Message, ToolCallRequest};
use crate::wire::call::{OpenCalls, arguments_sent_back, claim_id, name_sent_back, plain};
use crate::wire::image::{Shown, show};
use crate::wire::learned::{Learned, RequestOption};

/// The largest picture that the wire takes, in base64.
const MAX_IMAGE_BYTES: usize = 5 << 20;

/// The longest id of a call.
const MAX_ID: usize = 64;

/// One message on the wire.
#[derive(Debug, Serialize)]
pub(super) struct Turn {
    role: Role,
    content: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

#[derive(Debug, Serialize)]
pub(super) struct Block {
    #[serde(flatten)]
    kind: BlockKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockKind {
    Text {
        text: String,
    },
    Image {
        source: Source,
    },
    Thinking {
        thinking: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<Block>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Debug, Serialize)]
struct Source {
    r#type: &'static str,
    media_type: &'static str,
    data: String,
}

impl From<BlockKind> for Block {
    fn from(kind: BlockKind) -> Self {
        Self { kind, cache_control: None }
    }
}

/// A block of text, unless there is nothing in it, which the wire refuses.
fn text(text: &str) -> Option<Block> {
    (!text.trim().is_empty()).then(|| BlockKind::Text { text: text.to_owned() }.into())
}

/// A conversation in the making.
pub(super) struct Turns<'c> {
    config: &'c ModelConfig,
    learned: Learned,
    turns: Vec<Turn>,
    open: OpenCalls,
    pub(super) used_ids: HashSet<String>,
    /// A picture is in it.
    pub(super) shown: bool,
    /// Blocks of thinking are in it.
    pub(super) replayed: bool,
}

impl<'c> Turns<'c> {
    pub(super) fn new(config: &'c ModelConfig, learned: Learned) -> Self {
        Self {
            config,
            learned,
            turns: Vec::new(),
            open: OpenCalls::default(),
            used_ids: HashSet::new(),
            shown: false,
            replayed: false,
        }
    }

    /// Takes all messages and returns the instructions that stand before them.
    pub(super) fn take(&mut self, messages: &[Message]) -> String {
        let mut system = String::new();
        for message in messages {
            match message {
                Message::System { text } if self.turns.is_empty() => {
                    if !system.is_empty() {
                        system.push_str("\n\n");
                    }
                    system.push_str(text.trim_end());
                }
                // There is only one place for instructions; later ones must not change what is cached.
                Message::System { text: words } => {
                    self.settle();
                    self.push(Role::User, text(&format!("[Instruction of the host] {words}")));
                }
                Message::User { text: words, images } => {
                    self.settle();
                    let pictures = self.pictures(images);
                    self.push(Role::User, text(words).into_iter().chain(pictures));
                }
                Message::Assistant { .. } => self.assistant(message),
                Message::Tool { call_id, text: words, images, is_error } => {
                    self.result(call_id, (words, images), *is_error);
                }
            }
        }
        self.settle();
        system
    }

    /// The messages, with a mark up to which the endpoint may keep them.
    pub(super) fn finish(mut self, cache_control: Option<CacheControl>) -> Vec<Turn> {
        let last_words = self.turns.iter_mut().rev().find(|turn| turn.role == Role::User);
        if let Some(block) = last_words.and_then(|turn| turn.content.last_mut()) {
            block.cache_control = cache_control;
        }
        self.turns
    }

    fn assistant(&mut self, message: &Message) {
        self.settle();
        let Message::Assistant { text: words, tool_calls, reasoning, .. } = message else { return };
        let kept = if self.learned.accepts(RequestOption::ThinkingBlocks) {
            Kept::read(reasoning.as_deref(), &self.config.model)
        } else {
            Vec::new()
        };
        let mut calls = tool_calls.iter();
        let mut rest = words.as_str();
        let bytes: usize =
            kept.iter().map(|part| if let KeptPart::Text { bytes } = part { *bytes } else { 0 }).sum();
        // A text that the host changed no longer has the places.
        let in_places = bytes == words.len();
        let mut blocks = Vec::new();
        for part in kept {
            match part {
                KeptPart::Thinking { thinking, signature } => {
                    self.replayed = true;
                    blocks.push(BlockKind::Thinking { thinking, signature }.into());
                }
                KeptPart::RedactedThinking { data } => {
                    self.replayed = true;
                    blocks.push(BlockKind::RedactedThinking { data }.into());
                }
                KeptPart::Text { bytes } if in_places => {
                    let Some((piece, tail)) = rest.split_at_checked(bytes) else { continue };
                    blocks.extend(text(piece));
                    rest = tail;
                }
                KeptPart::Call if in_places => blocks.extend(calls.next().map(|call| self.call(call))),
                KeptPart::Text { .. } | KeptPart::Call => {}
            }
        }
        blocks.extend(text(rest));
        for call in calls {
            blocks.push(self.call(call));
        }
        self.push(Role::Assistant, blocks);
    }

    fn call(&mut self, call: &ToolCallRequest) -> Block {
        let id = claim_id(plain(&call.id, MAX_ID), &mut self.used_ids);
        self.open.push(&call.id, &id);
        let input = RawValue::from_string(arguments_sent_back(call)).unwrap_or_default();
        BlockKind::ToolUse { id, name: name_sent_back(&call.name), input }.into()
    }

    fn result(&mut self, call_id: &str, (words, images): (&str, &[Image]), is_error: bool) {
        let pictures = self.pictures(images);
        let content: Vec<Block> = text(words).into_iter().chain(pictures).collect();
        match self.open.answer(call_id) {
            Some(tool_use_id) => {
                let block = BlockKind::ToolResult { tool_use_id, content, is_error }.into();
                self.push(Role::User, [block]);
            }
            // The call is not in the conversation any more.
            None => {
                let note = text(&format!("[Result of the earlier call {call_id}]"));
                self.push(Role::User, note.into_iter().chain(content));
            }
        }
    }

    /// Calls that were never answered are answered now: the endpoint refuses the whole conversation otherwise.
    fn settle(&mut self) {
        let unanswered: Vec<Block> = self
            .open
            .close()
            .map(|tool_use_id| {
                let content = text("There is no result: the call was interrupted.").into_iter().collect();
                BlockKind::ToolResult { tool_use_id, content, is_error: true }.into()
            })
            .collect();
        self.push(Role::User, unanswered);
    }

    /// Adds blocks to the last turn if it is of the same role.
    fn push(&mut self, role: Role, blocks: impl IntoIterator<Item = Block>) {
        let blocks: Vec<Block> = blocks.into_iter().collect();
        if blocks.is_empty() {
            return;
        }
        if self.turns.is_empty() && role == Role::Assistant {
            self.push(Role::User, text("[The beginning of the conversation is left out.]"));
        }
        match self.turns.last_mut() {
            Some(turn) if turn.role == role => turn.content.extend(blocks),
            _ => self.turns.push(Turn { role, content: blocks }),
        }
    }

    fn pictures(&mut self, images: &[Image]) -> Vec<Block> {
        let sees = self.config.capabilities.vision && self.learned.accepts(RequestOption::Images);
        images
            .iter()
            .filter_map(|image| match show(image, sees, MAX_IMAGE_BYTES) {
                Shown::Picture { media_type, data } => {
                    self.shown = true;
                    let source = Source { r#type: "base64", media_type, data: data.to_owned() };
                    Some(BlockKind::Image { source }.into())
                }
                Shown::Words(words) => text(&words),
            })
            .collect()
    }
}
