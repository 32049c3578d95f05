//! Notifications: progress, log messages, cancellation, changes.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::subscription::SubscriptionFilter;
use crate::id::{ProgressToken, RequestId};
use crate::meta::MetaObject;

/// The names of the notifications.
pub mod name {
    /// How far a request has come.
    pub const PROGRESS: &str = "notifications/progress";
    /// A log message about a request.
    pub const MESSAGE: &str = "notifications/message";
    /// A request is not wanted any more.
    pub const CANCELLED: &str = "notifications/cancelled";
    /// A subscription is open.
    pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    /// The list of tools changed.
    pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    /// The list of prompts changed.
    pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    /// The list of resources changed.
    pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    /// The contents of a resource changed.
    pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
}

/// How severe a log message is, after RFC 5424; the least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// Detailed information for debugging.
    Debug,
    /// General information.
    Info,
    /// Normal but significant.
    Notice,
    /// A warning.
    Warning,
    /// An operation failed.
    Error,
    /// A component failed.
    Critical,
    /// Action must be taken at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LoggingLevel {
    /// The level with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "debug" => Self::Debug,
            "info" => Self::Info,
            "notice" => Self::Notice,
            "warning" => Self::Warning,
            "error" => Self::Error,
            "critical" => Self::Critical,
            "alert" => Self::Alert,
            "emergency" => Self::Emergency,
            _ => return None,
        })
    }
}

/// `notifications/progress` [spec: basic/patterns/progress].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The token that the request gave.
    pub progress_token: ProgressToken,
    /// How far; grows with every notification.
    pub progress: f64,
    /// How far it goes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is being done, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// `notifications/message` [spec: server/utilities/logging].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoggingMessage {
    /// How severe.
    pub level: LoggingLevel,
    /// Which part of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The message: any JSON value.
    pub data: Box<RawValue>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// `notifications/cancelled` [spec: basic/patterns/cancellation].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    /// Which request.
    pub request_id: RequestId,
    /// Why, for a log or a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// `notifications/subscriptions/acknowledged`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubscriptionsAcknowledged {
    /// What the server agreed to.
    pub notifications: SubscriptionFilter,
    /// Carries the subscription's id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// `notifications/resources/updated`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceUpdated {
    /// Which resource.
    pub uri: String,
    /// Carries the subscription's id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// The parameters of a notification that has none of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Carries the subscription's id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}
