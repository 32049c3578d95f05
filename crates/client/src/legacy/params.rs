//! Parameters of a request as the legacy era has them: the members of the method, and `_meta` only where
//! somebody asked for it. Nothing of what modern requests say about the client.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use switchboard_protocol::era::legacy::Features;
use switchboard_protocol::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};
use switchboard_protocol::{Method, RequestId};

use crate::params::{Ask, META, PROGRESS_TOKEN};

/// What is serialised.
pub(super) struct Params<'a> {
    pub(super) ask: &'a Ask,
    /// The request's id, if it opts in to progress.
    pub(super) progress: Option<&'a RequestId>,
    pub(super) features: &'a Features,
}

impl Params<'_> {
    fn has(&self, member: &str) -> bool {
        let context = self.ask.known == Some(Method::Complete) && member == "context";
        !context || self.features.completion_context
    }
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.ask.members.iter().filter(|(name, _)| self.has(name)) {
            map.serialize_entry(&**name, &**value)?;
        }
        let meta = MetaOf(self);
        if !meta.is_empty() {
            map.serialize_entry(META, &meta)?;
        }
        map.end()
    }
}

struct MetaOf<'a>(&'a Params<'a>);

/// Keys that only the modern era has, and the one that is the transport's.
const NOT_SENT: [&str; 5] = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL, PROGRESS_TOKEN];

impl MetaOf<'_> {
    fn is_empty(&self) -> bool {
        self.0.progress.is_none() && self.given().next().is_none()
    }

    fn given(&self) -> impl Iterator<Item = (&String, &Box<serde_json::value::RawValue>)> {
        self.0.ask.meta.iter().filter(|(key, _)| !NOT_SENT.contains(&key.as_str()))
    }
}

impl Serialize for MetaOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(token) = self.0.progress {
            map.serialize_entry(PROGRESS_TOKEN, token)?;
        }
        for (key, value) in self.given() {
            map.serialize_entry(key, &**value)?;
        }
        map.end()
    }
}
