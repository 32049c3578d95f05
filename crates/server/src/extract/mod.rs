//! Extractors: how the parameters of a handler come out of a call.
//!
//! Anything that implements [`FromCall`] may be a parameter. Those in here are arguments and template
//! variables ([`Args`], [`Vars`]), state ([`State`]), who calls ([`Principal`]), what the transport left
//! ([`Extension`]), and the notifier; [`Ctx`](crate::Ctx) is in `ctx.rs`, input rounds are in `rounds`.

mod args;
mod state;
mod vars;

use std::future::Future;
use std::sync::Arc;

use switchboard_protocol::ProtocolError;
use switchboard_protocol::error::Origin;

use crate::bus::Notifier;
use crate::call::{Call, Completing, Params};
use crate::entry::Bound;
use crate::errors::ToolError;
use crate::needs::Needs;
use crate::reply::Reply;
use crate::rounds::Questions;

pub use args::Args;
pub use state::{CallerId, Extension, FromRef, Principal, State};
pub use vars::Vars;

/// A parameter of a handler.
///
/// An extractor may wait, and it may refuse: with a failure that the model reads, with a protocol error,
/// or with a question for the person. A handler is entered only when all its extractors have succeeded.
///
/// ```
/// use switchboard_server::{Call, FromCall, Rejection};
///
/// /// How many bytes of arguments the call carries.
/// struct Size(usize);
///
/// impl<S: Sync> FromCall<S> for Size {
///     async fn from_call(call: &Call, _state: &S) -> Result<Self, Rejection> {
///         Ok(Self(call.target().and_then(|target| target.arguments.as_ref()).map_or(0, |text| text.len())))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler",
    label = "not an extractor for the state `{S}`",
    note = "an argument of the tool is a field of a struct `T` that implements `Deserialize + JsonSchema`: take `Args<T>`",
    note = "others are `State<T>`, `Ctx`, `Principal<P>`, `Extension<T>`, `Notifier`, `Elicited<T>`, `MultiRoundTrip<S>`, `Vars<T>` of a resource template, `Completing` of a completion, or a type of yours that implements `FromCall<S>`"
)]
pub trait FromCall<S>: Sized + Send {
    /// What a handler with this parameter needs, said once when it is registered.
    fn describe(needs: &mut Needs) {
        let _ = needs;
    }

    /// Takes the parameter out of a call.
    fn from_call(call: &Call, state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send;
}

/// Why a parameter could not be had.
#[derive(Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The call fails in words that the model reads.
    Tool(ToolError),
    /// The call fails as a JSON-RPC error.
    Protocol(ProtocolError),
    /// The person has to be asked first. The questions of all parameters go out together.
    Ask(Questions),
}

impl From<ToolError> for Rejection {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<ProtocolError> for Rejection {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

/// Sorts what an extractor said: the value, nothing yet because a question was put to `asked`, or the end.
pub(crate) fn settle<T>(
    taken: Result<T, Rejection>,
    call: &Call,
    asked: &mut Option<Questions>,
) -> Result<Option<T>, Reply> {
    match taken {
        Ok(value) => Ok(Some(value)),
        Err(Rejection::Ask(questions)) => {
            *asked = Some(match asked.take() {
                Some(before) => before.and(questions),
                None => questions,
            });
            Ok(None)
        }
        Err(Rejection::Tool(error)) => Err(Reply::failure(call.method, error.into_text())),
        Err(Rejection::Protocol(error)) => Err(Reply::error(error, Origin::Handler)),
    }
}

impl Call {
    /// What the call was bound to when it was dispatched.
    pub(crate) fn bound(&self) -> Result<&Arc<Bound>, ProtocolError> {
        self.bound.as_ref().ok_or_else(|| ProtocolError::internal("The call was not dispatched by a server"))
    }
}

/// What is to be completed, in handlers that complete an argument.
impl<S: Sync> FromCall<S> for Completing {
    fn from_call(call: &Call, _state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send {
        std::future::ready(match &call.params {
            Params::Complete(completing) => Ok(Self::clone(completing)),
            _ => Err(ProtocolError::internal("The call completes nothing").into()),
        })
    }
}

impl<S: Sync> FromCall<S> for Notifier {
    fn from_call(call: &Call, _state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send {
        let notifier = call.bound().map(|bound| Self::new(Arc::clone(&bound.core.bus)));
        std::future::ready(notifier.map_err(Rejection::from))
    }
}
