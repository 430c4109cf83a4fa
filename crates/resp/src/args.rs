//! The arguments of one command, borrowed from the input buffer where they arrived.

use std::ops::Index;

/// Where an argument lies: a range of the input buffer, or a place in the list of owned arguments
/// (large ones that were received straight into a buffer of their own, those of inline commands,
/// which had to be unquoted, and those that end behind [`Span::END_MAX`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    len: u32,
}

impl Span {
    const OWNED: u32 = u32::MAX;

    /// A range of the input buffer ends here at most: a span is 8 bytes, since there is one for each
    /// argument. Tests of the parser take a smaller one, so that they need no input of 4 GiB.
    pub const END_MAX: usize = if cfg!(test) { 60_000 } else { u32::MAX as usize - 1 };

    /// A range of the input buffer, which ends at [`END_MAX`](Self::END_MAX) at most.
    ///
    /// # Panics
    /// If it ends behind that.
    #[inline]
    pub fn new(start: usize, len: usize) -> Self {
        Self::within(start, len).expect("a range within the first 4 GiB of the buffer")
    }

    /// A range of the input buffer; none if it ends behind [`END_MAX`](Self::END_MAX).
    #[inline]
    pub fn within(start: usize, len: usize) -> Option<Self> {
        let end = start.checked_add(len)?;
        (end <= Self::END_MAX).then(|| Self::near(start, len))
    }

    /// A range of a buffer that is known to end at [`END_MAX`](Self::END_MAX) at most.
    #[inline(always)]
    pub(crate) fn near(start: usize, len: usize) -> Self {
        // Run for every argument; callers cut the buffer at this length.
        debug_assert!(start + len <= Self::END_MAX);
        Self { start: start as u32, len: len as u32 }
    }

    /// Number `i` of the owned arguments.
    pub fn owned(i: usize) -> Self {
        Self { start: Self::OWNED, len: i as u32 }
    }

    /// The bytes, if they lie in the input buffer `buf`.
    #[inline]
    pub fn bytes(self, buf: &[u8]) -> Option<&[u8]> {
        buf.get(self.start as usize..(self.start as usize).checked_add(self.len as usize)?)
            .filter(|_| self.start != Self::OWNED)
    }

    /// The place in the list of owned arguments, if it is one of those.
    pub(crate) fn owned_index(self) -> Option<usize> {
        (self.start == Self::OWNED).then_some(self.len as usize)
    }

    /// The same range, `by` bytes further on; none if it ends behind [`END_MAX`](Self::END_MAX) then.
    #[inline]
    pub(crate) fn shifted(self, by: usize) -> Option<Self> {
        if self.start == Self::OWNED {
            return Some(self);
        }
        Self::within(by.checked_add(self.start as usize)?, self.len as usize)
    }
}

/// A command's arguments; number 0 is its name.
pub struct Args<'a> {
    buf: &'a [u8],
    spans: &'a [Span],
    owned: &'a mut [Vec<u8>],
}

impl<'a> Args<'a> {
    /// Arguments given as spans of `buf` and of `owned`.
    #[inline]
    pub fn new(buf: &'a [u8], spans: &'a [Span], owned: &'a mut [Vec<u8>]) -> Self {
        Self { buf, spans, owned }
    }

    /// Turns to another command, whose arguments lie in the same places.
    #[inline]
    pub fn turn_to(&mut self, spans: &'a [Span]) {
        self.spans = spans;
    }

    /// How many there are, the name included.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a command has at least its name")]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Argument `i`, if there is one.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        self.spans.get(i).map(|s| self.at(*s))
    }

    #[inline]
    fn at(&self, s: Span) -> &[u8] {
        if s.start == Span::OWNED {
            &self.owned[s.len as usize]
        } else {
            &self.buf[s.start as usize..][..s.len as usize]
        }
    }

    /// Arguments from number `from` on.
    pub fn iter_from(
        &self,
        from: usize,
    ) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator + Clone + '_ {
        self.spans.get(from..).unwrap_or(&[]).iter().map(|s| self.at(*s))
    }

    /// Where arguments from number `from` on lie in the input buffer, and their sizes; none if some of
    /// them lie elsewhere.
    pub fn places(&self, from: usize) -> Option<Vec<(u32, u32)>> {
        let place = |s: &Span| (s.start != Span::OWNED).then_some((s.start, s.len));
        self.spans.get(from..).unwrap_or(&[]).iter().map(place).collect()
    }

    /// Takes argument `i` without a copy if it was received into a buffer of its own; the argument
    /// is empty afterwards.
    pub fn take(&mut self, i: usize) -> Option<Vec<u8>> {
        let s = self.spans.get(i)?;
        (s.start == Span::OWNED).then(|| std::mem::take(&mut self.owned[s.len as usize]))
    }

    /// Whether argument `i` equals `word` without regard to ASCII case.
    #[inline]
    pub fn is(&self, i: usize, word: &str) -> bool {
        self.get(i).is_some_and(|a| a.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Bytes of all arguments.
    pub fn bytes(&self) -> usize {
        self.iter_from(0).map(<[u8]>::len).sum()
    }

    /// Arguments from number `from` on as owned copies.
    pub fn to_vecs(&self, from: usize) -> Vec<Vec<u8>> {
        self.iter_from(from).map(<[u8]>::to_vec).collect()
    }

    /// Arguments from number `from` on as slices.
    pub fn to_slices(&self, from: usize) -> Vec<&[u8]> {
        self.iter_from(from).collect()
    }
}

impl Index<usize> for Args<'_> {
    type Output = [u8];

    #[inline]
    fn index(&self, i: usize) -> &[u8] {
        self.at(self.spans[i])
    }
}
