//! Capabilities and identities of both sides [spec: basic/versioning].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings of an extension or a capability: an object whose members its own specification
/// defines.
pub type Settings = Map<String, Value>;

/// Name and version of a client or a server. Self-reported; never a base for a decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// For programs.
    pub name: String,
    /// The version of the software.
    pub version: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// What it looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
}

impl Implementation {
    /// A name and a version.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

/// A picture for a person to recognise something by [spec: basic, `icons`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// An HTTPS or `data:` URI.
    pub src: String,
    /// The MIME type, where the server's own is missing or generic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Such as `48x48`, or `any`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The background that it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

/// The background that an icon is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

/// What a client can do for a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientCapabilities {
    /// Capabilities outside the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<BTreeMap<String, Settings>>,
    /// Lists roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Settings>,
    /// Asks a language model.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::meta::object_or_none"
    )]
    pub sampling: Option<SamplingCapability>,
    /// Asks the person.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::meta::object_or_none"
    )]
    pub elicitation: Option<ElicitationCapability>,
    /// Extensions, by identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BTreeMap<String, Settings>>,
}

/// How a client asks a language model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingCapability {
    /// Includes context from servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Settings>,
    /// Offers tools to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Settings>,
}

/// How a client asks the person. Neither mode named means forms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ElicitationCapability {
    /// Shows a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Settings>,
    /// Opens an address, with consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Settings>,
}

impl ElicitationCapability {
    /// Whether forms are shown.
    #[must_use]
    pub fn allows_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Whether addresses are opened.
    #[must_use]
    pub fn allows_url(&self) -> bool {
        self.url.is_some()
    }
}

/// What a server can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCapabilities {
    /// Capabilities outside the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<BTreeMap<String, Settings>>,
    /// Sends log messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<Settings>,
    /// Completes arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<Settings>,
    /// Has prompts.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::meta::object_or_none"
    )]
    pub prompts: Option<ListCapability>,
    /// Has resources.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::meta::object_or_none"
    )]
    pub resources: Option<ResourcesCapability>,
    /// Has tools.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::meta::object_or_none"
    )]
    pub tools: Option<ListCapability>,
    /// Extensions, by identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BTreeMap<String, Settings>>,
}

/// A list that may change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListCapability {
    /// Announces changes of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// Resources, whose list and whose contents may change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesCapability {
    /// Announces changes of the contents of a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// Announces changes of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}
