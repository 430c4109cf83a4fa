//! Room for keys that are to be loaded.

use crate::context::Context;
use crate::shards::{Held, Keyspace, SHARDS};

impl Keyspace {
    /// Makes room in a database for so many keys in all: tables that grow while keys are loaded move each of these
    /// about three times.
    pub fn reserve(&self, db: usize, keys: usize, cx: &mut Context) {
        let mean = keys / SHARDS;
        // By chance a shard gets more than others.
        let each = mean + 2 * mean.isqrt();
        for s in 0..SHARDS {
            let mut locked = self.lock(Held::One(s), &cx.solo, &cx.hold);
            locked.part(db, s).table.reserve(each);
        }
    }
}
