//! Servers that ask the language model: what they may ask, and how the model is asked for them.

use futures_util::StreamExt as _;
use switchboard_client::Refused;
use switchboard_llm::{ChatModel, ChatRequest, Finish, Message, ModelAnswer};
use switchboard_protocol::model::content::Role;
use switchboard_protocol::model::sampling::{
    CreateMessage, CreateMessageResult, OneOrMany, SamplingContent, SamplingMessage,
};

use super::question::{Question, SamplingLine};
use crate::digest::Digest;
use crate::name::{CallId, ServerName};
use crate::visible;

/// The longest answer that a server is given, in tokens, whatever it asks for.
pub(super) const MOST_TOKENS: u32 = 4096;
/// The most that a server may tell the model, in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// What a server asks the model, as a person is asked about it.
///
/// # Errors
/// When it asks for something that the model is not asked for servers.
pub(super) fn question(
    server: &ServerName,
    call: Option<CallId>,
    asked: &CreateMessage,
) -> Result<Question, Refused> {
    let lines = asked.messages.iter().map(line).collect::<Result<Vec<_>, _>>()?;
    let bytes: usize = lines.iter().map(|line| line.text.len()).sum();
    let system = asked.system_prompt.as_deref();
    if bytes + system.map_or(0, str::len) > MOST_BYTES {
        return Err(Refused(format!("the model is told at most {MOST_BYTES} bytes for a server")));
    }
    let max_tokens = u32::try_from(asked.max_tokens).unwrap_or(MOST_TOKENS).clamp(1, MOST_TOKENS);
    let whole = serde_json::to_vec(asked).map_err(|error| Refused(error.to_string()))?;
    Ok(Question::Sampling {
        server: server.clone(),
        call,
        system: system.map(visible::text),
        messages: lines,
        max_tokens,
        digest: Digest::of(&[b"sampling", server.as_str().as_bytes(), &whole]),
        hidden: false,
    })
}

fn line(message: &SamplingMessage) -> Result<SamplingLine, Refused> {
    Ok(SamplingLine { role: role(message.role).to_owned(), text: visible::text(&text(&message.content)?) })
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

fn text(content: &OneOrMany) -> Result<String, Refused> {
    let blocks = match content {
        OneOrMany::One(block) => std::slice::from_ref(block),
        OneOrMany::Many(blocks) => blocks,
    };
    let texts = blocks.iter().map(|block| match block {
        SamplingContent::Text(text) => Ok(text.text.as_str()),
        _ => Err(Refused("for a server the model is asked in text only".to_owned())),
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

/// Asks the model. Without the conversation of the person, whatever context the server would like.
///
/// # Errors
/// When the model fails.
pub(super) async fn sample(
    model: &dyn ChatModel,
    asked: &CreateMessage,
) -> Result<CreateMessageResult, Refused> {
    let mut messages: Vec<Message> = asked.system_prompt.iter().map(Message::system).collect();
    for message in &asked.messages {
        let text = text(&message.content)?;
        messages.push(match message.role {
            Role::User => Message::user(text),
            Role::Assistant => Message::assistant(text),
        });
    }
    let request = ChatRequest {
        messages,
        max_tokens: Some(u32::try_from(asked.max_tokens).unwrap_or(MOST_TOKENS).clamp(1, MOST_TOKENS)),
        ..ChatRequest::default()
    };
    let mut events = model.chat(request);
    let mut answer = ModelAnswer::default();
    while let Some(event) = events.next().await {
        answer.apply(event.map_err(|error| Refused(format!("the model failed: {}", error.cause())))?);
    }
    let stop_reason = match answer.finish {
        Finish::Length => "maxTokens",
        _ => "endTurn",
    };
    Ok(CreateMessageResult {
        role: Role::Assistant,
        content: OneOrMany::One(SamplingContent::text(answer.text)),
        model: model.name().to_owned(),
        stop_reason: Some(stop_reason.to_owned()),
        meta: None,
    })
}
