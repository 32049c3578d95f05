//! State of the application, who calls, and what the transport left in the extensions.

use std::future::{Future, ready};

use switchboard_protocol::ProtocolError;

use super::{FromCall, Rejection};
use crate::call::Call;
use crate::needs::Needs;

/// The state given to `build`, or a part of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct State<T>(pub T);

/// A part of the state that can be taken out of the whole.
///
/// Every type is a part of itself. For a part of a struct, implement it:
///
/// ```
/// use switchboard_server::FromRef;
///
/// #[derive(Clone)]
/// struct Pool;
/// struct App { pool: Pool }
///
/// impl FromRef<App> for Pool {
///     fn from_ref(app: &App) -> Self {
///         app.pool.clone()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the state `{S}` has no part `{Self}`",
    note = "`State<T>` takes what was given to `build(state)`: make both the same type, or implement `FromRef<{S}> for {Self}`"
)]
pub trait FromRef<S> {
    /// Takes the part.
    fn from_ref(state: &S) -> Self;
}

impl<T: Clone> FromRef<T> for T {
    fn from_ref(state: &T) -> Self {
        state.clone()
    }
}

impl<S: Sync, T: FromRef<S> + Send> FromCall<S> for State<T> {
    fn from_call(_call: &Call, state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send {
        ready(Ok(Self(T::from_ref(state))))
    }
}

/// Who calls, as the authenticator in front of the server found out.
///
/// The authenticator puts a `Principal<P>` into the extensions of the HTTP request; `build()` refuses a
/// handler that takes one unless [`Builder::authenticated`](crate::Builder::authenticated) says that
/// there is an authenticator for `P`.
#[derive(Clone, Debug)]
pub struct Principal<P>(pub P);

/// Identifies the caller of a request, where input rounds must not pass from one to another. The
/// authenticator puts it into the extensions beside the [`Principal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerId(pub String);

impl<S: Sync, P: Clone + Send + Sync + 'static> FromCall<S> for Principal<P> {
    fn describe(needs: &mut Needs) {
        needs.principal::<P>();
    }

    fn from_call(call: &Call, _state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send {
        let principal = call.extensions.get::<Self>().cloned();
        ready(principal.ok_or_else(|| {
            // The authenticator should have refused the request before it came here.
            tracing::error!(principal = std::any::type_name::<P>(), "a request without a principal");
            ProtocolError::invalid_request("The request is not authenticated").into()
        }))
    }
}

/// Something that the transport or the middleware put into the extensions of the request.
#[derive(Clone, Debug)]
pub struct Extension<T>(pub T);

impl<S: Sync, T: Clone + Send + Sync + 'static> FromCall<S> for Extension<T> {
    fn from_call(call: &Call, _state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send {
        let found = call.extensions.get::<T>().cloned();
        ready(found.map(Self).ok_or_else(|| {
            let wanted = std::any::type_name::<T>();
            tracing::error!(wanted, "a handler asks for an extension that nothing put there");
            ProtocolError::internal("The server lacks something that this needs").into()
        }))
    }
}
