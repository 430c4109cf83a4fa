//! Shards that another thread has locked.

use stdx::rng::Rng;
use store::{Context, Db, Keyspace};

/// An attempt that fails must leave the lock with the thread that has it.
#[test]
fn a_shard_that_was_tried_in_vain_is_still_locked() {
    let ks = Keyspace::new(1, 0);
    let mut owner = Context::new(0, Rng::from_seed(1));
    let mut other = Context::new(0, Rng::from_seed(2));
    let held = Db::lock_shard(&ks, 0, 7, &mut owner);
    for _ in 0..2 {
        assert!(Db::try_lock_shard(&ks, 0, 7, &mut other).is_none());
    }
    assert!(Db::try_lock_shard(&ks, 0, 8, &mut other).is_some());
    drop(held);
    assert!(Db::try_lock_shard(&ks, 0, 7, &mut other).is_some());
    let whole = Db::lock_all(&ks, 0, &mut owner);
    for _ in 0..2 {
        assert!(Db::try_lock_shard(&ks, 0, 7, &mut other).is_none());
    }
    drop(whole);
}
