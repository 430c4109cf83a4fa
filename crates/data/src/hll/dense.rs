//! Registers of six bits, packed from the lowest bit of the first byte on.

use super::REGISTERS;

const MASK: u16 = 63;

/// The first byte of a register and its lowest bit there.
#[inline]
fn locate(index: usize) -> (usize, u32) {
    (index * 6 / 8, (index * 6 % 8) as u32)
}

/// Register `index`; 0 beyond the end.
#[inline]
pub(super) fn get(registers: &[u8], index: usize) -> u8 {
    let (at, bit) = locate(index);
    let byte = |i| u16::from(registers.get(i).copied().unwrap_or(0));
    ((byte(at) | byte(at + 1) << 8) >> bit & MASK) as u8
}

/// Raises register `index` to `count` (below 64). Returns whether it was lower.
#[inline]
pub(super) fn raise(registers: &mut [u8], index: usize, count: u8) -> bool {
    if count <= get(registers, index) {
        return false;
    }
    let (at, bit) = locate(index);
    let (clear, set) = (!(MASK << bit), u16::from(count) << bit);
    for (i, shift) in [(at, 0), (at + 1, 8)] {
        if let Some(byte) = registers.get_mut(i) {
            *byte = *byte & (clear >> shift) as u8 | (set >> shift) as u8;
        }
    }
    true
}

/// Counts the registers by what they hold.
pub(super) fn histogram(registers: &[u8], histogram: &mut [u32; 64]) {
    assert!(registers.len() == REGISTERS * 6 / 8);
    // Four registers in three bytes.
    for three in registers.as_chunks::<3>().0 {
        let word = u32::from_le_bytes([three[0], three[1], three[2], 0]);
        for shift in [0, 6, 12, 18] {
            histogram[(word >> shift & 63) as usize] += 1;
        }
    }
}
