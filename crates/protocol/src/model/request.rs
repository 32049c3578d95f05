//! Parameters that several methods share.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::meta::RequestMeta;

/// Parameters of a paginated list [spec: server/utilities/pagination].
///
/// The empty string is a cursor like any other; only an absent cursor asks for the first page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Paginated<'a> {
    /// Where to go on, as the previous page said.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cow<'a, str>>,
    /// Version, identity and capabilities.
    #[serde(borrow, rename = "_meta", default, deserialize_with = "crate::meta::object_only")]
    pub meta: RequestMeta<'a>,
}
