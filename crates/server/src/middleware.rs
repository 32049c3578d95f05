//! Middleware on calls: tower's traits, the same on every transport.
//!
//! A layer wraps a [`CallService`]; so many layers, so many services, and none where there are no layers.
//! Layers see every call but `subscriptions/listen`, which has no reply to wait for.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::call::Call;
use crate::exchange::ReplyFuture;
use crate::handler::Run;
use crate::reply::Reply;

/// What a layer wraps: takes a call, gives its reply, never fails.
#[derive(Clone)]
pub struct CallService {
    inner: Inner,
}

enum Inner {
    /// The handler, or the whole server.
    Leaf(Arc<dyn Run>),
    /// A layer around it.
    Layered(Box<dyn Layered>),
}

impl Clone for Inner {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(run) => Self::Leaf(Arc::clone(run)),
            Self::Layered(service) => Self::Layered(service.boxed()),
        }
    }
}

impl fmt::Debug for CallService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallService")
    }
}

impl Service<Call> for CallService {
    type Response = Reply;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // A layer that has to wait does so inside the call: readiness belongs to its own clone.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        CallFuture(self.run(call))
    }
}

/// The reply of a [`CallService`], when it is there.
pub struct CallFuture(ReplyFuture);

impl fmt::Debug for CallFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallFuture")
    }
}

impl Future for CallFuture {
    type Output = Result<Reply, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

impl CallService {
    pub(crate) fn leaf(run: Arc<dyn Run>) -> Self {
        Self { inner: Inner::Leaf(run) }
    }

    pub(crate) fn run(&self, call: Call) -> ReplyFuture {
        match &self.inner {
            Inner::Leaf(run) => run.run(call),
            Inner::Layered(service) => service.run(call),
        }
    }
}

trait Layered: Send + Sync {
    fn run(&self, call: Call) -> ReplyFuture;
    fn boxed(&self) -> Box<dyn Layered>;
}

impl<T> Layered for T
where
    T: Service<Call, Response = Reply, Error = Infallible> + Clone + Send + Sync + 'static,
    T::Future: Send,
{
    fn run(&self, call: Call) -> ReplyFuture {
        let mut service = self.clone();
        Box::pin(async move {
            let ready = std::future::poll_fn(|cx| service.poll_ready(cx)).await;
            let reply = match ready {
                Ok(()) => service.call(call).await,
                Err(never) => match never {},
            };
            reply.unwrap_or_else(|never| match never {})
        })
    }

    fn boxed(&self) -> Box<dyn Layered> {
        Box::new(self.clone())
    }
}

/// A layer whose type is forgotten.
pub(crate) type Wrap = Box<dyn FnOnce(CallService) -> CallService + Send>;

/// Forgets the type of a layer.
pub(crate) fn wrap<L>(layer: L) -> Wrap
where
    L: Layer<CallService> + Send + 'static,
    L::Service: Service<Call, Response = Reply, Error = Infallible> + Clone + Send + Sync + 'static,
    <L::Service as Service<Call>>::Future: Send,
{
    Box::new(move |service| CallService { inner: Inner::Layered(Box::new(layer.layer(service))) })
}

/// Puts layers around a handler; `None` where there are none.
pub(crate) fn stack(leaf: &Arc<dyn Run>, layers: Vec<Wrap>) -> Option<CallService> {
    if layers.is_empty() {
        return None;
    }
    let service = CallService::leaf(Arc::clone(leaf));
    Some(layers.into_iter().fold(service, |service, layer| layer(service)))
}
