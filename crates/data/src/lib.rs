//! Values: the structures behind Redis's types and the algorithms over their
//! bytes. Knows no keys and no commands.

pub mod bits;
pub mod lcs;
