//! Encodes a request as the endpoint wants it. Strict, and the same bytes for the same conversation, so that
//! prompt caches hold.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::value::RawValue;

use super::content::{Content, Part, split, with_words};
use super::details::Detail;
use super::kept::Kept;
use super::reply::{Context, Reply};
use crate::config::ModelConfig;
use crate::error::{Kind, ModelError};
use crate::message::{Image, Message, ToolCallRequest};
use crate::model::{ChatRequest, ToolChoice, ToolDefinition};
use crate::wire::Encoded;
use crate::wire::call::{OpenCalls, arguments_sent_back, claim_id, name_sent_back};
use crate::wire::learned::{Learned, RequestOption, ThinkingField};

/// OpenAI's own endpoint takes only the newer name of the limit from models that think.
const OPENAI_HOST: &str = "api.openai.com";

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
    content: Content,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<Detail>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Box<RawValue>>,
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
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
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

/// Encodes `request` for an endpoint of which `learned` is known.
pub(super) fn encode(
    request: &ChatRequest,
    config: &ModelConfig,
    learned: Learned,
) -> Result<Encoded<Reply>, ModelError> {
    let mut options = Options { learned, sent: Vec::new() };
    let has_tools = !request.tools.is_empty();
    let tool_choice = wire_choice(&request.tool_choice).filter(|_| {
        options.accept(has_tools && request.tool_choice != ToolChoice::Auto, RequestOption::ToolChoice)
    });
    let parallel_tool_calls =
        request.parallel_tool_calls.filter(|_| options.accept(has_tools, RequestOption::ParallelToolCalls));
    let temperature = request.temperature.filter(|_| options.accept(true, RequestOption::Temperature));
    let (max_tokens, max_completion_tokens) = limit(request.max_tokens, config, &mut options);
    let with_stream_options = options.accept(config.stream, RequestOption::StreamOptions);
    let strict = options.accept(request.tools.iter().any(|tool| tool.strict), RequestOption::Strict);
    let mut conversation = Conversation::new(config, options);
    let messages = conversation.encode(&request.messages);
    let body = WireRequest {
        model: &config.model,
        messages,
        tools: request.tools.iter().map(|tool| wire_tool(tool, strict)).collect(),
        tool_choice,
        parallel_tool_calls,
        temperature,
        max_tokens,
        max_completion_tokens,
        stream: config.stream,
        stream_options: with_stream_options.then_some(StreamOptions { include_usage: true }),
    };
    let body = serde_json::to_vec(&body).map_err(|error| {
        ModelError::new(Kind::Configuration, "the request cannot be encoded").with_source(error)
    })?;
    let tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
    let context = Context { model: config.model.clone(), used_ids: conversation.used_ids, tools };
    Ok(Encoded { body, sent: conversation.options.sent, reply: Reply::new(context) })
}

/// What the endpoint accepts, and what of it this request holds.
struct Options {
    learned: Learned,
    sent: Vec<RequestOption>,
}

impl Options {
    /// Whether `option` goes into the request.
    fn accept(&mut self, wanted: bool, option: RequestOption) -> bool {
        let accepted = wanted && self.learned.accepts(option);
        if accepted && !self.sent.contains(&option) {
            self.sent.push(option);
        }
        accepted
    }
}

/// The limit of the answer under its older and its newer name. One of them holds it, whatever was rejected.
fn limit(wanted: Option<u32>, config: &ModelConfig, options: &mut Options) -> (Option<u32>, Option<u32>) {
    let newer_first = config.base_url.domain() == Some(OPENAI_HOST);
    let rejected = |option| !options.learned.accepts(option);
    let newer = match (rejected(RequestOption::MaxTokens), rejected(RequestOption::MaxCompletionTokens)) {
        (true, false) => true,
        (false, true) => false,
        _ => newer_first,
    };
    let option = if newer { RequestOption::MaxCompletionTokens } else { RequestOption::MaxTokens };
    options.accept(wanted.is_some(), option);
    if newer { (None, wanted) } else { (wanted, None) }
}

/// A conversation on the wire. Each call's id is unique, whatever the stored conversation says, and the message
/// that answers it follows.
struct Conversation<'c> {
    config: &'c ModelConfig,
    options: Options,
    used_ids: HashSet<String>,
    open: OpenCalls,
    /// Pictures of results, for the message that follows the answers to the calls.
    pictures: Vec<Part>,
}

impl<'c> Conversation<'c> {
    fn new(config: &'c ModelConfig, options: Options) -> Self {
        Self { config, options, used_ids: HashSet::new(), open: OpenCalls::default(), pictures: Vec::new() }
    }

    fn encode<'a>(&mut self, messages: &'a [Message]) -> Vec<WireMessage<'a>> {
        // Thinking belongs to its round, which began with the last words of the person.
        let round = messages.iter().rposition(|message| matches!(message, Message::User { .. })).unwrap_or(0);
        let mut encoded = Vec::with_capacity(messages.len());
        for (position, message) in messages.iter().enumerate() {
            if !matches!(message, Message::Tool { .. }) {
                encoded.extend(self.pictures_of_results());
            }
            encoded.push(match message {
                Message::System { text } => plain("system", Content::Words(text.clone())),
                Message::User { text, images } => {
                    let (pictures, words) = self.split(images);
                    plain("user", Content::new(with_words(text, &words), pictures))
                }
                Message::Assistant { .. } => self.assistant(message, position > round),
                Message::Tool { call_id, text, images, .. } => self.result(call_id, text, images),
            });
        }
        encoded.extend(self.pictures_of_results());
        encoded
    }

    fn split(&mut self, images: &[Image]) -> (Vec<Part>, Vec<String>) {
        let sees = self.config.capabilities.vision && self.options.learned.accepts(RequestOption::Images);
        let (pictures, words) = split(images, sees);
        self.options.accept(!pictures.is_empty(), RequestOption::Images);
        (pictures, words)
    }

    fn assistant<'a>(&mut self, message: &'a Message, in_round: bool) -> WireMessage<'a> {
        let Message::Assistant { text, thinking, tool_calls, reasoning } = message else {
            return plain("assistant", Content::Words(String::new()));
        };
        let kept = Kept::read(reasoning.as_deref().filter(|_| in_round), &self.config.model);
        let field = kept.field.or(self.options.learned.thinking_field).filter(|field| {
            let wanted = in_round && !thinking.is_empty();
            self.options.accept(wanted, RequestOption::Thinking(*field))
        });
        let with_details = self.options.accept(!kept.details.is_empty(), RequestOption::ReasoningDetails);
        let thinking_in = |name| (field == Some(name)).then_some(thinking.as_str());
        WireMessage {
            reasoning_content: thinking_in(ThinkingField::ReasoningContent),
            reasoning: thinking_in(ThinkingField::Reasoning),
            reasoning_details: if with_details { kept.details } else { Vec::new() },
            tool_calls: self.calls(tool_calls, kept.calls),
            ..plain("assistant", Content::Words(text.clone()))
        }
    }

    fn calls(&mut self, calls: &[ToolCallRequest], extras: Vec<Option<Box<RawValue>>>) -> Vec<WireCall> {
        drop(self.open.close());
        let mut extras = extras.into_iter();
        calls
            .iter()
            .map(|call| {
                let id = claim_id(call.id.clone(), &mut self.used_ids);
                self.open.push(&call.id, &id);
                let (name, arguments) = (name_sent_back(&call.name), arguments_sent_back(call));
                WireCall {
                    id,
                    r#type: "function",
                    function: WireFunction { name, arguments },
                    extra_content: extras.next().flatten(),
                }
            })
            .collect()
    }

    fn result<'a>(&mut self, call_id: &str, text: &str, images: &[Image]) -> WireMessage<'a> {
        let id = self.open.answer(call_id).unwrap_or_else(|| call_id.to_owned());
        let (pictures, words) = self.split(images);
        let text = with_words(text, &words);
        let content = if self.config.capabilities.images_in_tool_results {
            Content::new(text, pictures)
        } else {
            if !pictures.is_empty() {
                let text = format!("Pictures that the call {id} returned:");
                self.pictures.push(Part::Text { text });
                self.pictures.extend(pictures);
            }
            Content::Words(text)
        };
        WireMessage { tool_call_id: Some(id), ..plain("tool", content) }
    }

    /// Endpoints take pictures only from the user: this message says to which calls they belong.
    fn pictures_of_results<'a>(&mut self) -> Option<WireMessage<'a>> {
        let pictures = std::mem::take(&mut self.pictures);
        (!pictures.is_empty()).then(|| plain("user", Content::Parts(pictures)))
    }
}

fn plain<'a>(role: &'static str, content: Content) -> WireMessage<'a> {
    WireMessage {
        role,
        content,
        reasoning_content: None,
        reasoning: None,
        reasoning_details: Vec::new(),
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

fn wire_tool(tool: &ToolDefinition, strict: bool) -> WireTool<'_> {
    WireTool {
        r#type: "function",
        function: WireDefinition {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: strict && tool.strict,
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
