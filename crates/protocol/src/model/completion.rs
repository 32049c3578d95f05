//! Argument completion [spec: server/utilities/completion].

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::result::ResultType;
use crate::meta::{MetaObject, RequestMeta};

/// At most this many values go into one answer.
pub const MAX_VALUES: usize = 100;

/// Parameters of `completion/complete`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Complete<'a> {
    /// Whose argument.
    #[serde(deserialize_with = "crate::meta::object_only")]
    pub r#ref: CompletionReference,
    /// Which argument, and what was typed so far.
    #[serde(borrow, deserialize_with = "crate::meta::object_only")]
    pub argument: CompletionArgument<'a>,
    /// Arguments that were given already.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::meta::object_or_none"
    )]
    pub context: Option<CompletionContext>,
    /// Version, identity and capabilities.
    #[serde(borrow, rename = "_meta", default, deserialize_with = "crate::meta::object_only")]
    pub meta: RequestMeta<'a>,
}

/// Whose argument is to be completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum CompletionReference {
    /// An argument of a prompt.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// The prompt's name.
        name: String,
        /// For people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A variable of a resource template.
    #[serde(rename = "ref/resource")]
    Resource {
        /// The template.
        uri: String,
    },
}

/// Which argument, and what was typed so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CompletionArgument<'a> {
    /// The argument's name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// What was typed so far.
    #[serde(borrow)]
    pub value: Cow<'a, str>,
}

/// Arguments that were given already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionContext {
    /// By name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
}

/// The result of `completion/complete`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompleteResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: ResultType,
    /// The suggestions.
    pub completion: Completion,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// Suggestions, the best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// At most [`MAX_VALUES`].
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}
