//! Data structures: the table and its entries, bit operations, LCS.
//!
//! Nothing in here knows what a key means or what a command is. The unsafe code of the store
//! lives here, behind safe interfaces, and is fuzzed against models from `std`.

pub mod big;
pub mod bits;
mod chunked;
pub mod entry;
pub mod epoch;
pub mod geo;
pub mod hash;
mod headed;
pub mod hll;
pub mod kind;
pub mod lcs;
pub mod list;
pub mod packed;
mod part;
pub mod set;
pub mod stream;
pub mod table;
pub mod walk;
pub mod zset;
