//! Names of scripts: EVALSHA and SCRIPT LOAD use lower-case SHA-1.

use sha1::{Digest, Sha1};

/// The SHA-1 of `bytes` as 40 lower-case hex digits.
pub fn sha1hex(bytes: &[u8]) -> [u8; 40] {
    let mut hex = [0; 40];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(Sha1::digest(bytes)) {
        pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    hex
}

#[cfg(test)]
mod tests {
    #[test]
    fn script_names() {
        assert_eq!(&super::sha1hex(b""), b"da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(&super::sha1hex(b"return 1"), b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    }
}
