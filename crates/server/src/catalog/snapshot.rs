//! One generation of a catalog: what is there, how it is found, and what is said about all of it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use switchboard_protocol::model::capability::{
    ListCapability, ResourcesCapability, ServerCapabilities, Settings,
};
use switchboard_protocol::model::completion::CompletionReference;
use switchboard_protocol::model::subscription::SubscriptionFilter;
use switchboard_protocol::uri_template::Vars;
use switchboard_protocol::{Method, ProtocolError, Revision};

use super::bind::Exposed;
use super::lists::{List, tail};
use super::{Bindings, Changed, Facts};
use crate::build::BuildError;
use crate::bus::Change;
use crate::visible::Caller;

/// One generation.
pub(crate) struct Snapshot {
    bindings: Bindings,
    tools: HashMap<String, Arc<Exposed>>,
    resources: HashMap<String, Arc<Exposed>>,
    prompts: HashMap<String, Arc<Exposed>>,
    lists: [List; 4],
    capabilities: ServerCapabilities,
    discovery: Bytes,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |list: &[Arc<Exposed>]| list.iter().map(|item| item.name.clone()).collect::<Vec<_>>();
        f.debug_struct("Snapshot")
            .field("tools", &names(&self.bindings.tools))
            .field("resources", &names(&self.bindings.resources))
            .field("templates", &names(&self.bindings.templates))
            .field("prompts", &names(&self.bindings.prompts))
            .finish()
    }
}

/// A resource that was found, and the variables of its template.
pub(crate) struct Found<'a> {
    pub(crate) exposed: &'a Arc<Exposed>,
    pub(crate) vars: Vars,
}

impl Snapshot {
    pub(crate) fn new(facts: &Facts, bindings: Bindings, before: Option<&Self>) -> Result<Self, BuildError> {
        let list = |method, member, items: &[Arc<Exposed>]| {
            List::new((method, member), items, facts).map_err(BuildError::of)
        };
        let lists = [
            list(Method::ListTools, "tools", &bindings.tools)?,
            list(Method::ListResources, "resources", &bindings.resources)?,
            list(Method::ListResourceTemplates, "resourceTemplates", &bindings.templates)?,
            list(Method::ListPrompts, "prompts", &bindings.prompts)?,
        ];
        let capabilities = capabilities(&bindings, facts, before.map(|before| &before.capabilities));
        let discovery = discovery(&capabilities, facts).map_err(BuildError::of)?;
        Ok(Self {
            tools: index(&bindings.tools),
            resources: index(&bindings.resources),
            prompts: index(&bindings.prompts),
            bindings,
            lists,
            capabilities,
            discovery,
        })
    }

    pub(super) fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// What the server can do.
    #[cfg(feature = "legacy")]
    pub(crate) fn capabilities(&self) -> &ServerCapabilities {
        &self.capabilities
    }

    /// The result of `server/discover`.
    pub(crate) fn discovery(&self) -> Bytes {
        self.discovery.clone()
    }

    /// A page of one of the four lists.
    pub(crate) fn page(
        &self,
        method: Method,
        cursor: Option<&str>,
        (caller, facts): (&Caller<'_>, &Facts),
    ) -> Result<Bytes, ProtocolError> {
        let [tools, resources, templates, prompts] = &self.lists;
        let list = match method {
            Method::ListTools => tools,
            Method::ListResources => resources,
            Method::ListResourceTemplates => templates,
            Method::ListPrompts => prompts,
            _ => return Err(ProtocolError::method_not_found(method.name())),
        };
        list.page(cursor, (caller, facts))
    }

    /// Whether the server has what a method is about.
    pub(crate) fn serves(&self, method: Method) -> bool {
        match method {
            Method::ListTools | Method::CallTool => self.capabilities.tools.is_some(),
            Method::ListResources | Method::ListResourceTemplates | Method::ReadResource => {
                self.capabilities.resources.is_some()
            }
            Method::ListPrompts | Method::GetPrompt => self.capabilities.prompts.is_some(),
            Method::Complete => self.capabilities.completions.is_some(),
            Method::Discover | Method::SubscriptionsListen => true,
        }
    }

    pub(crate) fn tool(&self, name: &str, caller: &Caller<'_>) -> Option<&Arc<Exposed>> {
        self.tools.get(name).filter(|tool| tool.is_visible(caller))
    }

    pub(crate) fn prompt(&self, name: &str, caller: &Caller<'_>) -> Option<&Arc<Exposed>> {
        self.prompts.get(name).filter(|prompt| prompt.is_visible(caller))
    }

    /// The resource at a URI, among those that the caller sees: a fixed one wins over templates, an earlier
    /// template over a later one.
    pub(crate) fn resource(&self, uri: &str, caller: &Caller<'_>) -> Option<Found<'_>> {
        if let Some(exposed) = self.resources.get(uri).filter(|resource| resource.is_visible(caller)) {
            return Some(Found { exposed, vars: Vars::new() });
        }
        self.bindings.templates.iter().find_map(|exposed| {
            let vars = exposed.template.as_ref()?.matches(uri)?;
            exposed.is_visible(caller).then_some(Found { exposed, vars })
        })
    }

    /// What a completion is about, if the caller sees it.
    pub(crate) fn completed(
        &self,
        reference: &CompletionReference,
        caller: &Caller<'_>,
    ) -> Option<&Arc<Exposed>> {
        match reference {
            CompletionReference::Prompt { name, .. } => self.prompt(name, caller),
            CompletionReference::Resource { uri } => self.template(uri, caller),
        }
    }

    /// The template with this very text, or the resource with this URI, if the caller sees it.
    fn template(&self, text: &str, caller: &Caller<'_>) -> Option<&Arc<Exposed>> {
        let template = self.bindings.templates.iter().find(|exposed| exposed.name == text);
        let found = [template, self.resources.get(text)];
        found.into_iter().flatten().find(|exposed| exposed.is_visible(caller))
    }

    /// The part of a subscription that the server honours.
    pub(crate) fn grant(
        &self,
        wanted: SubscriptionFilter,
        (caller, most): (&Caller<'_>, usize),
    ) -> SubscriptionFilter {
        let announces = |wanted: Option<bool>, has: Option<bool>| {
            (wanted == Some(true) && has == Some(true)).then_some(true)
        };
        let Self { capabilities, .. } = self;
        let resources = capabilities.resources.as_ref();
        let watches = resources.is_some_and(|has| has.subscribe == Some(true));
        let uris = wanted.resource_subscriptions.filter(|_| watches).map(|mut uris| {
            uris.retain(|uri| self.resource(uri, caller).is_some());
            uris.truncate(most);
            // The filter lives as long as the subscription; what a client named beyond the limit must not.
            uris.shrink_to_fit();
            uris
        });
        SubscriptionFilter {
            tools_list_changed: announces(wanted.tools_list_changed, changes(capabilities.tools.as_ref())),
            prompts_list_changed: announces(
                wanted.prompts_list_changed,
                changes(capabilities.prompts.as_ref()),
            ),
            resources_list_changed: announces(
                wanted.resources_list_changed,
                resources.and_then(|has| has.list_changed),
            ),
            resource_subscriptions: uris,
        }
    }

    /// Which lists are not what they were.
    pub(super) fn changes_since(&self, before: &Self) -> Changed {
        let changed = |index: usize| self.lists[index].digest != before.lists[index].digest;
        [
            (changed(0), Change::Tools),
            (changed(1) || changed(2), Change::Resources),
            (changed(3), Change::Prompts),
        ]
    }
}

fn changes(capability: Option<&ListCapability>) -> Option<bool> {
    capability?.list_changed
}

fn index(items: &[Arc<Exposed>]) -> HashMap<String, Arc<Exposed>> {
    items.iter().map(|item| (item.name.clone(), Arc::clone(item))).collect()
}

/// What the server can do, from what it has. What it once had it keeps: a client that was told of tools
/// finds an empty list, not a method that is gone.
fn capabilities(
    bindings: &Bindings,
    facts: &Facts,
    before: Option<&ServerCapabilities>,
) -> ServerCapabilities {
    let had = before.cloned().unwrap_or_default();
    let list_changed = facts.announces.then_some(true);
    let list = |now: bool, had: Option<ListCapability>| {
        if now { Some(ListCapability { list_changed }) } else { had }
    };
    let has_resources = !bindings.resources.is_empty() || !bindings.templates.is_empty();
    let Bindings { tools, resources, templates, prompts } = bindings;
    let all = || tools.iter().chain(resources).chain(templates).chain(prompts);
    let settings = |now: bool, had: Option<Settings>| if now { Some(Settings::new()) } else { had };
    ServerCapabilities {
        tools: list(!tools.is_empty(), had.tools),
        prompts: list(!prompts.is_empty(), had.prompts),
        resources: if has_resources {
            Some(ResourcesCapability { subscribe: list_changed, list_changed })
        } else {
            had.resources
        },
        completions: settings(all().any(|item| !item.completers.is_empty()), had.completions),
        logging: settings(all().any(|item| item.logs), had.logging),
        ..ServerCapabilities::default()
    }
}

fn discovery(capabilities: &ServerCapabilities, facts: &Facts) -> Result<Bytes, String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovery<'a> {
        result_type: &'static str,
        supported_versions: Vec<&'static str>,
        capabilities: &'a ServerCapabilities,
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<&'a str>,
    }
    let discovery = Discovery {
        result_type: "complete",
        supported_versions: Revision::modern_dates(),
        capabilities,
        instructions: facts.instructions.as_deref(),
    };
    let mut text = serde_json::to_string(&discovery).map_err(|error| error.to_string())?;
    text.pop();
    text.push_str(&tail(facts));
    Ok(text.into())
}
