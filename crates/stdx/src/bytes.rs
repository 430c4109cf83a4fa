//! Comparison of short byte strings.

/// `a == b`, without a call for up to 32 bytes: keys are short, and comparing one is on the path
/// of every lookup.
#[inline]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.first_chunk::<8>(), a.last_chunk::<8>(), b.first_chunk::<8>(), b.last_chunk::<8>()) {
        // First and last words overlap: together they cover 8 to 16 bytes.
        (Some(a0), Some(a1), Some(b0), Some(b1)) if a.len() <= 16 => (a0 == b0) & (a1 == b1),
        (Some(_), ..) if a.len() <= 32 => {
            let (a0, b0) = (a.first_chunk::<16>(), b.first_chunk::<16>());
            let (a1, b1) = (a.last_chunk::<16>(), b.last_chunk::<16>());
            (a0 == b0) & (a1 == b1)
        }
        (None, ..) => same_below_8(a, b),
        _ => a == b,
    }
}

/// The same for two strings of one length below 8.
#[inline]
fn same_below_8(a: &[u8], b: &[u8]) -> bool {
    match (a.first_chunk::<4>(), a.last_chunk::<4>(), b.first_chunk::<4>(), b.last_chunk::<4>()) {
        (Some(a0), Some(a1), Some(b0), Some(b1)) => (a0 == b0) & (a1 == b1),
        // Of three bytes: the first, the second and the last, which for two of them are the same.
        _ => match (a, b) {
            ([a0, .., a1], [b0, .., b1]) => (a0 == b0) & (a1 == b1) & (a[1] == b[1]),
            _ => a.first() == b.first(),
        },
    }
}

/// `to.copy_from_slice(from)`, without a call for up to 32 bytes. Panics when the lengths differ.
#[inline(always)]
pub fn copy(to: &mut [u8], from: &[u8]) {
    assert!(to.len() == from.len(), "as many bytes");
    // First and last parts overlap: together they are all.
    if let (Some(a), Some(z)) = (from.first_chunk::<16>(), from.last_chunk::<16>())
        && from.len() <= 32
    {
        ends(to, a, z);
    } else if let (Some(a), Some(z)) = (from.first_chunk::<8>(), from.last_chunk::<8>())
        && from.len() <= 16
    {
        ends(to, a, z);
    } else if let (Some(a), Some(z)) = (from.first_chunk::<4>(), from.last_chunk::<4>())
        && from.len() <= 8
    {
        ends(to, a, z);
    } else if let (Some(a), Some(z)) = (from.first_chunk::<2>(), from.last_chunk::<2>())
        && from.len() <= 4
    {
        ends(to, a, z);
    } else if let [a] = from {
        to[0] = *a;
    } else {
        to.copy_from_slice(from);
    }
}

#[inline(always)]
fn ends<const N: usize>(to: &mut [u8], first: &[u8; N], last: &[u8; N]) {
    // Both are read before either is written, as the compiler sees it, too.
    let (first, last) = (*first, *last);
    if let Some(to) = to.first_chunk_mut::<N>() {
        *to = first;
    }
    if let Some(to) = to.last_chunk_mut::<N>() {
        *to = last;
    }
}

/// Up to eight bytes as a little-endian word, zeros behind them; of more bytes the first eight.
#[inline(always)]
pub fn word(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    if let Some(all) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*all);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // The two halves overlap in the middle, where they agree.
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (n - 4));
    }
    match bytes {
        // Of three bytes: the first, the second and the last, which for two of them are the same.
        [a, .., z] => u64::from(*a) | u64::from(bytes[1]) << 8 | u64::from(*z) << (8 * (n - 1)),
        [a] => u64::from(*a),
        [] => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{copy, same, word};

    #[test]
    fn copies_and_words_of_every_length() {
        let from: Vec<u8> = (1..=40).collect();
        for n in 0..=from.len() {
            let mut to = vec![0; n];
            copy(&mut to, &from[..n]);
            assert_eq!(to, from[..n]);
            let mut bytes = [0; 8];
            bytes[..n.min(8)].copy_from_slice(&from[..n.min(8)]);
            assert_eq!(word(&from[..n]), u64::from_le_bytes(bytes), "length {n}");
        }
    }

    #[test]
    fn agrees_with_the_standard_comparison() {
        let base: Vec<u8> = (0..70).collect();
        for n in 0..70 {
            let copy = base[..n].to_vec();
            assert!(same(&base[..n], &copy));
            assert!(!same(&base[..n], &base[..n + 1 - usize::from(n == 69)][..]) || n == 69);
            for i in 0..n {
                let mut other = base[..n].to_vec();
                other[i] ^= 0x80;
                assert!(!same(&base[..n], &other), "length {n}, byte {i}");
            }
        }
    }
}
