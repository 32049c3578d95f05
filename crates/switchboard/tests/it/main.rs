//! The real binary against real servers: what scripts and people rely on.

mod demo;
mod failures;
mod inspect;
mod interrupt;
mod model;
mod program;
mod run;
#[cfg(unix)]
mod terminal;
mod tools;
