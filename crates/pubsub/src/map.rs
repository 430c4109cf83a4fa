//! Maps with a hash that clients cannot foresee.

use std::hash::BuildHasher;

/// A map with a hash that clients cannot foresee.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, Seeded>;

/// Hashers with the seed of this process.
#[derive(Clone, Debug, Default)]
pub struct Seeded(foldhash::quality::RandomState);

impl BuildHasher for Seeded {
    type Hasher = <foldhash::quality::RandomState as BuildHasher>::Hasher;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}
