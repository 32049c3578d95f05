//! Plain async functions as handlers, and how they are erased where they are registered.
//!
//! The generic part is one small shim a function; everything behind [`Run`] is compiled once, in this
//! crate. Where to look next: `extract` for the parameters, `into_reply.rs` for what comes back.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use switchboard_protocol::ProtocolError;
use switchboard_protocol::error::Origin;

use crate::call::Call;
use crate::exchange::ReplyFuture;
use crate::extract::{FromCall, settle};
use crate::into_reply::{IntoReply, Kind};
use crate::needs::Needs;
use crate::reply::Reply;
use crate::rounds;

/// An async function that may serve a tool, a resource, a prompt or a completion.
///
/// Implemented for every async function of at most eight parameters whose parameters can be taken from a
/// call ([`FromCall`]) and whose output makes a reply of that kind ([`IntoReply`]). Not to be implemented by
/// hand.
///
/// There is one implementation for everything, so that the compiler does not stop at "no handler": it goes
/// on to the parameter, the output or the type inside them that is in the way, and names that.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no async function that can be a handler ({K})",
    label = "not a handler",
    note = "a handler is an `async fn`, or an `async |…| …` that says the types of its parameters; it has at most 8 parameters, and what it captures is `Clone + Send + Sync + 'static`",
    note = "several arguments of a tool are the fields of one struct `T`: take `Args<T>`"
)]
pub trait Handler<M, S, K: Kind>: Clone + Send + Sync + 'static {
    /// Collects what the parameters and the output need.
    fn describe(needs: &mut Needs);

    /// Runs the function on one call.
    fn run(self, call: Call, state: Arc<S>) -> impl Future<Output = Reply> + Send;
}

impl<H, M, S, K> Handler<M, S, K> for H
where
    H: AsyncFunction<M, Future: Send, Output: IntoReply<K>> + Clone + Send + Sync + 'static,
    M: Parameters<S>,
    S: Send + Sync + 'static,
    K: Kind,
{
    fn describe(needs: &mut Needs) {
        M::describe(needs);
        H::Output::describe(needs);
    }

    async fn run(self, call: Call, state: Arc<S>) -> Reply {
        match M::take(&call, &state).await {
            Ok(parameters) => self.call(parameters).await.into_reply(&call),
            Err(reply) => reply,
        }
    }
}

/// An async function with the parameters `P`, a tuple. Not to be implemented by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no async function of at most 8 parameters",
    label = "cannot be a handler",
    note = "write `async fn name(…) -> …`, or `async |…| …` with the types of the parameters"
)]
pub trait AsyncFunction<P> {
    /// What the function gives in the end.
    type Output;
    /// What it gives at once.
    type Future: Future<Output = Self::Output>;

    /// Calls the function.
    fn call(&self, parameters: P) -> Self::Future;
}

/// The parameters of a handler, a tuple of extractors. Not to be implemented by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the parameters of a handler",
    label = "not extractors for the state `{S}`"
)]
pub trait Parameters<S>: Sized + Send {
    /// Collects what the parameters need.
    fn describe(needs: &mut Needs);

    /// Takes all of them out of a call, in their order.
    ///
    /// # Errors
    /// The reply that ends the call here: a parameter cannot be had, or the person has to be asked first.
    fn take(call: &Call, state: &S) -> impl Future<Output = Result<Self, Reply>> + Send;
}

macro_rules! handler {
    ($($name:ident),*) => {
        #[allow(non_snake_case, reason = "a parameter is named after its type")]
        impl<F, Fut, $($name,)*> AsyncFunction<($($name,)*)> for F
        where
            F: Fn($($name),*) -> Fut,
            Fut: Future,
        {
            type Output = Fut::Output;
            type Future = Fut;

            fn call(&self, ($($name,)*): ($($name,)*)) -> Fut {
                self($($name),*)
            }
        }

        #[allow(
            non_snake_case,
            unused_variables,
            unused_mut,
            reason = "a parameter is named after its type, and arity 0 has none"
        )]
        impl<S: Sync, $($name: FromCall<S>,)*> Parameters<S> for ($($name,)*) {
            fn describe(needs: &mut Needs) {
                $($name::describe(needs);)*
            }

            async fn take(call: &Call, state: &S) -> Result<Self, Reply> {
                let mut asked = None;
                $(let $name = settle($name::from_call(call, state).await, call, &mut asked)?;)*
                if let Some(questions) = asked {
                    return Err(rounds::ask(call, questions));
                }
                $(let Some($name) = $name else { return Err(missing()) };)*
                Ok(($($name,)*))
            }
        }
    };
}

handler!();
handler!(A);
handler!(A, B);
handler!(A, B, C);
handler!(A, B, C, D);
handler!(A, B, C, D, E);
handler!(A, B, C, D, E, G);
handler!(A, B, C, D, E, G, H);
handler!(A, B, C, D, E, G, H, I);

#[cold]
fn missing() -> Reply {
    Reply::error(ProtocolError::internal("A parameter is missing"), Origin::Handler)
}

/// A handler whose function type is forgotten; its state is still to come.
pub(crate) trait Erased<S>: Send + Sync {
    fn run(&self, call: Call, state: Arc<S>) -> ReplyFuture;
}

struct Shim<H, M, K>(H, PhantomData<fn() -> (M, K)>);

impl<H, M, S, K> Erased<S> for Shim<H, M, K>
where
    H: Handler<M, S, K>,
    K: Kind,
    S: Send + Sync + 'static,
    M: 'static,
{
    fn run(&self, call: Call, state: Arc<S>) -> ReplyFuture {
        Box::pin(self.0.clone().run(call, state))
    }
}

/// Forgets the type of a handler.
pub(crate) fn erase<H, M, S, K>(handler: H) -> Arc<dyn Erased<S>>
where
    H: Handler<M, S, K>,
    K: Kind,
    S: Send + Sync + 'static,
    M: 'static,
{
    Arc::new(Shim(handler, PhantomData::<fn() -> (M, K)>))
}

/// A handler with its state: what a catalog holds.
pub(crate) trait Run: Send + Sync {
    fn run(&self, call: Call) -> ReplyFuture;
}

struct WithState<S> {
    handler: Arc<dyn Erased<S>>,
    state: Arc<S>,
}

impl<S: Send + Sync> Run for WithState<S> {
    fn run(&self, call: Call) -> ReplyFuture {
        self.handler.run(call, Arc::clone(&self.state))
    }
}

/// Gives a handler its state.
pub(crate) fn with_state<S: Send + Sync + 'static>(
    handler: Arc<dyn Erased<S>>,
    state: &Arc<S>,
) -> Arc<dyn Run> {
    Arc::new(WithState { handler, state: Arc::clone(state) })
}
