//! `Prompt`: a message template that a person picks.
//!
//! Nothing is checked here; `build()` (or the catalog) checks everything at once, in `bind.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::meta::MetaObject;
use switchboard_protocol::model::capability::Icon;

use crate::handler::{Erased, Handler, erase};
use crate::into_reply::{ForCompletion, ForPrompt};
use crate::needs::Needs;
use crate::resource::Completer;
use crate::visible::{Caller, Item, Predicate};

/// A prompt of a server whose state is `S`. Its arguments are the fields of the handler's `Args<T>`: texts,
/// since that is all that the protocol carries here.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use switchboard_server::{Args, Prompt};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Tone {
///     /// Friendly or firm
///     tone: String,
/// }
///
/// async fn reminder(Args(Tone { tone }): Args<Tone>) -> String {
///     format!("Write a {tone} payment reminder.")
/// }
///
/// let prompt: Prompt = Prompt::new("reminder", reminder).describe("A payment reminder");
/// ```
#[must_use = "a prompt does nothing until a server has it"]
pub struct Prompt<S = ()> {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Option<Vec<Icon>>,
    pub(crate) meta: Option<MetaObject>,
    pub(crate) handler: Arc<dyn Erased<S>>,
    pub(crate) needs: Needs,
    pub(crate) completers: Vec<Completer<S>>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) visible: Vec<Predicate>,
}

impl<S> fmt::Debug for Prompt<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> Prompt<S> {
    /// A prompt with this name and this handler.
    pub fn new<M: 'static, H: Handler<M, S, ForPrompt>>(name: impl Into<String>, handler: H) -> Self {
        let mut needs = Needs::default();
        H::describe(&mut needs);
        Self {
            name: name.into(),
            title: None,
            description: None,
            icons: None,
            meta: None,
            handler: erase(handler),
            needs,
            completers: Vec::new(),
            timeout: None,
            visible: Vec::new(),
        }
    }

    /// What people call it.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What it is for. Goes into the list and into the expanded prompt.
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// What it looks like.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.icons = Some(icons);
        self
    }

    /// Metadata of the definition.
    pub fn meta(mut self, meta: MetaObject) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Completes an argument. The handler takes [`Completing`](crate::Completing) and returns the
    /// suggestions, the best first.
    pub fn complete<M: 'static, H: Handler<M, S, ForCompletion>>(
        mut self,
        argument: impl Into<String>,
        handler: H,
    ) -> Self {
        self.completers.push(Completer::new(argument.into(), handler));
        self
    }

    /// How long one expansion may take, in place of
    /// [`Limits::handler_timeout`](crate::Limits::handler_timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Shows the prompt only to callers of whom this is true. For the others it does not exist: it is in no
    /// list, cannot be expanded, and completes nothing. All that are given must agree. To be quick: it is
    /// asked for every list and every expansion. An example is at [`Caller`].
    pub fn visible(
        mut self,
        predicate: impl Fn(&Caller<'_>, &Item<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible.push(Arc::new(predicate));
        self
    }
}
