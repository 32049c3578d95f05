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
/// Implemented for every `async fn` of at most eight parameters, each of which implements
/// [`FromCall`], and whose output implements [`IntoReply`] for that kind. Not to be implemented by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler for {K}",
    label = "not a handler",
    note = "a handler is an async function of at most 8 parameters; every parameter must implement `FromCall<S>` and the output `IntoReply<{K}>`",
    note = "a tool that can fail returns `Result<T, ToolError>`"
)]
pub trait Handler<M, S, K: Kind>: Clone + Send + Sync + 'static {
    /// Collects what the parameters and the output need.
    fn describe(needs: &mut Needs);

    /// Runs the function on one call.
    fn run(self, call: Call, state: Arc<S>) -> impl Future<Output = Reply> + Send;
}

macro_rules! handler {
    ($($name:ident),*) => {
        #[allow(
            non_snake_case,
            unused_variables,
            unused_mut,
            reason = "a parameter is named after its type, and arity 0 has none"
        )]
        impl<F, Fut, R, S, K, $($name,)*> Handler<($($name,)*), S, K> for F
        where
            F: Fn($($name),*) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future<Output = R> + Send,
            R: IntoReply<K>,
            K: Kind,
            S: Send + Sync + 'static,
            $($name: FromCall<S>,)*
        {
            fn describe(needs: &mut Needs) {
                $($name::describe(needs);)*
                R::describe(needs);
            }

            async fn run(self, call: Call, state: Arc<S>) -> Reply {
                let mut asked = None;
                $(
                    let taken = $name::from_call(&call, &state).await;
                    let $name = match settle(taken, &call, &mut asked) {
                        Ok(value) => value,
                        Err(reply) => return reply,
                    };
                )*
                if let Some(questions) = asked {
                    return rounds::ask(&call, questions);
                }
                $(let Some($name) = $name else { return missing() };)*
                let output = self($($name),*).await;
                output.into_reply(&call)
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
