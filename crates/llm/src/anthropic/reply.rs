//! What the events of an answer mean. An answer is a list of blocks; each arrives as a start and deltas, or whole.

use std::collections::{HashSet, VecDeque};

use serde_json::value::RawValue;

use super::kept::{Kept, KeptPart};
use super::wire::{Block, Delta, Event, WireMessage, WireUsage};
use crate::error::ModelError;
use crate::model::{ModelEvent, Usage, Warning};
use crate::wire;
use crate::wire::body::{interrupted, malformed, no_answer};
use crate::wire::call::{MAX_CALLS, complete, too_many_calls};
use crate::wire::failure::Failure;
use crate::wire::finish::{decide, is_length};

/// The most blocks of an answer, so that empty ones cannot pile up.
const MAX_BLOCKS: usize = 4096;

/// One answer in the making.
#[derive(Debug)]
pub(crate) struct Reply {
    model: String,
    used_ids: HashSet<String>,
    events: VecDeque<ModelEvent>,
    answered: bool,
    stop_reason: String,
    usage: Option<Usage>,
    counts: Counts,
    blocks: Vec<OpenBlock>,
    calls: usize,
}

/// The last word of each figure: some events repeat them all, some only what changed.
#[derive(Debug, Default)]
struct Counts {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

#[derive(Debug)]
struct OpenBlock {
    index: Option<u64>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Text {
        bytes: usize,
    },
    Thinking {
        thinking: String,
        signature: Option<String>,
    },
    Redacted {
        data: String,
    },
    Call(OpenCall),
    /// Of a kind that this crate does not know.
    Other,
}

#[derive(Debug)]
struct OpenCall {
    position: usize,
    id: String,
    name: String,
    /// What came with the start; it counts if nothing follows.
    whole: Option<Box<RawValue>>,
    arguments: String,
}

impl Reply {
    /// Reads an answer of `model` to a conversation whose calls have `used_ids`.
    pub(super) fn new(model: &str, used_ids: HashSet<String>) -> Self {
        Self {
            model: model.to_owned(),
            used_ids,
            events: VecDeque::new(),
            answered: false,
            stop_reason: String::new(),
            usage: None,
            counts: Counts::default(),
            blocks: Vec::new(),
            calls: 0,
        }
    }

    fn take_message(&mut self, message: WireMessage) -> Result<(), ModelError> {
        self.answered = true;
        self.count(message.usage);
        self.stop(message.stop_reason);
        for block in message.content.unwrap_or_default().0 {
            self.start(None, block)?;
        }
        Ok(())
    }

    fn count(&mut self, usage: Option<WireUsage>) {
        let Some(usage) = usage else { return };
        let counts = &mut self.counts;
        for (count, figure) in [
            (&mut counts.input, usage.input_tokens),
            (&mut counts.output, usage.output_tokens),
            (&mut counts.cache_read, usage.cache_read_input_tokens),
            (&mut counts.cache_write, usage.cache_creation_input_tokens),
        ] {
            *count = figure.unwrap_or(*count);
        }
        let read = counts.input.saturating_add(counts.cache_read).saturating_add(counts.cache_write);
        self.usage = Some(Usage {
            // The wire counts apart what came from the cache and what went into it.
            input_tokens: read,
            output_tokens: counts.output,
            cached_input_tokens: counts.cache_read,
            cache_write_tokens: counts.cache_write,
        });
    }

    fn stop(&mut self, reason: String) {
        if !reason.is_empty() {
            self.stop_reason = reason;
        }
    }

    /// A block begins, or is there as a whole.
    fn start(&mut self, index: Option<u64>, block: Block) -> Result<(), ModelError> {
        let Block { text, thinking, signature, data, id, name, input, .. } = block;
        match block.r#type.as_str() {
            "text" => {
                self.open(index, Kind::Text { bytes: text.len() })?;
                self.say(ModelEvent::TextDelta, text);
            }
            "thinking" => {
                self.say(ModelEvent::ThinkingDelta, thinking.clone());
                self.open(index, Kind::Thinking { thinking, signature })?;
            }
            "redacted_thinking" => self.open(index, Kind::Redacted { data })?,
            "tool_use" => self.start_call(index, (id, name), input)?,
            _ => self.open(index, Kind::Other)?,
        }
        Ok(())
    }

    fn start_call(
        &mut self,
        index: Option<u64>,
        (id, name): (String, String),
        whole: Option<Box<RawValue>>,
    ) -> Result<(), ModelError> {
        if self.calls == MAX_CALLS {
            return Err(too_many_calls());
        }
        let position = self.calls;
        self.calls += 1;
        self.events.push_back(ModelEvent::CallStart { call: position, name: name.clone() });
        self.open(index, Kind::Call(OpenCall { position, id, name, whole, arguments: String::new() }))
    }

    fn open(&mut self, index: Option<u64>, kind: Kind) -> Result<(), ModelError> {
        if self.blocks.len() == MAX_BLOCKS {
            return Err(malformed::<Self>("the answer has more blocks than any answer needs"));
        }
        self.blocks.push(OpenBlock { index, kind });
        Ok(())
    }

    /// More of a block.
    fn more(&mut self, index: Option<u64>, delta: Delta) -> Result<(), ModelError> {
        match delta.r#type.as_str() {
            "text_delta" => {
                let length = delta.text.len();
                match self.block(index) {
                    Some(Kind::Text { bytes }) => *bytes += length,
                    _ => self.open(index, Kind::Text { bytes: length })?,
                }
                self.say(ModelEvent::TextDelta, delta.text);
            }
            "thinking_delta" => {
                match self.block(index) {
                    Some(Kind::Thinking { thinking, .. }) => thinking.push_str(&delta.thinking),
                    _ => {
                        let thinking = delta.thinking.clone();
                        self.open(index, Kind::Thinking { thinking, signature: None })?;
                    }
                }
                self.say(ModelEvent::ThinkingDelta, delta.thinking);
            }
            "signature_delta" => {
                if let Some(Kind::Thinking { signature, .. }) = self.block(index) {
                    signature.get_or_insert_default().push_str(&delta.signature);
                }
            }
            "input_json_delta" => self.more_arguments(index, delta.partial_json)?,
            // Citations and whatever comes to be.
            _ => {}
        }
        Ok(())
    }

    fn more_arguments(&mut self, index: Option<u64>, piece: String) -> Result<(), ModelError> {
        // The input of a kind of call that the endpoint makes itself.
        if matches!(self.block(index), Some(Kind::Other)) {
            return Ok(());
        }
        if !matches!(self.block(index), Some(Kind::Call(_))) {
            // The start was lost: there is no name, so it will not be made, but it must be answered.
            self.start_call(index, (String::new(), String::new()), None)?;
        }
        let Some(Kind::Call(call)) = self.block(index) else { return Ok(()) };
        call.arguments.push_str(&piece);
        let call = call.position;
        self.say(|delta| ModelEvent::CallArgumentsDelta { call, delta }, piece);
        Ok(())
    }

    /// The block that a delta belongs to: the one with its index, else the last.
    fn block(&mut self, index: Option<u64>) -> Option<&mut Kind> {
        let block = match index {
            Some(_) => self.blocks.iter_mut().rev().find(|block| block.index == index),
            None => self.blocks.last_mut(),
        };
        block.map(|block| &mut block.kind)
    }

    fn say(&mut self, event: impl FnOnce(String) -> ModelEvent, text: String) {
        if !text.is_empty() {
            self.events.push_back(event(text));
        }
    }

    /// Sends the calls in their final form, and what must go back with them.
    fn finish_blocks(&mut self) {
        let cut_off = is_length(&self.stop_reason);
        let last = self.blocks.len().saturating_sub(1);
        let mut parts = Vec::with_capacity(self.blocks.len());
        for (place, block) in std::mem::take(&mut self.blocks).into_iter().enumerate() {
            parts.extend(match block.kind {
                Kind::Text { bytes } => Some(KeptPart::Text { bytes }),
                Kind::Thinking { thinking, signature } => Some(KeptPart::Thinking { thinking, signature }),
                Kind::Redacted { data } => Some(KeptPart::RedactedThinking { data }),
                Kind::Call(call) => {
                    self.finish_call(call, cut_off && place == last);
                    Some(KeptPart::Call)
                }
                Kind::Other => None,
            });
        }
        self.events.extend(Kept::write(&self.model, parts).map(ModelEvent::Reasoning));
    }

    fn finish_call(&mut self, call: OpenCall, cut_off: bool) {
        let arguments = match &call.whole {
            // Streams begin with an empty object that their deltas replace.
            Some(whole) if call.arguments.is_empty() && !(cut_off && whole.get() == "{}") => whole.get(),
            _ => call.arguments.as_str(),
        };
        // Some gateways send the object as its text.
        let text = serde_json::from_str::<String>(arguments);
        let arguments = text.as_deref().unwrap_or(arguments);
        let request = complete((call.id, call.name), arguments, &mut self.used_ids, cut_off);
        self.events.push_back(ModelEvent::CallEnd { call: call.position, request });
    }
}

impl wire::Reply for Reply {
    const HINT: &'static str = "check that the base URL is one of an Anthropic-compatible API";

    fn take_event(&mut self, name: &str, data: &[u8]) -> Result<bool, ModelError> {
        let event: Event = serde_json::from_slice(data)
            .map_err(|error| no_answer::<Self>("event of a message", data, error))?;
        // The event's name says the same as its type; gateways lose either.
        let kind = if event.r#type.is_empty() { name } else { event.r#type.as_str() };
        if kind == "error" || event.error.is_some() {
            return Err(interrupted(&Failure::read(data)));
        }
        match kind {
            "message_start" | "message" => {
                self.answered = true;
                if let Some(message) = event.message {
                    self.take_message(message)?;
                }
            }
            "content_block_start" => {
                self.answered = true;
                self.start(event.index, event.content_block.unwrap_or_default())?;
            }
            "content_block_delta" => {
                self.answered = true;
                self.more(event.index, event.delta.unwrap_or_default())?;
            }
            "message_delta" => {
                self.answered = true;
                self.count(event.usage);
                self.stop(event.delta.unwrap_or_default().stop_reason);
            }
            "message_stop" => return Ok(true),
            // Pings, ends of blocks, and whatever comes to be.
            _ => {}
        }
        Ok(false)
    }

    fn take_whole(&mut self, body: &[u8]) -> Result<(), ModelError> {
        if body.trim_ascii_start().starts_with(b"[") {
            return Err(interrupted(&Failure::read(body)));
        }
        let message: WireMessage =
            serde_json::from_slice(body).map_err(|error| no_answer::<Self>("message", body, error))?;
        if message.error.is_some() || message.r#type == "error" {
            return Err(interrupted(&Failure::read(body)));
        }
        if message.content.is_none() && message.stop_reason.is_empty() {
            return Ok(());
        }
        self.take_message(message)
    }

    fn finish(&mut self, terminated: bool) -> Result<(), ModelError> {
        if !self.answered {
            return Err(malformed::<Self>("the endpoint answered without any message"));
        }
        self.finish_blocks();
        if !terminated && self.stop_reason.is_empty() {
            self.events.push_back(ModelEvent::Warning(Warning::Unterminated));
        }
        self.events.extend(self.usage.map(ModelEvent::Usage));
        decide(&self.stop_reason, self.calls, false, &mut self.events);
        Ok(())
    }

    fn events(&mut self) -> &mut VecDeque<ModelEvent> {
        &mut self.events
    }

    fn has_finish_reason(&self) -> bool {
        !self.stop_reason.is_empty()
    }
}
