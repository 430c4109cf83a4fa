//! HyperLogLog in Redis's own format, so that a value read with GET, dumped or replicated means the
//! same to a Redis: 16,384 registers of 6 bits, addressed and filled by MurmurHash64A.
//!
//! ```text
//!  | "HYLL" | encoding, 1 | 0 0 0 | cardinality, 8 LE | registers …
//!             0 dense: 12,288 bytes      the top bit set: not known
//!             1 sparse: runs, see `sparse`
//! ```
//!
//! A value is the bytes of a string that clients can write too, so everything read from it may be
//! wrong; [`Corrupt`] says so, and nothing panics.

mod dense;
mod estimate;
mod sparse;

pub use estimate::estimate;
pub use sparse::Run;

/// Registers.
pub const REGISTERS: usize = 1 << BITS;
/// Bytes in front of the registers.
pub const HEAD: usize = 16;
/// Bytes of a dense value.
pub const DENSE_LEN: usize = HEAD + REGISTERS * 6 / 8;

/// Bits of a hash that address a register.
const BITS: u32 = 14;
/// Bits of a hash in which zeros are counted.
const COUNTED: u32 = 64 - BITS;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// In the last byte of the cardinality: it is not known.
const STALE: u8 = 0x80;
/// Redis's seed of the hash.
const SEED: u64 = 0xadc8_3b19;

/// A register for each address.
pub type Registers = [u8; REGISTERS];

/// The registers that the bytes claim to hold cannot be read from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// How a value keeps its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Six bits each.
    Dense,
    /// Runs of equal ones.
    Sparse,
}

/// The encoding of a value; none if it is no HyperLogLog.
pub fn encoding(value: &[u8]) -> Option<Encoding> {
    let head: &[u8; HEAD] = value.first_chunk()?;
    match (head.starts_with(b"HYLL"), head[4]) {
        (true, DENSE) if value.len() == DENSE_LEN => Some(Encoding::Dense),
        (true, SPARSE) => Some(Encoding::Sparse),
        _ => None,
    }
}

/// An empty value, its cardinality known to be 0.
pub fn empty() -> Vec<u8> {
    let mut value = vec![0; HEAD];
    value[..4].copy_from_slice(b"HYLL");
    value[4] = SPARSE;
    sparse::push_zeros(&mut value, REGISTERS);
    value
}

/// The cardinality that was noted in a value, if it still holds.
pub fn cached(value: &[u8]) -> Option<u64> {
    let noted: &[u8; 8] = value.get(8..HEAD)?.first_chunk()?;
    (noted[7] & STALE == 0).then(|| u64::from_le_bytes(*noted))
}

/// Notes the cardinality.
pub fn note(value: &mut [u8], cardinality: u64) {
    if let Some(place) = value.get_mut(8..HEAD) {
        place.copy_from_slice(&cardinality.to_le_bytes());
    }
}

/// Marks the noted cardinality as outdated.
pub fn forget(value: &mut [u8]) {
    if let Some(last) = value.get_mut(HEAD - 1) {
        *last |= STALE;
    }
}

/// The register that an element concerns, and what it must hold at least.
pub fn place(element: &[u8]) -> (usize, u8) {
    let hash = murmur64a(element, SEED);
    let index = hash as usize & (REGISTERS - 1);
    let zeros = (hash >> BITS | 1 << COUNTED).trailing_zeros();
    (index, zeros as u8 + 1)
}

/// Adds an element. Returns whether that changed a register; the noted cardinality is outdated
/// then, which the caller marks. A value that is sparse becomes dense where it would be longer than
/// `sparse_max` bytes.
pub fn add(value: &mut Vec<u8>, element: &[u8], sparse_max: usize) -> Result<bool, Corrupt> {
    let (index, count) = place(element);
    match encoding(value).ok_or(Corrupt)? {
        Encoding::Dense => Ok(dense::raise(&mut value[HEAD..], index, count)),
        Encoding::Sparse => {
            sparse::raise(value, &mut sparse::Hint::default(), index, count, sparse_max)
        }
    }
}

/// Adds an element to a dense value, in place. Does nothing to any other.
pub fn add_dense(value: &mut [u8], element: &[u8]) -> bool {
    let (index, count) = place(element);
    encoding(value) == Some(Encoding::Dense) && dense::raise(&mut value[HEAD..], index, count)
}

/// Raises every register to what `registers` has.
pub fn raise_all(value: &mut Vec<u8>, registers: &Registers, max: usize) -> Result<(), Corrupt> {
    let mut hint = sparse::Hint::default();
    for (index, count) in registers.iter().enumerate().filter(|(_, count)| **count > 0) {
        match encoding(value).ok_or(Corrupt)? {
            Encoding::Dense => dense::raise(&mut value[HEAD..], index, *count),
            Encoding::Sparse => sparse::raise(value, &mut hint, index, *count, max)?,
        };
    }
    Ok(())
}

/// Raises `registers` to what the value has.
pub fn merge(value: &[u8], registers: &mut Registers) -> Result<(), Corrupt> {
    match encoding(value).ok_or(Corrupt)? {
        Encoding::Dense => {
            for (index, register) in registers.iter_mut().enumerate() {
                *register = (*register).max(dense::get(&value[HEAD..], index));
            }
            Ok(())
        }
        Encoding::Sparse => sparse::each_set(value, |index, count| {
            registers[index] = registers[index].max(count);
        }),
    }
}

/// The registers of a value.
pub fn registers(value: &[u8]) -> Result<Box<Registers>, Corrupt> {
    let mut registers = Box::new([0; REGISTERS]);
    merge(value, &mut registers)?;
    Ok(registers)
}

/// The cardinality that the registers of a value stand for.
pub fn count(value: &[u8]) -> Result<u64, Corrupt> {
    let mut histogram = [0; 64];
    match encoding(value).ok_or(Corrupt)? {
        Encoding::Dense => dense::histogram(&value[HEAD..], &mut histogram),
        Encoding::Sparse => sparse::histogram(value, &mut histogram)?,
    }
    Ok(estimate(&histogram))
}

/// The cardinality that some registers stand for.
pub fn count_registers(registers: &Registers) -> u64 {
    let mut histogram = [0; 64];
    for register in registers {
        histogram[usize::from(*register & 63)] += 1;
    }
    estimate(&histogram)
}

/// A value in the dense encoding, whichever it had.
pub fn to_dense(value: &[u8]) -> Result<Vec<u8>, Corrupt> {
    if encoding(value) == Some(Encoding::Dense) {
        return Ok(value.to_vec());
    }
    let mut new = vec![0; DENSE_LEN];
    new[..HEAD].copy_from_slice(value.get(..HEAD).ok_or(Corrupt)?);
    new[4] = DENSE;
    let to = &mut new[HEAD..];
    sparse::each_set(value, |index, count| {
        dense::raise(to, index, count);
    })?;
    Ok(new)
}

/// The runs of a sparse value.
pub fn runs(value: &[u8]) -> impl Iterator<Item = Run> + '_ {
    sparse::runs(value).map(|(_, run)| run)
}

/// MurmurHash64A of Austin Appleby, read little-endian everywhere.
fn murmur64a(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    // Redis counts the length with 32 bits.
    let mut h = seed ^ (bytes.len() as i32 as u64).wrapping_mul(M);
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        let mut k = u64::from_le_bytes(*chunk).wrapping_mul(M);
        k ^= k >> R;
        h = (h ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        h = (h ^ u64::from_le_bytes(last)).wrapping_mul(M);
    }
    h = (h ^ h >> R).wrapping_mul(M);
    h ^ h >> R
}

#[cfg(test)]
mod tests;
