//! What the standard library lacks and every crate here needs: clock, random, hash, number
//! formatting, histogram, memory accounting. Nothing in here does I/O.

pub mod hash;
pub mod mem;
