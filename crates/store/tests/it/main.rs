//! Stores: what each does, on disk and in memory, and what becomes of a disk that does not work.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test helpers outside of test functions may panic, and children tell their parents how it went"
)]

mod behaviours;
mod disk;
mod hosts;
mod kill;
mod large;
mod support;
