//! Reads what a request says: its body, its path and its query, and says where one is wrong.

use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// The longest body, in bytes: what a person types is shorter.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// The longest body with attachments, in bytes: 16 MiB of them and a question of 1 MiB, as JSON.
pub(crate) const MAX_QUESTION: usize = 32 << 20;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(60);

/// A JSON body of at most so many bytes.
#[derive(Debug)]
pub(crate) struct Body<T, const MAX: usize = MAX_BODY>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync, const MAX: usize> FromRequest<S> for Body<T, MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let read = tokio::time::timeout(BODY, axum::body::to_bytes(request.into_body(), MAX)).await;
        let read = read.map_err(|_| {
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time")
        })?;
        let bytes = read.map_err(|_| {
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is too large or broke off")
                .hint(format!("a body may have {MAX} bytes"))
        })?;
        // No body is an empty object.
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        // A list would be read as the members in their order.
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Err(ApiError::bad_request("the body is not a JSON object"));
        }
        serde_json::from_slice(text)
            .map(Self)
            .map_err(|error| ApiError::bad_request(format!("the body does not fit: {error}")))
    }
}

/// The parts of a path that vary.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = axum::extract::Path::from_request_parts(parts, state).await;
        read.map(|axum::extract::Path(value)| Self(value)).map_err(|rejection: PathRejection| {
            ApiError::new(StatusCode::NOT_FOUND, "not_found", rejection.body_text())
        })
    }
}

/// What stands behind the question mark.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = axum::extract::Query::from_request_parts(parts, state).await;
        read.map(|axum::extract::Query(value)| Self(value))
            .map_err(|rejection: QueryRejection| ApiError::bad_request(rejection.body_text()))
    }
}
