//! Input rounds: what a server asks, and what the client answers [spec: basic/patterns/mrtr].

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use super::elicitation::{Elicit, ElicitResult};
use super::result::{ResultError, ResultType};
use super::roots::{ListRoots, ListRootsResult};
use super::sampling::{CreateMessage, CreateMessageResult};
use crate::meta::MetaObject;

/// A question, by the method that it has on the wire.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "method", content = "params")]
pub enum InputRequest {
    /// Ask the person.
    #[serde(rename = "elicitation/create")]
    Elicit(Elicit),
    /// Ask a language model.
    #[serde(rename = "sampling/createMessage")]
    CreateMessage(Box<CreateMessage>),
    /// List the roots.
    #[serde(rename = "roots/list")]
    ListRoots(ListRoots),
}

// Not derived: serde's adjacently tagged form refuses an absent `params`, which `roots/list` may have.
impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            method: String,
            #[serde(default)]
            params: Option<Box<RawValue>>,
        }
        fn params<T: de::DeserializeOwned, E: de::Error>(raw: Option<&RawValue>) -> Result<T, E> {
            serde_json::from_str(raw.map_or("{}", RawValue::get)).map_err(E::custom)
        }
        let wire = Wire::deserialize(deserializer)?;
        let raw = wire.params.as_deref();
        Ok(match wire.method.as_str() {
            "elicitation/create" => Self::Elicit(params(raw)?),
            "sampling/createMessage" => Self::CreateMessage(params(raw)?),
            "roots/list" => Self::ListRoots(params(raw)?),
            other => {
                let known = &["elicitation/create", "sampling/createMessage", "roots/list"];
                return Err(de::Error::unknown_variant(other, known));
            }
        })
    }
}

/// The questions of one round, by keys that the server chose.
pub type InputRequests = BTreeMap<String, InputRequest>;

/// An answer to a question.
///
/// The specification's union of answers has no tag: an answer is read as what was asked.
#[derive(Clone, Debug, Serialize)]
// Serialised as the answer itself, since the union has no tag on the wire.
#[serde(untagged)]
pub enum InputResponse {
    /// What the person said.
    Elicit(ElicitResult),
    /// What the model said.
    CreateMessage(Box<CreateMessageResult>),
    /// The roots.
    ListRoots(ListRootsResult),
}

/// The answers of one round, each as text until its question says how to read it.
pub type InputResponses = BTreeMap<String, Box<RawValue>>;

/// The answer that is a question first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequiredResult {
    /// Always `input_required`.
    pub result_type: ResultType,
    /// What is asked. Absent: the request is to be repeated as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// To be given back unread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

impl InputRequiredResult {
    /// Questions, and what is to be given back with the answers.
    #[must_use]
    pub fn new(input_requests: Option<InputRequests>, request_state: Option<String>) -> Self {
        Self { result_type: ResultType::InputRequired, input_requests, request_state, meta: None }
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is malformed, or has neither questions nor a state.
    pub fn decode(raw: &RawValue) -> Result<Self, ResultError> {
        let result: Self = serde_json::from_str(raw.get()).map_err(ResultError::malformed)?;
        if result.input_requests.as_ref().is_none_or(BTreeMap::is_empty) && result.request_state.is_none() {
            return Err(ResultError::invalid(
                "The server asked for input but gave neither inputRequests nor requestState",
            ));
        }
        Ok(result)
    }
}
