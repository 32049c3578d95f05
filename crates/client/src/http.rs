//! The Streamable HTTP transport, the client's side: one POST an exchange
//! [spec: basic/transports/streamable-http].
//!
//! Redirects are followed here and not by the HTTP client: only 307 and 308, only to the same
//! origin, so that no credential leaves it. A request is never repeated here; whether that is safe
//! is known above. Where to look next: `answer` reads what came back, `body` the bytes of it, `refusal` what is no success,
//! `tls` builds the client.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod refusal;
mod tls;

use std::error::Error as _;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use reqwest::Response;
use switchboard_protocol::RequestId;
use url::Url;

use crate::error::{Delivery, Error, Kind};
use crate::limits::Limits;
use crate::link::Opening;
use crate::secret::Headers;
use crate::wire::Tap;

pub(crate) use answer::HttpStream;

/// One HTTP request on its way, without the headers that the host gave.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// A message; the transport has requests without one only in the legacy era.
    pub(crate) body: Option<Bytes>,
}

/// The way to a server at a URL.
pub(crate) struct HttpLink {
    client: reqwest::Client,
    url: Url,
    headers: Headers,
    limits: Limits,
    tap: Tap,
    last_id: AtomicI64,
}

impl HttpLink {
    pub(crate) fn new(url: Url, headers: Headers, limits: Limits, tap: Tap) -> Result<Self, Error> {
        let client = tls::client(&url, limits.connect_time)?;
        Ok(Self { client, url, headers, limits, tap, last_id: AtomicI64::new(0) })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// An id that no request to this server had before, in whichever session it was.
    pub(crate) fn next_id(&self) -> RequestId {
        RequestId::from(self.last_id.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub(crate) async fn open(&self, opening: &Opening<'_>) -> Result<HttpStream, Error> {
        let id = self.next_id();
        let response = self.post(opening.headers.clone(), opening.body(&id)?).await?;
        if response.status().is_success() {
            return HttpStream::new(response, id, &self.limits, self.tap.clone());
        }
        Err(refusal::read(response, &self.limits, &self.tap).await)
    }

    /// Sends a notification. Servers differ in how they take note of one; any success will do.
    pub(crate) async fn notify(&self, headers: HeaderMap, message: Bytes) -> Result<(), Error> {
        let response = self.post(headers, message).await?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(refusal::read(response, &self.limits, &self.tap).await)
    }

    async fn post(&self, headers: HeaderMap, body: Bytes) -> Result<Response, Error> {
        self.send(Outgoing { method: Method::POST, url: self.url.clone(), headers, body: Some(body) }).await
    }

    /// Sends one HTTP request, and once more for each redirect that is followed.
    ///
    /// # Errors
    /// When nothing came back, or a redirect that is not followed.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Response, Error> {
        let Outgoing { method, mut url, mut headers, body } = outgoing;
        headers.extend(self.headers.map().clone());
        let mut status = StatusCode::PERMANENT_REDIRECT;
        for _ in 0..=self.limits.redirects {
            let mut request = self.client.request(method.clone(), url.clone()).headers(headers.clone());
            if let Some(body) = &body {
                self.tap.sent(body);
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| failed(&error))?;
            status = response.status();
            match status {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {
                    url = self.redirected(&url, &response)?;
                }
                status if status.is_redirection() => {
                    let why =
                        if method == Method::POST { "it changes the method" } else { "only 307 and 308 are" };
                    return Err(refused_redirect(&response, why));
                }
                _ => return Ok(response),
            }
        }
        Err(Error::new(
            Kind::Http,
            Delivery::Rejected,
            format!("the server redirected more than {} times", self.limits.redirects),
        )
        .status(status.as_u16(), None)
        .hint("use the address of the endpoint itself"))
    }

    fn redirected(&self, from: &Url, response: &Response) -> Result<Url, Error> {
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let target = location.and_then(|location| from.join(location).ok());
        match target {
            Some(target) if target.origin() == self.url.origin() => Ok(target),
            Some(_) => Err(refused_redirect(response, "it leads to another origin")),
            None => Err(refused_redirect(response, "its target is no address")),
        }
    }
}

/// An address without its query, which may hold a secret.
pub(crate) fn without_query(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    shown.to_string()
}

fn refused_redirect(response: &Response, why: &str) -> Error {
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    // Without its query: a sign-in page's address may hold what is nobody's business.
    let shown = location.map(|location| location.split(['?', '#']).next().unwrap_or_default());
    let status = response.status().as_u16();
    let message = match shown {
        Some(shown) => format!(
            "the server redirects to {} (HTTP {status}), which is not followed: {why}",
            crate::error::excerpt(shown)
        ),
        None => format!("the server redirects (HTTP {status}), which is not followed: {why}"),
    };
    Error::new(Kind::Http, Delivery::Rejected, message)
        .hint("if you trust that address, use it as the server's URL")
        .status(status, None)
}

/// A request that got no answer at all.
fn failed(error: &reqwest::Error) -> Error {
    let cause = root_cause(error);
    if error.is_connect() {
        return Error::new(
            Kind::Unreachable,
            Delivery::NotSent,
            format!("the server cannot be reached: {cause}"),
        )
        .hint("check the address, and whether the server is running");
    }
    if error.is_builder() {
        return Error::misuse(format!("the request cannot be built: {cause}"));
    }
    Error::new(
        Kind::Lost,
        Delivery::MaybeExecuted,
        format!("the connection ended before any answer ({cause}); the request may have been executed"),
    )
}

/// The innermost cause: the outer ones repeat the URL, whose query may hold a secret.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.source().is_none() { "no cause given".into() } else { cause.to_string() }
}

// Without the URL: its query may hold a secret.
impl fmt::Debug for HttpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpLink")
            .field("host", &self.url.host_str())
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
