//! Rows: memory, eviction, expiry and how freed memory is given back.

macro_rules! memory_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Memory {

Maxmemory: "maxmemory", [], Memory(0, u64::MAX), "0", RUNTIME, Effective,
    "Bytes the data set may use before keys are evicted or writes refused; 0 sets no bound.";
MaxmemoryPolicy: "maxmemory-policy", [], Choice(MaxmemoryPolicy::NAMES), "noeviction", RUNTIME, Effective,
    "Which keys go when maxmemory is reached: the least recently (lru) or least often (lfu) used, those that expire first (ttl) or any (random), among all keys or only those with an expiry (volatile); noeviction refuses writes instead.";
MaxmemorySamples: "maxmemory-samples", [], Int(1, 64), "5", RUNTIME, Effective,
    "Keys looked at for each eviction; more choose better and cost more.";
MaxmemoryEvictionTenacity: "maxmemory-eviction-tenacity", [], Int(0, 100), "10", RUNTIME, Effective,
    "How long one command may go on evicting: 50 us for each step up to 10, then 15% more for each step, and at 100 until the memory in use is below maxmemory.";
LfuLogFactor: "lfu-log-factor", [], Int(0, INT_MAX), "10", RUNTIME, Effective,
    "How much harder each further step of a key's use counter is; higher tells busier keys apart.";
LfuDecayTime: "lfu-decay-time", [], Int(0, INT_MAX), "1", RUNTIME, Effective,
    "Minutes after which an unused key's use counter falls by one; 0 never lets it fall.";
ActiveExpireEffort: "active-expire-effort", [], Int(1, 10), "1", RUNTIME, Effective,
    "How much of a thread's time goes to removing expired keys as long as there are some: 25% at 1, 2% more for each step up to 10.";
LazyfreeLazyEviction: "lazyfree-lazy-eviction", [], Bool, "no", DEBUG, Accepted(EVICTION_COUNTS),
    "Frees the values of evicted keys in the background.";
LazyfreeLazyExpire: "lazyfree-lazy-expire", [], Bool, "no", DEBUG, Effective,
    "Frees an expired value that a command finds in the background, and makes EXPIRE with a time in the past an UNLINK in the journal; what takes long to free, or expires without a command, is freed in the background in any case.";
LazyfreeLazyServerDel: "lazyfree-lazy-server-del", [], Bool, "no", DEBUG, Effective,
    "Frees values that a command such as RENAME replaces in the background; those that take long to free always are.";
LazyfreeLazyUserDel: "lazyfree-lazy-user-del", [], Bool, "no", DEBUG, Effective,
    "Makes DEL free in the background as UNLINK does; values that take long to free always are.";
LazyfreeLazyUserFlush: "lazyfree-lazy-user-flush", [], Bool, "no", DEBUG, Effective,
    "Makes FLUSHALL and FLUSHDB without SYNC or ASYNC free in the background.";
Activerehashing: "activerehashing", [], Bool, "yes", RUNTIME, Accepted(TABLE_GROWS),
    "Spends idle time on moving a growing table to its new size.";
Activedefrag: "activedefrag", [], Off("Active defragmentation cannot be enabled: the allocator of Apus does not support it"), "no", DEBUG, Accepted(ALLOCATOR),
    "Moves values together when the allocator's memory is fragmented; only `no` is possible.";
ActiveDefragIgnoreBytes: "active-defrag-ignore-bytes", [], Memory(1, BYTES_MAX), "100mb", RUNTIME, Accepted(ALLOCATOR),
    "Bytes of fragmentation below which defragmentation does not start.";
ActiveDefragThresholdLower: "active-defrag-threshold-lower", [], Int(0, 1000), "10", RUNTIME, Accepted(ALLOCATOR),
    "Percent of fragmentation at which defragmentation starts.";
ActiveDefragThresholdUpper: "active-defrag-threshold-upper", [], Int(0, 1000), "100", RUNTIME, Accepted(ALLOCATOR),
    "Percent of fragmentation at which defragmentation works hardest.";
ActiveDefragCycleMin: "active-defrag-cycle-min", [], Int(1, 99), "1", RUNTIME, Accepted(ALLOCATOR),
    "Percent of a core that defragmentation uses at the lower threshold.";
ActiveDefragCycleMax: "active-defrag-cycle-max", [], Int(1, 99), "25", RUNTIME, Accepted(ALLOCATOR),
    "Percent of a core that defragmentation uses at the upper threshold.";
ActiveDefragMaxScanFields: "active-defrag-max-scan-fields", [], Int(1, LONG_MAX), "1000", RUNTIME, Accepted(ALLOCATOR),
    "Elements of a collection above which defragmentation handles it in steps.";
JemallocBgThread: "jemalloc-bg-thread", [], Bool, "yes", RUNTIME, Accepted(ALLOCATOR),
    "Lets the jemalloc allocator give memory back from a thread of its own.";
    } } };
}
