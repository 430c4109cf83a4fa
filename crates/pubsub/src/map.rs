//! Maps whose keys clients choose.

use stdx::hash::Seeded;

/// A map with a hash that clients cannot foresee.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, Seeded>;
