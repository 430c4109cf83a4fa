//! Fast seeded random numbers: xoshiro256++ (Blackman and Vigna), its state
//! filled by splitmix64 as its authors advise.
//!
//! For choices (RANDOMKEY, SPOP, eviction samples) and for tests that a seed
//! must reproduce; never for secrets: [`fill_from_os`] is for those.

/// A random number generator; the same seed gives the same numbers.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator that repeats itself for the same `seed`.
    pub fn from_seed(seed: u64) -> Self {
        let mut mix = seed;
        Rng { state: [(); 4].map(|()| splitmix64(&mut mix)) }
    }

    /// A generator seeded by the operating system; an error when that has no
    /// randomness to give.
    pub fn from_os() -> std::io::Result<Self> {
        let mut seed = [0; 8];
        fill_from_os(&mut seed)?;
        Ok(Self::from_seed(u64::from_le_bytes(seed)))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number in `0..bound`, each equally likely (Lemire's method); 0 when
    /// `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut wide = u128::from(self.next_u64()) * u128::from(bound);
        if (wide as u64) < bound {
            // The few products that would favour small results are drawn again.
            let unfair = bound.wrapping_neg() % bound;
            while (wide as u64) < unfair {
                wide = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (wide >> 64) as u64
    }

    /// [`Rng::below`] for indices.
    #[inline]
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Fills `bytes` with random ones.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// One step of splitmix64: also a good mixer of counters into seeds.
#[inline]
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Fills `bytes` with the operating system's randomness, fit for secrets such
/// as run IDs and generated passwords.
pub fn fill_from_os(bytes: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| std::io::Error::other(format!("no randomness from the system: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_reference() {
        // First outputs for seed 1234567 in the authors' test vectors.
        let mut state = 1234567;
        assert_eq!(splitmix64(&mut state), 6457827717110365317);
        assert_eq!(splitmix64(&mut state), 3203168211198807973);
    }

    #[test]
    fn xoshiro_reference() {
        // State 1, 2, 3, 4 of the authors' C code.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386];
        assert_eq!([(); 4].map(|()| rng.next_u64()), expected);
    }

    #[test]
    fn below_is_bounded_and_even() {
        let mut rng = Rng::from_seed(1);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[rng.index(7)] += 1;
        }
        assert!(seen.iter().all(|&n| (9_500..10_500).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
        let half = (1u64 << 63) + 1;
        assert!((0..1000).all(|_| rng.below(half) < half));
    }

    #[test]
    fn fill_covers_odd_lengths() {
        let mut bytes = [0; 13];
        Rng::from_seed(5).fill(&mut bytes);
        assert_ne!(bytes[8..], [0; 5]);
        assert!((0..100).map(|n| Rng::from_seed(n).unit_f64()).all(|x| (0.0..1.0).contains(&x)));
        assert_ne!(Rng::from_os().unwrap().next_u64(), Rng::from_os().unwrap().next_u64());
    }
}
