//! switchboard
fn main() {}
