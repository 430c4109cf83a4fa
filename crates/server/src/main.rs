//! The `apus` binary.
fn main() {}
