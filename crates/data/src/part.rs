//! What `walk` says of a value.

/// A part of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    /// The whole of a string.
    Text(&'a [u8]),
    /// An element of a list, in order.
    Element(&'a [u8]),
    /// A member of a set, in any order.
    Member(&'a [u8]),
    /// A member of a sorted set with its score, in order.
    Scored(&'a [u8], f64),
    /// A field of a hash, its value and its deadline (Unix milliseconds), in any order.
    Field(&'a [u8], &'a [u8], Option<i64>),
    /// An entry of a stream, in order: its ID, followed by its fields as `Field`.
    Id(u64, u64),
    /// Anything else that a stream has (last ID, groups, consumers, pending entries), as text.
    Note(&'a [u8]),
}
