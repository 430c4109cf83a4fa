//! The seeded hash of the keyspace (placeholder until merge).
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;
static STATE: LazyLock<foldhash::fast::RandomState> = LazyLock::new(foldhash::fast::RandomState::default);
/// Hash of a key.
#[inline]
pub fn hash64(bytes: &[u8]) -> u64 {
    let mut h = STATE.build_hasher();
    h.write(bytes);
    h.finish()
}
