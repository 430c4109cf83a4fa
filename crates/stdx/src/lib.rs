//! Small pure tools every other crate leans on: number text, globs, hashes,
//! clocks, random numbers, histograms.
//!
//! Nothing here does I/O, knows a key, or knows a command. Where a module
//! repeats behaviour that clients can see, its header names the source.

pub mod glob;
pub mod num;
