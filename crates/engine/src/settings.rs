//! What commands go by, copied from the configuration into a thread's context.

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

/// Copies what a context has of the configuration.
pub(crate) fn follow(c: &Config, cx: &mut Context) {
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
        list_compress_depth: count(Id::ListCompressDepth),
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
