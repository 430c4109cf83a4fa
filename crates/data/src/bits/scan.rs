//! Counting and searching bits: BITCOUNT and BITPOS.
//!
//! Both go eight bytes at a time; the popcounts of four words per turn are
//! independent, so that the compiler may vectorise them.

/// What the ends of a [`Range`] count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Bytes, the default.
    #[default]
    Byte,
    /// Bits.
    Bit,
}

/// `start end [BYTE|BIT]` as given: both ends belong to it, negative ones count
/// from the end of the string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First unit.
    pub start: i64,
    /// Last unit; without it, up to the end of the string (BITPOS only has
    /// that form).
    pub end: Option<i64>,
    /// The unit of both ends.
    pub unit: Unit,
}

impl Range {
    /// The bits of a string of `len` bytes that are meant: first, and one past
    /// the last. `None` when the range is empty.
    fn bits(self, len: usize) -> Option<(u64, u64)> {
        let bits_per_unit: u64 = match self.unit {
            Unit::Byte => 8,
            Unit::Bit => 1,
        };
        let total = (len as u64 * 8 / bits_per_unit) as i64;
        let from_end = |at: i64| if at < 0 { (total + at).max(0) } else { at };
        let start = from_end(self.start);
        let end = from_end(self.end.unwrap_or(-1)).min(total - 1);
        (start <= end).then(|| (start as u64 * bits_per_unit, (end as u64 + 1) * bits_per_unit))
    }
}

/// How many bits of `bytes` are set.
pub fn popcount(bytes: &[u8]) -> u64 {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut sums = [0u64; 4];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum += u64::from(u64::from_ne_bytes(*word).count_ones());
        }
    }
    let rest: u32 = rest.iter().map(|byte| byte.count_ones()).sum();
    sums.iter().sum::<u64>() + u64::from(rest)
}

/// BITCOUNT: the set bits of `bytes`, or of a range of it.
pub fn bitcount(bytes: &[u8], range: Option<Range>) -> u64 {
    let Some(range) = range else {
        return popcount(bytes);
    };
    // Redis decides this on the ends as given: -1 -5 is empty even where both
    // would be clamped to the first unit.
    if range.start < 0 && range.end.is_some_and(|end| end < 0 && range.start > end) {
        return 0;
    }
    let Some((start, end)) = range.bits(bytes.len()) else {
        return 0;
    };
    let (first, last) = ((start / 8) as usize, ((end - 1) / 8) as usize);
    let outside = (bytes[first] & !from_bit(start)).count_ones()
        + (bytes[last] & !up_to_bit(end)).count_ones();
    popcount(&bytes[first..=last]) - u64::from(outside)
}

/// BITPOS: where the first bit that equals `bit` is, counted from the start of
/// the string; -1 when there is none. `bytes` is `None` for a missing key.
///
/// Searching for 0 without an explicit end never fails: the string is taken to
/// be followed by zeros, and the answer may be one past its last bit.
pub fn bitpos(bytes: Option<&[u8]>, bit: bool, range: Option<Range>) -> i64 {
    let Some(bytes) = bytes else {
        return if bit { -1 } else { 0 };
    };
    let end_given = range.is_some_and(|range| range.end.is_some());
    let range = range.unwrap_or(Range { start: 0, end: None, unit: Unit::Byte });
    let Some((start, end)) = range.bits(bytes.len()) else {
        return -1;
    };
    match find(bytes, bit, start, end) {
        Some(at) => at as i64,
        None if !bit && !end_given => end as i64,
        None => -1,
    }
}

/// The first bit equal to `bit` in `start..end`, which is not empty and within
/// `bytes`.
fn find(bytes: &[u8], bit: bool, start: u64, end: u64) -> Option<u64> {
    // Looking for zeros is looking for ones in the complement.
    let flip = if bit { 0 } else { 0xff };
    let (first, last) = ((start / 8) as usize, ((end - 1) / 8) as usize);

    let head = (bytes[first] ^ flip) & from_bit(start);
    let head = if first == last { head & up_to_bit(end) } else { head };
    if head != 0 {
        return Some(first as u64 * 8 + u64::from(head.leading_zeros()));
    }
    if first == last {
        return None;
    }
    let inner = &bytes[first + 1..last];
    if let Some(at) = find_in_bytes(inner, flip) {
        return Some((first as u64 + 1) * 8 + at);
    }
    let tail = (bytes[last] ^ flip) & up_to_bit(end);
    (tail != 0).then(|| last as u64 * 8 + u64::from(tail.leading_zeros()))
}

fn find_in_bytes(bytes: &[u8], flip: u8) -> Option<u64> {
    let wide = u64::from_ne_bytes([flip; 8]);
    let (words, rest) = bytes.as_chunks::<8>();
    if let Some(at) = words.iter().position(|word| u64::from_ne_bytes(*word) != wide) {
        let found = u64::from_be_bytes(words[at]) ^ wide;
        return Some(at as u64 * 64 + u64::from(found.leading_zeros()));
    }
    let at = rest.iter().position(|byte| *byte != flip)?;
    let before = (words.len() * 8 + at) as u64 * 8;
    Some(before + u64::from((rest[at] ^ flip).leading_zeros()))
}

/// The bits of a byte from `bit % 8` on.
fn from_bit(bit: u64) -> u8 {
    0xff >> (bit % 8)
}

/// The bits of the byte that bit `end - 1` is in, up to that bit.
fn up_to_bit(end: u64) -> u8 {
    0xff << (7 - (end - 1) % 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::get_bit;
    use stdx::rng::Rng;

    fn range(start: i64, end: i64, unit: Unit) -> Option<Range> {
        Some(Range { start, end: Some(end), unit })
    }

    fn open(start: i64) -> Option<Range> {
        Some(Range { start, end: None, unit: Unit::Byte })
    }

    #[test]
    fn counts_of_the_command_page() {
        let foobar = b"foobar";
        assert_eq!(bitcount(foobar, None), 26);
        for (start, end, unit, expected) in [
            (0, 0, Unit::Byte, 4),
            (1, 1, Unit::Byte, 6),
            (1, -2, Unit::Byte, 18),
            (-2, 1000, Unit::Byte, 7),
            (5, 30, Unit::Bit, 17),
            (0, 1000, Unit::Byte, 26),
            (-1000, 1000, Unit::Bit, 26),
            (3, 1, Unit::Byte, 0),
            (-1, -6, Unit::Byte, 0),
            (-100, -200, Unit::Byte, 0),
            (-200, -100, Unit::Byte, 4),
            (i64::MIN, i64::MAX, Unit::Bit, 26),
            (i64::MAX, i64::MIN, Unit::Bit, 0),
        ] {
            assert_eq!(
                bitcount(foobar, range(start, end, unit)),
                expected,
                "{start} {end} {unit:?}"
            );
        }
        assert_eq!(bitcount(b"", range(0, -1, Unit::Byte)), 0);
        assert_eq!(bitcount(b"", range(0, 0, Unit::Bit)), 0);
    }

    #[test]
    fn positions_of_the_suite() {
        // unit/bitops of the Redis suite.
        assert_eq!(bitpos(None, false, None), 0);
        assert_eq!(bitpos(None, true, open(5)), -1);
        assert_eq!(bitpos(Some(b""), false, None), -1);
        assert_eq!(bitpos(Some(b""), false, open(0)), -1);
        assert_eq!(bitpos(Some(b"\xff\xf0\x00"), false, None), 12);
        assert_eq!(bitpos(Some(b"\x00\x0f\x00"), true, None), 12);
        assert_eq!(bitpos(Some(b"\xff\xff\xff"), false, None), 24);
        assert_eq!(bitpos(Some(b"\xff\xff\xff"), false, open(0)), 24);
        assert_eq!(bitpos(Some(b"\xff\xff\xff"), false, range(0, -1, Unit::Byte)), -1);
        assert_eq!(bitpos(Some(b"\xff\xff\xff"), false, range(0, 8, Unit::Byte)), -1);
        assert_eq!(bitpos(Some(b"\xff\xff\xff"), false, open(3)), -1);
        assert_eq!(bitpos(Some(b"\x00\xff\x00"), true, range(2, -1, Unit::Byte)), -1);
        assert_eq!(bitpos(Some(b"\x00\xff\xf0"), true, range(7, 15, Unit::Bit)), 8);
        assert_eq!(bitpos(Some(b"\x00\xff\xf0"), true, range(7, -3, Unit::Bit)), 8);
        assert_eq!(bitpos(Some(b"\xff\xff\xff"), false, range(0, 8, Unit::Bit)), -1);
        assert_eq!(bitpos(Some(b"\x00"), true, range(0, -1, Unit::Bit)), -1);
        assert_eq!(bitpos(Some(b"\xff"), true, range(-1, -1, Unit::Bit)), 7);
    }

    /// Bit by bit.
    fn naive(bytes: &[u8], r: Range) -> Vec<u64> {
        let per = if r.unit == Unit::Byte { 8 } else { 1 };
        let total = bytes.len() as i64 * 8 / per;
        let fix = |at: i64| if at < 0 { (at + total).max(0) } else { at };
        let (start, end) = (fix(r.start), fix(r.end.unwrap_or(-1)).min(total - 1));
        (start * per..(end + 1) * per).map(|bit| bit as u64).collect()
    }

    #[test]
    fn agrees_with_bit_by_bit() {
        let mut rng = Rng::from_seed(11);
        for _ in 0..if cfg!(miri) { 50 } else { 50_000 } {
            let mut bytes = vec![[0, 0xff][rng.index(2)]; rng.index(40)];
            for _ in 0..rng.below(4) {
                if !bytes.is_empty() {
                    let at = rng.index(bytes.len());
                    bytes[at] = rng.next_u64() as u8;
                }
            }
            let unit = [Unit::Byte, Unit::Bit][rng.index(2)];
            let span = if unit == Unit::Byte { 50 } else { 350 };
            let mut edge = || rng.below(2 * span) as i64 - span as i64;
            let r = Range { start: edge(), end: Some(edge()), unit };
            let bits = naive(&bytes, r);
            let ones = bits.iter().filter(|bit| get_bit(&bytes, **bit)).count() as u64;
            let both_negative = r.start < 0 && r.end.is_some_and(|end| end < 0 && r.start > end);
            let expected = if both_negative { 0 } else { ones };
            assert_eq!(bitcount(&bytes, Some(r)), expected, "{bytes:?} {r:?}");
            for bit in [false, true] {
                let at = bits.iter().find(|at| get_bit(&bytes, **at) == bit);
                let expected = at.map_or(-1, |at| *at as i64);
                assert_eq!(bitpos(Some(&bytes), bit, Some(r)), expected, "{bytes:?} {bit} {r:?}");
            }
        }
    }
}
