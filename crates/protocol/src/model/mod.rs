//! The model: parameters and results of every method, in the shape of revision 2026-07-28.
//!
//! Handlers, hosts and relays see these types only. Members that the specification leaves open
//! (schemas, arguments, structured content) stay JSON text, so that what was received is what is
//! passed on.

pub mod capability;
pub mod completion;
pub mod content;
pub mod discover;
pub mod elicitation;
pub mod input;
pub mod notification;
pub mod prompt;
pub mod request;
pub mod resource;
pub mod result;
pub mod roots;
pub mod sampling;
pub mod subscription;
pub mod tool;
