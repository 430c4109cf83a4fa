//! CRC-32C (Castagnoli), the checksum of journal records: processors compute it, eight bytes per
//! instruction.

#![expect(unsafe_code, reason = "calls a function compiled for SSE 4.2 where the processor has it")]

const POLYNOMIAL: u32 = 0x82f6_3b78;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// The checksum of what `before` is the checksum of (0 for nothing), followed by `bytes`.
#[inline]
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instructions.
        return unsafe { by_instruction(before, bytes) };
    }
    by_table(before, bytes)
}

fn by_table(before: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!before, |crc, b| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ b)])
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn by_instruction(before: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let crc = words
        .iter()
        .fold(u64::from(!before), |crc, word| _mm_crc32_u64(crc, u64::from_le_bytes(*word)));
    !rest.iter().fold(crc as u32, |crc, b| _mm_crc32_u8(crc, *b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_published_values() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(0, b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(0, &[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(0, &[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn both_ways_and_all_cuts_agree() {
        let bytes: Vec<u8> = (0..100u32).map(|i| (i * i % 251) as u8).collect();
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(crc32c(crc32c(0, a), b), by_table(0, &bytes), "{cut}");
        }
    }
}
