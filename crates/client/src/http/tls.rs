//! The HTTP client: rustls on ring, the platform's certificates, no redirects, no proxy on
//! loopback.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use url::{Host, Url};

use crate::error::Error;

/// Servers close idle connections after five seconds and more; one that is about to be closed must
/// not be used any more.
const POOL_IDLE: Duration = Duration::from_secs(4);

const KEEPALIVE: Duration = Duration::from_secs(30);

pub(super) fn client(url: &Url, connect_time: Duration) -> Result<reqwest::Client, Error> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(url.scheme() == "https")?)
        .redirect(Policy::none())
        .pool_idle_timeout(POOL_IDLE)
        .connect_timeout(connect_time)
        .tcp_nodelay(true)
        // A stream of changes may be silent for hours; a dead peer must be noticed.
        .tcp_keepalive(KEEPALIVE)
        // Whether a request is sent again is decided where it is known what it does.
        .retry(reqwest::retry::never())
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")));
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| Error::misuse(format!("the HTTP client cannot be built: {error}")).source(error))
}

/// Where no TLS is spoken no certificates are loaded: a machine that has none can still talk to its
/// own servers.
fn tls(used: bool) -> Result<rustls::ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: rustls::Error| {
        Error::misuse(format!("TLS cannot be set up: {error}"))
            .hint("install the system's certificates (the package is often called ca-certificates)")
            .source(error)
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

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}
