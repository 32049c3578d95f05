//! Sessions with servers of the legacy era.

mod detection;
mod detection_http;
mod http;
mod peer;
mod pipe;
mod questions;
