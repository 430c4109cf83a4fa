//! The one hash of keys: foldhash, seeded per process.
//!
//! One value serves several cuts (shard, bucket, tag, SCAN cursor), so every
//! bit of it must be good. That is foldhash's *quality* variant: the fast one
//! saves a multiplication (about a nanosecond) but leaves some output bits
//! weakly mixed, which a hash map that only looks at one end can afford and
//! this cannot.
//!
//! The seed is 128 bits of the operating system's randomness, so that a client
//! cannot prepare keys that collide. foldhash is not cryptographic: an attacker that can
//! watch exact timings may still learn about it; the table must stay correct,
//! if slow, under any collisions.

use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::OnceLock;

use foldhash::{SharedSeed, quality::FoldHasher};

struct Seeds {
    hasher: u64,
    shared: SharedSeed,
}

static SEEDS: OnceLock<Seeds> = OnceLock::new();

/// The hash of `bytes`, the same for the life of the process and no longer:
/// never store it or send it.
#[inline]
pub fn hash64(bytes: &[u8]) -> u64 {
    let seeds = SEEDS.get_or_init(random_seeds);
    let mut hasher = FoldHasher::with_seed(seeds.hasher, &seeds.shared);
    hasher.write(bytes);
    hasher.finish()
}

/// Fixes the seed so that a test run can be repeated. Must come before the
/// first hash of the process; false when it came too late.
pub fn set_seed_for_tests(seed: u64) -> bool {
    SEEDS.set(Seeds { hasher: !seed, shared: SharedSeed::from_u64(seed) }).is_ok()
}

#[cold]
fn random_seeds() -> Seeds {
    let mut bytes = [0; 16];
    if crate::rng::fill_from_os(&mut bytes).is_err() {
        // Address space layout and time are what is left; better than fixed.
        return Seeds { hasher: 0, shared: SharedSeed::global_random().clone() };
    }
    let seed = u128::from_le_bytes(bytes);
    Seeds { hasher: (seed >> 64) as u64, shared: SharedSeed::from_u64(seed as u64) }
}

/// The hashers of maps whose keys clients choose, who cannot foresee the hash. It has nothing to do with
/// [`hash64`], and a seed of its own.
#[derive(Clone, Debug, Default)]
pub struct Seeded(foldhash::quality::RandomState);

impl BuildHasher for Seeded {
    type Hasher = <foldhash::quality::RandomState as BuildHasher>::Hasher;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

/// The hashers of maps whose keys are numbers that the server gives out: no client chooses them, so one multiplication
/// without a seed will do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbered(u64);

/// A map by numbers that the server gives out.
pub type NumberMap<V> = std::collections::HashMap<u64, V, BuildHasherDefault<Numbered>>;

impl Hasher for Numbered {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        // Tables look at both ends of a hash.
        let wide = u128::from(self.0 ^ number) * u128::from(0x9E37_79B9_7F4A_7C15_u64);
        self.0 = wide as u64 ^ (wide >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_within_the_process() {
        set_seed_for_tests(42);
        assert_eq!(hash64(b"key:000000000001"), hash64(b"key:000000000001"));
        assert!(!set_seed_for_tests(43), "too late");
    }

    #[test]
    fn every_cut_spreads_numbered_keys() {
        set_seed_for_tests(42);
        for shift in [0, 8, 24, 48, 56] {
            let mut buckets = [0u32; 256];
            for n in 0..256 * 64 {
                let hash = hash64(format!("key:{n:012}").as_bytes());
                buckets[(hash >> shift) as usize & 255] += 1;
            }
            // Poisson with mean 64: 20 and 120 are beyond five deviations.
            assert!(buckets.iter().all(|n| (20..120).contains(n)), "shift {shift}: {buckets:?}");
        }
    }

    #[test]
    fn numbers_in_a_row_spread_over_both_ends() {
        for shift in [0, 57] {
            let mut buckets = [0u32; 128];
            for n in 0..128 * 64 {
                let hash = BuildHasherDefault::<Numbered>::default().hash_one(n as u64);
                buckets[(hash >> shift) as usize & 127] += 1;
            }
            assert!(buckets.iter().all(|n| (20..120).contains(n)), "shift {shift}: {buckets:?}");
        }
    }

    #[test]
    fn length_counts() {
        let zeros = [0u8; 64];
        let mut hashes: Vec<u64> = (0..=64).map(|len| hash64(&zeros[..len])).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 65);
    }
}
