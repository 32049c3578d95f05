//! Parameters of a request as they are sent: the members of the method, the answers of an input
//! round, and `_meta`.
//!
//! Members are JSON text from the moment they are given: a request that is repeated (another
//! revision, another round, another try) is written again from the same text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use switchboard_protocol::meta::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION, is_valid_key,
};
use switchboard_protocol::model::input::InputResponses;
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::{Method, RequestId, Revision};

use crate::error::Error;

pub(crate) const META: &str = "_meta";
pub(crate) const PROGRESS_TOKEN: &str = "progressToken";

/// What is asked: a method, the members of its parameters, and the name in it that headers mirror.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Cow<'static, str>,
    pub(crate) known: Option<Method>,
    pub(crate) members: Vec<(Cow<'static, str>, Box<RawValue>)>,
    pub(crate) name: Option<String>,
    pub(crate) meta: Meta,
    /// The server is not told when nobody waits for the answer any more.
    pub(crate) unannounced: bool,
    /// It is sent as it was given, whatever the server declared in its handshake.
    #[cfg(feature = "legacy")]
    pub(crate) raw: bool,
}

/// The members of `_meta` that the caller gave.
pub(crate) type Meta = BTreeMap<String, Box<RawValue>>;

/// What one round of input gives back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Input {
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
}

impl Input {
    pub(crate) fn is_empty(&self) -> bool {
        self.responses.is_none() && self.state.is_none()
    }
}

/// What every request of a client says about it, serialised once.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) info: Option<Box<RawValue>>,
    pub(crate) capabilities: Box<RawValue>,
}

/// What differs from one sending to the next.
pub(crate) struct Sending<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) revision: Revision,
    pub(crate) log_level: Option<LoggingLevel>,
    /// The request's id, if it opts in to progress.
    pub(crate) progress: Option<&'a RequestId>,
    pub(crate) input: &'a Input,
}

impl Ask {
    pub(crate) fn new(method: Method) -> Self {
        Self {
            method: Cow::Borrowed(method.name()),
            known: Some(method),
            members: Vec::new(),
            name: None,
            meta: Meta::new(),
            unannounced: false,
            #[cfg(feature = "legacy")]
            raw: false,
        }
    }

    /// A request from JSON text, for a method that this client need not know.
    pub(crate) fn raw(method: String, params: Option<&RawValue>) -> Result<Self, Error> {
        let known = Method::from_name(&method);
        let text = params.map_or("{}", RawValue::get);
        let Ordered(members) = serde_json::from_str(text)
            .map_err(|error| Error::misuse(format!("the parameters are no JSON object: {error}")))?;
        let mut ask = Self {
            method: Cow::Owned(method),
            known,
            members,
            name: None,
            meta: Meta::new(),
            unannounced: false,
            #[cfg(feature = "legacy")]
            raw: true,
        };
        if let Some(place) = ask.members.iter().position(|(name, _)| name == META) {
            let (_, meta) = ask.members.remove(place);
            ask.meta = serde_json::from_str(meta.get())
                .map_err(|error| Error::misuse(format!("_meta is no JSON object: {error}")))?;
        }
        if let Some(mirrored) = known.and_then(Method::name_parameter) {
            ask.name = ask.member(mirrored).and_then(|raw| serde_json::from_str(raw.get()).ok());
        }
        Ok(ask)
    }

    /// Adds a member. What is `null` or does not serialise to anything is left out.
    pub(crate) fn with(
        mut self,
        name: &'static str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Self, Error> {
        let raw = serde_json::value::to_raw_value(value).map_err(|error| {
            Error::misuse(format!("{name} of {} cannot be written as JSON: {error}", self.method))
        })?;
        if raw.get() != "null" {
            self.members.push((Cow::Borrowed(name), raw));
        }
        Ok(self)
    }

    /// Adds a member that must be an object, or absent.
    pub(crate) fn with_object(
        self,
        name: &'static str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Self, Error> {
        let ask = self.with(name, value)?;
        match ask.member(name) {
            Some(raw) if !raw.get().starts_with('{') => {
                Err(Error::misuse(format!("the {name} of {} must be a JSON object", ask.method)))
            }
            _ => Ok(ask),
        }
    }

    /// Adds the member that headers mirror.
    pub(crate) fn named(mut self, member: &'static str, name: String) -> Result<Self, Error> {
        self = self.with(member, &name)?;
        self.name = Some(name);
        Ok(self)
    }

    pub(crate) fn member(&self, name: &str) -> Option<&RawValue> {
        self.members.iter().find(|(known, _)| known == name).map(|(_, raw)| &**raw)
    }

    pub(crate) fn with_meta(&mut self, key: String, value: &impl Serialize) -> Result<(), Error> {
        if !is_valid_key(&key) {
            return Err(Error::misuse(format!("{key:?} is no key for _meta"))
                .hint("use a name like com.example/trace"));
        }
        let raw = serde_json::value::to_raw_value(value)
            .map_err(|error| Error::misuse(format!("_meta {key:?} cannot be written as JSON: {error}")))?;
        self.meta.insert(key, raw);
        Ok(())
    }

    /// Whether repeating the request can change nothing on the server.
    pub(crate) fn is_read(&self) -> bool {
        self.known.is_some_and(|method| method != Method::CallTool)
    }

    /// The parameters as JSON.
    pub(crate) fn params<'a>(&'a self, sending: &'a Sending<'a>) -> impl Serialize + 'a {
        Params { ask: self, sending }
    }
}

struct Params<'a> {
    ask: &'a Ask,
    sending: &'a Sending<'a>,
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.ask.members {
            map.serialize_entry(&**name, &**value)?;
        }
        if let Some(responses) = &self.sending.input.responses {
            map.serialize_entry("inputResponses", responses)?;
        }
        if let Some(state) = &self.sending.input.state {
            map.serialize_entry("requestState", state)?;
        }
        map.serialize_entry(META, &MetaOf(self.sending, &self.ask.meta))?;
        map.end()
    }
}

struct MetaOf<'a>(&'a Sending<'a>, &'a Meta);

impl Serialize for MetaOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(sending, given) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(PROTOCOL_VERSION, sending.revision.date())?;
        if let Some(info) = &sending.identity.info {
            map.serialize_entry(CLIENT_INFO, &**info)?;
        }
        map.serialize_entry(CLIENT_CAPABILITIES, &*sending.identity.capabilities)?;
        if let Some(level) = sending.log_level {
            map.serialize_entry(LOG_LEVEL, &level)?;
        }
        if let Some(token) = sending.progress {
            map.serialize_entry(PROGRESS_TOKEN, token)?;
        }
        for (key, value) in *given {
            // The client's own members win: two of a kind would be read by chance.
            let ours = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES].contains(&key.as_str())
                || (key == LOG_LEVEL && sending.log_level.is_some())
                || key == PROGRESS_TOKEN;
            if !ours {
                map.serialize_entry(key, &**value)?;
            }
        }
        map.end()
    }
}

/// An object's members in their order.
struct Ordered(Vec<(Cow<'static, str>, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrderedVisitor;
        impl<'de> serde::de::Visitor<'de> for OrderedVisitor {
            type Value = Ordered;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, _>()? {
                    members.push((Cow::Owned(name), value));
                }
                Ok(Ordered(members))
            }
        }
        deserializer.deserialize_map(OrderedVisitor)
    }
}
