//! The checks on the way into a catalog, and the form in which things are held there.
//!
//! Every check gives a sentence; all of them are collected, so that one start of the server reports all
//! that is wrong.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use switchboard_protocol::http::param_headers::ParamHeaders;
use switchboard_protocol::model;
use switchboard_protocol::model::prompt::PromptArgument;
use switchboard_protocol::model::tool::ToolAnnotations;
use switchboard_protocol::uri_template::UriTemplate;

use super::Terms;
use crate::entry::{Bound, Cache, Entry};
use crate::handler::{Erased, Run, with_state};
use crate::middleware::{CallService, stack};
use crate::needs::Needs;
use crate::output::OutputSchema;
use crate::prompt::Prompt;
use crate::resource::{Completer, Resource};
use crate::schema::{EnforcedSchema, Side, no_arguments};
use crate::tool::Tool;
use crate::visible::{Caller, Item, Predicate, all_agree};

/// One exposed thing.
pub(crate) struct Exposed {
    /// The name, the URI, or the template.
    pub(crate) name: String,
    /// The definition, as JSON text.
    pub(crate) definition: String,
    pub(crate) bound: Arc<Bound>,
    pub(crate) run: Arc<dyn Run>,
    /// The handler with its own middleware around it, if it has any.
    pub(crate) service: Option<CallService>,
    /// The arguments that are repeated as HTTP headers.
    pub(crate) headers: ParamHeaders,
    pub(crate) template: Option<UriTemplate>,
    /// The names that may be completed.
    pub(crate) arguments: Vec<String>,
    pub(crate) completers: Vec<(String, Arc<dyn Run>)>,
    /// Whether the handler may log.
    pub(crate) logs: bool,
    /// Who sees it: all of these must agree.
    pub(crate) visible: Vec<Predicate>,
    /// What predicates are shown, of the name.
    item: Naming,
}

/// From a name to what predicates are shown.
type Naming = for<'a> fn(&'a str) -> Item<'a>;

impl Exposed {
    /// Whether it is there for a caller.
    pub(crate) fn is_visible(&self, caller: &Caller<'_>) -> bool {
        self.visible.is_empty() || all_agree(&self.visible, caller, &(self.item)(&self.name))
    }
}

/// What things are bound to.
pub(crate) struct Ground<S> {
    pub(crate) terms: Arc<Terms>,
    pub(crate) state: Arc<S>,
}

/// Collects sentences about one thing.
struct Problems {
    about: String,
    found: Vec<String>,
}

impl Problems {
    fn about(kind: &str, name: &str) -> Self {
        Self { about: format!("{kind} {name:?}"), found: Vec::new() }
    }

    fn add(&mut self, what: impl std::fmt::Display) {
        self.found.push(format!("{}: {what}", self.about));
    }

    fn take<T>(&mut self, result: Result<T, impl std::fmt::Display>) -> Option<T> {
        result.map_err(|what| self.add(what)).ok()
    }

    fn text(&mut self, definition: &impl Serialize) -> String {
        self.take(serde_json::to_string(definition)).unwrap_or_default()
    }

    fn end(self, exposed: Exposed) -> Result<Exposed, Vec<String>> {
        if self.found.is_empty() { Ok(exposed) } else { Err(self.found) }
    }
}

impl<S: Send + Sync + 'static> Ground<S> {
    pub(crate) fn stateless(&self) -> Ground<()> {
        Ground { terms: Arc::clone(&self.terms), state: Arc::new(()) }
    }

    pub(crate) fn tool(&self, tool: Tool<S>) -> Result<Exposed, Vec<String>> {
        let mut problems = Problems::about("tool", &tool.name);
        if !is_tool_name(&tool.name) {
            problems.add("its name must have 1 to 128 characters of A-Z, a-z, 0-9, '_', '-' and '.'");
        }
        self.check(&mut problems, &tool.needs);
        if let Some(type_name) = tool.needs.variables {
            problems.add(format!("Vars<{type_name}> is for resource templates; a tool takes Args"));
        }
        let (published, schema) = input_of(&tool, &mut problems);
        let published = Value::Object(published);
        let headers = problems.take(ParamHeaders::from_schema(&published)).unwrap_or_default();
        let output = output_of(&tool, &mut problems);
        let generated = tool.needs.output.as_ref().map(|output| &output.published);
        let definition = ToolDefinition {
            name: &tool.name,
            title: tool.title.as_deref(),
            description: tool.description.as_deref(),
            input_schema: &published,
            output_schema: tool.output_schema.as_ref().or(generated),
            annotations: (tool.annotations != ToolAnnotations::default()).then_some(&tool.annotations),
            icons: tool.icons.as_deref(),
            meta: tool.meta.as_ref(),
        };
        let definition = problems.text(&definition);
        let visible = self.visible(&mut problems, &tool.visible);
        let entry = Entry {
            schema,
            output,
            timeout: tool.timeout,
            grace: tool.grace,
            spawned: tool.spawned,
            ..Entry::of(&tool.needs)
        };
        let run = with_state(tool.handler, &self.state);
        let service = stack(&run, tool.layers);
        problems.end(Exposed {
            headers,
            service,
            logs: tool.needs.context,
            visible,
            ..self.exposed((tool.name, definition), entry, (run, |name| Item::Tool(name)))
        })
    }

    pub(crate) fn resource(&self, resource: Resource<S>) -> Result<Exposed, Vec<String>> {
        let (kind, item): (_, Naming) = match resource.is_template {
            true => ("resource template", |name| Item::Template(name)),
            false => ("resource", |name| Item::Resource(name)),
        };
        let mut problems = Problems::about(kind, &resource.uri);
        self.check(&mut problems, &resource.needs);
        if resource.needs.arguments.is_some() {
            problems.add("a resource has no arguments; take the variables of a template as Vars");
        }
        let visible = self.visible(&mut problems, &resource.visible);
        if matches!(resource.cache, Cache::Public(_)) {
            for (of_caller, why) in [
                (!resource.needs.principals.is_empty(), "it depends on the principal"),
                (!visible.is_empty(), "not every caller sees it"),
            ] {
                if of_caller {
                    problems.add(format!("{why}, so it must not be cached publicly; use Cache::Private"));
                }
            }
        }
        let template = address(&resource, &mut problems);
        let arguments: Vec<String> = template.as_ref().map(variables).unwrap_or_default();
        let definition = problems.text(&resource_definition(&resource));
        let completers = self.completers(&mut problems, resource.completers, &arguments);
        let entry = Entry {
            mime: resource.mime,
            cache: resource.cache,
            timeout: resource.timeout,
            ..Entry::of(&resource.needs)
        };
        let run = with_state(resource.handler, &self.state);
        problems.end(Exposed {
            template,
            arguments,
            completers,
            logs: resource.needs.context,
            visible,
            ..self.exposed((resource.uri, definition), entry, (run, item))
        })
    }

    pub(crate) fn prompt(&self, prompt: Prompt<S>) -> Result<Exposed, Vec<String>> {
        let mut problems = Problems::about("prompt", &prompt.name);
        if prompt.name.is_empty() {
            problems.add("it needs a name");
        }
        self.check(&mut problems, &prompt.needs);
        if let Some(type_name) = prompt.needs.variables {
            problems.add(format!("Vars<{type_name}> is for resource templates; a prompt takes Args"));
        }
        let arguments = prompt.needs.arguments.as_ref().map(|arguments| &arguments.published);
        let listed = arguments.map(|schema| prompt_arguments(schema, &mut problems)).unwrap_or_default();
        let names: Vec<String> = listed.iter().map(|argument| argument.name.clone()).collect();
        let completers = self.completers(&mut problems, prompt.completers, &names);
        let strict = prompt.needs.arguments.as_ref().map(|arguments| arguments.strict.clone());
        let schema = strict.and_then(|strict| problems.take(EnforcedSchema::generated(Side::Input, strict)));
        let visible = self.visible(&mut problems, &prompt.visible);
        let definition = problems.text(&model::prompt::Prompt {
            name: prompt.name.clone(),
            title: prompt.title,
            description: prompt.description.clone(),
            arguments: (!listed.is_empty()).then_some(listed),
            icons: prompt.icons,
            meta: prompt.meta,
        });
        let entry = Entry {
            schema,
            description: prompt.description,
            timeout: prompt.timeout,
            ..Entry::of(&prompt.needs)
        };
        let run = with_state(prompt.handler, &self.state);
        problems.end(Exposed {
            arguments: names,
            completers,
            logs: prompt.needs.context,
            visible,
            ..self.exposed((prompt.name, definition), entry, (run, |name| Item::Prompt(name)))
        })
    }

    fn exposed(
        &self,
        (name, definition): (String, String),
        entry: Entry,
        (run, item): (Arc<dyn Run>, Naming),
    ) -> Exposed {
        Exposed {
            name,
            definition,
            bound: Arc::new(Bound { core: Arc::clone(&self.terms.core), entry }),
            run,
            service: None,
            headers: ParamHeaders::default(),
            template: None,
            arguments: Vec::new(),
            completers: Vec::new(),
            logs: false,
            visible: Vec::new(),
            item,
        }
    }

    /// The predicates of an item: its own and everybody's.
    fn visible(&self, problems: &mut Problems, own: &[Predicate]) -> Vec<Predicate> {
        if !own.is_empty() && matches!(self.terms.list_cache, Cache::Public(_)) {
            problems.add(
                "not every caller sees it, so lists must not be cached publicly; give list_cache a \
                 Cache::Private",
            );
        }
        own.iter().chain(&self.terms.visible).cloned().collect()
    }

    /// What is wrong with a handler of any kind.
    fn check(&self, problems: &mut Problems, needs: &Needs) {
        for problem in &needs.problems {
            problems.add(problem);
        }
        for (_, name) in needs.principals.iter().filter(|(id, _)| !self.terms.principals.contains(id)) {
            problems.add(format!(
                "it takes a Principal<{name}>, but no authenticator gives one; \
                 put one in front and call `authenticated::<{name}>()` on the builder"
            ));
        }
    }

    fn completers(
        &self,
        problems: &mut Problems,
        completers: Vec<Completer<S>>,
        arguments: &[String],
    ) -> Vec<(String, Arc<dyn Run>)> {
        let bind = |Completer { argument, handler, needs }: Completer<S>| {
            self.check(problems, &needs);
            if !arguments.contains(&argument) {
                problems.add(format!("it completes {argument:?}, which it does not have"));
            }
            let handler: Arc<dyn Erased<S>> = handler;
            (argument, with_state(handler, &self.state))
        };
        completers.into_iter().map(bind).collect()
    }
}

impl Entry {
    fn of(needs: &Needs) -> Self {
        Self { rounds: needs.rounds, elicited: needs.elicited.clone(), ..Self::default() }
    }
}

/// As [`model::tool::Tool`], borrowed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolDefinition<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a ToolAnnotations>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icons: Option<&'a [model::capability::Icon]>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a switchboard_protocol::meta::MetaObject>,
}

/// The address of a resource, checked: its template, if it is one.
fn address<S>(resource: &Resource<S>, problems: &mut Problems) -> Option<UriTemplate> {
    if resource.is_template {
        return problems.take(UriTemplate::parse(&resource.uri));
    }
    if !is_uri(&resource.uri) {
        problems.add("it needs an absolute URI, such as files:///readme");
    }
    if let Some(type_name) = resource.needs.variables {
        problems.add(format!("it takes Vars<{type_name}>, but is no template; use Resource::template"));
    }
    None
}

/// As [`model::resource::Resource`] or [`model::resource::ResourceTemplate`], borrowed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDefinition<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_template: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icons: Option<&'a [model::capability::Icon]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a model::content::Annotations>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a switchboard_protocol::meta::MetaObject>,
}

fn resource_definition<S>(resource: &Resource<S>) -> ResourceDefinition<'_> {
    let uri = resource.uri.as_str();
    let is_template = resource.is_template;
    ResourceDefinition {
        uri: (!is_template).then_some(uri),
        uri_template: is_template.then_some(uri),
        name: resource.name.as_deref().unwrap_or(uri),
        title: resource.title.as_deref(),
        description: resource.description.as_deref(),
        mime_type: resource.mime.as_deref(),
        size: resource.size.filter(|_| !is_template),
        icons: resource.icons.as_deref(),
        annotations: resource.annotations.as_ref(),
        meta: resource.meta.as_ref(),
    }
}

/// The published input schema of a tool, and how it is enforced.
fn input_of<S>(tool: &Tool<S>, problems: &mut Problems) -> (Map<String, Value>, Option<EnforcedSchema>) {
    let (mut published, schema) = match (&tool.input_schema, &tool.needs.arguments) {
        (Some(Value::Object(written)), _) => (
            written.clone(),
            problems.take(EnforcedSchema::written(Side::Input, Value::Object(written.clone()))),
        ),
        (Some(_), _) => {
            problems.add("its input schema must be an object");
            (no_arguments(), None)
        }
        (None, Some(arguments)) => {
            let schema = problems.take(EnforcedSchema::generated(Side::Input, arguments.strict.clone()));
            (arguments.published.clone(), schema)
        }
        (None, None) => (no_arguments(), None),
    };
    if published.get("type").is_none_or(|kind| kind != "object") {
        problems.add("its input schema must have the type \"object\"; take a struct as arguments");
    }
    for (argument, header) in &tool.param_headers {
        if !annotate(&mut published, argument, header) {
            problems.add(format!("the argument {argument:?} of the header {header:?} is not in its schema"));
        }
    }
    (published, schema)
}

/// What the structured results of a tool are held against, where that says more than their type.
fn output_of<S>(tool: &Tool<S>, problems: &mut Problems) -> Option<OutputSchema> {
    let enforced = match (&tool.output_schema, &tool.needs.output) {
        (Some(written), _) => EnforcedSchema::written(Side::Output, written.clone()),
        (None, Some(output)) => EnforcedSchema::generated(Side::Output, output.strict.clone()),
        (None, None) => return None,
    };
    let enforced = problems.take(enforced).filter(EnforcedSchema::says_more)?;
    Some(OutputSchema::new(&tool.name, enforced))
}

/// Writes a header annotation to the property at a path.
fn annotate(schema: &mut Map<String, Value>, path: &str, header: &str) -> bool {
    let mut place = schema;
    for name in path.split('/') {
        let property = place
            .get_mut("properties")
            .and_then(|properties| properties.get_mut(name))
            .and_then(Value::as_object_mut);
        let Some(property) = property else { return false };
        place = property;
    }
    place.insert("x-mcp-header".into(), header.into());
    true
}

/// The arguments of a prompt: the properties of its schema, texts all of them.
fn prompt_arguments(schema: &Map<String, Value>, problems: &mut Problems) -> Vec<PromptArgument> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let text =
        |property: &Value, keyword: &str| property.get(keyword).and_then(Value::as_str).map(str::to_owned);
    let mut arguments = Vec::new();
    for (name, property) in properties {
        if !is_text(property) {
            problems.add(format!("its argument {name:?} is no text; the arguments of a prompt are texts"));
        }
        arguments.push(PromptArgument {
            name: name.clone(),
            title: text(property, "title"),
            description: text(property, "description"),
            required: Some(required.contains(&name.as_str())),
        });
    }
    arguments
}

fn is_text(property: &Value) -> bool {
    let constants = |options: &Vec<Value>| {
        !options.is_empty() && options.iter().all(|option| option.get("const").is_some_and(Value::is_string))
    };
    property.get("type").is_some_and(|kind| kind == "string")
        || property.get("oneOf").and_then(Value::as_array).is_some_and(constants)
}

fn is_tool_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Whether the text starts with a scheme [RFC 3986, 3.1] and goes on after it.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !rest.is_empty()
        && !text.contains(char::is_whitespace)
}

fn variables(template: &UriTemplate) -> Vec<String> {
    template.variables().map(str::to_owned).collect()
}
