//! `/artefacts`: what tools gave, whole. A browser never runs it: it is sandboxed, and saved unless it is a picture.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use switchboard_agent::store::{ArtefactRecord, Store, StoreError};

use crate::App;
use crate::body::Path;
use crate::error::ApiError;

/// How much is read at a time, in bytes.
const PIECE: usize = 256 * 1024;

/// Pictures that a browser may show as such.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let store = app.host.store();
    let known = id.clone();
    let artefact = app.blocking(move |host| host.store().artefact(&known)).await?;
    let artefact = artefact.ok_or_else(|| ApiError::not_found("artefact", &id))?;
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let Some((from, to)) = span(range, artefact.bytes) else {
        let whole = format!("bytes */{}", artefact.bytes);
        return Ok((StatusCode::RANGE_NOT_SATISFIABLE, [(header::CONTENT_RANGE, whole)]).into_response());
    };
    let mut response = Response::new(pieces(Arc::clone(store), id, from, to));
    if range.is_some() && (from, to) != (0, artefact.bytes) {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let part = format!("bytes {from}-{}/{}", to.saturating_sub(1), artefact.bytes);
        set(response.headers_mut(), header::CONTENT_RANGE, &part);
    }
    describe(response.headers_mut(), &artefact, to - from);
    Ok(response)
}

fn describe(headers: &mut HeaderMap, artefact: &ArtefactRecord, length: u64) {
    let media_type = artefact.mime_type.as_deref().unwrap_or("application/octet-stream");
    let picture = PICTURES.contains(&media_type);
    let shown = if picture { media_type } else { "application/octet-stream" };
    set(headers, header::CONTENT_TYPE, shown);
    set(headers, header::CONTENT_LENGTH, &length.to_string());
    set(headers, header::ACCEPT_RANGES, "bytes");
    set(headers, header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
    set(headers, header::CACHE_CONTROL, "private, max-age=31536000, immutable");
    if !picture {
        let name = artefact.name.as_deref().unwrap_or(&artefact.id);
        let tame = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
        let name: String =
            name.rsplit(['/', '\\']).next().unwrap_or_default().chars().take(80).map(tame).collect();
        set(headers, header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}\""));
    }
}

fn set(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// What a `Range` of one span means; everything without one. `None` if there is nothing there.
fn span(range: Option<&str>, length: u64) -> Option<(u64, u64)> {
    let Some(spec) = range.and_then(|range| range.strip_prefix("bytes=")) else { return Some((0, length)) };
    let Some((from, to)) = spec.split_once('-') else { return Some((0, length)) };
    let (from, to) = match (from.trim().parse::<u64>(), to.trim().parse::<u64>()) {
        (Ok(from), Ok(to)) => (from, to.saturating_add(1).min(length)),
        (Ok(from), Err(_)) if to.trim().is_empty() => (from, length),
        (Err(_), Ok(last)) if from.trim().is_empty() => (length.saturating_sub(last), length),
        // Several spans, or none that can be read: the whole is a right answer to both.
        _ => return Some((0, length)),
    };
    (from < to).then_some((from, to))
}

/// The bytes, read piece by piece, so that a large artefact is never in memory as a whole.
fn pieces(store: Arc<dyn Store>, id: String, from: u64, to: u64) -> Body {
    let bytes = stream::unfold((from, false), move |(at, failed)| {
        let (store, id) = (Arc::clone(&store), id.clone());
        async move {
            let length = usize::try_from(to.saturating_sub(at)).unwrap_or(PIECE).min(PIECE);
            if length == 0 || failed {
                return None;
            }
            let read = tokio::task::spawn_blocking(move || store.artefact_bytes(&id, at, length)).await;
            let piece = match read {
                Ok(Ok(piece)) if piece.is_empty() => {
                    Err(StoreError::new("the artefact is shorter than it was"))
                }
                Ok(piece) => piece,
                Err(_) => Err(StoreError::new("reading did not come to its end")),
            };
            let (next, failed) = (at + piece.as_ref().map_or(0, |piece| piece.len() as u64), piece.is_err());
            Some((piece.map(Bytes::from), (next, failed)))
        }
    });
    Body::from_stream(bytes)
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_range_is_cut_to_what_there_is() {
        for (range, length, expected) in [
            (None, 10, Some((0, 10))),
            (Some("bytes=2-4"), 10, Some((2, 5))),
            (Some("bytes=2-"), 10, Some((2, 10))),
            (Some("bytes=-3"), 10, Some((7, 10))),
            (Some("bytes=-30"), 10, Some((0, 10))),
            (Some("bytes=2-400"), 10, Some((2, 10))),
            (Some("bytes=10-"), 10, None),
            (Some("bytes=5-4"), 10, None),
            (Some("bytes=0-1,3-4"), 10, Some((0, 10))),
            (Some("lines=1-2"), 10, Some((0, 10))),
        ] {
            assert_eq!(span(range, length), expected, "{range:?}");
        }
    }
}
