//! `_meta`: the fields that every request carries, the grammar of its keys, and the map that
//! results and definitions may carry [spec: basic, `_meta`].

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::id::ProgressToken;
use crate::model::capability::{ClientCapabilities, Implementation};
use crate::model::notification::LoggingLevel;
use crate::trace::TraceContext;

/// Metadata of a result, a notification or a definition: any JSON under keys of the grammar that
/// [`is_valid_key`] checks.
pub type MetaObject = serde_json::Map<String, serde_json::Value>;

/// The key of the revision that a request is sent in.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of the client's name and version.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The key of what the client can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of the least severe log message that the client wants.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The key of the server's name and version.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The key that ties a notification to its `subscriptions/listen` request.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The `_meta` of a request, borrowed from its text or from what the client prepared once.
///
/// Identity and capabilities stay text until somebody asks: most handlers never do.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RequestMeta<'a> {
    /// The revision. Required; kept optional so that its absence is answered by name.
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/protocolVersion",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub protocol_version: Option<Cow<'a, str>>,
    /// Name and version of the client.
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/clientInfo",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub client_info: Option<&'a RawValue>,
    /// What the client can do. Required; kept optional so that its absence is answered by name.
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/clientCapabilities",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub client_capabilities: Option<&'a RawValue>,
    /// The least severe log message wanted; none at all if absent.
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/logLevel",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub log_level: Option<Cow<'a, str>>,
    /// Opts in to progress notifications.
    #[serde(rename = "progressToken", default, skip_serializing_if = "Option::is_none")]
    pub progress_token: Option<ProgressToken>,
    /// W3C trace context.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Cow<'a, str>>,
    /// W3C trace context.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<Cow<'a, str>>,
    /// W3C baggage.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub baggage: Option<Cow<'a, str>>,
}

/// What a request's `_meta` lacks or has wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaError {
    /// A required key is absent.
    #[error("Invalid params: _meta lacks the required key {0}")]
    Missing(&'static str),
    /// A key has a value of the wrong shape.
    #[error("Invalid params: _meta has no valid value under {key}: {reason}")]
    Malformed {
        /// Which key.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl RequestMeta<'_> {
    /// Checks what every modern request must carry, except whether the revision is spoken here.
    ///
    /// # Errors
    /// The first key that is absent or malformed.
    pub fn check(&self) -> Result<(), MetaError> {
        if self.protocol_version.is_none() {
            return Err(MetaError::Missing(PROTOCOL_VERSION));
        }
        let Some(capabilities) = self.client_capabilities else {
            return Err(MetaError::Missing(CLIENT_CAPABILITIES));
        };
        if capabilities.get() != "{}" {
            self.client_capabilities()?;
        }
        if self.client_info.is_some_and(|info| !info.get().starts_with('{')) {
            return Err(MetaError::Malformed { key: CLIENT_INFO, reason: "it must be an object".into() });
        }
        self.log_level().map(drop)
    }

    /// What the client can do; nothing if it did not say.
    ///
    /// # Errors
    /// When the value has the wrong shape.
    pub fn client_capabilities(&self) -> Result<ClientCapabilities, MetaError> {
        decode_raw(CLIENT_CAPABILITIES, self.client_capabilities).map(Option::unwrap_or_default)
    }

    /// Who the client says it is.
    ///
    /// # Errors
    /// When the value has the wrong shape.
    pub fn client_info(&self) -> Result<Option<Implementation>, MetaError> {
        decode_raw(CLIENT_INFO, self.client_info)
    }

    /// The least severe log message wanted.
    ///
    /// # Errors
    /// When the level is unknown.
    pub fn log_level(&self) -> Result<Option<LoggingLevel>, MetaError> {
        let Some(name) = self.log_level.as_deref() else { return Ok(None) };
        LoggingLevel::from_name(name).map(Some).ok_or_else(|| MetaError::Malformed {
            key: LOG_LEVEL,
            reason: format!("{name:?} is no log level"),
        })
    }

    /// The trace that this request belongs to; malformed values are dropped.
    #[must_use]
    pub fn trace_context(&self) -> TraceContext {
        TraceContext::parse(self.traceparent.as_deref(), self.tracestate.as_deref(), self.baggage.as_deref())
    }
}

fn decode_raw<T: serde::de::DeserializeOwned>(
    key: &'static str,
    raw: Option<&RawValue>,
) -> Result<Option<T>, MetaError> {
    let Some(raw) = raw else { return Ok(None) };
    if !raw.get().starts_with('{') {
        return Err(MetaError::Malformed { key, reason: "it must be an object".into() });
    }
    serde_json::from_str(raw.get())
        .map(Some)
        .map_err(|error| MetaError::Malformed { key, reason: error.to_string() })
}

/// Whether a `_meta` key (or an extension identifier, which needs a prefix) follows the grammar.
#[must_use]
pub fn is_valid_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(|prefix| prefix.split('.').all(is_valid_label)) && is_valid_name(name)
}

/// Whether the key's prefix belongs to the protocol: its second label is `modelcontextprotocol`
/// or `mcp`.
#[must_use]
pub fn is_reserved_key(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    matches!(prefix.split('.').nth(1), Some("modelcontextprotocol" | "mcp"))
}

fn is_valid_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn is_valid_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// Reads an object, and nothing else: a derived type would also take an array of its members in order,
/// which is no message of this protocol.
///
/// # Errors
/// When the value is no object, or its members do not fit.
pub fn object_only<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Members<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(members))
        }
    }
    deserializer.deserialize_map(Members(PhantomData))
}

/// As [`object_only`], where `null` stands for an absent object.
pub(crate) fn object_or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Maybe<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Maybe<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object or null")
        }

        fn visit_none<E: serde::de::Error>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
            object_only(deserializer).map(Some)
        }
    }
    deserializer.deserialize_option(Maybe(PhantomData))
}

/// Keeps a member that is present with the value `null` apart from one that is absent.
pub(crate) fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&'a RawValue>::deserialize(deserializer).map(Some)
}

/// Reads a member that may have any value: `null` is one, and only an absent member is `None` (with
/// `#[serde(default)]`).
///
/// # Errors
/// When the value is no JSON.
pub fn present_owned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::{MetaError, RequestMeta, is_reserved_key, is_valid_key};

    #[test]
    fn keys_follow_the_grammar() {
        for (key, valid, reserved) in [
            ("progressToken", true, false),
            ("io.modelcontextprotocol/protocolVersion", true, true),
            ("dev.mcp/", true, true),
            ("com.mcp.tools/x", true, true),
            ("com.example.mcp/x", true, false),
            ("com.example/a.b_c-d", true, false),
            ("", true, false),
            ("/x", false, false),
            ("1com/x", false, false),
            ("com-/x", false, false),
            ("com..example/x", false, false),
            ("com.example/-x", false, false),
            ("com.example/x.", false, false),
            ("a/b/c", false, false),
            ("é", false, false),
        ] {
            assert_eq!((is_valid_key(key), is_reserved_key(key)), (valid, reserved), "{key}");
        }
    }

    fn check_meta(text: &str, expected: Result<(), &str>) {
        let meta: RequestMeta<'_> = serde_json::from_str(text).unwrap();
        let got = meta.check().map_err(|error| match error {
            MetaError::Missing(key) | MetaError::Malformed { key, .. } => key.rsplit('/').next().unwrap(),
        });
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn a_modern_request_says_its_version_and_its_capabilities() {
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let key = r#""io.modelcontextprotocol/clientCapabilities""#;
        check_meta("{}", Err("protocolVersion"));
        check_meta(&format!("{{{version}}}"), Err("clientCapabilities"));
        check_meta(&format!("{{{version},{key}:{{}}}}"), Ok(()));
        check_meta(&format!("{{{version},{key}:{{\"x-unknown\":1}}}}"), Ok(()));
        check_meta(&format!("{{{version},{key}:{{\"elicitation\":true}}}}"), Err("clientCapabilities"));
        check_meta(
            &format!("{{{version},{key}:{{}},\"io.modelcontextprotocol/logLevel\":\"loud\"}}"),
            Err("logLevel"),
        );
    }
}
