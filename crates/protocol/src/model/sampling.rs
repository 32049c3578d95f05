//! Sampling: a server asks the client's language model [spec: client/sampling].

mod balance;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::content::{Annotations, ContentBlock, MediaContent, Role, TextContent};
use super::tool::Tool;
use crate::meta::MetaObject;

/// Parameters of `sampling/createMessage`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessage {
    /// The conversation.
    pub messages: Vec<SamplingMessage>,
    /// Which model the server would like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// Instructions for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whose context to include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// How freely to sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens to sample.
    pub max_tokens: u64,
    /// Where to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Passed to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Tools that the model may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// How it may use them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

/// Whose context to include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IncludeContext {
    /// Nobody's.
    None,
    /// That of the asking server.
    ThisServer,
    /// That of all servers.
    AllServers,
}

/// How the model may use tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChoice {
    /// Absent means [`ToolChoiceMode::Auto`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

/// How the model may use tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoiceMode {
    /// As it sees fit.
    Auto,
    /// It must.
    Required,
    /// It must not.
    None,
}

/// Which model a server would like: priorities from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Parts of model names, the best first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How much cost matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// How much speed matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// How much intelligence matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

/// A part of a model's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelHint {
    /// The part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A message of the conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: OneOrMany,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// What the model said.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: OneOrMany,
    /// Which model.
    pub model: String,
    /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the provider's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// One block or several: the specification allows both shapes.
#[derive(Clone, Debug, Serialize)]
// Serialised in the shape it came in, since the specification's union has no tag.
#[serde(untagged)]
pub enum OneOrMany {
    /// A single block.
    One(SamplingContent),
    /// A list of blocks.
    Many(Vec<SamplingContent>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if raw.get().starts_with('[') {
            serde_json::from_str(raw.get()).map(Self::Many).map_err(de::Error::custom)
        } else {
            serde_json::from_str(raw.get()).map(Self::One).map_err(de::Error::custom)
        }
    }
}

/// A block of a sampling message.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SamplingContent {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(MediaContent),
    /// Sound.
    Audio(MediaContent),
    /// The model uses a tool.
    ToolUse(ToolUseContent),
    /// What the tool gave.
    ToolResult(ToolResultContent),
}

impl SamplingContent {
    /// A block of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), ..TextContent::default() })
    }

    /// The hints of the block, where its kind has them.
    #[must_use]
    pub fn annotations(&self) -> Option<&Annotations> {
        match self {
            Self::Text(block) => block.annotations.as_ref(),
            Self::Image(block) | Self::Audio(block) => block.annotations.as_ref(),
            Self::ToolUse(_) | Self::ToolResult(_) => None,
        }
    }
}

/// The model uses a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolUseContent {
    /// Ties the result to it.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// Its arguments.
    pub input: Map<String, Value>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// What a tool gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultContent {
    /// Which use of which tool.
    pub tool_use_id: String,
    /// For the model to read.
    pub content: Vec<ContentBlock>,
    /// For a program to read.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::meta::present_owned"
    )]
    pub structured_content: Option<Box<RawValue>>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As text first: structured content inside a tool result stays text, which serde's
        // internally tagged form cannot keep.
        #[derive(Deserialize)]
        struct Tag {
            r#type: String,
        }
        fn block<T: de::DeserializeOwned, E: de::Error>(raw: &RawValue) -> Result<T, E> {
            serde_json::from_str(raw.get()).map_err(E::custom)
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let tag: Tag = block(&raw)?;
        Ok(match tag.r#type.as_str() {
            "text" => Self::Text(block(&raw)?),
            "image" => Self::Image(block(&raw)?),
            "audio" => Self::Audio(block(&raw)?),
            "tool_use" => Self::ToolUse(block(&raw)?),
            "tool_result" => Self::ToolResult(block(&raw)?),
            other => {
                let known = &["text", "image", "audio", "tool_use", "tool_result"];
                return Err(de::Error::unknown_variant(other, known));
            }
        })
    }
}
