//! What a server asks while one of its tools runs, and who answers.
//!
//! [`Questions`] is the seam between a connection, which may be shared by many sessions, and the session whose call
//! made the server ask. Where to look next: `supervisor` for how a question finds its call.

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use switchboard_client::{
    CreateMessage, CreateMessageResult, Elicit, ElicitAction, ElicitResult, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ListRootsResult, Refused,
};

use crate::name::{CallId, ServerName};

/// Answers what servers ask. No clock of a call runs while it does.
///
/// The call is the one that made the server ask, as far as that is known: a modern server asks within a call, and a
/// legacy one beside it.
pub trait Questions: Send + Sync {
    /// A form to fill in, or an address to visit. Never fetch the address.
    fn elicit<'a>(
        &'a self,
        server: &'a ServerName,
        call: Option<CallId>,
        asked: Elicit,
    ) -> BoxFuture<'a, ElicitResult>;

    /// A request to a language model. A refusal ends the call that made the server ask; whoever does not say otherwise
    /// refuses.
    fn sample<'a>(
        &'a self,
        _server: &'a ServerName,
        _call: Option<CallId>,
        _asked: CreateMessage,
    ) -> BoxFuture<'a, Result<CreateMessageResult, Refused>> {
        Box::pin(async { Err(Refused("nobody can allow it".to_owned())) })
    }

    /// The folders that the server may work in: none, for whoever does not say otherwise.
    fn roots<'a>(&'a self, _server: &'a ServerName) -> BoxFuture<'a, ListRootsResult> {
        Box::pin(async { ListRootsResult { roots: Vec::new() } })
    }

    /// A modern server has ended a round of a call with questions, which are put one after the other from now on. Its
    /// state is in `asked`: whoever keeps both can give the answers in another process. Must not block.
    fn input_required(&self, server: &ServerName, call: Option<CallId>, asked: &InputRequiredResult) {
        let _ = (server, call, asked);
    }

    /// The round of input that a call was in when an earlier process ended. The call then goes on with the answers to
    /// it, instead of being made anew. If it does not go on, because its tool or server is another one by now, there is
    /// none: what was asked and answered for the other counts for nothing.
    fn kept_round(&self, _call: CallId, _goes_on: bool) -> Option<InputRequiredResult> {
        None
    }
}

/// Answers the questions of a round one after the other: it is a person who answers them.
///
/// # Errors
/// When one is refused.
pub(crate) async fn answered(
    questions: &dyn Questions,
    (server, call): (&ServerName, CallId),
    asked: InputRequests,
) -> Result<InputResponses, Refused> {
    let mut answers = InputResponses::new();
    for (key, question) in asked {
        let answer = match question {
            InputRequest::Elicit(asked) => encode(&questions.elicit(server, Some(call), asked).await)?,
            InputRequest::CreateMessage(asked) => {
                encode(&questions.sample(server, Some(call), *asked).await?)?
            }
            InputRequest::ListRoots(_) => encode(&questions.roots(server).await)?,
        };
        answers.insert(key, answer);
    }
    Ok(answers)
}

fn encode(answer: &impl serde::Serialize) -> Result<Box<RawValue>, Refused> {
    serde_json::value::to_raw_value(answer).map_err(|error| Refused(error.to_string()))
}

/// Nobody is there: every question is declined.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAnswers;

impl Questions for NoAnswers {
    fn elicit<'a>(&'a self, _: &'a ServerName, _: Option<CallId>, _: Elicit) -> BoxFuture<'a, ElicitResult> {
        Box::pin(async { ElicitResult { action: ElicitAction::Decline, content: None } })
    }
}
