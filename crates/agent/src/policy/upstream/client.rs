//! One client as an upstream, for whoever brings its own connection: it connects when it is first asked. What such a
//! client asks is answered by its own handlers.

use std::collections::BTreeMap;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use serde_json::value::RawValue;
use switchboard_client::{
    Client, CompleteResult, CompletionReference, Connect, GetPromptResult, Prompt, ReadResourceResult,
    Resource, ResourceTemplate,
};
use switchboard_protocol::model::tool::Tool;
use tokio::time::timeout;

use super::{Asked, CallContext, Listing, Typed, Upstream, UpstreamError, exchange};
use crate::outcome::ToolOutcome;

/// A client, or what makes one.
///
/// Whoever comes first connects, and the others wait for it. Where the first gives up half-way, the next goes on.
pub(crate) struct ClientUpstream(Shared<BoxFuture<'static, Result<Client, UpstreamError>>>);

impl ClientUpstream {
    pub(crate) fn connected(client: Client) -> Self {
        Self(std::future::ready(Ok(client)).boxed().shared())
    }

    pub(crate) fn connecting(connect: Connect) -> Self {
        let connecting = connect.into_future();
        Self(async move { connecting.await.map_err(|error| UpstreamError::from(&error)) }.boxed().shared())
    }

    async fn client(&self) -> Result<Client, UpstreamError> {
        self.0.clone().await
    }
}

impl Upstream for ClientUpstream {
    fn list(&self) -> Asked<'_, Arc<Listing>> {
        Box::pin(async { Ok(Arc::new(exchange::list(&self.client().await?).await?)) })
    }

    fn list_again(&self) -> Asked<'_, Arc<Listing>> {
        Box::pin(async {
            let silent = |_| UpstreamError::new("it does not list its tools in time");
            timeout(super::LISTING, self.list()).await.map_err(silent)?
        })
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: &'a RawValue,
        context: CallContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let client = match self.client().await {
                Ok(client) => client,
                Err(error) => return exchange::unreachable(error),
            };
            match exchange::request(&client, (tool, arguments), &context).await {
                Ok(result) => ToolOutcome::Result(Box::new(result)),
                Err(error) => exchange::failed(&error),
            }
        })
    }

    fn resources(&self) -> Asked<'_, Arc<[Resource]>> {
        Box::pin(async { Ok(self.client().await?.resources().await?) })
    }

    fn resource_templates(&self) -> Asked<'_, Arc<[ResourceTemplate]>> {
        Box::pin(async { Ok(self.client().await?.resource_templates().await?) })
    }

    fn read_resource<'a>(&'a self, uri: &'a str, _: CallContext) -> Asked<'a, ReadResourceResult> {
        Box::pin(async move { Ok(self.client().await?.read(uri).await?) })
    }

    fn prompts(&self) -> Asked<'_, Arc<[Prompt]>> {
        Box::pin(async { Ok(self.client().await?.prompts().await?) })
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
        _: CallContext,
    ) -> Asked<'a, GetPromptResult> {
        Box::pin(async move { Ok(self.client().await?.prompt(name, arguments).await?) })
    }

    fn complete<'a>(&'a self, of: &'a CompletionReference, argument: Typed<'a>) -> Asked<'a, CompleteResult> {
        Box::pin(async move { Ok(exchange::complete(&self.client().await?, of, argument).await?) })
    }
}

impl fmt::Debug for ClientUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientUpstream").finish_non_exhaustive()
    }
}
