//! `Resource`: something to read, at one URI or at every URI of a template.
//!
//! Nothing is checked here; `build()` (or the catalog) checks everything at once, in `bind.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use switchboard_protocol::ProtocolError;
use switchboard_protocol::meta::MetaObject;
use switchboard_protocol::model::capability::Icon;
use switchboard_protocol::model::content::Annotations;

use crate::entry::Cache;
use crate::handler::{Erased, Handler, erase};
use crate::into_reply::{ForCompletion, ForResource};
use crate::needs::Needs;
use crate::visible::{Caller, Item, Predicate};

/// A resource, or a template of resources, of a server whose state is `S`.
///
/// ```
/// use serde::Deserialize;
/// use switchboard_server::{Completing, Resource, Vars};
///
/// #[derive(Deserialize)]
/// struct City {
///     city: String,
/// }
///
/// async fn weather(Vars(City { city }): Vars<City>) -> String {
///     format!("It rains in {city}.")
/// }
///
/// async fn cities(typed: Completing) -> Vec<&'static str> {
///     ["Bern", "Bonn"].into_iter().filter(|city| city.starts_with(&typed.value)).collect()
/// }
///
/// let fixed: Resource = Resource::new("about:us", async || "A weather service");
/// let family: Resource =
///     Resource::template("weather://{city}/now", weather).mime("text/plain").complete("city", cities);
/// ```
#[must_use = "a resource does nothing until a server has it"]
pub struct Resource<S = ()> {
    pub(crate) uri: String,
    pub(crate) is_template: bool,
    pub(crate) name: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) mime: Option<String>,
    pub(crate) size: Option<u64>,
    pub(crate) icons: Option<Vec<Icon>>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) meta: Option<MetaObject>,
    pub(crate) cache: Cache,
    pub(crate) handler: Arc<dyn Erased<S>>,
    pub(crate) needs: Needs,
    pub(crate) completers: Vec<Completer<S>>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) visible: Vec<Predicate>,
}

/// What completes one argument.
pub(crate) struct Completer<S> {
    pub(crate) argument: String,
    pub(crate) handler: Arc<dyn Erased<S>>,
    pub(crate) needs: Needs,
}

impl<S: Send + Sync + 'static> Completer<S> {
    pub(crate) fn new<M: 'static, H: Handler<M, S, ForCompletion>>(argument: String, handler: H) -> Self {
        let mut needs = Needs::default();
        H::describe(&mut needs);
        Self { argument, handler: erase(handler), needs }
    }
}

impl<S> fmt::Debug for Resource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> Resource<S> {
    /// The resource at this URI.
    pub fn new<M: 'static, H: Handler<M, S, ForResource>>(uri: impl Into<String>, handler: H) -> Self {
        Self::of(uri.into(), false, handler)
    }

    /// The resources at the URIs of an RFC 6570 template; the handler takes the variables as
    /// [`Vars`](crate::Vars). A resource at a fixed URI wins over a template that matches it.
    pub fn template<M: 'static, H: Handler<M, S, ForResource>>(
        template: impl Into<String>,
        handler: H,
    ) -> Self {
        Self::of(template.into(), true, handler)
    }

    fn of<M: 'static, H: Handler<M, S, ForResource>>(uri: String, is_template: bool, handler: H) -> Self {
        let mut needs = Needs::default();
        H::describe(&mut needs);
        Self {
            uri,
            is_template,
            name: None,
            title: None,
            description: None,
            mime: None,
            size: None,
            icons: None,
            annotations: None,
            meta: None,
            cache: Cache::default(),
            handler: erase(handler),
            needs,
            completers: Vec::new(),
            timeout: None,
            visible: Vec::new(),
        }
    }

    /// What programs call it; the URI, unless said otherwise.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What people call it.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What it holds.
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Its MIME type. Goes into the list, and into contents that name none.
    pub fn mime(mut self, mime_type: impl Into<String>) -> Self {
        self.mime = Some(mime_type.into());
        self
    }

    /// Its size in bytes, before any encoding. Templates have none.
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// What it looks like.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.icons = Some(icons);
        self
    }

    /// Hints for whoever shows it.
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Metadata of the definition.
    pub fn meta(mut self, meta: MetaObject) -> Self {
        self.meta = Some(meta);
        self
    }

    /// For how long clients may keep what they read, and who may share it.
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Completes a variable of the template. The handler takes [`Completing`](crate::Completing) and
    /// returns the suggestions, the best first.
    pub fn complete<M: 'static, H: Handler<M, S, ForCompletion>>(
        mut self,
        variable: impl Into<String>,
        handler: H,
    ) -> Self {
        self.completers.push(Completer::new(variable.into(), handler));
        self
    }

    /// How long one read may take, in place of [`Limits::handler_timeout`](crate::Limits::handler_timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Shows the resource, or the template and all its resources, only to callers of whom this is true. For
    /// the others it does not exist: it is in no list, cannot be read or subscribed to, and completes
    /// nothing. All that are given must agree. To be quick: it is asked for every list and every read. An
    /// example is at [`Caller`].
    pub fn visible(
        mut self,
        predicate: impl Fn(&Caller<'_>, &Item<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible.push(Arc::new(predicate));
        self
    }
}

/// There is no resource at this URI [spec: server/resources, Error Handling].
#[cold]
pub(crate) fn not_found(uri: &str, message: impl Into<String>) -> ProtocolError {
    #[derive(Serialize)]
    struct Data<'a> {
        uri: &'a str,
    }
    ProtocolError::invalid_params(message).with_data(&Data { uri })
}
