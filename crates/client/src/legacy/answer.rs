//! The one task of a session: sends the answers to what the server asks, and asks people, one question
//! after the other.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::question;
use switchboard_protocol::error::{ErrorCode, ProtocolError};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::ears::{Ears, Question, Step, encode};
use super::session::Session;
use super::{Carrier, Over};
use crate::error::{Error, Kind};

/// How long one answer may take on its way.
const SEND_TIME: Duration = Duration::from_secs(60);

/// The code of a refusal by the person or by the application [spec: client/sampling, Error Handling].
const REFUSED: ErrorCode = ErrorCode(-1);

type Asking = Pin<Box<dyn Future<Output = Vec<u8>> + Send>>;

/// Starts the task. It does not keep the session alive, which ends it, whatever it is sending.
pub(super) fn spawn(session: &Arc<Session>) -> AbortHandle {
    let task = run(
        Arc::downgrade(&session.carrier),
        Arc::clone(&session.ears),
        session.revision,
        session.carrier.over(),
    );
    tokio::spawn(task).abort_handle()
}

async fn run(carrier: Weak<Carrier>, ears: Arc<Ears>, revision: Revision, mut over: Over) {
    let mut asking: Option<Asking> = None;
    loop {
        tokio::select! {
            biased;
            () = &mut over => break,
            step = ears.step() => match step {
                Step::Reply(reply) => send(&carrier, reply).await,
                Step::Ask(question) => {
                    asking = Some(Box::pin(answer(Arc::clone(&ears), question, revision)));
                }
                Step::Forget => asking = None,
                Step::End => break,
            },
            message = async { match &mut asking {
                Some(asking) => asking.await,
                None => std::future::pending().await,
            } } => {
                asking = None;
                if ears.asked() {
                    send(&carrier, message).await;
                }
            }
        }
    }
    ears.end();
}

/// Sends what is answered before the session is open: nobody is asked then, but a server may want to know
/// whether anybody is there. Comes back only if the session ends.
pub(super) async fn until_open(carrier: &Carrier, ears: &Ears) {
    while let Some(reply) = ears.next_reply().await {
        deliver(carrier, reply).await;
    }
}

async fn send(carrier: &Weak<Carrier>, message: Vec<u8>) {
    if let Some(carrier) = carrier.upgrade() {
        deliver(&carrier, message).await;
    }
}

async fn deliver(carrier: &Carrier, message: Vec<u8>) {
    match timeout(SEND_TIME, carrier.send(message)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "an answer to the server was not taken"),
        Err(_) => tracing::debug!("an answer to the server was not taken in time"),
    }
}

/// Asks whoever can answer, while no clock runs.
async fn answer(ears: Arc<Ears>, question: Question, revision: Revision) -> Vec<u8> {
    const KEY: &str = "asked";
    let Question { id, request, .. } = question;
    let _pause = ears.pauses.pause();
    let asked = BTreeMap::from([(KEY.to_owned(), request.clone())]);
    // One handler that panics must not end the task that answers everything else. Nothing of it is used again.
    let answered = AssertUnwindSafe(ears.inputs().answer(asked)).catch_unwind().await;
    let answered = match answered {
        Ok(answered) => answered.map_err(|error| refusal(&error)),
        Err(_) => Err(ProtocolError::internal("The client failed to answer")),
    };
    let outcome = answered.and_then(|mut answers| {
        let response = answers.remove(KEY).ok_or_else(|| ProtocolError::internal("Nothing was answered"))?;
        question::answer(&request, &response, revision).map_err(ProtocolError::internal)
    });
    encode(&id, outcome.as_ref().map(|result| result.get()).map_err(Clone::clone))
}

/// Why a question has no answer, as the server is told.
fn refusal(error: &Error) -> ProtocolError {
    let code = match error.kind() {
        Kind::Cancelled => REFUSED,
        // The question breaks a rule; nothing was asked of anybody.
        Kind::ServerFault => ErrorCode::INVALID_PARAMS,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    ProtocolError::new(code.0, error.cause())
}
