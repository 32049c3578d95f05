//! The server over HTTP: one endpoint that takes a POST for each message
//! [spec: basic/transports/streamable-http].
//!
//! `server.http()` gives the options; [`Http::into_service`] makes a tower service that mounts in hyper,
//! axum or anything else that speaks `http`, and `bind` (feature `serve`) an HTTP server of our own.
//! An answer is JSON; at the first notification the half-run exchange moves into the body of an event
//! stream. There is no task and no channel: a client that leaves drops the handler. What a session of the
//! legacy era asks is recognised and served by `legacy/http`.
//!
//! Where to look next: `service.rs` is the way of one request, `checks.rs` whom it is for, `serve.rs` the
//! listener. What a header must say is `switchboard_protocol::http::classify`.

pub(crate) mod answer;
mod body;
mod checks;
mod collect;
mod service;
mod stream;

use crate::server::Server;

pub use self::body::Body;
use self::checks::Allowed;
pub use self::service::HttpService;
#[cfg(feature = "legacy")]
pub(crate) use self::stream::KeepAlive;

/// How a server is reached over HTTP. Made by [`Server::http`].
#[derive(Clone, Debug)]
#[must_use = "call into_service() or bind()"]
pub struct Http {
    pub(crate) server: Server,
    pub(crate) allowed: Allowed,
    pub(crate) path: Option<String>,
    pub(crate) single_replica: bool,
    #[cfg(feature = "legacy")]
    pub(crate) public_url: Option<String>,
}

impl Server {
    /// The server over HTTP.
    pub fn http(&self) -> Http {
        Http {
            server: self.clone(),
            allowed: Allowed::default(),
            path: None,
            single_replica: false,
            #[cfg(feature = "legacy")]
            public_url: None,
        }
    }
}

impl Http {
    /// Also serves requests whose `Host` is one of these: `name` under any port, `name:port` under one.
    /// Loopback names always are.
    pub fn hosts<I: IntoIterator<Item = S>, S: Into<String>>(mut self, hosts: I) -> Self {
        hosts.into_iter().for_each(|host| self.allowed.add_host(host));
        self
    }

    /// Also serves web pages of these origins, such as `https://app.example.com`. Pages from loopback
    /// always are; programs that are no browsers send no `Origin`.
    ///
    /// This is who may ask, not who may read the answer: there are no CORS headers in it, and `OPTIONS` is
    /// not answered as a preflight. For pages of another origin than the server's, mount
    /// [`into_service`](Self::into_service) behind a CORS layer, such as that of `tower-http`.
    pub fn origins<I: IntoIterator<Item = S>, S: Into<String>>(mut self, origins: I) -> Self {
        origins.into_iter().for_each(|origin| self.allowed.add_origin(origin));
        self
    }

    /// Serves this path only, with a slash behind it or without, and `sse` and `message` beside it. By
    /// default a service serves any path that it is mounted under, and knows those two by the last segment;
    /// a bound listener serves `/mcp`.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Says that there is one replica only, so that keys which live as long as this process will do for a
    /// public address.
    pub fn single_replica(mut self) -> Self {
        self.single_replica = true;
        self
    }

    /// A tower service for one route.
    ///
    /// ```
    /// use http_body_util::Full;
    /// use switchboard_server::Server;
    /// use tower_service::Service;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut service = Server::builder("demo", "1.0.0").build(())?.http().into_service();
    /// let body = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
    ///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
    ///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    /// let request = http::Request::post("/mcp")
    ///     .header("host", "localhost")
    ///     .header("content-type", "application/json")
    ///     .header("mcp-protocol-version", "2026-07-28")
    ///     .header("mcp-method", "server/discover")
    ///     .body(Full::new(bytes::Bytes::from(body)))?;
    /// assert_eq!(service.call(request).await?.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn into_service(self) -> HttpService {
        HttpService::new(self)
    }
}
