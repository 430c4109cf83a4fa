//! Options of live channels: a configuration of Centrifugo 6, read as a whole.

mod types;

pub use types::*;
