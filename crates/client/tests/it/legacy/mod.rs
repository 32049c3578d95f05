//! Sessions with servers of the legacy era.

mod http;
