//! Encodes a request as Anthropic Messages. Strict, and the same bytes for the same conversation, so that prompt
//! caches hold.
//!
//! The wire wants user and assistant in turns, every call answered at the start of the next user message, and no
//! empty text; `turns` makes a conversation fit.

mod turns;

use serde::Serialize;
use serde_json::value::RawValue;

use self::turns::{Turn, Turns};
use super::reply::Reply;
use crate::config::{ModelConfig, Thinking};
use crate::error::{Kind, ModelError};
use crate::message::Message;
use crate::model::{ChatRequest, ToolChoice, ToolDefinition};
use crate::wire::Encoded;
use crate::wire::learned::{Learned, RequestOption};

/// The longest answer where nobody knows what the model can: the wire wants a figure.
const USUAL_MAX_TOKENS: u32 = 8_192;

/// The least room for an answer behind the thinking.
const ROOM_FOR_ANSWER: u32 = 1_024;

/// What the endpoint took before it named a figure of its own.
const SMALL_MAX_TOKENS: u32 = 4_096;

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<SystemText>,
    messages: Vec<Turn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<WireThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    stream: bool,
}

/// Up to here the prompt may be kept by the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
struct SystemText {
    r#type: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct WireChoice<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireThinking {
    Adaptive,
    Enabled { budget_tokens: u32 },
}

/// What the endpoint accepts, and what of it this request holds.
struct Options {
    learned: Learned,
    sent: Vec<RequestOption>,
}

impl Options {
    fn accept(&mut self, wanted: bool, option: RequestOption) -> bool {
        let accepted = wanted && self.learned.accepts(option);
        if accepted {
            self.sent.push(option);
        }
        accepted
    }
}

/// Encodes `request` for an endpoint of which `learned` is known.
pub(super) fn encode(
    request: &ChatRequest,
    config: &ModelConfig,
    learned: Learned,
) -> Result<Encoded<Reply>, ModelError> {
    let mut options = Options { learned, sent: Vec::new() };
    let mut turns = Turns::new(config, learned);
    let system = turns.take(&request.messages);
    options.accept(turns.shown, RequestOption::Images);
    options.accept(turns.replayed, RequestOption::ThinkingBlocks);
    let caches = options.accept(true, RequestOption::CacheControl).then_some(EPHEMERAL);
    let thinking = thinking(request, config, &mut options);
    let max_tokens = max_tokens(request, config, thinking.as_ref(), &mut options);
    let strict = options.accept(request.tools.iter().any(|tool| tool.strict), RequestOption::Strict);
    let tool_choice = wire_choice(request, &mut options);
    // An endpoint that is thinking takes no other temperature than its own.
    let with_temperature =
        thinking.is_none() && options.accept(request.temperature.is_some(), RequestOption::Temperature);
    let used_ids = std::mem::take(&mut turns.used_ids);
    let last = request.tools.len().saturating_sub(1);
    let body = WireRequest {
        model: &config.model,
        max_tokens,
        system: (!system.is_empty())
            .then_some(SystemText { r#type: "text", text: system, cache_control: caches })
            .into_iter()
            .collect(),
        messages: turns.finish(caches),
        tools: request
            .tools
            .iter()
            .enumerate()
            .map(|(place, tool)| wire_tool(tool, strict, caches.filter(|_| place == last)))
            .collect(),
        tool_choice,
        thinking,
        temperature: request.temperature.filter(|_| with_temperature),
        stream: config.stream,
    };
    let body = serde_json::to_vec(&body).map_err(|error| {
        ModelError::new(Kind::Configuration, "the request cannot be encoded").with_source(error)
    })?;
    Ok(Encoded { body, sent: options.sent, reply: Reply::new(&config.model, used_ids) })
}

/// Whether to think. Not beside a forced call, which the wire refuses, nor in the middle of a round that began
/// without it.
fn thinking(request: &ChatRequest, config: &ModelConfig, options: &mut Options) -> Option<WireThinking> {
    let forced = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_));
    let wanted = config.thinking.filter(|_| !forced)?;
    let in_round =
        request.messages.iter().rev().take_while(|message| !matches!(message, Message::User { .. }));
    let first_answer = in_round
        .filter_map(|message| match message {
            Message::Assistant { reasoning, .. } => Some(reasoning),
            _ => None,
        })
        .last();
    let replayed = options.sent.contains(&RequestOption::ThinkingBlocks);
    let fits = first_answer.is_none_or(|reasoning| replayed && reasoning.is_some());
    options.accept(fits, RequestOption::ThinkingParameter).then_some(match wanted {
        Thinking::Adaptive => WireThinking::Adaptive,
        Thinking::Budget(budget_tokens) => WireThinking::Enabled { budget_tokens },
    })
}

fn max_tokens(
    request: &ChatRequest,
    config: &ModelConfig,
    thinking: Option<&WireThinking>,
    options: &mut Options,
) -> u32 {
    let known = config.capabilities.max_output_tokens.unwrap_or(USUAL_MAX_TOKENS);
    let known = if options.accept(true, RequestOption::MaxOutput) {
        known
    } else {
        options.learned.max_output_tokens.unwrap_or(SMALL_MAX_TOKENS)
    };
    let wanted = request.max_tokens.unwrap_or(known).min(known).max(1);
    match thinking {
        // The thinking is a part of the answer.
        Some(WireThinking::Enabled { budget_tokens }) => {
            wanted.max(budget_tokens.saturating_add(ROOM_FOR_ANSWER))
        }
        _ => wanted,
    }
}

fn wire_tool(tool: &ToolDefinition, strict: bool, cache_control: Option<CacheControl>) -> WireTool<'_> {
    WireTool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
        strict: strict && tool.strict,
        cache_control,
    }
}

fn wire_choice<'a>(request: &'a ChatRequest, options: &mut Options) -> Option<WireChoice<'a>> {
    if request.tools.is_empty() {
        return None;
    }
    let single = request.parallel_tool_calls == Some(false) && request.tool_choice != ToolChoice::None;
    let single = options.accept(single, RequestOption::ParallelToolCalls).then_some(true);
    let plain = request.tool_choice == ToolChoice::Auto && single.is_none();
    if !options.accept(!plain, RequestOption::ToolChoice) {
        return None;
    }
    let (r#type, name) = match &request.tool_choice {
        ToolChoice::Auto => ("auto", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::Named(name) => ("tool", Some(name.as_str())),
    };
    Some(WireChoice { r#type, name, disable_parallel_tool_use: single })
}
