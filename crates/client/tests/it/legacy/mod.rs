//! Sessions with servers of the legacy era.

mod detection;
mod http;
mod peer;
mod pipe;
