//! Files as trees that know their lines, whatever they were written in.

mod json;
mod node;
mod toml;

pub(crate) use json::parse as json;
pub(crate) use node::{Fault, Kind, Lines, Node, Position};
pub(crate) use toml::parse as toml;
