//! Names of channels and patterns, each with its hash.
//!
//! A name is in three maps at least: that of all threads, that of its thread, that of its connection.
//! The hash is computed once, and kept with the name, so that a map that grows need not look at the
//! texts of the names in it: after a restart of the server, millions of names come in one storm.

use std::borrow::Borrow;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The name of a channel or a pattern, shared by all its users.
#[derive(Clone, Debug)]
pub struct Name {
    hash: u64,
    text: Arc<[u8]>,
}

impl Name {
    /// Whether both are one and the same.
    #[cfg(test)]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text)
    }
}

impl Deref for Name {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.text
    }
}

/// A name that a client has sent, to look for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    hash: u64,
    text: &'a [u8],
}

impl<'a> Wanted<'a> {
    #[inline]
    /// The name with this text.
    pub fn new(text: &'a [u8]) -> Self {
        Self { hash: stdx::hash::hash64(text), text }
    }

    /// The same for a text whose hash (`stdx::hash::hash64`) is known.
    #[inline]
    pub fn hashed(text: &'a [u8], hash: u64) -> Self {
        // To hash it again would cost what this function saves.
        debug_assert!(hash == stdx::hash::hash64(text));
        Self { hash, text }
    }

    /// The text.
    #[inline]
    pub fn text(self) -> &'a [u8] {
        self.text
    }

    #[inline]
    pub(crate) fn hash(self) -> u64 {
        self.hash
    }

    /// A name to be kept.
    pub fn keep(self) -> Name {
        Name { hash: self.hash, text: self.text.into() }
    }
}

impl<'a> From<&'a Name> for Wanted<'a> {
    #[inline]
    fn from(name: &'a Name) -> Self {
        Self { hash: name.hash, text: &name.text }
    }
}

/// The form that maps compare: kept names and wanted ones alike.
pub(crate) trait Named {
    fn wanted(&self) -> Wanted<'_>;
}

impl Named for Name {
    #[inline]
    fn wanted(&self) -> Wanted<'_> {
        self.into()
    }
}

impl Named for Wanted<'_> {
    #[inline]
    fn wanted(&self) -> Wanted<'_> {
        *self
    }
}

impl<'a> Borrow<dyn Named + 'a> for Name {
    #[inline]
    fn borrow(&self) -> &(dyn Named + 'a) {
        self
    }
}

impl Hash for dyn Named + '_ {
    #[inline]
    fn hash<H: Hasher>(&self, h: &mut H) {
        h.write_u64(self.wanted().hash);
    }
}

impl PartialEq for dyn Named + '_ {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.wanted(), other.wanted());
        a.hash == b.hash && a.text == b.text
    }
}

impl Eq for dyn Named + '_ {}

impl Hash for Name {
    #[inline]
    fn hash<H: Hasher>(&self, h: &mut H) {
        h.write_u64(self.hash);
    }
}

impl PartialEq for Name {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.text == other.text
    }
}

impl Eq for Name {}

/// Passes on the hash that a name has.
#[derive(Default)]
pub(crate) struct Known(u64);

impl Hasher for Known {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = stdx::hash::hash64(bytes);
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A map by name.
pub(crate) type Names<V> = std::collections::HashMap<Name, V, BuildHasherDefault<Known>>;
/// A set of names.
pub(crate) type NameSet = std::collections::HashSet<Name, BuildHasherDefault<Known>>;
