//! An HTTP server of our own around the service: listener, connections, graceful shutdown.
//!
//! It binds to loopback unless the operator says which hosts are served, never speaks TLS (a proxy
//! does), and knows nothing of MCP. Where to look next: `http.rs` for the options, `http/service.rs` for
//! the way of one request.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use switchboard_transport::Stall;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::http::{Body, Http, HttpService};
use crate::limits::Limits;
use crate::server::Server;

/// Where a bound listener serves, unless the operator says otherwise.
const DEFAULT_PATH: &str = "/mcp";

/// How long to wait after the system refused to accept, for lack of descriptors, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long to wait for connections to be gone after they were dropped.
const DROP_TIME: Duration = Duration::from_millis(500);

/// Why a server did not start.
#[derive(thiserror::Error)]
#[error(transparent)]
pub struct ServeError(#[from] Cause);

#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error("{address}: cannot listen: {error}")]
    Io {
        address: String,
        #[source]
        error: io::Error,
    },
    #[error(
        "{0} can be reached from other machines: name the hosts that are served with hosts([\"mcp.example.com\"]), or bind to 127.0.0.1"
    )]
    NoHosts(SocketAddr),
    #[error(
        "{0} can be reached from other machines: give state_keys(…) to the builder, so that every replica can read what another one sealed, or say single_replica()"
    )]
    NoKeys(SocketAddr),
}

impl ServeError {
    /// Whether the address could not be listened on.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(self.0, Cause::Io { .. })
    }

    /// Whether the address is public but the configuration is not fit for that.
    #[must_use]
    pub fn is_public_address(&self) -> bool {
        matches!(self.0, Cause::NoHosts(_) | Cause::NoKeys(_))
    }
}

// `main` prints an error that it returns this way, so it is the text for a person here, too.
impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Listens, and says on failure where.
async fn listen(address: impl ToSocketAddrs + fmt::Debug) -> Result<TcpListener, Cause> {
    let written = format!("{address:?}").replace('"', "");
    let found: Vec<_> = match tokio::net::lookup_host(address).await {
        Ok(found) => found.collect(),
        Err(error) => return Err(Cause::Io { address: written, error }),
    };
    TcpListener::bind(&*found).await.map_err(|error| {
        let tried: Vec<_> = found.iter().map(SocketAddr::to_string).collect();
        Cause::Io { address: if tried.is_empty() { written } else { tried.join(", ") }, error }
    })
}

impl Http {
    /// Listens on an address and serves there, under `/mcp` unless [`Http::path`] says otherwise, and for
    /// clients of the first revision's HTTP+SSE under `/sse` and `/message` beside it. Port 0 takes a free
    /// one; [`Serving::local_addr`] tells which.
    ///
    /// ```
    /// use switchboard_server::{Server, Tool};
    ///
    /// # async fn until_signal() {}
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::builder("demo", "1.0.0").tool(Tool::new("ping", async || "pong")).build(())?;
    /// let serving = server.http().bind("127.0.0.1:0").await?;
    /// println!("listening on {}", serving.url());
    /// serving.run_until(until_signal()).await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the address cannot be listened on, or is public while [`Http::hosts`] or keys are missing.
    pub async fn bind(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<Serving, ServeError> {
        self.serve(listen(address).await?)
    }

    /// As [`Http::bind`], on a listener that exists already. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the listener has no address, or a public one while [`Http::hosts`] or keys are missing.
    pub fn serve(mut self, listener: TcpListener) -> Result<Serving, ServeError> {
        let local_addr =
            listener.local_addr().map_err(|error| Cause::Io { address: "the listener".to_owned(), error })?;
        if !local_addr.ip().to_canonical().is_loopback() {
            self.check_public(local_addr)?;
        }
        let path = self.path.get_or_insert_with(|| DEFAULT_PATH.to_owned()).clone();
        let limits = self.server.limits().clone();
        let grace = limits.shutdown_grace;
        let server = self.server.clone();
        let service = self.into_service();
        let (stop, stopped) = oneshot::channel();
        let acceptor = Acceptor { listener, service: service.clone(), limits };
        let task = tokio::spawn(acceptor.run(stopped));
        Ok(Serving { local_addr, path, service, server, grace, stop: Some(stop), task })
    }

    fn check_public(&self, address: SocketAddr) -> Result<(), ServeError> {
        if !self.allowed.names_hosts() {
            return Err(Cause::NoHosts(address).into());
        }
        if !self.single_replica && !self.server.has_state_keys() {
            return Err(Cause::NoKeys(address).into());
        }
        Ok(())
    }
}

/// A listening server. Dropping it drops every connection and every handler; [`Serving::shutdown`] is
/// the gentle way.
#[must_use = "dropping it stops the server"]
pub struct Serving {
    local_addr: SocketAddr,
    path: String,
    service: HttpService,
    server: Server,
    grace: Duration,
    stop: Option<oneshot::Sender<Duration>>,
    task: JoinHandle<()>,
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Serving {
    /// The address that is listened on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The URL of the endpoint, as a client on this machine would write it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.local_addr, self.path)
    }

    /// Serves until `end` resolves ([`until_signal`], for example), then shuts down within
    /// [`Limits::shutdown_grace`].
    pub async fn run_until(self, end: impl Future<Output = ()>) {
        end.await;
        let grace = self.grace;
        self.shutdown(grace).await;
    }

    /// Stops accepting, ends subscriptions with their result, lets running work finish until the
    /// deadline, and drops what is left then. Handlers of tools with a [`grace`](crate::Tool::grace) get
    /// that on top.
    pub async fn shutdown(mut self, deadline: Duration) {
        self.service.end_subscriptions();
        if let Some(stop) = self.stop.take() {
            // An error means that the task has ended already.
            let _ = stop.send(deadline);
        }
        // Nobody but us aborts it, and it does not panic.
        let _ = (&mut self.task).await;
        // As above: a handler that never waits is left behind.
        #[cfg(feature = "legacy")]
        let _ = timeout(DROP_TIME, self.service.end_sessions()).await;
        self.server.lingering().ended().await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Acceptor {
    listener: TcpListener,
    service: HttpService,
    limits: Limits,
}

impl Acceptor {
    /// Accepts until told to stop, and until when to wait for the connections to end. Dropped, it drops
    /// them.
    async fn run(self, mut stopped: oneshot::Receiver<Duration>) {
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        let deadline = loop {
            tokio::select! {
                biased;
                // An error means that the server was dropped, and so is this next.
                stopped = &mut stopped => break stopped.unwrap_or_default(),
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept(), if connections.len() < self.limits.connections => {
                    match accepted {
                        Ok((stream, _)) => self.spawn(stream, &graceful, &mut connections),
                        Err(error) if is_of_the_peer(&error) => {}
                        Err(error) => {
                            tracing::warn!(%error, "cannot accept a connection");
                            tokio::time::sleep(ACCEPT_PAUSE).await;
                        }
                    }
                }
            }
        };
        drop(self.listener);
        let ended = async {
            graceful.shutdown().await;
            while connections.join_next().await.is_some() {}
        };
        if timeout(deadline, ended).await.is_err() {
            tracing::warn!(
                ?deadline,
                "work was still running at the deadline of the shutdown and is dropped"
            );
            // A handler that never waits cannot be dropped; it is left behind.
            let _ = timeout(DROP_TIME, connections.shutdown()).await;
        }
    }

    fn spawn(&self, stream: TcpStream, graceful: &GracefulShutdown, connections: &mut JoinSet<()>) {
        // Small answers are not to wait for more; where the option cannot be set, they do.
        let _ = stream.set_nodelay(true);
        let stream = Stall::new(stream, self.limits.write_timeout);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.read_timeout)
            .serve_connection(TokioIo::new(stream), Adapter(self.service.clone()));
        let watched = graceful.watch(connection);
        connections.spawn(async move {
            if let Err(error) = watched.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}

// The peer gave up before we got to it: nothing is wrong here.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// The tower service as hyper calls one.
struct Adapter(HttpService);

impl Service<hyper::Request<hyper::body::Incoming>> for Adapter {
    type Response = hyper::Response<Body>;
    type Error = Infallible;
    type Future = <HttpService as tower_service::Service<hyper::Request<hyper::body::Incoming>>>::Future;

    fn call(&self, request: hyper::Request<hyper::body::Incoming>) -> Self::Future {
        self.0.answer(request)
    }
}

/// Resolves when the process is asked to end: Ctrl-C, or SIGTERM where that exists. A system that cannot
/// tell is taken to never ask.
pub async fn until_signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminate() => {}
    }
}

#[cfg(unix)]
async fn terminate() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminations) => drop(terminations.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminate() {
    std::future::pending().await
}
