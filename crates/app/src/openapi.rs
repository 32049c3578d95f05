//! `/openapi.json`: what this API takes and gives. The document is a file, and a test holds it against the routes.

use axum::http::header;
use axum::response::IntoResponse;

const DOCUMENT: &str = include_str!("../openapi.json");

pub(crate) async fn document() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT)
}

#[cfg(test)]
mod tests;
