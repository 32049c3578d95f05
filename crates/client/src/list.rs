//! Lists: all pages merged into one, without duplicates, within bounds, kept as long as allowed
//! [spec: server/utilities/pagination, server/utilities/caching].

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use switchboard_protocol::Method;
use switchboard_protocol::error::ErrorCode;
use switchboard_protocol::method::{Answer, decode_result, spec};
use switchboard_protocol::model::prompt::Prompt;
use switchboard_protocol::model::resource::{Resource, ResourceTemplate};
use switchboard_protocol::model::tool::{InvalidTool, Tool, decode_tool};
use tokio::time::{Instant, timeout_at};

use crate::cache::{Hints, Key, Stored};
use crate::core::{Core, Run};
use crate::error::{Delivery, Error, Kind};
use crate::pages::{Pages, Step};
use crate::params::{Ask, Input, Meta};
use crate::tools::ToolSet;

/// As good as no deadline.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// One page, decoded.
pub(crate) struct Page<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
    hints: Hints,
}

/// A method that lists.
pub(crate) trait Listing: Send + Sync + 'static {
    type Item: Send + Sync + 'static;
    const METHOD: Method;
    /// Whether a server may not know the method though it declared the capability, as one that has nothing of the
    /// kind. Templates have no capability of their own, and many servers with resources do not list them.
    const MAY_BE_UNKNOWN: bool = matches!(Self::METHOD, Method::ListResourceTemplates);
    fn decode(raw: &RawValue) -> Result<Page<Self::Item>, Error>;
    /// What tells items apart; none for what is no item.
    fn key(item: &Self::Item) -> Option<&str>;
    /// What is kept of an item whose key an earlier one has.
    fn repeated(item: Self::Item) -> Option<Self::Item>;
}

macro_rules! listing {
    ($name:ident, $spec:ident, $item:ty, $field:ident, $convert:expr, $key:expr, $repeated:expr) => {
        pub(crate) struct $name;

        impl Listing for $name {
            type Item = $item;
            const METHOD: Method = Method::$spec;

            fn decode(raw: &RawValue) -> Result<Page<Self::Item>, Error> {
                match decode_result::<spec::$spec>(raw) {
                    Ok(Answer::Complete(list)) => Ok(Page {
                        items: list.$field.into_iter().map($convert).collect(),
                        next_cursor: list.next_cursor,
                        hints: Hints::new(list.ttl_ms, list.cache_scope),
                    }),
                    // Lists never ask; `decode_result` says so.
                    Ok(Answer::InputRequired(_)) => Err(Error::server_fault("a list asked for input")),
                    Err(error) => Err(Error::server_fault(error.to_string())),
                }
            }

            fn key(item: &Self::Item) -> Option<&str> {
                ($key)(item)
            }

            fn repeated(item: Self::Item) -> Option<Self::Item> {
                ($repeated)(item)
            }
        }
    };
}

listing!(
    Tools,
    ListTools,
    Result<Tool, InvalidTool>,
    tools,
    |raw| decode_tool(&raw),
    tool_name,
    repeated_tool
);
listing!(Resources, ListResources, Resource, resources, |item| item, resource_uri, |_| None);
listing!(
    ResourceTemplates,
    ListResourceTemplates,
    ResourceTemplate,
    resource_templates,
    |item| item,
    template_uri,
    |_| None
);
listing!(Prompts, ListPrompts, Prompt, prompts, |item| item, prompt_name, |_| None);

// An invalid definition takes no name away from a valid one.
fn tool_name(tool: &Result<Tool, InvalidTool>) -> Option<&str> {
    tool.as_ref().ok().map(|tool| tool.name.as_str())
}

/// Which of two tools of one name is meant would be a guess, so the second is left out and that is said.
fn repeated_tool(tool: Result<Tool, InvalidTool>) -> Option<Result<Tool, InvalidTool>> {
    let reason = "the server lists this name twice; the first definition is used".to_owned();
    tool.ok().map(|tool| Err(InvalidTool { name: tool.name, reason }))
}

fn resource_uri(resource: &Resource) -> Option<&str> {
    Some(&resource.uri)
}

fn template_uri(template: &ResourceTemplate) -> Option<&str> {
    Some(&template.uri_template)
}

fn prompt_name(prompt: &Prompt) -> Option<&str> {
    Some(&prompt.name)
}

/// A value on its way into the cache.
pub(crate) struct Fetched<T> {
    pub(crate) value: T,
    pub(crate) bytes: usize,
    /// Absent: not to be kept.
    pub(crate) hints: Option<Hints>,
}

pub(crate) type Fetching<T> = Pin<Box<dyn Future<Output = Result<Fetched<T>, Error>> + Send>>;

impl Core {
    /// The tools. The latest definitions are remembered even when they may not be cached: calls need
    /// their schemas.
    pub(crate) async fn tool_set(self: &Arc<Self>, run: Run, fresh: bool) -> Result<Arc<ToolSet>, Error> {
        self.cached(Key::list(&self.server, Method::ListTools), (fresh, run.total_left), move |core| {
            let run = run.clone();
            Box::pin(async move {
                let all = core.all_pages::<Tools>(run, &Meta::new()).await?;
                let tools = core.sort_tools(all.value);
                Ok(Fetched { value: tools, bytes: all.bytes, hints: all.hints })
            })
        })
        .await
        .map(|tools: Arc<Arc<ToolSet>>| Arc::clone(&*tools))
    }

    /// Any other list.
    pub(crate) async fn list<L: Listing>(
        self: &Arc<Self>,
        run: Run,
        fresh: bool,
    ) -> Result<Arc<[L::Item]>, Error> {
        self.cached(Key::list(&self.server, L::METHOD), (fresh, run.total_left), move |core| {
            let run = run.clone();
            Box::pin(async move {
                let all = core.all_pages::<L>(run, &Meta::new()).await?;
                Ok(Fetched { value: Arc::from(all.value), bytes: all.bytes, hints: all.hints })
            })
        })
        .await
        .map(|list: Arc<Arc<[L::Item]>>| Arc::clone(&*list))
    }

    /// The answer that is still fresh, or the one that is under way, or a new one. `how` says whether
    /// only a new one will do, and how long this caller waits.
    pub(crate) async fn cached<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        key: Key,
        how: (bool, Duration),
        fetch: impl Fn(Arc<Self>) -> Fetching<T>,
    ) -> Result<Arc<T>, Error> {
        let (fresh, patience) = how;
        if !fresh
            && let Some(hit) = self.cache.find(&key, self.partition, Instant::now())
            && let Ok(hit) = hit.downcast::<T>()
        {
            return Ok(hit);
        }
        let now = Instant::now();
        let deadline = now.checked_add(patience).unwrap_or(now + FAR);
        loop {
            let generation = self.cache.generation(&key.server, key.method);
            let (flight, joined) = self.flights.join(&key, generation, || {
                let (core, key) = (Arc::clone(self), key.clone());
                let fetching = fetch(Arc::clone(self));
                Box::pin(async move {
                    let fetched = fetching.await?;
                    let value: Stored = Arc::new(fetched.value);
                    if let Some(hints) = fetched.hints {
                        let kept = (Arc::clone(&value), fetched.bytes);
                        core.cache.keep(key, (core.partition, hints), generation, kept);
                    }
                    Ok(value)
                })
            });
            return match timeout_at(deadline, flight).await {
                // Whoever started it had less time than this caller has.
                Ok(Err(error)) if joined && error.is_timeout() => continue,
                Ok(outcome) => outcome?
                    .downcast::<T>()
                    .map_err(|_| Error::misuse("the cache holds another type under this key")),
                Err(_) => Err(Error::timeout(key.method.name(), patience, true).at(&self.name)),
            };
        }
    }

    /// All pages of a list, in order, each item once.
    pub(crate) async fn all_pages<L: Listing>(
        self: &Arc<Self>,
        mut run: Run,
        meta: &Meta,
    ) -> Result<Fetched<Vec<L::Item>>, Error> {
        run = run.at_most(self.limits.list_time);
        let mut pages = Pages::new(&self.limits);
        let mut merged = Merged::default();
        let mut cursor: Option<String> = None;
        loop {
            let mut ask = Ask::new(L::METHOD).with("cursor", &cursor)?;
            ask.meta.clone_from(meta);
            let raw = match self.round(&ask, &Input::default(), &mut run).await {
                Ok(raw) => raw,
                Err(error) if error.is(ErrorCode::INVALID_PARAMS) && pages.handle_invalid_cursor() => {
                    tracing::debug!(server = %self.name, method = %ask.method, "a cursor died; the list starts over");
                    (merged, cursor) = (Merged::default(), None);
                    continue;
                }
                Err(error) if L::MAY_BE_UNKNOWN && error.is(ErrorCode::METHOD_NOT_FOUND) => {
                    return Ok(merged.finish(true));
                }
                Err(error) => return Err(error),
            };
            merged.bytes += raw.get().len();
            if merged.bytes > self.limits.list_bytes {
                return Err(too_large(L::METHOD, self.limits.list_bytes).at(&self.name));
            }
            let mut page = L::decode(&raw).map_err(|error| error.at(&self.name))?;
            let received = page.items.len();
            page.items.truncate(pages.room());
            merged.add::<L>(page.items, (page.hints, Instant::now()));
            match pages.handle_page(received, page.next_cursor) {
                Step::Next(next) => cursor = Some(next),
                Step::Done => return Ok(merged.finish(true)),
                Step::Stop(reason) => {
                    tracing::warn!(
                        server = %self.name, method = %ask.method, %reason,
                        "the list is cut short; what was seen so far is used. Report it to the author of the server"
                    );
                    return Ok(merged.finish(false));
                }
            }
        }
    }

    /// Takes note of the definitions that the server listed last.
    pub(crate) fn sort_tools(&self, definitions: Vec<Result<Tool, InvalidTool>>) -> Arc<ToolSet> {
        let tools = Arc::new(ToolSet::new(definitions, self.has_headers()));
        // One line, however many there are; `Client::excluded_tools` has them all.
        if let Some(first) = tools.excluded.first() {
            tracing::warn!(
                server = %self.name,
                tools = tools.excluded.len(),
                first = %crate::error::excerpt(&first.name),
                reason = %crate::error::excerpt(&first.reason),
                "tools are left out: their definitions are invalid"
            );
        }
        self.learned.set_tools(Arc::clone(&tools));
        tools
    }
}

/// Part of a list is no list: which tools are missing would depend on the length of the others.
fn too_large(method: Method, limit: usize) -> Error {
    let message = format!("its answer to {} is larger than list_bytes ({limit} bytes)", method.name());
    Error::new(Kind::Limit, Delivery::MaybeExecuted, message)
        .hint("let the server list less, or raise the limit list_bytes")
}

/// Pages put together.
struct Merged<T> {
    items: Vec<T>,
    seen: HashSet<String>,
    bytes: usize,
    hints: Vec<(Hints, Instant)>,
}

impl<T> Default for Merged<T> {
    fn default() -> Self {
        Self { items: Vec::new(), seen: HashSet::new(), bytes: 0, hints: Vec::new() }
    }
}

impl<T> Merged<T> {
    fn add<L: Listing<Item = T>>(&mut self, items: Vec<T>, hints: (Hints, Instant)) {
        self.hints.push(hints);
        for item in items {
            if L::key(&item).is_none_or(|key| self.seen.insert(key.to_owned())) {
                self.items.push(item);
            } else {
                self.items.extend(L::repeated(item));
            }
        }
    }

    /// The list is as fresh as its first page to expire; the clock of each started when it came.
    fn finish(self, complete: bool) -> Fetched<Vec<T>> {
        let now = Instant::now();
        let aged = self.hints.into_iter().map(|(hints, received)| hints.aged(now - received));
        let hints = aged.reduce(Hints::and).filter(|_| complete);
        Fetched { value: self.items, bytes: self.bytes, hints }
    }
}
