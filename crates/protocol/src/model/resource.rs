//! Resources and their templates [spec: server/resources].

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use super::capability::Icon;
use super::content::Annotations;
use super::result::{CacheScope, ResultType};
use crate::meta::{MetaObject, RequestMeta};

/// A resource in a list, or the target of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Where it is read.
    pub uri: String,
    /// For programs.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its MIME type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its raw size in bytes, before base64, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What it looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// A family of resources, by an RFC 6570 template of their URIs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The template.
    pub uri_template: String,
    /// For programs.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What they hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Their MIME type, if all share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// What they look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// What a resource holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// Where it was read.
    pub uri: String,
    /// Its MIME type, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The contents: the member `text` or the member `blob`, which is what tells them apart.
    // The specification's union of text and blob contents has no tag but the member's name.
    #[serde(flatten)]
    pub body: ResourceBody,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// Text, or bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes in base64.
    Blob(String),
}

impl ResourceContents {
    /// Text contents.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: ResourceBody::Text(text.into()), meta: None }
    }

    /// Binary contents, in base64.
    #[must_use]
    pub fn blob(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: ResourceBody::Blob(base64.into()), meta: None }
    }

    /// Names the MIME type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Flat {
            uri: String,
            mime_type: Option<String>,
            text: Option<String>,
            blob: Option<String>,
            #[serde(rename = "_meta")]
            meta: Option<MetaObject>,
        }
        let flat = Flat::deserialize(deserializer)?;
        let body = match (flat.text, flat.blob) {
            (Some(text), None) => ResourceBody::Text(text),
            (None, Some(blob)) => ResourceBody::Blob(blob),
            (Some(_), Some(_)) => return Err(de::Error::custom("contents have both text and blob")),
            (None, None) => return Err(de::Error::custom("contents have neither text nor blob")),
        };
        Ok(Self { uri: flat.uri, mime_type: flat.mime_type, body, meta: flat.meta })
    }
}

macro_rules! list_result {
    ($(#[$doc:meta])* $name:ident, $field:ident: $item:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// Always complete.
            #[serde(default)]
            pub result_type: $crate::model::result::ResultType,
            /// The page.
            pub $field: Vec<$item>,
            /// Where the next page starts; absent on the last.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub next_cursor: Option<String>,
            /// For how long the page is fresh, in milliseconds; negative and absent mean stale.
            #[serde(default, deserialize_with = "crate::model::result::deserialize_ttl_ms")]
            pub ttl_ms: i64,
            /// Who may share it.
            #[serde(default)]
            pub cache_scope: $crate::model::result::CacheScope,
            /// Metadata.
            #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
            pub meta: Option<$crate::meta::MetaObject>,
        }
    };
}
pub(crate) use list_result;

list_result!(
    /// The result of `resources/list`.
    ListResourcesResult,
    resources: Resource
);
list_result!(
    /// The result of `resources/templates/list`.
    ListResourceTemplatesResult,
    resource_templates: ResourceTemplate
);

/// Parameters of `resources/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResource<'a> {
    /// Which resource.
    #[serde(borrow)]
    pub uri: Cow<'a, str>,
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

/// The result of `resources/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: ResultType,
    /// One or more contents; a folder may have several.
    pub contents: Vec<ResourceContents>,
    /// For how long the contents are fresh, in milliseconds; negative and absent mean stale.
    #[serde(default, deserialize_with = "crate::model::result::deserialize_ttl_ms")]
    pub ttl_ms: i64,
    /// Who may share them.
    #[serde(default)]
    pub cache_scope: CacheScope,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}
