//! Small pure tools every other crate leans on: number text, globs, hashes,
//! clocks, random numbers, histograms, locks.
//!
//! Nothing here does I/O, knows a key, or knows a command. Where a module
//! repeats behaviour that clients can see, its header names the source.

pub mod bytes;
pub mod carried;
pub mod clock;
pub mod crc;
pub mod crc32c;
pub mod glob;
pub mod hash;
pub mod histogram;
pub mod longdouble;
pub mod mem;
pub mod num;
pub mod repr;
pub mod rng;
pub mod split;
pub mod sync;
pub mod yield_point;

mod sha1hex;
pub use sha1hex::sha1hex;
