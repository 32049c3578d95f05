//! client
fn main() {}
