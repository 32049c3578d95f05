//! What the chunks of an answer mean: text, thinking, calls, and why it ended.

use std::collections::{HashSet, VecDeque};

use super::calls::{CallAssembler, Fragment};
use super::details::{self, Detail};
use super::kept::Kept;
use super::printed;
use super::think::{Piece, ThinkSplitter};
use super::wire::{Body, Chunk, WireCall, WireFunction, WireUsage};
use crate::error::ModelError;
use crate::model::{ModelEvent, Usage, Warning};
use crate::wire;
use crate::wire::body::{interrupted, malformed, no_answer};
use crate::wire::failure::Failure;
use crate::wire::finish::{decide, is_length};
use crate::wire::learned::{Learned, ThinkingField};

/// What of the request matters for reading its answer.
#[derive(Debug, Default)]
pub(super) struct Context {
    /// The model that was asked.
    pub(super) model: String,
    /// Ids of calls that the conversation holds already.
    pub(super) used_ids: HashSet<String>,
    /// Names of the tools that were offered.
    pub(super) tools: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Reply {
    context: Context,
    events: VecDeque<ModelEvent>,
    answered: bool,
    refused: bool,
    finish_reason: String,
    usage: Option<Usage>,
    splitter: ThinkSplitter,
    thinking_field: Option<ThinkingField>,
    details: Vec<Detail>,
    calls: CallAssembler,
    /// The deprecated single call, used only if there is no other.
    single: CallAssembler,
    /// The beginning of the text, to notice printed calls.
    start: String,
}

impl Reply {
    pub(super) fn new(context: Context) -> Self {
        Self {
            context,
            events: VecDeque::new(),
            answered: false,
            refused: false,
            finish_reason: String::new(),
            usage: None,
            splitter: ThinkSplitter::default(),
            thinking_field: None,
            details: Vec::new(),
            calls: CallAssembler::default(),
            single: CallAssembler::default(),
            start: String::new(),
        }
    }

    /// Takes one chunk. `whole` says that it is the complete answer, so each call in it stands for itself.
    fn take(&mut self, chunk: Chunk, whole: bool) -> Result<(), ModelError> {
        // Some servers count up in every chunk: the last word counts.
        if let Some(usage) = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage)) {
            self.usage = Some(count(&usage));
        }
        for choice in chunk.choices.unwrap_or_default() {
            // One answer is asked for; others would be mixed into it.
            if choice.index.unwrap_or(0) != 0 {
                continue;
            }
            self.answered = true;
            if !choice.finish_reason.is_empty() {
                self.finish_reason = choice.finish_reason;
            }
            if let Some(message) = choice.message {
                self.take_body(message, true)?;
            } else if let Some(delta) = choice.delta {
                self.take_body(delta, whole)?;
            }
        }
        Ok(())
    }

    fn take_body(&mut self, body: Body, whole: bool) -> Result<(), ModelError> {
        for (field, thinking) in [
            (ThinkingField::ReasoningContent, body.reasoning_content),
            (ThinkingField::Reasoning, body.reasoning),
        ] {
            // Servers that know both names send the same under each: the first one seen counts.
            if !thinking.is_empty() && *self.thinking_field.get_or_insert(field) == field {
                self.events.push_back(ModelEvent::ThinkingDelta(thinking));
            }
        }
        for detail in body.reasoning_details {
            // Shown only where no plain field says the same.
            if self.thinking_field.is_none() && !detail.words().is_empty() {
                self.events.push_back(ModelEvent::ThinkingDelta(detail.words().to_owned()));
            }
            details::push(&mut self.details, detail);
        }
        if !body.content.is_empty() {
            for piece in self.splitter.push(&body.content) {
                self.show(piece);
            }
        }
        if !body.refusal.is_empty() {
            self.refused = true;
            self.show(Piece::Text(body.refusal));
        }
        for (place, call) in body.tool_calls.unwrap_or_default().into_iter().enumerate() {
            self.calls.push(Fragment::new(call, place, whole), &mut self.events)?;
        }
        if let Some(function) = body.function_call {
            self.take_single(function)?;
        }
        Ok(())
    }

    fn take_single(&mut self, function: WireFunction) -> Result<(), ModelError> {
        let call = WireCall { index: Some(0), function: Some(function), ..WireCall::default() };
        // Not shown while it arrives: it may be a copy of the real calls.
        self.single.push(Fragment::new(call, 0, false), &mut VecDeque::new())
    }

    fn show(&mut self, piece: Piece) {
        self.events.push_back(match piece {
            Piece::Thinking(text) => ModelEvent::ThinkingDelta(text),
            Piece::Text(text) => {
                if !self.context.tools.is_empty() && self.start.len() + text.len() <= printed::MAX_LOOK {
                    self.start.push_str(&text);
                }
                ModelEvent::TextDelta(text)
            }
        });
    }

    /// Sends the calls in their final form and returns how many there are.
    fn finish_calls(&mut self) -> usize {
        let cut_off = is_length(&self.finish_reason);
        let mut calls = std::mem::take(&mut self.calls).finish(&mut self.context.used_ids, cut_off);
        if calls.is_empty() {
            calls = std::mem::take(&mut self.single).finish(&mut self.context.used_ids, cut_off);
            for (call, finished) in &calls {
                let name = finished.request.name.clone();
                self.events.push_back(ModelEvent::CallStart { call: *call, name });
            }
        }
        let count = calls.len();
        let mut extras = Vec::with_capacity(count);
        for (call, finished) in calls {
            extras.push(finished.extra);
            self.events.push_back(ModelEvent::CallEnd { call, request: finished.request });
        }
        let details = std::mem::take(&mut self.details);
        let kept = Kept::new(&self.context.model, self.thinking_field, details, extras);
        self.events.extend(kept.write().map(ModelEvent::Reasoning));
        count
    }

    fn warn(&mut self, warning: Warning) {
        self.events.push_back(ModelEvent::Warning(warning));
    }
}

impl wire::Reply for Reply {
    const HINT: &'static str =
        "check that the base URL is one of an OpenAI-compatible API (it usually ends in /v1)";

    fn take_event(&mut self, _name: &str, data: &[u8]) -> Result<bool, ModelError> {
        self.take(read_chunk(data)?, false)?;
        Ok(false)
    }

    fn take_whole(&mut self, body: &[u8]) -> Result<(), ModelError> {
        self.take(read_chunk(body)?, true)
    }

    /// The answer has ended; `terminated` says that the endpoint said so itself.
    fn finish(&mut self, terminated: bool) -> Result<(), ModelError> {
        if !self.answered {
            return Err(malformed::<Self>("the endpoint answered without any choice"));
        }
        if let Some(piece) = self.splitter.finish() {
            self.show(piece);
        }
        let calls = self.finish_calls();
        if calls == 0
            && let Some((name, arguments)) = printed::find(&self.start, &self.context.tools)
        {
            self.warn(Warning::PrintedCall { name, arguments });
        }
        if !terminated && self.finish_reason.is_empty() {
            self.warn(Warning::Unterminated);
        }
        if let Some(usage) = self.usage {
            self.events.push_back(ModelEvent::Usage(usage));
        }
        decide(&self.finish_reason, calls, self.refused, &mut self.events);
        Ok(())
    }

    fn events(&mut self) -> &mut VecDeque<ModelEvent> {
        &mut self.events
    }

    fn has_finish_reason(&self) -> bool {
        !self.finish_reason.is_empty()
    }

    fn teach(&self, learned: &mut Learned) {
        learned.thinking_field = self.thinking_field.or(learned.thinking_field);
    }
}

fn count(usage: &WireUsage) -> Usage {
    Usage {
        input_tokens: usage.prompt_tokens.unwrap_or(0),
        output_tokens: usage.completion_tokens.unwrap_or(0),
        cached_input_tokens: usage
            .prompt_tokens_details
            .as_ref()
            .and_then(|details| details.cached_tokens)
            .or(usage.prompt_cache_hit_tokens)
            .unwrap_or(0),
        cache_write_tokens: usage
            .prompt_tokens_details
            .as_ref()
            .and_then(|details| details.cache_write_tokens)
            .unwrap_or(0),
    }
}

/// Decodes one chunk, or the error that stands in its place.
fn read_chunk(data: &[u8]) -> Result<Chunk, ModelError> {
    let chunk = match serde_json::from_slice::<Chunk>(data) {
        Ok(chunk) => chunk,
        // A list of errors is no chunk, but it is an error with words.
        Err(_) if data.trim_ascii_start().starts_with(b"[") => return Err(interrupted(&Failure::read(data))),
        Err(error) => return Err(no_answer::<Reply>("chat completion", data, error)),
    };
    let bare = chunk.choices.is_none()
        && (chunk.object.as_deref() == Some("error") || chunk.detail.is_some() || chunk.message.is_some());
    if chunk.error.is_some() || bare {
        return Err(interrupted(&Failure::read(data)));
    }
    Ok(chunk)
}
