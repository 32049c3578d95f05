//! Who may speak to the host: the right `Host`, no foreign `Origin`, and the token.
//!
//! The token stands in the fragment of the address that the program prints; no request carries a fragment. The page
//! gives it once, and gets a cookie that scripts cannot read (`cookie`). A program gives it as a bearer. `Host` and `Origin` keep
//! pages of other sites out that point a name of theirs to this address.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body as Sent;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use serde::Deserialize;
use switchboard_agent::Digest;
use switchboard_agent::store::StoreError;

use crate::body::Body;
use crate::cookie::{self, Cookies};
use crate::error::ApiError;
use crate::events;

/// The longest body of `POST /login`, in bytes: anybody may send one.
const MAX_LOGIN: usize = 4096;

/// What is let through.
#[derive(Clone, Debug)]
pub(crate) struct Guard(Arc<Rules>);

struct Rules {
    /// The digest of the token, so that comparing takes the same time whatever differs.
    token: Digest,
    cookies: Arc<Cookies>,
    cookie_name: String,
    hosts: Vec<String>,
    secure: bool,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Guard {
    /// For a server at `address`, whose pages hold `cookies`. `names` are further `Host`s under which it is reached, with their port if they have
    /// one. `secure` where a proxy before it speaks https.
    pub(crate) fn new(
        (token, cookies): (&str, Cookies),
        address: SocketAddr,
        (names, secure): (&[String], bool),
    ) -> Self {
        let port = address.port();
        let own = ["localhost".to_owned(), bracketed(address), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        let mut hosts: Vec<String> = own.iter().map(|name| format!("{name}:{port}")).collect();
        hosts.extend(names.iter().map(|name| name.to_ascii_lowercase()));
        Self(Arc::new(Rules {
            token: token_digest(token),
            cookies: Arc::new(cookies),
            // Cookies do not know ports: two hosts on one machine would log each other out.
            cookie_name: format!("switchboard-{port}"),
            hosts,
            secure,
        }))
    }

    fn host_is_ours(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        let given = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let Some(host) = given.or_else(|| uri.authority().map(|authority| authority.as_str())) else {
            return false;
        };
        self.0.hosts.contains(&host.to_ascii_lowercase())
    }

    /// A browser says where a request comes from. Nothing but a page of ours is let through.
    fn origin_is_ours(&self, headers: &HeaderMap) -> bool {
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
        let fits = |origin: &str| {
            let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            name.is_some_and(|name| self.0.hosts.contains(&name.to_ascii_lowercase()))
        };
        !matches!(site, Some(b"cross-site" | b"same-site")) && origin.is_none_or(fits)
    }

    /// What lets a request in. Reads the disk.
    fn login(&self, headers: &HeaderMap) -> Option<LoggedIn> {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(token) = bearer.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        }) {
            return (token_digest(token) == self.0.token).then_some(LoggedIn::Token);
        }
        let cookie = self.given(headers).find(|cookie| self.0.cookies.is_ours(cookie))?;
        Some(LoggedIn::Cookie(cookie.to_owned()))
    }

    /// The cookies of a request that go by our name.
    fn given<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter_map(|(name, value)| (name == self.0.cookie_name).then_some(value))
    }

    fn cookie(&self, value: &str, seconds: u64) -> HeaderValue {
        let secure = if self.0.secure { "; Secure" } else { "" };
        let text = format!(
            "{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
            self.0.cookie_name
        );
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

/// What let a request in.
enum LoggedIn {
    /// The token itself, which counts as long as the host runs.
    Token,
    /// A cookie, until somebody logs out.
    Cookie(String),
}

fn token_digest(token: &str) -> Digest {
    Digest::of(&[b"switchboard token", token.as_bytes()])
}

fn bracketed(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

/// Before everything: the right host, and no foreign page.
pub(crate) async fn same_site(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if !guard.host_is_ours(request.headers(), request.uri()) {
        return ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "wrong_host",
            "this host does not go by that name",
        )
        .hint("use the address that `switchboard serve` printed, or name yours with --public-url")
        .into_response();
    }
    let navigates = request.headers().get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    // A link on another site may lead to the page; it gets nothing but the page.
    let page = request.uri().path() == "/" && request.method().is_safe() && navigates;
    if !page && !guard.origin_is_ours(request.headers()) {
        return ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", "a page of another site asks")
            .into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Before everything that is not the page itself: the token. A stream of events ends with the login that it was opened
/// with.
pub(crate) async fn logged_in(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (headers, asked) = (request.headers().clone(), guard.clone());
    let login = tokio::task::spawn_blocking(move || asked.login(&headers)).await;
    match login.ok().flatten() {
        Some(LoggedIn::Token) => return next.run(request).await,
        Some(LoggedIn::Cookie(cookie)) => {
            let response = next.run(request).await;
            let kind = response.headers().get(header::CONTENT_TYPE);
            if kind.is_none_or(|kind| kind != events::MEDIA_TYPE) {
                return response;
            }
            let ended = Arc::clone(&guard.0.cookies).ended(cookie);
            return response
                .map(|body| Sent::from_stream(body.into_data_stream().take_until(Box::pin(ended))));
        }
        None => {}
    }
    let mut response = ApiError::new(
        StatusCode::UNAUTHORIZED,
        "login_needed",
        "the token is missing or wrong",
    )
    .hint("send it as `Authorization: Bearer TOKEN`, or open the address that `switchboard serve` printed")
    .into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// The body of `POST /login`.
#[derive(Debug, Deserialize)]
pub(crate) struct Login {
    token: String,
}

pub(crate) async fn login(
    State(guard): State<Guard>,
    headers: HeaderMap,
    Body(login): Body<Login, MAX_LOGIN>,
) -> Response {
    if token_digest(&login.token) != guard.0.token {
        return ApiError::new(StatusCode::UNAUTHORIZED, "login_needed", "this is not the token of this host")
            .hint("open the address that `switchboard serve` printed when it was started")
            .into_response();
    }
    let asked = guard.clone();
    let cookie = tokio::task::spawn_blocking(move || {
        let cookies = &asked.0.cookies;
        // One that counts stays: another page of this browser came in with it, and its stream ends with it.
        let known = asked.given(&headers).find(|cookie| cookies.is_ours(cookie));
        known.map(str::to_owned).or_else(|| cookies.issue())
    });
    let Some(cookie) = cookie.await.ok().flatten() else {
        let message = "the machine gives no random bytes";
        return ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message).into_response();
    };
    let cookie = guard.cookie(&cookie, cookie::SECONDS);
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}

/// The cookie ends, wherever it was copied to, and the browser forgets it.
pub(crate) async fn logout(State(guard): State<Guard>, headers: HeaderMap) -> Response {
    let forget = [(header::SET_COOKIE, guard.cookie("", 0))];
    let ended = tokio::task::spawn_blocking(move || {
        guard.given(&headers).try_for_each(|cookie| guard.0.cookies.end(cookie))
    });
    match ended.await.unwrap_or_else(|error| Err(StoreError::new(error.to_string()))) {
        Ok(()) => (StatusCode::NO_CONTENT, forget).into_response(),
        Err(error) => (forget, ApiError::from(error)).into_response(),
    }
}
