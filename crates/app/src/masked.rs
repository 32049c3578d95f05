//! No known secret leaves in an answer: whatever servers and models say is in some of them, and one that repeats what it
//! was given would have it shown. One place, so that no field is forgotten.
//!
//! Exports and artefacts are passed on in pieces: they come from the store, which is written without secrets.

use std::sync::Arc;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;

use crate::App;
use crate::error::ApiError;

/// Masks the known secrets in JSON that is sent whole.
pub(crate) async fn known(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    if kind != Some(b"application/json") || response.body().size_hint().exact().is_none() {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    let failed = || ApiError::failed();
    let bytes = to_bytes(body, usize::MAX).await.map_err(|_| failed())?;
    let text = String::from_utf8(bytes.into()).map_err(|_| failed())?;
    let masked = app.blocking(move |host| Ok::<_, ApiError>(host.shown_json(text))).await?;
    parts.headers.remove(header::CONTENT_LENGTH);
    Ok(Response::from_parts(parts, Body::from(masked)))
}
