//! The request state: what is remembered between two rounds, sealed, in the client's hands.
//!
//! It is bound to the server's keys, the caller, the method, the target and the arguments, and expires.
//! Any failure to open it is one fixed answer; the reason goes to the log [spec: basic/patterns/mrtr,
//! Server Requirements].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_protocol::ProtocolError;
use switchboard_protocol::error::Origin;
use switchboard_protocol::meta::present_owned;
use switchboard_protocol::model::input::{InputRequests, InputRequiredResult};
use switchboard_protocol::seal::params_digest;

use super::questions::{Questions, missing_capabilities};
use super::{Answers, OpenRound, answer};
use crate::call::{Call, Target};
use crate::entry::{Bound, Core};
use crate::errors::Reference;
use crate::reply::{Reply, ReplyBody};
use crate::seal::Purpose;

/// The one answer to a state that is not good here.
pub(super) const REFUSED: &str =
    "The requestState is not valid for this request, or it has expired; send the request again without it";

/// What is sealed.
#[derive(Default, Serialize, Deserialize)]
struct Sealed {
    round: u32,
    /// The questions of the round, to hold the answers against and to ask again.
    #[serde(default, skip_serializing_if = "InputRequests::is_empty")]
    asked: InputRequests,
    #[serde(default, skip_serializing_if = "Answers::is_empty")]
    answers: Answers,
    /// The author's. A `null` is one, too: that of a unit, or of an absent option.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present_owned")]
    state: Option<Box<RawValue>>,
}

/// Opens the round that a call continues, if it does, and takes in the answers.
///
/// # Errors
/// The reply that ends the call here: the state is not good, or a question has to be asked again.
pub(crate) fn open(call: &mut Call, bound: &Bound) -> Result<(), Reply> {
    let Some(target) = call.target() else { return Ok(()) };
    let Some(token) = target.request_state.as_deref() else { return Ok(()) };
    let sealed = unseal(call, target, (bound, token)).map_err(|reason| {
        tracing::warn!(reason, method = call.method.name(), "a request state was refused");
        invalid(REFUSED)
    })?;
    let Sealed { round, mut asked, mut answers, state } = sealed;
    let given: Answers = match &target.input_responses {
        Some(text) => serde_json::from_slice(text)
            .map_err(|error| invalid(&format!("Invalid params: inputResponses: {error}")))?,
        None => Answers::new(),
    };
    // Whatever was not asked is ignored.
    for (key, given) in given {
        let Some(question) = asked.get(&key) else { continue };
        match answer::check(question, &given) {
            Ok(()) => {
                asked.remove(&key);
                answers.insert(key, given);
            }
            Err(reason) => tracing::debug!(key, reason, "an answer does not fit and is asked for again"),
        }
    }
    if !asked.is_empty() {
        return Err(reply(call, Sealed { round: round.saturating_add(1), asked, answers, state }));
    }
    call.round = Some(Box::new(OpenRound { answers: Arc::new(answers), state, round }));
    Ok(())
}

/// Asks before the handler is entered; the author's state stays as it is.
pub(crate) fn ask(call: &Call, questions: Questions) -> Reply {
    let open = call.round.as_deref().cloned().unwrap_or_default();
    let answers = Answers::clone(&open.answers);
    follow(call, questions, (open.round, answers, open.state))
}

/// Asks on behalf of the handler. Of the answers so far only those to `Elicited` questions are kept: the
/// handler has had the others.
pub(super) fn require(call: &Call, state: Box<RawValue>, questions: Questions) -> Reply {
    let open = call.round.as_deref().cloned().unwrap_or_default();
    let mut answers = Answers::clone(&open.answers);
    let elicited = call.bound.as_ref().map_or(&[][..], |bound| &bound.entry.elicited);
    answers.retain(|key, _| elicited.contains(key));
    follow(call, questions, (open.round, answers, Some(state)))
}

fn follow(
    call: &Call,
    questions: Questions,
    (round, mut answers, state): (u32, Answers, Option<Box<RawValue>>),
) -> Reply {
    match questions.into_requests() {
        Ok(asked) => {
            answers.retain(|key, _| !asked.contains_key(key));
            reply(call, Sealed { round: round.saturating_add(1), asked, answers, state })
        }
        Err(problem) => failure(call, &problem),
    }
}

fn reply(call: &Call, sealed: Sealed) -> Reply {
    let (Ok(bound), Some(target)) = (call.bound(), call.target()) else {
        return failure(call, "input rounds are only for tools, resources and prompts");
    };
    let Core { limits, seal, .. } = &*bound.core;
    if let Some(missing) = missing_capabilities(&sealed.asked, &call.meta.client_capabilities()) {
        return Reply::error(ProtocolError::missing_client_capability(&missing), Origin::Handler);
    }
    if sealed.round > limits.input_rounds {
        return invalid("The request went through too many input rounds; send it again from the start");
    }
    let text = match serde_json::to_vec(&sealed) {
        Ok(text) => text,
        Err(error) => return failure(call, &error.to_string()),
    };
    let token = match seal.seal(purpose(call, target), Some(limits.request_state_ttl), &text) {
        Ok(token) => token,
        Err(reason) => return failure(call, &format!("the request state cannot be sealed: {reason}")),
    };
    let asked = (!sealed.asked.is_empty()).then_some(sealed.asked);
    ReplyBody::InputRequired(InputRequiredResult::new(asked, Some(token))).into()
}

fn unseal(call: &Call, target: &Target, (bound, token): (&Bound, &str)) -> Result<Sealed, String> {
    let text = bound.core.seal.open(purpose(call, target), token)?;
    serde_json::from_slice(&text).map_err(|error| format!("sealed by another version: {error}"))
}

fn purpose<'a>(call: &'a Call, target: &Target) -> Purpose<'a> {
    let arguments = target.arguments.as_deref().and_then(|text| serde_json::from_slice(text).ok());
    Purpose {
        kind: "requestState",
        method: call.method,
        caller: Core::caller(&call.extensions),
        digest: params_digest(&target.name, arguments),
    }
}

fn invalid(text: &str) -> Reply {
    Reply::error(ProtocolError::invalid_params(text), Origin::Handler)
}

/// The author's mistake: the client gets a reference, the log the reason.
fn failure(call: &Call, reason: &str) -> Reply {
    let reference = Reference::new();
    tracing::error!(%reference, reason, method = call.method.name(), "a question could not be asked");
    reference.keep(&format_args!("a question could not be asked: {reason}"));
    Reply::failure(call.method, reference.sentence())
}
