//! What is known of the values that a script handles.

use std::cell::Cell;

/// The knowledge about a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// Nothing was put there yet.
    Unset,
    /// Neither of those below.
    Other,
    /// A text: this constant.
    Text(u16),
    /// An element of the table of keys.
    Key,
    /// This element of it.
    KeyAt(u16),
    /// The table of keys.
    Keys,
    /// The table of arguments. Unlike those that follow it may get out of sight; then nothing is known
    /// of its elements.
    Argv,
    /// This element of it.
    Argument(u16),
    /// A function that reads its arguments, and no more.
    Reader,
    /// The library.
    Redis,
    /// `redis.call` or `redis.pcall`.
    Call,
    /// `ipairs`.
    Ipairs,
    /// The first value that `ipairs` returns.
    Iterator,
    /// From here on, an unknown number of other values.
    Open,
    /// Maybe something that must not get out of sight, maybe not.
    Unclear,
}

impl Value {
    /// Whether it must stay in sight.
    pub(super) fn is_guarded(self) -> bool {
        matches!(self, Self::Keys | Self::Redis | Self::Call | Self::Unclear)
    }

    /// What another variable gets with it. Nothing was put there that is seen here, but a closure may
    /// have.
    pub(super) fn copied(self) -> Self {
        if self == Self::Unset { Self::Other } else { self }
    }

    pub(super) fn is_key(self) -> bool {
        matches!(self, Self::Key | Self::KeyAt(_))
    }

    pub(super) fn join(self, other: Self, escaped: &Cell<bool>) -> Self {
        if self != other && [self, other].contains(&Self::Argv) {
            escaped.set(true);
        }
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Unset, b) => b,
            (a, Self::Unset) => a,
            (a, b) if a.is_guarded() || b.is_guarded() => Self::Unclear,
            (a, b) if a.is_key() && b.is_key() => Self::Key,
            _ => Self::Other,
        }
    }
}

/// What is known of each register of a function at one of its instructions.
pub(super) type Registers = Vec<Value>;

/// A value that a script compares with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Key(u16),
    Argument(u16),
}

/// A set of declared keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses(u32);

impl Uses {
    /// From this number on, keys are not told apart.
    pub(super) const TOLD: u16 = 31;
    pub(super) const ALL: Self = Self(u32::MAX);

    pub(super) fn of(v: Value) -> Self {
        match v {
            Value::KeyAt(n) => Self(1 << n),
            _ => Self::ALL,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether key number `n` is among them; the first is number 1.
    #[inline]
    pub fn has(self, n: usize) -> bool {
        n >= usize::from(Self::TOLD) || self.0 >> n & 1 != 0
    }
}
