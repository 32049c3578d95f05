//! `server/discover` [spec: server/discover].

use serde::{Deserialize, Serialize};

use super::capability::ServerCapabilities;
use super::result::{CacheScope, ResultType};
use crate::meta::{MetaObject, RequestMeta};

/// Parameters of `server/discover`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Discover<'a> {
    /// Version, identity and capabilities.
    #[serde(borrow, rename = "_meta", default, deserialize_with = "crate::meta::object_only")]
    pub meta: RequestMeta<'a>,
}

/// What the server speaks, can do, and is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: ResultType,
    /// The revisions to choose from.
    pub supported_versions: Vec<String>,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Guidance for a language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// For how long the result is fresh, in milliseconds; negative and absent mean stale.
    #[serde(default, deserialize_with = "crate::model::result::deserialize_ttl_ms")]
    pub ttl_ms: i64,
    /// Who may share it.
    #[serde(default)]
    pub cache_scope: CacheScope,
    /// Further metadata, `serverInfo` among it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}
