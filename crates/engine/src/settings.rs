//! The settings that commands read, copied from the configuration into a thread's context.

use config::{Config, Id, MaxmemoryPolicy};
use store::{Access, Context, Policy, Small};

/// `maxmemory-policy`.
pub(crate) fn policy(c: &Config) -> Policy {
    match c.chosen(Id::MaxmemoryPolicy) {
        MaxmemoryPolicy::VolatileLru => Policy::VolatileLru,
        MaxmemoryPolicy::VolatileLfu => Policy::VolatileLfu,
        MaxmemoryPolicy::VolatileRandom => Policy::VolatileRandom,
        MaxmemoryPolicy::VolatileTtl => Policy::VolatileTtl,
        MaxmemoryPolicy::AllkeysLru => Policy::AllKeysLru,
        MaxmemoryPolicy::AllkeysLfu => Policy::AllKeysLfu,
        MaxmemoryPolicy::AllkeysRandom => Policy::AllKeysRandom,
        MaxmemoryPolicy::Noeviction => Policy::NoEviction,
    }
}

/// How long one command evicts at most, by `maxmemory-eviction-tenacity`, as in Redis: up to 10 in
/// proportion, 0.5 ms at 10; above that 15% more for each step, two minutes at 99; at 100 without end.
pub(crate) fn evict_ns(tenacity: i64) -> u64 {
    match u32::try_from(tenacity).unwrap_or(0) {
        tenacity @ 0..=10 => 50_000 * u64::from(tenacity),
        tenacity @ 11..=99 => (500_000.0 * 1.15f64.powi(tenacity as i32 - 10)) as u64,
        _ => u64::MAX,
    }
}

/// Nanoseconds of each millisecond that the periodic work may take while something is left to do,
/// by `active-expire-effort`, as in Redis: a quarter at 1, and 2% more for each step.
pub fn cron_ns(effort: i64) -> u64 {
    let percent = 25 + 2 * (effort.clamp(1, 10) as u64 - 1);
    percent * 10_000
}

/// Copies the settings of a context from the configuration.
pub fn follow(c: &Config, cx: &mut Context) {
    let policy = policy(c);
    cx.string_max = usize::try_from(c.bytes(Id::ProtoMaxBulkLen)).unwrap_or(usize::MAX);
    cx.access = Access {
        lfu: policy.is_lfu(),
        log_factor: c.int(Id::LfuLogFactor) as u32,
        decay_minutes: c.int(Id::LfuDecayTime) as u32,
    };
    cx.lazy_del = c.flag(Id::LazyfreeLazyUserDel);
    cx.lazy_server_del = c.flag(Id::LazyfreeLazyServerDel);
    cx.lazy_expire = c.flag(Id::LazyfreeLazyExpire);
    cx.lazy_user_flush = c.flag(Id::LazyfreeLazyUserFlush);
    let count = |id| usize::try_from(c.int(id)).unwrap_or(0);
    let size = |id| usize::try_from(c.bytes(id)).unwrap_or(usize::MAX);
    cx.small = Small {
        hash_max_listpack_entries: count(Id::HashMaxListpackEntries),
        hash_max_listpack_value: size(Id::HashMaxListpackValue),
        list_max_listpack_size: c.int(Id::ListMaxListpackSize),
        set_max_intset_entries: count(Id::SetMaxIntsetEntries),
        set_max_listpack_entries: count(Id::SetMaxListpackEntries),
        set_max_listpack_value: count(Id::SetMaxListpackValue),
        zset_max_listpack_entries: count(Id::ZsetMaxListpackEntries),
        zset_max_listpack_value: size(Id::ZsetMaxListpackValue),
        stream_node_max_bytes: size(Id::StreamNodeMaxBytes),
        stream_node_max_entries: count(Id::StreamNodeMaxEntries),
        hll_sparse_max_bytes: size(Id::HllSparseMaxBytes),
    };
    cx.shared_integers = c.bytes(Id::Maxmemory) == 0 || !(policy.is_lru() || policy.is_lfu());
}

#[cfg(test)]
mod tests {
    use super::{cron_ns, evict_ns};

    #[test]
    fn tenacity_is_a_time_as_in_redis() {
        assert_eq!([0, 1, 10].map(evict_ns), [0, 50_000, 500_000]);
        assert_eq!(evict_ns(11), 575_000);
        assert!((evict_ns(40) / 1_000_000).abs_diff(33) <= 1, "{}", evict_ns(40));
        assert!((evict_ns(99) / 1_000_000_000).abs_diff(126) <= 20, "{}", evict_ns(99));
        assert_eq!(evict_ns(100), u64::MAX);
    }

    #[test]
    fn effort_is_a_share_of_the_time_as_in_redis() {
        assert_eq!([1, 2, 10].map(cron_ns), [250_000, 270_000, 430_000]);
    }
}
