//! A supervised server as the gate sees it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use switchboard_client::{
    Client, CompleteResult, CompletionReference, Delivery, Error, GetPromptResult, Prompt,
    ReadResourceResult, Request, Resource, ResourceTemplate, Rounds,
};
use switchboard_protocol::model::tool::Tool;
use tokio::sync::watch;

use super::config::ServerConfig;
use super::routing::Flight;
use super::server::{Lease, Server};
use crate::outcome::ToolOutcome;
use crate::policy::{Asked, CallContext, Listing, Slot, Typed, Upstream, UpstreamError, exchange};

/// One server under the name that somebody calls it by.
pub(super) struct Supervised {
    pub(super) config: Arc<ServerConfig>,
    pub(super) server: Arc<Server>,
}

/// Why a request has no answer: there was no connection, or it failed on one.
enum Failed {
    NoConnection(UpstreamError),
    /// The tool is another than the one that the call was allowed for.
    Changed,
    Request(Error),
}

impl From<Failed> for UpstreamError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::NoConnection(error) => error,
            Failed::Changed => Self::new("it has changed"),
            Failed::Request(error) => Self::from(error),
        }
    }
}

impl Supervised {
    /// Sends a request that belongs to a call. One that found its connection dead before it was sent is sent once more.
    async fn send<T: Rounds>(
        &self,
        what: String,
        context: &CallContext,
        request: impl Fn(&Client) -> Request<T> + Sync,
    ) -> Result<T, Failed> {
        let flight = Flight::new(&self.config.name, what, context);
        let mut again = true;
        loop {
            let lease = self.server.lease().await.map_err(Failed::NoConnection)?;
            if !self.is_allowed(context).await {
                return Err(Failed::Changed);
            }
            let router = &lease.live.router;
            let asked = hooked(request(&lease.live.client), &lease, &flight);
            match router.fly(Arc::clone(&flight), async { asked.await }).await {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    let unsent = error.is_unreachable() && error.delivery() == Delivery::NotSent;
                    self.report(&lease, &error);
                    drop(lease);
                    if !unsent || !std::mem::replace(&mut again, false) {
                        return Err(Failed::Request(error));
                    }
                }
            }
        }
    }

    /// Whether what is known of the tool by now is what the call was allowed for: the server may have been started for
    /// it, or again, or said meanwhile that its tools have changed.
    async fn is_allowed(&self, context: &CallContext) -> bool {
        let Some(allowed) = &context.allowed else { return true };
        let newest = self.server.newest().await;
        newest.is_none_or(|listing| allowed.is_in(&listing, &self.config.name))
    }

    /// Asks for something that belongs to no call.
    async fn ask<T, F>(&self, request: impl FnOnce(Client) -> F) -> Result<T, UpstreamError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let lease = self.server.lease().await?;
        let answer = request(lease.live.client.clone()).await;
        Ok(answer.inspect_err(|error| self.report(&lease, error))?)
    }

    fn report(&self, lease: &Lease, error: &Error) {
        if error.is_unreachable() {
            self.server.suspect(lease.generation);
        }
    }
}

/// The request, of which the router hears what it is called, and the caller what is asked.
fn hooked<T: Rounds>(request: Request<T>, lease: &Lease, flight: &Arc<Flight>) -> Request<T> {
    let (router, carried) = (Arc::clone(&lease.live.router), Arc::clone(flight));
    let asking = Arc::clone(flight);
    request.on_id(move |id| router.carries(&carried, id)).on_input(move |asked| {
        asking.questions.input_required(&asking.server, asking.call, asked);
    })
}

impl Upstream for Supervised {
    fn list(&self) -> Asked<'_, Arc<Listing>> {
        Box::pin(async {
            self.server.settle(self.is_required()).await;
            self.list_again().await
        })
    }

    fn list_again(&self) -> Asked<'_, Arc<Listing>> {
        Box::pin(async {
            self.server.freshen().await;
            self.server.listing()
        })
    }

    fn newest(&self) -> BoxFuture<'_, Option<Arc<Listing>>> {
        Box::pin(self.server.newest())
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.server.changes())
    }

    fn configuration_hash(&self) -> Option<String> {
        self.config.is_configured().then(|| self.config.hash.clone())
    }

    fn configuration_parts(&self) -> Vec<String> {
        self.config.parts()
    }

    fn is_required(&self) -> bool {
        self.config.required
    }

    fn has_slots(&self) -> bool {
        true
    }

    fn slot<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Slot> {
        Box::pin(self.server.slots.take(tool))
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: &'a RawValue,
        context: CallContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let what = match context.call {
                Some(call) => format!("{call} {}", crate::visible::name(&tool.name)),
                None => crate::visible::name(&tool.name),
            };
            let request = |client: &Client| exchange::request(client, (tool, arguments), &context);
            match self.send(what, &context, request).await {
                Ok(result) => ToolOutcome::Result(Box::new(result)),
                Err(Failed::NoConnection(error)) => exchange::unreachable(error),
                Err(Failed::Changed) => exchange::changed(),
                Err(Failed::Request(error)) => exchange::failed(&error),
            }
        })
    }

    fn resources(&self) -> Asked<'_, Arc<[Resource]>> {
        Box::pin(self.ask(|client| async move { client.resources().await }))
    }

    fn resource_templates(&self) -> Asked<'_, Arc<[ResourceTemplate]>> {
        Box::pin(self.ask(|client| async move { client.resource_templates().await }))
    }

    fn read_resource<'a>(&'a self, uri: &'a str, context: CallContext) -> Asked<'a, ReadResourceResult> {
        Box::pin(async move {
            let what = format!("reading {}", crate::visible::short(uri, 200));
            Ok(self.send(what, &context, |client| client.read(uri)).await?)
        })
    }

    fn prompts(&self) -> Asked<'_, Arc<[Prompt]>> {
        Box::pin(self.ask(|client| async move { client.prompts().await }))
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
        context: CallContext,
    ) -> Asked<'a, GetPromptResult> {
        Box::pin(async move {
            let what = format!("the prompt {}", crate::visible::name(name));
            Ok(self.send(what, &context, |client| client.prompt(name, arguments)).await?)
        })
    }

    fn complete<'a>(&'a self, of: &'a CompletionReference, argument: Typed<'a>) -> Asked<'a, CompleteResult> {
        Box::pin(self.ask(move |client| async move { exchange::complete(&client, of, argument).await }))
    }
}
