//! What servers have, for whoever wants to see it outside of a run: tools as a model would get them, pins, prompts,
//! resources. All of it goes through the gate, as in a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use serde::{Deserialize, Serialize};
use switchboard_client::{Completion, CompletionReference, GetPromptResult, Prompt, Resource};

use super::{Host, ModelChoice};
use crate::agent::Agent;
use crate::error::{AgentError, ErrorKind};
use crate::exposure::Exposure;
use crate::name::ServerName;
use crate::policy::{Gate, PinState, Typed, UpstreamError};
use crate::router::Router;
use crate::store::StoreError;
use crate::visible;

/// How long all servers together are waited for where the rest is of use without them.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most resources that are found at once.
const MOST_RESOURCES: usize = 200;

/// A prompt, and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerPrompt {
    /// Whose.
    pub server: ServerName,
    /// What the server says of it.
    #[serde(flatten)]
    pub prompt: Prompt,
}

/// A resource, and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerResource {
    /// Whose.
    pub server: ServerName,
    /// What the server says of it. The `uri` of a family of resources is a template.
    #[serde(flatten)]
    pub resource: Resource,
    /// Whether its `uri` is a template to be filled in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub template: bool,
}

/// An argument that somebody is typing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentToComplete {
    /// Of which prompt or template.
    pub reference: CompletionReference,
    /// Its name.
    pub argument: String,
    /// What was typed so far.
    pub value: String,
    /// The arguments that are filled in.
    #[serde(default)]
    pub context: BTreeMap<String, String>,
}

impl Host {
    /// The model of this name, or the one to take where none is named. What tools cost is said for the latter.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be used.
    pub async fn select_model(&self, name: Option<&str>) -> Result<ModelChoice, AgentError> {
        let choice = self.models().select(name).await?;
        if let (None, Some(supervisor)) = (name, self.supervisor()) {
            supervisor.measure_for(choice.dialect);
        }
        Ok(choice)
    }

    /// The tools of all servers as the next run would get them, for the model of this name.
    ///
    /// # Errors
    /// When there is no such model, or the tools cannot be offered.
    pub async fn exposure(&self, model: Option<&str>) -> Result<Arc<Exposure>, AgentError> {
        let dialect = self.select_model(model).await?.dialect;
        let agent = self.browser(|builder| builder.offered(dialect, Vec::new()))?;
        agent.tools().await
    }

    /// How each tool of a server stands to what was agreed to.
    ///
    /// # Errors
    /// When there is no such server, it cannot be reached, or the disk cannot be read.
    pub async fn pin_states(&self, server: &ServerName) -> Result<Vec<(String, PinState)>, AgentError> {
        self.listed(server).await?;
        let (pins, server) = (self.pins().clone(), server.clone());
        on_disk(move || pins.states(&server)).await
    }

    /// Agrees to a tool as it is now, or to all of a server. Gives the names of those that were not agreed to before.
    ///
    /// # Errors
    /// When there is no such server or tool, it cannot be reached, or the disk does not work.
    pub async fn accept_pins(
        &self,
        server: &ServerName,
        tool: Option<&str>,
    ) -> Result<Vec<String>, AgentError> {
        let states = self.pin_states(server).await?;
        if let Some(tool) = tool
            && states.iter().all(|(name, _)| name != tool)
        {
            let message = format!("{server} has no tool {}", visible::quoted(tool, 100));
            return Err(AgentError::new(ErrorKind::NotFound, message).at(server));
        }
        let wanted =
            |(name, state): &(String, PinState)| !state.is_same() && tool.is_none_or(|tool| tool == name);
        let wanted: Vec<_> = states.into_iter().filter(wanted).map(|(name, _)| name).collect();
        let (pins, server) = (self.pins().clone(), server.clone());
        on_disk(move || {
            let accepted = pins.accept_all(&server, wanted.iter().map(String::as_str))?;
            Ok(accepted.into_iter().map(str::to_owned).collect())
        })
        .await
    }

    /// The prompts of all servers that answer soon.
    ///
    /// # Errors
    /// When the host's servers cannot be used at all.
    pub async fn prompts(&self) -> Result<Vec<ServerPrompt>, AgentError> {
        let agent = self.browser(|builder| builder)?;
        let asked = all(agent.gate(), |gate, server| {
            Box::pin(async move {
                let prompts = gate.prompts(server).await?;
                let own = |prompt: &Prompt| ServerPrompt { server: server.clone(), prompt: prompt.clone() };
                Ok(prompts.iter().map(own).collect())
            })
        });
        Ok(asked.await)
    }

    /// What a prompt says, filled in.
    ///
    /// # Errors
    /// When there is no such server, or it does not give the prompt.
    pub async fn prompt(
        &self,
        server: &ServerName,
        (name, arguments): (&str, &BTreeMap<String, String>),
    ) -> Result<GetPromptResult, AgentError> {
        let agent = self.asking(server)?;
        agent.gate().prompt(server, (name, arguments)).await.map_err(|error| failed(server, error))
    }

    /// The resources of all servers that answer soon and in whose name, title or address `query` stands, at most 200.
    ///
    /// # Errors
    /// When the host's servers cannot be used at all.
    pub async fn resources(&self, query: &str) -> Result<Vec<ServerResource>, AgentError> {
        let agent = self.browser(|builder| builder)?;
        let mut found = all(agent.gate(), |gate, server| Box::pin(resources(gate, server))).await;
        let query = query.to_lowercase();
        found.retain(|ServerResource { server, resource, .. }| {
            let title = resource.title.as_deref().unwrap_or_default();
            let own = [server.as_str(), &resource.name, title, &resource.uri];
            let mention = format!("{server}:{}", resource.uri).to_lowercase();
            own.iter().any(|text| text.to_lowercase().contains(&query)) || mention.starts_with(&query)
        });
        found.truncate(MOST_RESOURCES);
        Ok(found)
    }

    /// What an argument could be.
    ///
    /// # Errors
    /// When there is no such server, or it cannot say.
    pub async fn complete(
        &self,
        server: &ServerName,
        argument: &ArgumentToComplete,
    ) -> Result<Completion, AgentError> {
        let agent = self.asking(server)?;
        let ArgumentToComplete { reference, argument, value, context } = argument;
        let typed = Typed { name: argument, text: value, others: context };
        let result = agent.gate().complete(server, (reference, typed)).await;
        Ok(result.map_err(|error| failed(server, error))?.completion)
    }

    /// An agent that never runs: it has the gate.
    fn browser(
        &self,
        with: impl FnOnce(crate::AgentBuilder) -> crate::AgentBuilder,
    ) -> Result<Agent, AgentError> {
        let builder = Agent::builder(Router::new())
            .store(Arc::clone(self.store()))
            .pins(self.pins().clone())
            .policy(self.policy().clone())
            .without_servers(true);
        self.servers().introduce(with(builder), None)?.build()
    }

    /// As [`browser`](Self::browser), for one server that must be there.
    fn asking(&self, server: &ServerName) -> Result<Agent, AgentError> {
        let agent = self.browser(|builder| builder)?;
        if agent.gate().servers().all(|known| known != server) {
            let message = format!("there is no server {server}, or it is switched off");
            return Err(AgentError::new(ErrorKind::NotFound, message));
        }
        Ok(agent)
    }

    /// Has a server list its tools, so that what it says now counts.
    async fn listed(&self, server: &ServerName) -> Result<(), AgentError> {
        let listing = self.asking(server)?.gate().list(server).await;
        listing.map(drop).map_err(|error| failed(server, error))
    }
}

/// Does what reads or writes the disk, where it holds nobody up.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, AgentError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.unwrap_or_else(|error| Err(StoreError::new(error.to_string())))?)
}

/// What each server gives, in the order of their names. Who does not offer it, or does not answer soon, gives nothing.
async fn all<T>(
    gate: &Gate,
    ask: impl for<'a> Fn(&'a Gate, &'a ServerName) -> BoxFuture<'a, Result<Vec<T>, UpstreamError>>,
) -> Vec<T> {
    let asked = gate.servers().map(|server| tokio::time::timeout(PATIENCE, ask(gate, server)));
    let answers = join_all(asked).await;
    answers.into_iter().filter_map(|answer| answer.ok()?.ok()).flatten().collect()
}

async fn resources(gate: &Gate, server: &ServerName) -> Result<Vec<ServerResource>, UpstreamError> {
    let (listed, templates) = futures_util::join!(gate.resources(server), gate.resource_templates(server));
    let own = |resource: &Resource| ServerResource {
        server: server.clone(),
        resource: resource.clone(),
        template: false,
    };
    let mut all: Vec<_> = listed?.iter().map(own).collect();
    for template in templates.iter().flat_map(|templates| templates.iter()).cloned() {
        let resource = Resource {
            uri: template.uri_template,
            name: template.name,
            title: template.title,
            description: template.description,
            mime_type: template.mime_type,
            ..Resource::default()
        };
        all.push(ServerResource { server: server.clone(), resource, template: true });
    }
    Ok(all)
}

fn failed(server: &ServerName, error: UpstreamError) -> AgentError {
    let kind = if error.unauthorized { ErrorKind::LoginNeeded } else { ErrorKind::ServerUnreachable };
    AgentError::new(kind, error.message).at(server)
}

#[cfg(test)]
mod tests;
