//! The HTTP client that everything in this crate uses, and what is common to every base URL.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use url::{Host, Url};

use crate::error::{Kind, ModelError};

/// Idle connections are dropped before a server's usual five seconds, so that none is used while it closes.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// A client for one base URL. Redirects are off: a key must not follow one.
pub(crate) fn client(base_url: &Url, connect_timeout: Duration) -> Result<reqwest::Client, ModelError> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(base_url.scheme() == "https")?)
        .redirect(Policy::none())
        .pool_idle_timeout(POOL_IDLE)
        .connect_timeout(connect_timeout)
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")));
    if is_loopback(base_url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| {
        ModelError::new(Kind::Configuration, "the HTTP client cannot be built").with_source(error)
    })
}

/// TLS on ring with the platform's own certificates. Where no TLS is spoken none are loaded: a machine without
/// certificates can still talk to its own model server.
fn tls(used: bool) -> Result<rustls::ClientConfig, ModelError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: rustls::Error| {
        ModelError::new(Kind::Configuration, "TLS cannot be set up")
            .with_hint("install the system's certificates (the package is often called ca-certificates)")
            .with_source(error)
    };
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    if !used {
        return Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth());
    }
    let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(failed)?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// Checks a base URL that a person gave.
pub(crate) fn parse_base_url(text: &str) -> Result<Url, ModelError> {
    let wrong = |why: &str| {
        ModelError::new(Kind::Configuration, format!("the base URL of the model endpoint {why}"))
            .with_hint("give one like https://api.openai.com/v1 or http://127.0.0.1:11434/v1")
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong("is not a URL").with_source(error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("holds credentials, which would show up in logs; give the key separately"));
    }
    Ok(url)
}

/// The address of an endpoint below a base URL. A base URL without a path gets the usual `/v1`; a query stays.
pub(crate) fn endpoint(base_url: &Url, path: &str) -> Url {
    let mut url = base_url.clone();
    let base = base_url.path().trim_end_matches('/');
    if base.ends_with(path) {
        return url;
    }
    let base = if base.is_empty() { "/v1" } else { base };
    url.set_path(&format!("{base}{path}"));
    url
}

/// Whether a URL points to this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}
