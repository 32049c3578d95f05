//! Sessions with servers of the legacy era.

mod children;
mod detection;
mod detection_http;
mod faults;
mod http;
pub(crate) mod peer;
mod pipe;
mod questions;
