//! The ID of an entry.

use std::fmt;

/// Milliseconds and a number within them; IDs only grow within a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// Milliseconds, usually of Unix time.
    pub ms: u64,
    /// Tells entries of one millisecond apart.
    pub seq: u64,
}

impl Id {
    /// Before every entry: no entry has this ID.
    pub const MIN: Self = Self { ms: 0, seq: 0 };
    /// The last one that there is.
    pub const MAX: Self = Self { ms: u64::MAX, seq: u64::MAX };

    /// Both parts.
    pub const fn new(ms: u64, seq: u64) -> Self {
        Self { ms, seq }
    }

    /// The next ID, if this is not the last.
    pub fn next(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self { ms: self.ms.checked_add(1)?, seq: 0 }),
        }
    }

    /// The ID before this one, if it is not the first.
    pub fn prev(self) -> Option<Self> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self { ms: self.ms.checked_sub(1)?, seq: u64::MAX }),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}
