//! Tools [spec: server/tools].

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::capability::Icon;
use super::content::ContentBlock;
use super::resource::list_result;
use super::result::ResultType;
use crate::meta::{MetaObject, RequestMeta};

/// The definition of a tool. Schemas stay text: what the server wrote is what is shown, validated
/// against and passed on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Identifies the tool within its server.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for a language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments: an object schema.
    #[serde(deserialize_with = "object_schema")]
    pub input_schema: Box<RawValue>,
    /// The JSON Schema of the structured content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
    /// What it does to the world, as the server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// What it looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// What a tool does to the world. Untrusted, unless the server is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// May destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling twice is like calling once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Deals with the outside world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

#[derive(Deserialize)]
struct SchemaPeek<'a> {
    #[serde(borrow)]
    r#type: Option<&'a RawValue>,
}

fn object_schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    use serde::de::Error;
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    if !raw.get().starts_with('{') {
        return Err(D::Error::custom("inputSchema must be an object"));
    }
    let peek: SchemaPeek<'_> = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
    if peek.r#type.map(RawValue::get) != Some("\"object\"") {
        return Err(D::Error::custom("inputSchema must have type \"object\""));
    }
    Ok(raw)
}

list_result!(
    /// The result of `tools/list`.
    ///
    /// Definitions stay text, and [`decode_tool`] reads one: an invalid one costs itself only.
    ListToolsResult,
    tools: Box<RawValue>
);

/// A tool definition that is invalid, so that this tool alone is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool {name:?} is left out: {reason}")]
pub struct InvalidTool {
    /// The tool's name, or what stands in its place.
    pub name: String,
    /// What is wrong with the definition.
    pub reason: String,
}

/// Reads one definition of a list.
///
/// # Errors
/// When a required member is missing or has the wrong shape.
pub fn decode_tool(raw: &RawValue) -> Result<Tool, InvalidTool> {
    #[derive(Deserialize)]
    struct Name {
        name: Option<serde_json::Value>,
    }
    if !raw.get().starts_with('{') {
        return Err(InvalidTool { name: "(unnamed)".into(), reason: "the definition is no object".into() });
    }
    serde_json::from_str(raw.get()).map_err(|error| InvalidTool {
        name: serde_json::from_str::<Name>(raw.get()).ok().and_then(|peek| peek.name).map_or_else(
            || "(unnamed)".into(),
            |name| name.as_str().map_or_else(|| name.to_string(), str::to_owned),
        ),
        reason: error.to_string(),
    })
}

/// Parameters of `tools/call`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallTool<'a> {
    /// Which tool.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// Its arguments: an object.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a RawValue>,
    /// Answers to the questions of the round before.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<&'a RawValue>,
    /// What the server asked to be given back.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<Cow<'a, str>>,
    /// Version, identity and capabilities.
    #[serde(borrow, rename = "_meta", default, deserialize_with = "crate::meta::object_only")]
    pub meta: RequestMeta<'a>,
}

/// What a tool gave.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// Always complete; a question is an `InputRequiredResult`.
    #[serde(default)]
    pub result_type: ResultType,
    /// For a model or a person to read.
    pub content: Vec<ContentBlock>,
    /// For a program to read: any JSON value. `null` is a value; absent is `None`.
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

impl CallToolResult {
    /// A result of content only.
    #[must_use]
    pub fn of(content: Vec<ContentBlock>) -> Self {
        Self { content, ..Self::default() }
    }

    /// A failure that the model may read.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], is_error: Some(true), ..Self::default() }
    }

    /// The text blocks, joined by newlines; empty if there are none.
    ///
    /// ```
    /// use switchboard_protocol::model::content::ContentBlock;
    /// use switchboard_protocol::model::tool::CallToolResult;
    ///
    /// let result = CallToolResult::of(vec![ContentBlock::text("one"), ContentBlock::text("two")]);
    /// assert_eq!(result.text(), "one\ntwo");
    /// assert_eq!(CallToolResult::of(vec![]).text(), "");
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ContentBlock::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Whether the tool failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }
}
