//! Arguments as rows and their functions see them, and what is said of the keys among them.

use crate::row::KeyFlags;

/// The arguments of a call, its name first, however they are stored.
pub trait Argv {
    /// How many there are.
    fn len(&self) -> usize;

    /// Argument `index`, which is below [`Argv::len`].
    fn get(&self, index: usize) -> &[u8];

    /// Whether there are none, not even a name.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: AsRef<[u8]>> Argv for [T] {
    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        self[index].as_ref()
    }
}

impl<A: Argv + ?Sized> Argv for &A {
    #[inline]
    fn len(&self) -> usize {
        (**self).len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        (**self).get(index)
    }
}

/// Where a key is, and how it is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPos {
    /// Its argument; the command's name is 0.
    pub index: usize,
    /// How the command accesses it.
    pub flags: KeyFlags,
}

/// The arguments do not fit the command's key specifications. The command
/// itself, called without keys, has the error text for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;
