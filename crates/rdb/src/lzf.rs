//! LZF, the compression of strings in snapshots (Marc Lehmann's liblzf, as Redis uses it).
//!
//! ```text
//!  000LLLLL             L+1 bytes follow
//!  LLLOOOOO OOOOOOOO    L+2 bytes (L from 1 to 6) from O+1 bytes back
//!  111OOOOO LLLLLLLL OOOOOOOO    L+9 bytes from O+1 bytes back
//! ```

/// Most bytes that a byte of compressed data can stand for, rounded up: 264 in three.
pub const RATIO_MAX: usize = 88;

const HASH_BITS: u32 = 13;
/// For inputs of up to [`SHORT`] bytes, a part of the table that stays in the nearest cache.
const HASH_BITS_SHORT: u32 = 8;
const SHORT: usize = 256;
const OFFSET_MAX: usize = 1 << 13;
const LITERALS_MAX: usize = 32;
const MATCH_MAX: usize = 264;

/// Compresses; keeps its table between calls.
pub struct Compressor {
    /// Where a hash of three bytes was seen last, counted from `base` on: what is below it is of
    /// an earlier input, so that the table need not be cleared for every short string.
    seen: Box<[u32; 1 << HASH_BITS]>,
    base: u32,
}

impl Default for Compressor {
    fn default() -> Self {
        Self { seen: Box::new([0; 1 << HASH_BITS]), base: 1 }
    }
}

fn hash(word: u32, bits: u32) -> usize {
    ((word & 0xff_ffff).wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

impl Compressor {
    /// Appends the compressed form of `input` to `out` if it has at most `max` bytes. Returns
    /// whether it has; `out` is as before if not.
    pub fn compress(&mut self, input: &[u8], out: &mut Vec<u8>, max: usize) -> bool {
        let from = out.len();
        let done = self.attempt(input, out, max);
        if !done {
            out.truncate(from);
        }
        done
    }

    fn attempt(&mut self, input: &[u8], out: &mut Vec<u8>, max: usize) -> bool {
        // Positions are 32 bits; a string of a gigabyte is stored as it is.
        let Ok(len) = u32::try_from(input.len()) else { return false };
        if len >= 1 << 30 {
            return false;
        }
        if self.base > u32::MAX - len - 1 {
            self.seen.fill(0);
            self.base = 1;
        }
        let bits = if input.len() <= SHORT { HASH_BITS_SHORT } else { HASH_BITS };
        let (base, from) = (self.base, out.len());
        self.base += len;
        let (mut at, mut literals) = (0, 0);
        while let Some(window) = input.get(at..at + 4) {
            let word = u32::from_le_bytes([window[0], window[1], window[2], window[3]]);
            let place = &mut self.seen[hash(word, bits)];
            let before = std::mem::replace(place, base + at as u32);
            if before >= base {
                let back = at - (before - base) as usize;
                let len = if back <= OFFSET_MAX { common(input, at - back, at) } else { 0 };
                if len >= 3 {
                    push_literals(out, &input[literals..at]);
                    push_match(out, back - 1, len);
                    if out.len() - from > max {
                        return false;
                    }
                    // What is inside of a match is seen by its end only.
                    at += len;
                    literals = at;
                    continue;
                }
            }
            at += 1;
            if at - literals > max {
                return false;
            }
        }
        push_literals(out, &input[literals..]);
        out.len() - from <= max
    }
}

/// How many bytes at `a` are those at `b`.
fn common(input: &[u8], a: usize, b: usize) -> usize {
    let behind = &input[b..];
    let n = behind.len().min(MATCH_MAX);
    input[a..].iter().zip(&behind[..n]).take_while(|(x, y)| x == y).count()
}

fn push_literals(out: &mut Vec<u8>, literals: &[u8]) {
    for piece in literals.chunks(LITERALS_MAX) {
        out.push(piece.len() as u8 - 1);
        out.extend_from_slice(piece);
    }
}

fn push_match(out: &mut Vec<u8>, offset: usize, len: usize) {
    let (high, low) = ((offset >> 8) as u8, offset as u8);
    match len - 2 {
        n @ 1..7 => out.extend_from_slice(&[(n as u8) << 5 | high, low]),
        n => out.extend_from_slice(&[7 << 5 | high, (n - 7) as u8, low]),
    }
}

/// Appends what `input` stands for, which must be exactly `len` bytes. Returns whether it is; what
/// `out` has been given is undefined if not.
pub fn decompress(input: &[u8], len: usize, out: &mut Vec<u8>) -> bool {
    if len > input.len().saturating_mul(RATIO_MAX) {
        return false;
    }
    let from = out.len();
    out.reserve(len);
    expand(input, from, from + len, out).is_some() && out.len() == from + len
}

fn expand(input: &[u8], from: usize, end: usize, out: &mut Vec<u8>) -> Option<()> {
    let mut rest = input;
    while let Some((&control, behind)) = rest.split_first() {
        rest = behind;
        let high = usize::from(control & 31);
        if control < 32 {
            let (literals, behind) = rest.split_at_checked(high + 1)?;
            rest = behind;
            if literals.len() > end - out.len() {
                return None;
            }
            out.extend_from_slice(literals);
            continue;
        }
        let mut n = usize::from(control >> 5);
        if n == 7 {
            let (&more, behind) = rest.split_first()?;
            n += usize::from(more);
            rest = behind;
        }
        n += 2;
        let (&low, behind) = rest.split_first()?;
        rest = behind;
        let back = (high << 8 | usize::from(low)) + 1;
        let start = out.len().checked_sub(back).filter(|start| *start >= from)?;
        if n > end - out.len() {
            return None;
        }
        if back >= n {
            out.extend_from_within(start..start + n);
        } else {
            // It overlaps what it makes: a pattern is repeated.
            let mut left = n;
            while left > 0 {
                let piece = left.min(out.len() - start);
                out.extend_from_within(start..start + piece);
                left -= piece;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::rng::Rng;

    #[test]
    fn what_is_compressed_comes_back() {
        let mut rng = Rng::from_seed(7);
        let mut c = Compressor::default();
        let mut compressed = 0;
        for round in 0..3000 {
            let len = rng.index(if round % 50 == 0 { 100_000 } else { 300 });
            let letters = 1 + rng.below(20);
            let mut input: Vec<u8> = (0..len).map(|_| b'a' + rng.below(letters) as u8).collect();
            if round % 3 == 0 {
                let copy = input.clone();
                input.extend_from_slice(&copy);
            }
            let mut out = b"before".to_vec();
            if !c.compress(&input, &mut out, input.len()) {
                assert_eq!(out, b"before");
                continue;
            }
            compressed += 1;
            let mut back = b"x".to_vec();
            assert!(decompress(&out[6..], input.len(), &mut back));
            assert_eq!(back[1..], input);
            assert!(!decompress(&out[6..], input.len() + 1, &mut Vec::new()));
            assert!(input.is_empty() || !decompress(&out[6..], input.len() - 1, &mut Vec::new()));
        }
        assert!(compressed > 1500, "{compressed}");
    }

    #[test]
    fn positions_start_over_before_they_overflow() {
        let mut c = Compressor { base: u32::MAX - 100, ..Default::default() };
        for _ in 0..5 {
            let mut out = Vec::new();
            assert!(c.compress(&[b'a'; 60], &mut out, 20));
            let mut back = Vec::new();
            assert!(decompress(&out, 60, &mut back) && back == [b'a'; 60]);
        }
    }

    #[test]
    fn what_liblzf_made_is_read() {
        // A string of 100 times "a" as it stands in a snapshot of Redis.
        let mut out = Vec::new();
        assert!(decompress(&[1, b'a', b'a', 0xe0, 0x57, 0, 1, b'a', b'a'], 100, &mut out));
        assert_eq!(out, [b'a'; 100]);
    }

    #[test]
    fn damaged_data_is_refused() {
        let mut rng = Rng::from_seed(9);
        for _ in 0..20_000 {
            let input: Vec<u8> = (0..rng.index(40)).map(|_| rng.next_u64() as u8).collect();
            let mut out = Vec::new();
            let len = rng.index(400);
            if decompress(&input, len, &mut out) {
                assert_eq!(out.len(), len);
            }
            assert!(out.len() <= len);
        }
        assert!(!decompress(&[0, b'a'], usize::MAX, &mut Vec::new()));
    }
}
