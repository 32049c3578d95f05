//! Encodes a request as the endpoint wants it. Strict, and the same bytes for the same conversation, so that
//! prompt caches hold.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::value::RawValue;

use super::calls::{claim_id, complete_arguments};
use super::learned::{Learned, RequestOption};
use super::reply::Context;
use crate::error::{Kind, ModelError};
use crate::model::{ChatRequest, Message, ToolCallRequest, ToolChoice};

/// A request in its wire form.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) body: Vec<u8>,
    /// The optional parts that it holds.
    pub(super) sent: Vec<RequestOption>,
    /// What reading the answer needs.
    pub(super) context: Context,
}

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    /// Never null: some chat templates print a null.
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

#[derive(Serialize)]
struct WireCall {
    id: String,
    r#type: &'static str,
    function: WireFunction,
}

#[derive(Serialize)]
struct WireFunction {
    name: String,
    arguments: String,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: WireDefinition<'a>,
}

#[derive(Serialize)]
struct WireDefinition<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
// The wire has a bare word or an object here, without a tag.
#[serde(untagged)]
enum WireChoice<'a> {
    Word(&'static str),
    Named { r#type: &'static str, function: NamedFunction<'a> },
}

#[derive(Serialize)]
struct NamedFunction<'a> {
    name: &'a str,
}

/// Encodes `request` for a model of an endpoint of which `learned` is known.
pub(super) fn encode(
    request: &ChatRequest,
    model: &str,
    stream: bool,
    learned: Learned,
) -> Result<Encoded, ModelError> {
    let mut sent = Vec::new();
    let mut accept = |wanted: bool, option: RequestOption| {
        let accepted = wanted && learned.accepts(option);
        if accepted {
            sent.push(option);
        }
        accepted
    };
    let has_tools = !request.tools.is_empty();
    let with_choice = accept(has_tools && request.tool_choice != ToolChoice::Auto, RequestOption::ToolChoice);
    let with_parallel =
        accept(has_tools && request.parallel_tool_calls.is_some(), RequestOption::ParallelToolCalls);
    let with_temperature = accept(request.temperature.is_some(), RequestOption::Temperature);
    let with_max_tokens = accept(request.max_tokens.is_some(), RequestOption::MaxTokens);
    let with_stream_options = accept(stream, RequestOption::StreamOptions);
    let replayed = learned.thinking_field.map(RequestOption::Thinking).filter(|option| accept(true, *option));

    let mut conversation = Conversation::default();
    let messages = conversation.encode(&request.messages, replayed);
    let body = WireRequest {
        model,
        messages,
        tools: request.tools.iter().map(wire_tool).collect(),
        tool_choice: with_choice.then(|| wire_choice(&request.tool_choice)).flatten(),
        parallel_tool_calls: request.parallel_tool_calls.filter(|_| with_parallel),
        temperature: request.temperature.filter(|_| with_temperature),
        max_tokens: request.max_tokens.filter(|_| with_max_tokens),
        max_completion_tokens: request.max_tokens.filter(|_| !with_max_tokens),
        stream,
        stream_options: with_stream_options.then_some(StreamOptions { include_usage: true }),
    };
    let body = serde_json::to_vec(&body).map_err(|error| {
        ModelError::new(Kind::Configuration, "the request cannot be encoded").with_source(error)
    })?;
    let tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
    Ok(Encoded { body, sent, context: Context { used_ids: conversation.used_ids, tools } })
}

/// The ids of a conversation on the wire. Each call's id is unique, whatever the stored conversation says, and
/// the message that answers it follows.
#[derive(Default)]
struct Conversation {
    used_ids: HashSet<String>,
    /// The calls of the last assistant message that are not answered: own id, id on the wire.
    open: Vec<(String, String)>,
}

impl Conversation {
    fn encode<'a>(
        &mut self,
        messages: &'a [Message],
        replayed: Option<RequestOption>,
    ) -> Vec<WireMessage<'a>> {
        // Thinking belongs to its round, which began with the last words of the person.
        let round = messages.iter().rposition(|message| matches!(message, Message::User { .. })).unwrap_or(0);
        messages
            .iter()
            .enumerate()
            .map(|(position, message)| match message {
                Message::System { text } => plain("system", text),
                Message::User { text } => plain("user", text),
                Message::Assistant { text, thinking, tool_calls } => {
                    let thinking = Some(thinking.as_str())
                        .filter(|thinking| position > round && !thinking.is_empty())
                        .zip(replayed);
                    let field =
                        |name| thinking.and_then(|(text, option)| (option.name() == name).then_some(text));
                    WireMessage {
                        reasoning_content: field("reasoning_content"),
                        reasoning: field("reasoning"),
                        tool_calls: self.calls(tool_calls),
                        ..plain("assistant", text)
                    }
                }
                Message::Tool { call_id, text } => {
                    WireMessage { tool_call_id: Some(self.answer(call_id)), ..plain("tool", text) }
                }
            })
            .collect()
    }

    fn calls(&mut self, calls: &[ToolCallRequest]) -> Vec<WireCall> {
        self.open.clear();
        calls
            .iter()
            .map(|call| {
                let id = claim_id(call.id.clone(), &mut self.used_ids);
                self.open.push((call.id.clone(), id.clone()));
                // Servers parse these again: what is broken must not break the next request too. The model reads
                // what happened in the answer to the call.
                let arguments = match complete_arguments(&call.arguments, false) {
                    (arguments, None) => arguments,
                    _ => "{}".to_owned(),
                };
                WireCall {
                    id,
                    r#type: "function",
                    function: WireFunction { name: wire_name(&call.name), arguments },
                }
            })
            .collect()
    }

    /// The wire id of the first open call with this id.
    fn answer(&mut self, call_id: &str) -> String {
        match self.open.iter().position(|(own, _)| own == call_id) {
            Some(position) => self.open.remove(position).1,
            None => call_id.to_owned(),
        }
    }
}

fn plain<'a>(role: &'static str, content: &'a str) -> WireMessage<'a> {
    WireMessage {
        role,
        content,
        reasoning_content: None,
        reasoning: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

fn wire_tool(tool: &crate::model::ToolDefinition) -> WireTool<'_> {
    WireTool {
        r#type: "function",
        function: WireDefinition {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
        },
    }
}

fn wire_choice(choice: &ToolChoice) -> Option<WireChoice<'_>> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(WireChoice::Word("none")),
        ToolChoice::Required => Some(WireChoice::Word("required")),
        ToolChoice::Named(name) => {
            Some(WireChoice::Named { r#type: "function", function: NamedFunction { name } })
        }
    }
}

/// A name that a model made up may be one that the endpoint refuses to read back.
fn wire_name(name: &str) -> String {
    if name.is_empty() {
        return "unknown".to_owned();
    }
    name.chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .collect()
}
