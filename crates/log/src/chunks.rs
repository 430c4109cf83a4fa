//! Bytes that arrived in several pieces, cut and looked at without putting them together.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use stdx::crc32c::crc32c;

/// Bytes that a processor's nearest cache holds besides their source; the CRC is computed over three
/// streams of 8 KiB at a time.
const NEAR: usize = 24 << 10;

/// Pieces of bytes, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl Chunks {
    /// Adds a piece behind the others.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.len += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces.
    pub fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter()
    }

    /// Takes the first `n` bytes, or all there are.
    pub fn take(&mut self, n: usize) -> Self {
        let mut taken = Self::default();
        while taken.len < n
            && let Some(first) = self.pieces.front_mut()
        {
            let part = first.split_to((n - taken.len).min(first.len()));
            if first.is_empty() {
                self.pieces.pop_front();
            }
            self.len -= part.len();
            taken.push(part);
        }
        taken
    }

    /// All of it as one piece: copied only if there are several.
    pub fn join(mut self) -> Bytes {
        match self.pieces.pop_front() {
            None => Bytes::new(),
            Some(only) if self.pieces.is_empty() => only,
            Some(first) => {
                let mut whole = BytesMut::with_capacity(self.len);
                whole.extend_from_slice(&first);
                self.pieces.iter().for_each(|p| whole.extend_from_slice(p));
                whole.freeze()
            }
        }
    }

    /// The first `n` bytes, or all there are, as one piece that stays here, too.
    pub fn peek(&mut self, n: usize) -> &[u8] {
        let n = n.min(self.len);
        if self.pieces.front().is_some_and(|p| p.len() < n) {
            let joined = self.take(n).join();
            self.len += joined.len();
            self.pieces.push_front(joined);
        }
        self.pieces.front().map_or(&[], |p| &p[..n])
    }

    /// Forgets the first `n` bytes, or all there are.
    pub fn skip(&mut self, mut n: usize) {
        n = n.min(self.len);
        self.len -= n;
        while let Some(first) = self.pieces.front_mut() {
            let here = n.min(first.len());
            first.advance(here);
            n -= here;
            if !first.is_empty() {
                break;
            }
            self.pieces.pop_front();
        }
    }

    /// CRC32C of all of it.
    pub fn crc32c(&self) -> u32 {
        self.pieces.iter().fold(0, |crc, p| crc32c(crc, p))
    }

    /// Copies all of it to the start of `to`, which must be long enough.
    pub(crate) fn copy_to(&self, to: &mut [u8]) {
        let mut at = 0;
        for p in &self.pieces {
            to[at..at + p.len()].copy_from_slice(p);
            at += p.len();
        }
    }
}

/// The body of a batch that is to be, where it arrived.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// In the form that it is going to have.
    Pieces(Chunks),
    /// Records in a buffer that has other things between them, too.
    Spread {
        /// All sizes, as they are going to be.
        sizes: Bytes,
        buffer: Bytes,
        /// Where each record begins in the buffer, and its size.
        at: Arc<[(u32, u32)]>,
        /// Bytes of it all.
        len: usize,
    },
}

impl Body {
    /// How many bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Pieces(chunks) => chunks.len(),
            Self::Spread { len, .. } => *len,
        }
    }

    fn each(&self, mut piece: impl FnMut(&[u8])) {
        match self {
            Self::Pieces(chunks) => chunks.iter().for_each(|p| piece(p)),
            Self::Spread { sizes, buffer, at, .. } => {
                piece(sizes);
                // Checked when it was made.
                at.iter().for_each(|(at, len)| piece(&buffer[*at as usize..][..*len as usize]));
            }
        }
    }

    /// CRC32C of all of it.
    pub(crate) fn crc32c(&self) -> u32 {
        let mut crc = 0;
        self.each(|p| crc = crc32c(crc, p));
        crc
    }

    /// Copies all of it to the start of `to`, which must be long enough.
    pub(crate) fn copy_to(&self, to: &mut [u8]) {
        let mut at = 0;
        self.each(|p| {
            to[at..at + p.len()].copy_from_slice(p);
            at += p.len();
        });
    }

    /// The same, and its CRC32C, which is made while the bytes are still near.
    pub(crate) fn copy_to_checked(&self, to: &mut [u8]) -> u32 {
        let (mut at, mut checked, mut crc) = (0, 0, 0);
        self.each(|p| {
            for part in p.chunks(NEAR) {
                to[at..at + part.len()].copy_from_slice(part);
                at += part.len();
                // Many short pieces are checked together, which is faster.
                if at - checked >= NEAR {
                    crc = crc32c(crc, &to[checked..at]);
                    checked = at;
                }
            }
        });
        crc32c(crc, &to[checked..at])
    }

    /// All of it in the form that it is going to have.
    pub(crate) fn to_chunks(&self) -> Chunks {
        match self {
            Self::Pieces(chunks) => chunks.clone(),
            Self::Spread { sizes, buffer, at, .. } => {
                let mut chunks = Chunks::from(sizes.clone());
                for (at, len) in at.iter().map(|(at, len)| (*at as usize, *len as usize)) {
                    chunks.push(buffer.slice(at..at + len));
                }
                chunks
            }
        }
    }
}

impl From<Bytes> for Chunks {
    fn from(piece: Bytes) -> Self {
        let mut chunks = Self::default();
        chunks.push(piece);
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(pieces: &[&'static str]) -> Chunks {
        let mut c = Chunks::default();
        pieces.iter().for_each(|p| c.push(Bytes::from_static(p.as_bytes())));
        c
    }

    #[test]
    fn checked_while_copied() {
        let whole: Vec<u8> = (0..200_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
        for size in [1, 1000, NEAR - 1, NEAR, 70_000, whole.len()] {
            let mut c = Chunks::default();
            whole.chunks(size).for_each(|p| c.push(Bytes::copy_from_slice(p)));
            let mut copy = vec![0; whole.len()];
            let body = Body::Pieces(c);
            assert_eq!(body.copy_to_checked(&mut copy), crc32c(0, &whole), "{size}");
            assert_eq!((copy, body.crc32c()), (whole.clone(), crc32c(0, &whole)));
        }
    }

    #[test]
    fn like_one_piece() {
        let whole = b"abcdefghij";
        for n in 0..=12 {
            let mut c = chunks(&["abc", "", "d", "efgh", "ij"]);
            assert_eq!(c.crc32c(), crc32c(0, whole));
            let cut = n.min(whole.len());
            assert_eq!(c.peek(n), &whole[..cut]);
            assert_eq!(c.len(), 10);
            let mut skipped = c.clone();
            skipped.skip(n);
            assert_eq!(skipped.len(), 10 - cut);
            assert_eq!(skipped.join(), &whole[cut..]);
            let front = c.take(n);
            assert_eq!((front.len(), c.len()), (cut, 10 - cut));
            let mut copy = [0; 10];
            front.copy_to(&mut copy);
            assert_eq!(copy[..cut], whole[..cut]);
            assert_eq!(front.join(), &whole[..cut]);
            assert_eq!(c.join(), &whole[cut..]);
        }
    }
}
