//! The types of values.

/// The type of a value; the numbers are Redis's object types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A string, integer or not.
    String = 0,
    /// A list.
    List = 1,
    /// A set.
    Set = 2,
    /// A sorted set.
    ZSet = 3,
    /// A hash.
    Hash = 4,
    /// A stream.
    Stream = 6,
}

impl Kind {
    /// The name that TYPE answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::ZSet => "zset",
            Kind::Hash => "hash",
            Kind::Stream => "stream",
        }
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        match bits & 15 {
            0 => Kind::String,
            1 => Kind::List,
            2 => Kind::Set,
            3 => Kind::ZSet,
            4 => Kind::Hash,
            _ => Kind::Stream,
        }
    }
}
