//! The MCP client as an upstream: connects when it is first asked, and keeps the kinds of failure apart.

use std::fmt;
use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use switchboard_client::{Client, Connect, Delivery, Error};
use switchboard_protocol::model::tool::Tool;
use tokio::sync::Mutex;

use super::{CallProgress, Listing, ProgressSink, Upstream, UpstreamError};
use crate::exposure::Declared;
use crate::identity::Identity;
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};

/// A client, or what makes one.
pub(crate) struct ClientUpstream(Mutex<State>);

enum State {
    Connected(Client),
    ExpectConnect(Box<Connect>),
    /// Connecting failed, or was given up half-way.
    Failed(Option<Error>),
}

impl ClientUpstream {
    pub(crate) fn connected(client: Client) -> Self {
        Self(Mutex::new(State::Connected(client)))
    }

    pub(crate) fn connecting(connect: Connect) -> Self {
        Self(Mutex::new(State::ExpectConnect(Box::new(connect))))
    }

    /// The client. Whoever comes first connects; the others wait for it.
    async fn client(&self) -> Result<Client, UpstreamError> {
        let mut state = self.0.lock().await;
        if let State::ExpectConnect(_) = &*state
            && let State::ExpectConnect(connect) = std::mem::replace(&mut *state, State::Failed(None))
        {
            *state = match connect.into_future().await {
                Ok(client) => State::Connected(client),
                Err(error) => State::Failed(Some(error)),
            };
        }
        match &*state {
            State::Connected(client) => Ok(client.clone()),
            State::Failed(Some(error)) => Err(error.into()),
            State::Failed(None) | State::ExpectConnect(_) => {
                Err(UpstreamError { message: "connecting was given up".to_owned(), unauthorized: false })
            }
        }
    }
}

impl Upstream for ClientUpstream {
    fn list(&self) -> BoxFuture<'_, Result<Listing, UpstreamError>> {
        Box::pin(async {
            let client = self.client().await?;
            let tools = client.tools().await?;
            Ok(Listing {
                identity: Identity::of(&client),
                declared: Declared { tools: tools.to_vec(), invalid: client.excluded_tools().to_vec() },
            })
        })
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: &'a RawValue,
        progress: ProgressSink,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let client = match self.client().await {
                Ok(client) => client,
                Err(error) => {
                    let kind =
                        if error.unauthorized { FailureKind::Unauthorized } else { FailureKind::Transport };
                    return ToolOutcome::Failed(CallFailure::new(kind, error.message));
                }
            };
            let request = client.call(tool.name.as_str(), arguments).on_progress(move |said| {
                let (done, total, message) = (said.progress, said.total, said.message.clone());
                progress(CallProgress { done, total, message });
            });
            match request.await {
                Ok(result) => ToolOutcome::Result(Box::new(result)),
                Err(error) => ToolOutcome::Failed(failure(&error)),
            }
        })
    }
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
fn said_by(error: &Error) -> String {
    match error.next_action() {
        Some(next) => format!("{}; {next}", error.cause()),
        None => error.cause().to_owned(),
    }
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

/// Whether the tool needs a person's answer, and the client could not take the question to anybody.
fn asks_the_person(error: &Error) -> bool {
    error.required_capabilities().is_some_and(|required| required.elicitation.is_some())
}

impl fmt::Debug for ClientUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientUpstream").finish_non_exhaustive()
    }
}
