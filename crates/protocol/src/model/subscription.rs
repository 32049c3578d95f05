//! `subscriptions/listen` [spec: basic/patterns/subscriptions].

use serde::{Deserialize, Serialize};

use super::result::ResultType;
use crate::id::RequestId;
use crate::meta::RequestMeta;

/// What a client wants to hear of; what a server grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// Changes of the list of prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// Changes of the list of resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// Changes of the contents of these resources, by URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
}

impl SubscriptionFilter {
    /// Asks for nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also changes of the list of tools.
    #[must_use]
    pub fn tools(mut self) -> Self {
        self.tools_list_changed = Some(true);
        self
    }

    /// Also changes of the list of prompts.
    #[must_use]
    pub fn prompts(mut self) -> Self {
        self.prompts_list_changed = Some(true);
        self
    }

    /// Also changes of the list of resources.
    #[must_use]
    pub fn resources(mut self) -> Self {
        self.resources_list_changed = Some(true);
        self
    }

    /// Also changes of the contents of this resource.
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.resource_subscriptions.get_or_insert_default().push(uri.into());
        self
    }
}

/// Parameters of `subscriptions/listen`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SubscriptionsListen<'a> {
    /// What the client wants to hear of.
    #[serde(deserialize_with = "crate::meta::object_only")]
    pub notifications: SubscriptionFilter,
    /// Version, identity and capabilities.
    #[serde(borrow, rename = "_meta", default, deserialize_with = "crate::meta::object_only")]
    pub meta: RequestMeta<'a>,
}

/// The end of a stream that the server closed gracefully.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionsListenResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: ResultType,
    /// Which subscription ended.
    #[serde(rename = "_meta")]
    pub meta: SubscriptionMeta,
}

/// The metadata of every message on a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionMeta {
    /// The id of the `subscriptions/listen` request.
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    pub subscription_id: RequestId,
}
