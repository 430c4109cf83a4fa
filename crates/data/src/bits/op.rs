//! BITOP: several strings into one.
//!
//! The result is as long as the longest source; shorter ones (and missing keys,
//! as empty sources) count as followed by zeros. AND to NOT are Redis's from
//! 2.6 on, the other four came with 8.2. Each source is folded into the result
//! in one pass of plain loops over equal slices, which vectorise.

/// An operation of BITOP. `X` is the first source, `Y…` are the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitOp {
    /// Set in all.
    And,
    /// Set in any.
    Or,
    /// Set in an odd number of them.
    Xor,
    /// Not set in the only source.
    Not,
    /// Set in X and in no Y.
    Diff,
    /// Set in some Y, not in X.
    Diff1,
    /// Set in X and in some Y.
    AndOr,
    /// Set in exactly one.
    One,
}

impl BitOp {
    /// Does `count` sources fit the operation? NOT takes one; DIFF, DIFF1 and
    /// ANDOR take X and at least one Y; the others at least one.
    pub fn takes(self, count: usize) -> bool {
        match self {
            BitOp::Not => count == 1,
            BitOp::Diff | BitOp::Diff1 | BitOp::AndOr => count >= 2,
            BitOp::And | BitOp::Or | BitOp::Xor | BitOp::One => count >= 1,
        }
    }
}

/// The result of `op` over `sources`; empty when all of them are (BITOP then
/// deletes its destination). Sources beyond what [`BitOp::takes`] are the
/// caller's error to report: NOT looks at the first only.
pub fn bitop(op: BitOp, sources: &[&[u8]]) -> Vec<u8> {
    let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
    let Some((first, others)) = sources.split_first() else {
        return Vec::new();
    };
    match op {
        BitOp::And => {
            let mut out = padded(first, len);
            for source in others {
                and_into(&mut out, source);
            }
            out
        }
        BitOp::Or => {
            let mut out = padded(first, len);
            fold(&mut out, others, |a, b| a | b);
            out
        }
        BitOp::Xor => {
            let mut out = padded(first, len);
            fold(&mut out, others, |a, b| a ^ b);
            out
        }
        BitOp::Not => first.iter().map(|byte| !byte).collect(),
        BitOp::Diff => {
            let mut out = padded(first, len);
            fold(&mut out, others, |a, b| a & !b);
            out
        }
        BitOp::Diff1 => {
            let mut out = vec![0; len];
            fold(&mut out, others, |a, b| a | b);
            fold(&mut out, &[first], |a, b| a & !b);
            out
        }
        BitOp::AndOr => {
            let mut out = vec![0; len];
            fold(&mut out, others, |a, b| a | b);
            and_into(&mut out, first);
            out
        }
        BitOp::One => exactly_one(sources, len),
    }
}

fn padded(source: &[u8], len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(source);
    out.resize(len, 0);
    out
}

/// For operations that zeros on the right leave alone.
#[inline]
fn fold(out: &mut [u8], sources: &[&[u8]], mix: impl Fn(u8, u8) -> u8) {
    for source in sources {
        for (byte, other) in out.iter_mut().zip(*source) {
            *byte = mix(*byte, *other);
        }
    }
}

fn and_into(out: &mut [u8], source: &[u8]) {
    let shared = source.len().min(out.len());
    let (out, beyond) = out.split_at_mut(shared);
    fold(out, &[source], |a, b| a & b);
    beyond.fill(0);
}

fn exactly_one(sources: &[&[u8]], len: usize) -> Vec<u8> {
    let mut once = vec![0u8; len];
    let mut more = vec![0u8; len];
    for source in sources {
        for ((once, more), byte) in once.iter_mut().zip(&mut more).zip(*source) {
            *more |= *once & byte;
            *once |= byte;
        }
    }
    fold(&mut once, &[&more], |a, b| a & !b);
    once
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::rng::Rng;

    const ALL: [BitOp; 8] = [
        BitOp::And,
        BitOp::Or,
        BitOp::Xor,
        BitOp::Not,
        BitOp::Diff,
        BitOp::Diff1,
        BitOp::AndOr,
        BitOp::One,
    ];

    #[test]
    fn small() {
        let (a, b, c): (&[u8], &[u8], &[u8]) = (&[0b1100, 1], &[0b1010], &[0b1001]);
        for (op, expected) in [
            (BitOp::And, [0b1000, 0]),
            (BitOp::Or, [0b1111, 1]),
            (BitOp::Xor, [0b1111, 1]),
            (BitOp::Diff, [0b0100, 1]),
            (BitOp::Diff1, [0b0011, 0]),
            (BitOp::AndOr, [0b1000, 0]),
            (BitOp::One, [0b0111, 1]),
        ] {
            assert_eq!(bitop(op, &[a, b, c]), expected, "{op:?}");
        }
        assert_eq!(bitop(BitOp::Not, &[&[0xaa, 0x00, 0xff, 0x55]]), [0x55, 0xff, 0x00, 0xaa]);
        assert_eq!(bitop(BitOp::And, &[b"abc", b""]), [0, 0, 0]);
        assert_eq!(bitop(BitOp::Or, &[b"", b""]), b"");
        assert_eq!(bitop(BitOp::Or, &[]), b"");
    }

    #[test]
    fn takes() {
        let ones = ALL.map(|op| op.takes(1));
        assert_eq!(ones, [true, true, true, true, false, false, false, true]);
        let twos = ALL.map(|op| op.takes(2));
        assert_eq!(twos, [true, true, true, false, true, true, true, true]);
        assert!(ALL.iter().all(|op| !op.takes(0)));
    }

    #[test]
    fn agrees_with_bit_by_bit() {
        let mut rng = Rng::from_seed(12);
        for _ in 0..if cfg!(miri) { 20 } else { 5_000 } {
            let op = ALL[rng.index(ALL.len())];
            let count = if op == BitOp::Not { 1 } else { 2 + rng.index(4) };
            let sources: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let mut source = vec![0; rng.index(20)];
                    rng.fill(&mut source);
                    source
                })
                .collect();
            let slices: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
            let out = bitop(op, &slices);
            assert_eq!(out.len(), sources.iter().map(Vec::len).max().unwrap());
            for bit in 0..out.len() as u64 * 8 {
                let set: Vec<bool> =
                    slices.iter().map(|source| crate::bits::get_bit(source, bit)).collect();
                let ones = set.iter().filter(|on| **on).count();
                let (x, y) = (set[0], set[1..].contains(&true));
                let expected = match op {
                    BitOp::And => ones == count,
                    BitOp::Or => ones > 0,
                    BitOp::Xor => ones % 2 == 1,
                    BitOp::Not => !x,
                    BitOp::Diff => x && !y,
                    BitOp::Diff1 => y && !x,
                    BitOp::AndOr => x && y,
                    BitOp::One => ones == 1,
                };
                assert_eq!(crate::bits::get_bit(&out, bit), expected, "{op:?} {sources:?} {bit}");
            }
        }
    }
}
