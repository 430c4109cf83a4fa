//! Numbers as text, in the exact forms Redis's clients see.
//!
//! Parsing is as strict as Redis's `string2ll` and `string2d` (util.c): what
//! they refuse is an error to the client, and what they accept round-trips, so
//! that a string may be stored as an integer and given back unchanged.
//! Formatting writes into buffers of the caller: no allocation on a reply path.
//!
//! * `int`: `i64` and `u64`;
//! * `float`: `f64`, in the shortest form (replies since Redis 7.2), in
//!   `%.17g` (Redis up to 7.0) and in the "human" form of coordinates;
//! * `size`: byte counts such as `1.50M`.

mod float;
mod int;
mod size;

pub use float::{F64_LEN_MAX, fmt_f64, fmt_f64_g17, parse_f64, push_f64_human};
pub use int::{I64_LEN_MAX, fmt_i64, fmt_u64, parse_i64, parse_u64};
pub use size::bytes_to_human;

pub(crate) use float::{FloatText, classify_float};
