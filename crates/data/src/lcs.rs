//! The longest common subsequence of two strings, for LCS.
//!
//! Redis fills a table of 4-byte lengths and walks back through it. The walk
//! asks one question of each cell: is the length above larger than the one to
//! the left? So this keeps one *bit* per cell and two rows of lengths: the same
//! answers from a 32nd of the memory. [`lcs_len`] keeps no bits at all.
//!
//! ```text
//!      b₀ b₁ b₂ …      walk from the lower right:
//! a₀                     equal bytes      → take them, go up and left
//! a₁      ⟍ ↑            above > left     → up
//! a₂      ← ·            else             → left
//! ```
//!
//! Time is the product of the lengths, in Redis too; the limits below are what
//! keeps a client from asking for minutes of it.

/// Why a subsequence cannot be computed. The texts are Redis's, for the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LcsError {
    /// A string is 2^32 - 2 bytes or longer.
    TooLong,
    /// Redis's table for these lengths would exceed `proto-max-bulk-len`.
    TooLarge,
    /// The system refused the memory.
    OutOfMemory,
}

impl std::fmt::Display for LcsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LcsError::TooLong => "String too long for LCS",
            LcsError::TooLarge => {
                "Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
            }
            LcsError::OutOfMemory => {
                "Insufficient memory, failed allocating transient memory for LCS"
            }
        })
    }
}

impl std::error::Error for LcsError {}

/// A stretch of bytes that both strings share; ends are inclusive offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// First and last offset in the first string.
    pub a: (usize, usize),
    /// First and last offset in the second string.
    pub b: (usize, usize),
}

impl Match {
    /// Length in bytes, at least 1 (WITHMATCHLEN, MINMATCHLEN).
    #[expect(clippy::len_without_is_empty, reason = "a match is never empty")]
    pub fn len(&self) -> usize {
        self.a.1 - self.a.0 + 1
    }
}

/// A longest common subsequence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lcs {
    /// Its bytes; their number is the `len` of the reply.
    pub bytes: Vec<u8>,
    /// Its stretches, from the last to the first, as IDX replies them.
    pub matches: Vec<Match>,
}

/// Redis's condition: its table must fit `bytes_max` (`proto-max-bulk-len`).
/// LCS of any form checks it first, so that it fails where Redis does.
pub fn check_size(a_len: usize, b_len: usize, bytes_max: u64) -> Result<(), LcsError> {
    const LEN_LIMIT: u64 = u32::MAX as u64 - 1;
    let (a_len, b_len) = (a_len as u64, b_len as u64);
    if a_len >= LEN_LIMIT || b_len >= LEN_LIMIT {
        return Err(LcsError::TooLong);
    }
    match ((a_len + 1) * (b_len + 1)).checked_mul(size_of::<u32>() as u64) {
        Some(bytes) if bytes <= bytes_max => Ok(()),
        Some(_) => Err(LcsError::TooLarge),
        None => Err(LcsError::OutOfMemory),
    }
}

/// The length of a longest common subsequence, in memory of one row of the
/// shorter string. Call [`check_size`] first.
pub fn lcs_len(a: &[u8], b: &[u8]) -> Result<usize, LcsError> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut row = zeros::<u32>(short.len())?;
    for byte in long {
        let (mut left, mut above_left) = (0, 0);
        for (cell, other) in row.iter_mut().zip(short) {
            let above = *cell;
            left = if byte == other { above_left + 1 } else { left.max(above) };
            above_left = above;
            *cell = left;
        }
    }
    Ok(row.last().map_or(0, |len| *len as usize))
}

/// A longest common subsequence: among several, the one Redis answers, and of
/// its stretches those of at least `match_len_min` bytes. Call [`check_size`]
/// first.
pub fn lcs(a: &[u8], b: &[u8], match_len_min: u64) -> Result<Lcs, LcsError> {
    let (goes_up, len) = walk_directions(a, b)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| LcsError::OutOfMemory)?;
    let mut matches = Vec::new();
    let mut keep = |found: Match| {
        if found.len() as u64 >= match_len_min {
            matches.push(found);
        }
    };

    let mut current: Option<Match> = None;
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            (i, j) = (i - 1, j - 1);
            bytes.push(a[i]);
            let start = Match { a: (i, i), b: (j, j) };
            current = Some(match current {
                Some(m) => Match { a: (i, m.a.1), b: (j, m.b.1) },
                None => start,
            });
        } else {
            if goes_up.get(i - 1, j - 1) {
                i -= 1;
            } else {
                j -= 1;
            }
            // Any step aside ends the stretch, so that it is contiguous in both.
            if let Some(done) = current.take() {
                keep(done);
            }
        }
    }
    if let Some(done) = current {
        keep(done);
    }
    bytes.reverse();
    Ok(Lcs { bytes, matches })
}

/// For every cell whether the walk goes up, and the length found.
fn walk_directions(a: &[u8], b: &[u8]) -> Result<(BitTable, usize), LcsError> {
    let mut goes_up = BitTable::new(a.len(), b.len())?;
    let mut row = zeros::<u32>(b.len())?;
    for (i, byte) in a.iter().enumerate() {
        let (mut left, mut above_left) = (0, 0);
        let words = goes_up.row_mut(i);
        for ((word, cells), others) in words.iter_mut().zip(row.chunks_mut(64)).zip(b.chunks(64)) {
            let mut bits = 0u64;
            for (place, (cell, other)) in cells.iter_mut().zip(others).enumerate() {
                let above = *cell;
                bits |= u64::from(above > left) << place;
                left = if byte == other { above_left + 1 } else { left.max(above) };
                above_left = above;
                *cell = left;
            }
            *word = bits;
        }
    }
    let len = row.last().map_or(0, |len| *len as usize);
    Ok((goes_up, len))
}

struct BitTable {
    words: Vec<u64>,
    words_per_row: usize,
}

impl BitTable {
    fn new(rows: usize, columns: usize) -> Result<Self, LcsError> {
        let words_per_row = columns.div_ceil(64);
        let len = rows.checked_mul(words_per_row).ok_or(LcsError::OutOfMemory)?;
        Ok(BitTable { words: zeros(len)?, words_per_row })
    }

    fn row_mut(&mut self, row: usize) -> &mut [u64] {
        let start = row * self.words_per_row;
        &mut self.words[start..start + self.words_per_row]
    }

    fn get(&self, row: usize, column: usize) -> bool {
        self.words[row * self.words_per_row + column / 64] >> (column % 64) & 1 == 1
    }
}

/// Zeros, or an error instead of an abort when the memory is not to be had.
fn zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>, LcsError> {
    let mut cells = Vec::new();
    cells.try_reserve_exact(len).map_err(|_| LcsError::OutOfMemory)?;
    cells.resize(len, T::default());
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::rng::Rng;

    #[test]
    fn the_command_page() {
        let found = lcs(b"ohmytext", b"mynewtext", 0).unwrap();
        assert_eq!(found.bytes, b"mytext");
        let (text, my) = (Match { a: (4, 7), b: (5, 8) }, Match { a: (2, 3), b: (0, 1) });
        assert_eq!(found.matches, [text, my]);
        assert_eq!((text.len(), my.len()), (4, 2));
        assert_eq!(lcs(b"ohmytext", b"mynewtext", 4).unwrap().matches, [text]);
        assert_eq!(lcs_len(b"ohmytext", b"mynewtext"), Ok(6));
    }

    #[test]
    fn empty_and_equal() {
        assert_eq!(lcs(b"", b"abc", 0), Ok(Lcs::default()));
        assert_eq!(lcs(b"abc", b"", 0), Ok(Lcs::default()));
        assert_eq!(lcs_len(b"", b""), Ok(0));
        assert_eq!(lcs(b"abc", b"xyz", 0), Ok(Lcs::default()));
        let same = vec![b'x'; 200];
        let found = lcs(&same, &same, 200).unwrap();
        assert_eq!(found.matches, [Match { a: (0, 199), b: (0, 199) }]);
        assert!(lcs(&same, &same, 201).unwrap().matches.is_empty());
    }

    #[test]
    fn size_limits() {
        assert_eq!(check_size(9, 9, 400), Ok(()));
        assert_eq!(check_size(9, 9, 399), Err(LcsError::TooLarge));
        assert_eq!(check_size(u32::MAX as usize - 1, 0, u64::MAX), Err(LcsError::TooLong));
        let longest = u32::MAX as usize - 2;
        assert_eq!(check_size(longest, longest, u64::MAX), Err(LcsError::OutOfMemory));
    }

    /// The full table of lengths.
    fn table(a: &[u8], b: &[u8]) -> Vec<Vec<u32>> {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 1..=a.len() {
            for j in 1..=b.len() {
                table[i][j] = if a[i - 1] == b[j - 1] {
                    table[i - 1][j - 1] + 1
                } else {
                    table[i - 1][j].max(table[i][j - 1])
                };
            }
        }
        table
    }

    #[test]
    fn agrees_with_the_table() {
        let mut rng = Rng::from_seed(14);
        for round in 0..if cfg!(miri) { 30 } else { 3_000 } {
            let span = if round % 10 == 0 { 150 } else { 12 };
            let letters = 1 + rng.below(6);
            let mut string = || -> Vec<u8> {
                (0..rng.below(span)).map(|_| b'a' + rng.below(letters) as u8).collect()
            };
            let (a, b) = (string(), string());
            let table = table(&a, &b);
            let len = table[a.len()][b.len()] as usize;
            assert_eq!(lcs_len(&a, &b), Ok(len));

            let found = lcs(&a, &b, 0).unwrap();
            assert_eq!(found.bytes.len(), len);
            let mut pairs = Vec::new();
            for m in &found.matches {
                assert_eq!(m.len(), m.b.1 - m.b.0 + 1);
                pairs.extend((0..m.len()).map(|back| (m.a.1 - back, m.b.1 - back)));
            }
            let (mut i, mut j, mut walk) = (a.len(), b.len(), Vec::new());
            while i > 0 && j > 0 {
                if a[i - 1] == b[j - 1] {
                    (i, j) = (i - 1, j - 1);
                    walk.push((i, j));
                } else if table[i - 1][j] > table[i][j - 1] {
                    i -= 1;
                } else {
                    j -= 1;
                }
            }
            assert_eq!(pairs, walk);
            let text: Vec<u8> = walk.iter().rev().map(|(i, _)| a[*i]).collect();
            assert_eq!(found.bytes, text);
        }
    }
}
