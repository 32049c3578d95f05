//! Typed rounds: the handler takes [`MultiRoundTrip`], returns [`Outcome`], and its state in between is a
//! type of its own.

use std::future::{Future, ready};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::to_raw_value;
use switchboard_protocol::ProtocolError;
use switchboard_protocol::model::elicitation::{ElicitAction, ElicitResult};
use switchboard_protocol::model::roots::{ListRootsResult, Root};
use switchboard_protocol::model::sampling::CreateMessageResult;

use super::questions::Questions;
use super::{Answers, state};
use crate::call::Call;
use crate::errors::ToolError;
use crate::extract::{FromCall, Rejection};
use crate::into_reply::{IntoReply, Kind};
use crate::needs::Needs;
use crate::reply::Reply;

/// What a handler with rounds returns.
#[derive(Clone, Debug)]
pub enum Outcome<S, T> {
    /// The client is asked; the request comes again with the answers and with this state, sealed. No
    /// questions at all: it comes again at once.
    InputRequired(S, Questions),
    /// The end.
    Complete(T),
}

/// Where a handler with rounds stands.
///
/// `S` is the author's state between rounds, an enum as a rule. It travels through the client, sealed and
/// bound to the caller, the request and a time; the handler need not distrust it.
#[derive(Clone, Debug)]
pub struct MultiRoundTrip<S> {
    /// What the round before left; `None` in the first round.
    pub state: Option<S>,
    answers: Arc<Answers>,
}

impl<S> MultiRoundTrip<S> {
    /// The answer to [`Elicitation::form`](crate::Elicitation::form) of the same type; `None` if the person
    /// declined, or was not asked yet.
    ///
    /// # Errors
    /// When the answer does not fit the type, which the form did not rule out.
    pub fn answer<T: DeserializeOwned + JsonSchema>(&self) -> Result<Option<T>, ToolError> {
        self.answer_at(&T::schema_name())
    }

    /// The answer to the form under this key.
    ///
    /// # Errors
    /// When the answer does not fit the type, which the form did not rule out.
    pub fn answer_at<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ToolError> {
        let Some(ElicitResult { action: ElicitAction::Accept, content }) = self.read(key) else {
            return Ok(None);
        };
        serde_json::from_value(Value::Object(content.unwrap_or_default()))
            .map(Some)
            .map_err(|error| ToolError::say(format!("The answer to {key} does not fit: {error}")))
    }

    /// What the person did with the question under this key; `None` if it was not asked.
    #[must_use]
    pub fn action(&self, key: &str) -> Option<ElicitAction> {
        self.read::<ElicitResult>(key).map(|answer| answer.action)
    }

    /// What the client's model said; `key` is `sampling` unless the question was renamed.
    #[must_use]
    pub fn sampled(&self, key: &str) -> Option<CreateMessageResult> {
        self.read(key)
    }

    /// The client's roots; `key` is `roots` unless the question was renamed.
    #[must_use]
    pub fn roots(&self, key: &str) -> Option<Vec<Root>> {
        self.read::<ListRootsResult>(key).map(|answer| answer.roots)
    }

    fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.answers.get(key)?.get()).ok()
    }
}

impl<A: Sync, S: DeserializeOwned + Send> FromCall<A> for MultiRoundTrip<S> {
    fn describe(needs: &mut Needs) {
        needs.rounds();
    }

    fn from_call(call: &Call, _state: &A) -> impl Future<Output = Result<Self, Rejection>> + Send {
        let round = call.round.as_deref().cloned().unwrap_or_default();
        let state = match &round.state {
            None => Ok(None),
            Some(text) => serde_json::from_str(text.get()).map(Some),
        };
        ready(match state {
            Ok(state) => Ok(Self { state, answers: round.answers }),
            // Sealed here, but by another version of the server.
            Err(error) => {
                tracing::warn!(%error, "a request state is of another version");
                Err(ProtocolError::invalid_params(state::REFUSED).into())
            }
        })
    }
}

impl<K: Kind, S: Serialize, T: IntoReply<K>> IntoReply<K> for Outcome<S, T> {
    fn describe(needs: &mut Needs) {
        needs.rounds();
        T::describe(needs);
    }

    fn into_reply(self, call: &Call) -> Reply {
        match self {
            Self::Complete(value) => value.into_reply(call),
            Self::InputRequired(state, questions) => match to_raw_value(&state) {
                Ok(state) => state::require(call, state, questions),
                Err(error) => Reply::failure(K::METHOD, ToolError::opaque(&error).into_text()),
            },
        }
    }
}
