//! What answers are made of.

/// What was answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) status: u16,
    /// Bytes of the body.
    pub(super) body: usize,
    /// It was a kept page.
    pub(super) hit: bool,
    pub(super) renderings: u32,
    /// The place of its row.
    pub(super) row: usize,
}

/// What every answer depends on besides its content.
pub(super) struct Way {
    pub(super) keeps: bool,
    pub(super) minor: u8,
    /// It is HEAD: the body is not sent.
    pub(super) bare: bool,
}

/// An answer that is not kept.
pub(super) struct Fresh<'a> {
    pub(super) status: u16,
    pub(super) content_type: &'a str,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: Vec<u8>,
    /// It contains a secret, whose bytes could be guessed by the sizes of compressed bodies.
    pub(super) secret: bool,
}
