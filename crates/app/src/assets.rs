//! The files of the web page, embedded: they work offline and nothing else is ever loaded.
//!
//! Where to look next: `assets/main.js` for how the page begins.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// What the page may load and do: only what comes from here. `data:` is for pictures that tools give.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// One file: its name, its media type, and what is in it.
type Asset = (&'static str, &'static str, &'static [u8]);

macro_rules! assets {
    ($($name:literal $media_type:literal),* $(,)?) => {
        const ASSETS: &[Asset] = &[$(($name, $media_type, include_bytes!(concat!("../assets/", $name)))),*];
    };
}

assets!(
    "api.js" "text/javascript",
    "base.css" "text/css",
    "card.js" "text/javascript",
    "chat.css" "text/css",
    "chat.js" "text/javascript",
    "composer.js" "text/javascript",
    "dom.js" "text/javascript",
    "icon.svg" "image/svg+xml",
    "lifecycle.css" "text/css",
    "lifecycle.js" "text/javascript",
    "main.js" "text/javascript",
    "markdown.js" "text/javascript",
    "questions.js" "text/javascript",
    "servers.css" "text/css",
    "servers.js" "text/javascript",
    "state.js" "text/javascript",
    "text.js" "text/javascript",
);

const INDEX: Asset = ("index.html", "text/html; charset=utf-8", include_bytes!("../assets/index.html"));

pub(crate) async fn index(headers: HeaderMap) -> Response {
    file(INDEX, &headers)
}

pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match ASSETS.iter().find(|(other, ..)| *other == name) {
        Some(asset) => file(*asset, &headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn file((_, media_type, bytes): Asset, headers: &HeaderMap) -> Response {
    // A version of the program has one version of every file.
    let tag = concat!("\"", env!("CARGO_PKG_VERSION"), "-");
    let tag = format!("{tag}{:x}\"", fingerprint(bytes));
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if known { StatusCode::NOT_MODIFIED.into_response() } else { bytes.into_response() };
    let sent = response.headers_mut();
    sent.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    sent.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    sent.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        sent.insert(header::ETAG, tag);
    }
    response
}

/// FNV-1a: enough to tell two builds apart.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
