//! Words for parts of a page, which a host may keep.

/// What a host knows of a part of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The host had its text, and has appended it.
    Kept,
    /// The host wants to know where it ends.
    Begun,
    /// It is like all else.
    Other,
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A whole loop.
    Loop,
    /// A turn of a loop, perhaps of one that is a part.
    Turn,
}
