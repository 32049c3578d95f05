//! `Elicited<Q>`: a question that is asked before the handler is entered.
//!
//! Nothing runs twice: the question decides from the call and the state whether it is needed, all missing
//! questions of a call go out in one round, and the handler starts once every answer is in.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_protocol::model::elicitation::{ElicitAction, ElicitResult};

use super::answer;
use super::questions::{Elicitation, Questions};
use crate::call::Call;
use crate::errors::ToolError;
use crate::extract::{FromCall, Rejection};
use crate::needs::Needs;
use crate::schema::{Form, form_of};

/// What a question finds out about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need<Q> {
    /// The person has to be asked, with this message.
    Ask(String),
    /// It is known already.
    Have(Q),
}

/// A question as the type of its answer: a form with the fields of the type.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use switchboard_server::{Call, Elicited, Need, Question, ToolError};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Confirm {
///     /// Delete it for good?
///     ok: bool,
/// }
///
/// impl<S: Sync> Question<S> for Confirm {
///     async fn need(_call: &Call, _state: &S) -> Result<Need<Self>, ToolError> {
///         Ok(Need::Ask("This cannot be undone.".into()))
///     }
/// }
///
/// async fn delete(Elicited(confirm): Elicited<Confirm>) -> String {
///     if confirm.ok { "deleted".into() } else { "kept".into() }
/// }
/// ```
pub trait Question<S>: DeserializeOwned + JsonSchema + Send {
    /// Decides whether the person has to be asked.
    fn need(call: &Call, state: &S) -> impl Future<Output = Result<Need<Self>, ToolError>> + Send;

    /// Identifies the question within the call: the name of the type, unless said otherwise.
    #[must_use]
    fn key() -> String {
        Self::schema_name().into_owned()
    }

    /// What stands for the answer of a person who declines; `None` fails the call.
    #[must_use]
    fn declined() -> Option<Self> {
        None
    }

    /// The form that is shown.
    #[must_use]
    fn form(message: String) -> Questions {
        Elicitation::form::<Self>(message).key(Self::key())
    }

    /// Reads an accepted answer; `None` if it does not fit.
    #[must_use]
    fn read(content: Value) -> Option<Self> {
        let fits = form_of::<Self>()
            .is_ok_and(|form| content.as_object().is_some_and(|fields| Form(&form).check(fields).is_ok()));
        if fits { serde_json::from_value(content).ok() } else { None }
    }
}

/// A question to which declining is an answer, too: `None`.
impl<S: Sync, Q: Question<S>> Question<S> for Option<Q> {
    async fn need(call: &Call, state: &S) -> Result<Need<Self>, ToolError> {
        Ok(match Q::need(call, state).await? {
            Need::Ask(message) => Need::Ask(message),
            Need::Have(value) => Need::Have(Some(value)),
        })
    }

    fn key() -> String {
        Q::key()
    }

    fn declined() -> Option<Self> {
        Some(None)
    }

    fn form(message: String) -> Questions {
        Q::form(message)
    }

    fn read(content: Value) -> Option<Self> {
        Q::read(content).map(Some)
    }
}

/// The answer to a question. A person who declines fails the call; with `Elicited<Option<Q>>` that is for
/// the handler to decide.
#[derive(Clone, Copy, Debug)]
pub struct Elicited<Q>(pub Q);

impl<S: Sync, Q: Question<S>> FromCall<S> for Elicited<Q> {
    fn describe(needs: &mut Needs) {
        needs.rounds();
        needs.elicited(Q::key());
        if let Err(problem) = Q::form(String::new()).into_requests() {
            needs.problem(problem);
        }
    }

    async fn from_call(call: &Call, state: &S) -> Result<Self, Rejection> {
        let key = Q::key();
        if let Some(answer) = given(call, &key) {
            match answer.action {
                ElicitAction::Accept => {
                    let content = Value::Object(answer.content.unwrap_or_default());
                    // One that does not fit any more, after a change of the type, is asked for again.
                    if let Some(value) = Q::read(content) {
                        return Ok(Self(value));
                    }
                }
                ElicitAction::Decline | ElicitAction::Cancel => {
                    let declined = Q::declined().map(Self);
                    return declined.ok_or_else(|| ToolError::say("the user declined").into());
                }
            }
        }
        match Q::need(call, state).await? {
            Need::Have(value) => Ok(Self(value)),
            Need::Ask(message) => Err(Rejection::Ask(Q::form(message))),
        }
    }
}

/// The answer to a question of this key: out of the sealed round, or straight from the request. The
/// question is the same whenever it is made, so that an answer to it needs no state.
fn given(call: &Call, key: &str) -> Option<ElicitResult> {
    let sealed = call.round.as_ref().and_then(|round| round.answers.get(key));
    if let Some(answer) = sealed {
        return answer::read(answer).ok();
    }
    if call.round.is_some() {
        return None;
    }
    let responses = call.target()?.input_responses.as_ref()?;
    let responses: std::collections::BTreeMap<String, &RawValue> = serde_json::from_slice(responses).ok()?;
    answer::read(responses.get(key)?).ok()
}
