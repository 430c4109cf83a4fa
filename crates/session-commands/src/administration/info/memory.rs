//! The section about memory.

use config::{Choice as _, Id, MaxmemoryPolicy};
use stdx::num::bytes_to_human;

use super::Section;
use crate::administration::memory::Figures;
use engine::Call;
use engine::process;
use replicator::Replicator;

pub(super) fn memory(call: &mut Call<'_>, s: &mut Section) {
    let f = Figures::now(call);
    let engine = call.engine;
    let config = &engine.config;
    let both = |s: &mut Section, name: &str, bytes: u64| {
        s.put(name, bytes);
        s.put(&format!("{name}_human"), bytes_to_human(bytes));
    };
    both(s, "used_memory", f.used);
    both(s, "used_memory_rss", f.rss);
    both(s, "used_memory_peak", f.peak);
    s.put("used_memory_peak_perc", format_args!("{:.2}%", f.peak_percent()));
    s.put("used_memory_overhead", f.overhead());
    s.put("used_memory_startup", f.startup);
    s.put("used_memory_dataset", f.dataset());
    s.put("used_memory_dataset_perc", format_args!("{:.2}%", f.dataset_percent()));
    // The allocator does not report the memory that it keeps for itself: all of that is in the
    // resident bytes.
    s.put("allocator_allocated", f.used);
    s.put("allocator_active", f.rss);
    s.put("allocator_resident", f.rss);
    s.put("allocator_muzzy", 0);
    both(s, "total_system_memory", process::total_memory());
    let scripts = &engine.scripts;
    let libraries = scripts.shelf.read();
    let (eval, functions) = scripts.running.machine_bytes();
    s.put("used_memory_lua", eval);
    s.put("used_memory_vm_eval", eval);
    s.put("used_memory_lua_human", bytes_to_human(eval));
    s.put("used_memory_scripts_eval", scripts.cache.bytes());
    s.put("number_of_cached_scripts", scripts.cache.count());
    s.put("number_of_functions", libraries.functions.len());
    s.put("number_of_libraries", libraries.by_name.len());
    s.put("used_memory_vm_functions", functions);
    both(s, "used_memory_vm_total", eval + functions);
    s.put("used_memory_functions", libraries.bytes());
    both(s, "used_memory_scripts", scripts.cache.bytes() + libraries.bytes());
    both(s, "maxmemory", config.bytes(Id::Maxmemory));
    s.put("maxmemory_policy", config.chosen::<MaxmemoryPolicy>(Id::MaxmemoryPolicy).name());
    for name in ["allocator_frag", "allocator_rss", "rss_overhead"] {
        s.put(&format!("{name}_ratio"), "1.00");
        s.put(&format!("{name}_bytes"), 0);
    }
    s.put("mem_fragmentation_ratio", format_args!("{:.2}", f.fragmentation()));
    s.put("mem_fragmentation_bytes", f.fragmentation_bytes());
    s.put("mem_not_counted_for_evict", engine.not_counted_for_eviction());
    s.put("mem_topics", stdx::mem::apart());
    s.put("mem_huge_pages", stdx::mem::huge());
    let replication = engine.replication.state();
    let stream = replication.backlog.as_ref().map(|backlog| backlog.figures());
    drop(replication);
    s.put("mem_replication_backlog", stream.map_or(0, |f| f.backlog_memory));
    s.put("mem_total_replication_buffers", stream.map_or(0, |f| f.memory));
    let primary = Replicator::of(engine).following.primary();
    s.put("mem_replica_full_sync_buffer", primary.map_or(0, |p| p.held().0));
    s.put("mem_clients_slaves", stream.map_or(0, |f| f.readers_memory));
    s.put("mem_clients_normal", f.clients);
    s.zeros(&["mem_cluster_links", "mem_aof_buffer"]);
    s.put("mem_allocator", "mimalloc");
    s.put("mem_overhead_db_hashtable_rehashing", f.resizing.1);
    s.put("active_defrag_running", 0);
    let (pending, freed) = engine.keyspace.lazy_counts();
    s.put("lazyfree_pending_objects", pending);
    s.put("lazyfreed_objects", freed);
}
