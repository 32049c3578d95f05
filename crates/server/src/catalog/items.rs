//! Items on their way into a catalog.

use std::collections::HashSet;
use std::sync::Arc;

use super::bind::{Exposed, Ground};
use crate::build::BuildError;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::tool::Tool;

/// Tools, resources and prompts whose handlers take their state from an `S`.
#[derive(Debug)]
#[must_use = "items do nothing until a server has them"]
pub struct Items<S = ()> {
    tools: Vec<Tool<S>>,
    resources: Vec<Resource<S>>,
    prompts: Vec<Prompt<S>>,
    /// What has its state already.
    bound: Vec<WithState>,
}

/// Items whose state was given, waiting for the server that they go into.
type Bind = Box<dyn FnOnce(&Ground<()>) -> Result<Bindings, BuildError> + Send>;

struct WithState(Bind);

impl std::fmt::Debug for WithState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WithState")
    }
}

impl<S> Default for Items<S> {
    fn default() -> Self {
        Self { tools: Vec::new(), resources: Vec::new(), prompts: Vec::new(), bound: Vec::new() }
    }
}

/// Something that can be exposed: a tool, a resource, a prompt.
pub trait Expose<S>: Sized {
    /// Puts it to the others.
    fn expose(self, items: &mut Items<S>);
}

impl<S> Expose<S> for Tool<S> {
    fn expose(self, items: &mut Items<S>) {
        items.tools.push(self);
    }
}

impl<S> Expose<S> for Resource<S> {
    fn expose(self, items: &mut Items<S>) {
        items.resources.push(self);
    }
}

impl<S> Expose<S> for Prompt<S> {
    fn expose(self, items: &mut Items<S>) {
        items.prompts.push(self);
    }
}

impl<S: Send + Sync + 'static> Items<S> {
    /// No items.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more.
    pub fn with(mut self, item: impl Expose<S>) -> Self {
        item.expose(&mut self);
        self
    }

    /// Gives the items their state, so that a catalog takes them.
    pub fn with_state(self, state: S) -> Items<()> {
        let bind: Bind = Box::new(move |ground| {
            self.bind(&Ground { terms: Arc::clone(&ground.terms), state: Arc::new(state) })
        });
        Items { bound: vec![WithState(bind)], ..Items::default() }
    }

    /// Checks the items and gives them their state and their server.
    pub(crate) fn bind(self, ground: &Ground<S>) -> Result<Bindings, BuildError> {
        let mut bindings = Bindings::default();
        let mut problems = Vec::new();
        let mut keep = |list: &mut Vec<Arc<Exposed>>, item: Result<Exposed, Vec<String>>| match item {
            Ok(item) => list.push(Arc::new(item)),
            Err(mut found) => problems.append(&mut found),
        };
        for tool in self.tools {
            keep(&mut bindings.tools, ground.tool(tool));
        }
        for resource in self.resources {
            let list = if resource.is_template { &mut bindings.templates } else { &mut bindings.resources };
            keep(list, ground.resource(resource));
        }
        for prompt in self.prompts {
            keep(&mut bindings.prompts, ground.prompt(prompt));
        }
        for WithState(bind) in self.bound {
            match bind(&ground.stateless()) {
                Ok(others) => bindings.append(others),
                Err(error) => problems.extend(error.into_problems()),
            }
        }
        problems.extend(bindings.duplicates());
        BuildError::unless_empty(problems).map(|()| bindings)
    }
}

/// Items that are checked and have all they need, each list in its order.
#[derive(Clone, Default)]
pub(crate) struct Bindings {
    pub(crate) tools: Vec<Arc<Exposed>>,
    pub(crate) resources: Vec<Arc<Exposed>>,
    pub(crate) templates: Vec<Arc<Exposed>>,
    pub(crate) prompts: Vec<Arc<Exposed>>,
}

impl Bindings {
    fn append(&mut self, mut others: Self) {
        self.tools.append(&mut others.tools);
        self.resources.append(&mut others.resources);
        self.templates.append(&mut others.templates);
        self.prompts.append(&mut others.prompts);
    }

    /// Takes the others in, each in the place of the one with its name.
    pub(crate) fn merge(&mut self, others: Self) {
        for (list, others) in [
            (&mut self.tools, others.tools),
            (&mut self.resources, others.resources),
            (&mut self.templates, others.templates),
            (&mut self.prompts, others.prompts),
        ] {
            for other in others {
                match list.iter_mut().find(|item| item.name == other.name) {
                    Some(item) => *item = other,
                    None => list.push(other),
                }
            }
        }
    }

    fn duplicates(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (kind, list) in [
            ("tool", &self.tools),
            ("resource", &self.resources),
            ("resource template", &self.templates),
            ("prompt", &self.prompts),
        ] {
            let mut seen = HashSet::new();
            for item in list.iter().filter(|item| !seen.insert(item.name.as_str())) {
                problems.push(format!("{kind} {:?}: there are two of this name; rename one", item.name));
            }
        }
        problems
    }
}
