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
        (None, ..) => a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::same;

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
