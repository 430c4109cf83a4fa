//! The keys that eviction may remove.

use stdx::rng::Rng;
use store::{Content, Context, Db, Evicted, Key, Keyspace, Policy, Ttl};

struct World {
    ks: std::sync::Arc<Keyspace>,
    cx: Context,
    evicted: Evicted,
}

impl World {
    fn new() -> Self {
        let cx = Context::new(1000, Rng::from_seed(5));
        Self { ks: Keyspace::new(1, 0), cx, evicted: Evicted::default() }
    }

    fn set(&mut self, name: &str, ttl: Ttl) {
        let key = Key::new(name.as_bytes());
        Db::lock_one(&self.ks, 0, key, &mut self.cx).set(key, Content::Bytes(b"v"), ttl);
    }

    fn evict(&mut self, policy: Policy) -> bool {
        self.evicted.one(&self.ks, policy, 16, &mut self.cx, |_| {}).is_some()
    }

    fn left(&mut self) -> usize {
        Db::unlocked(&self.ks, 0, &mut self.cx).len()
    }
}

/// A key that was a candidate while it had a deadline is none any more when it has lost it.
#[test]
fn what_lost_its_deadline_is_not_evicted_by_volatile_policies() {
    for policy in [Policy::VolatileLru, Policy::VolatileTtl, Policy::VolatileRandom] {
        let mut w = World::new();
        let names: Vec<String> = (0..3000).map(|i| format!("k{i}")).collect();
        names.iter().for_each(|name| w.set(name, Ttl::At(5000)));
        assert!(w.evict(policy));
        for name in &names {
            let key = Key::new(name.as_bytes());
            Db::lock_one(&w.ks, 0, key, &mut w.cx).set_deadline(key, None);
        }
        assert!(!w.evict(policy), "{policy:?}");
        assert_eq!(w.left(), 2999, "{policy:?}");
    }
}

/// Candidates of one policy are not used by the next.
#[test]
fn candidates_do_not_outlive_their_policy() {
    let mut w = World::new();
    (0..3000).for_each(|i| w.set(&format!("k{i}"), Ttl::Clear));
    w.set("due", Ttl::At(5000));
    assert!(w.evict(Policy::AllKeysRandom));
    let before = w.left();
    while w.evict(Policy::VolatileTtl) {}
    assert!(before - w.left() <= 1, "only `due` may go: {before} {}", w.left());
}
