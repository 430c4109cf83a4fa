//! Strings as arrays of bits: what SETBIT, BITCOUNT, BITPOS, BITOP and BITFIELD
//! do to bytes.
//!
//! Bit 0 is the most significant bit of the first byte, so that bits read from
//! left to right. Beyond its end a string reads as zeros. Behaviour is Redis's
//! (bitops.c, and the command pages); the arguments are taken as already parsed.
//!
//! * here: single bits;
//! * [`scan`]: counting and searching in ranges;
//! * [`op`]: BITOP over several strings;
//! * [`field`]: integers of any width at any bit.

pub mod field;
pub mod op;
pub mod scan;

pub use field::{FieldType, FieldWrite, Overflow};
pub use op::{BitOp, bitop};
pub use scan::{Range, Unit, bitcount, bitpos, popcount};

/// The bit at `offset`; false beyond the end.
#[inline]
pub fn get_bit(bytes: &[u8], offset: u64) -> bool {
    let byte = usize::try_from(offset / 8).ok().and_then(|at| bytes.get(at));
    byte.is_some_and(|byte| byte & mask_of(offset) != 0)
}

/// Sets the bit at `offset` to `on` and returns what it was.
///
/// # Panics
/// When `bytes` is shorter than [`bytes_for`]`(offset, 1)`: the caller grows it
/// first.
#[inline]
pub fn set_bit(bytes: &mut [u8], offset: u64, on: bool) -> bool {
    let byte = &mut bytes[(offset / 8) as usize];
    let mask = mask_of(offset);
    let was = *byte & mask != 0;
    *byte = if on { *byte | mask } else { *byte & !mask };
    was
}

/// The length in bytes of a string that has `bits` bits from `offset` on; `bits`
/// is at least 1 and their sum fits a `u64` (Redis bounds offsets by
/// `proto-max-bulk-len`).
#[inline]
pub fn bytes_for(offset: u64, bits: u32) -> u64 {
    (offset + u64::from(bits) - 1) / 8 + 1
}

#[inline]
fn mask_of(offset: u64) -> u8 {
    0x80 >> (offset % 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_bits() {
        let mut bytes = vec![0; bytes_for(9, 1) as usize];
        assert_eq!(bytes.len(), 2);
        assert!(!set_bit(&mut bytes, 1, true));
        assert!(!set_bit(&mut bytes, 9, true));
        assert!(set_bit(&mut bytes, 9, true));
        assert_eq!(bytes, [0x40, 0x40]);
        assert!(set_bit(&mut bytes, 1, false));
        assert_eq!(bytes, [0, 0x40]);
        assert!(get_bit(&bytes, 9));
        assert!(!get_bit(&bytes, 8));
        assert!(!get_bit(&bytes, 16));
        assert!(!get_bit(&bytes, u64::MAX));
        assert_eq!(
            (bytes_for(0, 1), bytes_for(7, 1), bytes_for(7, 2), bytes_for(0, 64)),
            (1, 1, 2, 8)
        );
    }
}
