//! Calls and other requests on a client, with the kinds of failure kept apart.

use std::sync::Arc;

use serde_json::value::RawValue;
use switchboard_client::{
    CallToolResult, Client, CompleteResult, CompletionContext, CompletionReference, Delivery, Error, Request,
};
use switchboard_protocol::model::tool::Tool;

use super::{CallContext, CallProgress, GivenInput, Listing, ProgressSink, Typed, UpstreamError};
use crate::identity::Identity;
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};

/// The tools that a server declares, and what it is.
pub(crate) async fn list(client: &Client) -> Result<Listing, Error> {
    let tools = client.tools().await?;
    Ok(Listing::new(Identity::of(client), tools, client.excluded_tools()))
}

/// One call of a tool.
pub(crate) fn request(
    client: &Client,
    (tool, arguments): (&Tool, &RawValue),
    context: &CallContext,
) -> Request<CallToolResult> {
    let mut request = client.call(tool.name.as_str(), arguments);
    if let Some(progress) = &context.progress {
        request = request.on_progress(hear(Arc::clone(progress)));
    }
    match context.input.clone() {
        Some(GivenInput { responses, request_state }) => request.with_input(responses, request_state),
        None => request,
    }
}

fn hear(progress: ProgressSink) -> impl Fn(&switchboard_client::Progress) + Send + Sync + 'static {
    move |said| {
        let (done, total, message) = (said.progress, said.total, said.message.clone());
        progress(CallProgress { done, total, message });
    }
}

/// Values for an argument.
pub(crate) async fn complete(
    client: &Client,
    of: &CompletionReference,
    argument: Typed<'_>,
) -> Result<CompleteResult, Error> {
    let others = argument.others.clone();
    let context = (!others.is_empty()).then_some(CompletionContext { arguments: Some(others) });
    client.complete(of, argument.name, argument.text, context.as_ref()).await
}

impl From<&Error> for UpstreamError {
    fn from(error: &Error) -> Self {
        Self { message: said_by(error), unauthorized: error.is_unauthorized() }
    }
}

impl From<Error> for UpstreamError {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

/// The cause and the next action. Whoever shows it names the server.
pub(crate) fn said_by(error: &Error) -> String {
    match error.next_action() {
        Some(next) => format!("{}; {next}", error.cause()),
        None => error.cause().to_owned(),
    }
}

/// What a failed request is to the run that made it.
pub(crate) fn failed(error: &Error) -> ToolOutcome {
    ToolOutcome::Failed(failure(error))
}

fn failure(error: &Error) -> CallFailure {
    let (kind, message) = match (error.code(), error.protocol_message()) {
        _ if asks_the_person(error) => (FailureKind::InputNeeded, error.cause().to_owned()),
        (Some(code), said) => (FailureKind::Protocol { code: code.0 }, said.unwrap_or_default().to_owned()),
        (None, _) if error.is_unauthorized() => (FailureKind::Unauthorized, said_by(error)),
        (None, _) if error.is_timeout() => (FailureKind::timeout(None), said_by(error)),
        (None, _) if error.is_limit() => (FailureKind::Limit, error.cause().to_owned()),
        (None, _) if error.is_cancelled() => (FailureKind::Interrupted, said_by(error)),
        (None, _) if error.is_server_fault() => (FailureKind::Malformed, said_by(error)),
        (None, _) => (FailureKind::Transport, said_by(error)),
    };
    CallFailure::new(kind, message).maybe_executed(error.delivery() == Delivery::MaybeExecuted)
}

/// Why a call was not made: its tool is not the one that the call was allowed for.
pub(crate) fn changed() -> ToolOutcome {
    let message = "the server changed the definition of the tool while the call waited to be made";
    ToolOutcome::Failed(CallFailure::new(FailureKind::Changed, message))
}

/// Why a call was not made: there is no connection.
pub(crate) fn unreachable(error: UpstreamError) -> ToolOutcome {
    let kind = if error.unauthorized { FailureKind::Unauthorized } else { FailureKind::Transport };
    ToolOutcome::Failed(CallFailure::new(kind, error.message))
}

/// Whether the tool needs a person's answer, and the client could not take the question to anybody.
fn asks_the_person(error: &Error) -> bool {
    error.required_capabilities().is_some_and(|required| required.elicitation.is_some())
}
