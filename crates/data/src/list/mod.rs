//! Lists.
//!
//! ```text
//!  small   a packed run inside the entry
//!  big     List ── chunks (a deque) ── nodes ──┬─ Hot   a packed run with room at both ends
//!                                              ├─ Cold  the same elements, bit-packed, read only
//!                                              └─ Solo  one long element
//! ```
//!
//! Pushes and pops happen at the two ends, and so only the first and the last node are kept in a
//! form that is cheap to change (`hot`). The nodes between them are `cold`: front-coded
//! strings over the node's own alphabet, or integers of as many bits as they need, which takes
//! between a tenth and nine tenths of the bytes of Redis's listpacks and is about as fast to read.
//! A change in the middle thaws one node and freezes it again.
//!
//! A node is found by index through the counts of chunks and of nodes: the deque of chunks is
//! walked from the nearer end, and a chunk covers some tens of thousands of elements.
//!
//! What OBJECT ENCODING answers follows Redis's rules (`slot`), whichever of the two forms a
//! list really has.

mod big;
mod cold;
mod draft;
mod hot;
mod node;
mod slot;
#[cfg(test)]
mod tests;

pub use big::List;
pub use draft::Draft;
pub use node::View as NodeView;
pub use slot::{Limit, View, insert, pop, push, remove, remove_equal, set};

use std::sync::Arc;

use crate::packed::Item;

/// The tag of a run that Redis would keep as a quicklist.
const QUICK: u8 = 1;

/// One end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first element.
    Head,
    /// The last.
    Tail,
}

/// An element as it is kept.
#[derive(Clone, Copy, Debug)]
pub enum Elem<'a> {
    /// A string that reads as a canonical integer.
    Int(i64),
    /// Any string, which may read as an integer all the same.
    Bytes(&'a [u8]),
    /// A long string, which a reader may keep.
    Shared(&'a Arc<Vec<u8>>),
}

impl<'a> Elem<'a> {
    /// The element's text; `buf` is where an integer is written.
    #[inline]
    pub fn text<'b>(&self, buf: &'b mut [u8; stdx::num::I64_LEN_MAX]) -> &'b [u8]
    where
        'a: 'b,
    {
        match *self {
            Self::Int(n) => stdx::num::fmt_i64(buf, n),
            Self::Bytes(b) => b,
            Self::Shared(b) => b,
        }
    }

    /// The element's text, copied.
    pub fn to_vec(&self) -> Vec<u8> {
        self.text(&mut [0; stdx::num::I64_LEN_MAX]).to_vec()
    }
}

impl<'a> From<Item<'a>> for Elem<'a> {
    #[inline]
    fn from(item: Item<'a>) -> Self {
        match item {
            Item::Int(n) => Self::Int(n),
            Item::Bytes(b) => Self::Bytes(b),
        }
    }
}

/// A value that elements are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Needle<'a> {
    text: &'a [u8],
    int: Option<i64>,
}

impl<'a> Needle<'a> {
    /// Takes the value apart once.
    pub fn new(text: &'a [u8]) -> Self {
        let int = match Item::of(text) {
            Item::Int(n) => Some(n),
            Item::Bytes(_) => None,
        };
        Self { text, int }
    }

    /// Whether the element is this value.
    #[inline]
    pub fn is(&self, elem: Elem<'_>) -> bool {
        match elem {
            Elem::Int(n) => self.int == Some(n),
            Elem::Bytes(b) => b == self.text,
            Elem::Shared(b) => b.as_slice() == self.text,
        }
    }
}
