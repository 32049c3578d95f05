//! What the chunks of an answer mean: text, thinking, calls, and why it ended.
//!
//! `finish_reason` is a hint. What the answer holds decides: complete calls are calls whatever the reason says,
//! and a reason that announces calls makes none.

use std::collections::{HashSet, VecDeque};

use super::ThinkingField;
use super::calls::{CallAssembler, Fragment};
use super::failure::shorten;
use super::printed;
use super::reader::malformed;
use super::think::{Piece, ThinkSplitter};
use super::wire::{Body, Chunk, WireCall, WireFunction, WireUsage};
use crate::error::ModelError;
use crate::model::{Finish, ModelEvent, Usage, Warning};

/// What of the request matters for reading its answer.
#[derive(Debug, Default)]
pub(super) struct Context {
    /// Ids of calls that the conversation holds already.
    pub(super) used_ids: HashSet<String>,
    /// Names of the tools that were offered.
    pub(super) tools: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Reply {
    context: Context,
    events: VecDeque<ModelEvent>,
    answered: bool,
    refused: bool,
    finish_reason: String,
    usage: Option<Usage>,
    splitter: ThinkSplitter,
    thinking_field: Option<ThinkingField>,
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
            calls: CallAssembler::default(),
            single: CallAssembler::default(),
            start: String::new(),
        }
    }

    pub(super) fn events(&mut self) -> &mut VecDeque<ModelEvent> {
        &mut self.events
    }

    pub(super) fn has_finish_reason(&self) -> bool {
        !self.finish_reason.is_empty()
    }

    pub(super) fn thinking_field(&self) -> Option<ThinkingField> {
        self.thinking_field
    }

    /// Takes one chunk. `whole` says that it is the complete answer, so each call in it stands for itself.
    pub(super) fn take(&mut self, chunk: Chunk, whole: bool) -> Result<(), ModelError> {
        // Some servers count up in every chunk: the last word counts.
        if let Some(usage) = chunk.usage {
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

    /// The answer has ended; `terminated` says that the endpoint said so itself.
    pub(super) fn finish(&mut self, terminated: bool) -> Result<(), ModelError> {
        if !self.answered {
            return Err(malformed("the endpoint answered without any choice"));
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
        let finish = self.decide(calls);
        self.events.push_back(ModelEvent::Finish(finish));
        Ok(())
    }

    /// Sends the calls in their final form and returns how many there are.
    fn finish_calls(&mut self) -> usize {
        let cut_off = is_length(&self.finish_reason);
        let mut calls = std::mem::take(&mut self.calls).finish(&mut self.context.used_ids, cut_off);
        if calls.is_empty() {
            calls = std::mem::take(&mut self.single).finish(&mut self.context.used_ids, cut_off);
            for (call, request) in &calls {
                self.events.push_back(ModelEvent::CallStart { call: *call, name: request.name.clone() });
            }
        }
        let count = calls.len();
        self.events.extend(calls.into_iter().map(|(call, request)| ModelEvent::CallEnd { call, request }));
        count
    }

    fn decide(&mut self, calls: usize) -> Finish {
        let reason = self.finish_reason.clone();
        let announced = matches!(reason.as_str(), "tool_calls" | "function_call" | "tool_use");
        if is_length(&reason) {
            return Finish::Length;
        }
        if self.refused || matches!(reason.as_str(), "content_filter" | "refusal" | "safety") {
            return Finish::ContentFilter;
        }
        if announced == (calls == 0) {
            let reason = if reason.is_empty() { "none".to_owned() } else { shorten(&reason) };
            self.warn(Warning::FinishMismatch { reason });
        }
        match reason.as_str() {
            _ if calls > 0 => Finish::ToolCalls,
            "" | "stop" | "eos" | "end_turn" => Finish::Stop,
            _ if announced => Finish::Stop,
            _ => Finish::Other(reason),
        }
    }

    fn warn(&mut self, warning: Warning) {
        self.events.push_back(ModelEvent::Warning(warning));
    }
}

fn is_length(reason: &str) -> bool {
    matches!(reason, "length" | "max_tokens" | "model_length")
}

fn count(usage: &WireUsage) -> Usage {
    Usage {
        input_tokens: usage.prompt_tokens.unwrap_or(0),
        output_tokens: usage.completion_tokens.unwrap_or(0),
        cached_input_tokens: usage
            .prompt_tokens_details
            .as_ref()
            .and_then(|details| details.cached_tokens)
            .unwrap_or(0),
    }
}
