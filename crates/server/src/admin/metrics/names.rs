//! Fields of INFO and the metrics they become.
//!
//! The names are those of redis_exporter (<https://github.com/oliver006/redis_exporter>), because
//! dashboards and alerts are written for them. A field that INFO does not have makes no metric.

use MetricKind::{Counter as C, Gauge as G};

/// What Prometheus does with a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// Goes up and down.
    Gauge,
    /// Only goes up, until the server starts anew.
    Counter,
}

impl MetricKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

/// Field, metric without `redis_`, kind and help.
pub(super) type Row = (&'static str, &'static str, MetricKind, &'static str);

pub(super) const NAMES: &[Row] = &[
    // Server
    ("uptime_in_seconds", "uptime_in_seconds", G, "Seconds since the start."),
    ("process_id", "process_id", G, "Number of the process."),
    ("io_threads_active", "io_threads_active", G, "Always 0: every thread executes commands."),
    ("hz", "hz", G, "Turns of the periodic work per second."),
    ("configured_hz", "configured_hz", G, "The same, as configured."),
    ("worker_threads", "server_threads_total", G, "Worker threads."),
    // Clients
    ("connected_clients", "connected_clients", G, "Connections, without those of replicas."),
    ("blocked_clients", "blocked_clients", G, "Connections that wait in a blocking command."),
    ("maxclients", "max_clients", G, "The most connections there may be."),
    ("tracking_clients", "tracking_clients", G, "Connections with client-side caching."),
    (
        "clients_in_timeout_table",
        "clients_in_timeout_table",
        G,
        "Waiting connections with a timeout.",
    ),
    ("pubsub_clients", "pubsub_clients", G, "Connections with subscriptions."),
    ("watching_clients", "watching_clients", G, "Connections that WATCH keys."),
    ("total_watched_keys", "total_watched_keys", G, "Keys that are watched."),
    ("total_blocking_keys", "total_blocking_keys", G, "Keys that are waited for."),
    (
        "total_blocking_keys_on_nokey",
        "total_blocking_keys_on_nokey",
        G,
        "Keys whose deletion is waited for.",
    ),
    (
        "client_recent_max_input_buffer",
        "client_recent_max_input_buffer_bytes",
        G,
        "The largest input buffer.",
    ),
    (
        "client_recent_max_output_buffer",
        "client_recent_max_output_buffer_bytes",
        G,
        "The largest output buffer.",
    ),
    // Memory
    ("used_memory", "memory_used_bytes", G, "Bytes held from the allocator."),
    ("used_memory_rss", "memory_used_rss_bytes", G, "Bytes occupied in the machine's memory."),
    (
        "used_memory_peak",
        "memory_used_peak_bytes",
        G,
        "The most bytes held from the allocator so far.",
    ),
    ("used_memory_lua", "memory_used_lua_bytes", G, "Bytes of the script interpreters."),
    ("used_memory_vm_eval", "memory_used_vm_eval_bytes", G, "Bytes of the interpreters of EVAL."),
    (
        "used_memory_vm_functions",
        "memory_used_vm_functions_bytes",
        G,
        "Bytes of the interpreters of functions.",
    ),
    ("used_memory_vm_total", "memory_used_vm_total", G, "Bytes of all interpreters."),
    ("used_memory_scripts", "memory_used_scripts_bytes", G, "Bytes of scripts and functions."),
    ("used_memory_scripts_eval", "memory_used_scripts_eval_bytes", G, "Bytes of scripts."),
    ("used_memory_functions", "memory_used_functions_bytes", G, "Bytes of functions."),
    ("used_memory_overhead", "memory_used_overhead_bytes", G, "Bytes that are not data."),
    (
        "used_memory_startup",
        "memory_used_startup_bytes",
        G,
        "Bytes held when the server had started.",
    ),
    ("used_memory_dataset", "memory_used_dataset_bytes", G, "Bytes of keys and values."),
    ("number_of_cached_scripts", "number_of_cached_scripts", G, "Scripts that are kept."),
    ("number_of_functions", "number_of_functions", G, "Functions."),
    ("number_of_libraries", "number_of_libraries", G, "Libraries of functions."),
    ("maxmemory", "memory_max_bytes", G, "The most bytes the data may use; 0 for any."),
    ("total_system_memory", "total_system_memory_bytes", G, "Bytes of memory in the machine."),
    (
        "allocator_allocated",
        "allocator_allocated_bytes",
        G,
        "Bytes in use, as the allocator sees it.",
    ),
    ("allocator_active", "allocator_active_bytes", G, "Bytes in pages that are in use."),
    ("allocator_resident", "allocator_resident_bytes", G, "Bytes the allocator occupies."),
    ("allocator_muzzy", "allocator_muzzy_bytes", G, "Bytes the system may take back."),
    ("allocator_frag_ratio", "allocator_frag_ratio", G, "Active for each allocated byte."),
    ("allocator_frag_bytes", "allocator_frag_bytes", G, "Active bytes that are not allocated."),
    ("allocator_rss_ratio", "allocator_rss_ratio", G, "Resident for each active byte."),
    ("allocator_rss_bytes", "allocator_rss_bytes", G, "Resident bytes that are not active."),
    ("mem_fragmentation_ratio", "mem_fragmentation_ratio", G, "Occupied for each used byte."),
    ("mem_fragmentation_bytes", "mem_fragmentation_bytes", G, "Occupied bytes that are not used."),
    ("mem_clients_normal", "mem_clients_normal", G, "Bytes of ordinary connections."),
    ("mem_clients_slaves", "mem_clients_slaves", G, "Bytes of replicas' connections."),
    ("mem_cluster_links", "mem_cluster_links_bytes", G, "Bytes of connections within the cluster."),
    ("mem_aof_buffer", "mem_aof_buffer_bytes", G, "Bytes that wait to be written to the journal."),
    (
        "mem_replication_backlog",
        "mem_replication_backlog_bytes",
        G,
        "Bytes of the replication backlog.",
    ),
    (
        "mem_total_replication_buffers",
        "mem_total_replication_buffers_bytes",
        G,
        "Bytes of all replication buffers.",
    ),
    (
        "mem_not_counted_for_evict",
        "mem_not_counted_for_eviction_bytes",
        G,
        "Bytes that maxmemory does not count.",
    ),
    ("mem_huge_pages", "mem_huge_pages_bytes", G, "Bytes in huge pages, as last looked at."),
    ("mem_topics", "mem_topics_bytes", G, "Bytes that topics and HTTP use, apart from maxmemory."),
    (
        "mem_overhead_db_hashtable_rehashing",
        "mem_overhead_db_hashtable_rehashing_bytes",
        G,
        "Bytes of tables that grow.",
    ),
    ("lazyfree_pending_objects", "lazyfree_pending_objects", G, "Values that wait to be freed."),
    ("lazyfreed_objects", "lazyfreed_objects", G, "Values freed in the background."),
    ("active_defrag_running", "active_defrag_running", G, "Always 0: there is no defragmentation."),
    // Persistence
    ("loading", "loading_dump_file", G, "1 while data is loaded."),
    ("async_loading", "async_loading", G, "1 while data is loaded beside old data."),
    (
        "rdb_changes_since_last_save",
        "rdb_changes_since_last_save",
        G,
        "Changes since the last snapshot.",
    ),
    ("rdb_bgsave_in_progress", "rdb_bgsave_in_progress", G, "1 while a snapshot is written."),
    (
        "rdb_last_save_time",
        "rdb_last_save_timestamp_seconds",
        G,
        "When the last snapshot was written.",
    ),
    ("rdb_last_bgsave_status", "rdb_last_bgsave_status", G, "1 if that went well."),
    (
        "rdb_last_bgsave_time_sec",
        "rdb_last_bgsave_duration_sec",
        G,
        "How long it took; -1 for none.",
    ),
    (
        "rdb_current_bgsave_time_sec",
        "rdb_current_bgsave_duration_sec",
        G,
        "How long the present one has taken.",
    ),
    ("rdb_saves", "rdb_saves_total", G, "Snapshots since the start."),
    ("rdb_last_cow_size", "rdb_last_cow_size_bytes", G, "Bytes copied for the last snapshot."),
    (
        "rdb_last_load_keys_expired",
        "rdb_last_load_expired_keys",
        G,
        "Expired keys in what was loaded.",
    ),
    ("rdb_last_load_keys_loaded", "rdb_last_load_loaded_keys", G, "Keys that were loaded."),
    ("aof_enabled", "aof_enabled", G, "1 with a journal."),
    ("aof_rewrite_in_progress", "aof_rewrite_in_progress", G, "1 while the journal is rewritten."),
    ("aof_rewrite_scheduled", "aof_rewrite_scheduled", G, "1 when it will be."),
    (
        "aof_last_rewrite_time_sec",
        "aof_last_rewrite_duration_sec",
        G,
        "How long the last rewrite took.",
    ),
    (
        "aof_current_rewrite_time_sec",
        "aof_current_rewrite_duration_sec",
        G,
        "How long the present one has taken.",
    ),
    ("aof_last_cow_size", "aof_last_cow_size_bytes", G, "Bytes copied for the last rewrite."),
    ("aof_current_size", "aof_current_size_bytes", G, "Bytes of the journal."),
    ("aof_base_size", "aof_base_size_bytes", G, "Its bytes after the last rewrite."),
    ("aof_pending_rewrite", "aof_pending_rewrite", G, "1 when a rewrite waits."),
    ("aof_buffer_length", "aof_buffer_length", G, "Bytes in the journal's buffer."),
    ("aof_pending_bio_fsync", "aof_pending_bio_fsync", G, "Syncs that wait."),
    ("aof_delayed_fsync", "aof_delayed_fsync", G, "Syncs that were late."),
    (
        "aof_last_bgrewrite_status",
        "aof_last_bgrewrite_status",
        G,
        "1 if the last rewrite went well.",
    ),
    ("aof_last_write_status", "aof_last_write_status", G, "1 if the last write went well."),
    // Stats
    ("total_connections_received", "connections_received_total", C, "Connections accepted."),
    ("total_commands_processed", "commands_processed_total", C, "Commands executed."),
    ("instantaneous_ops_per_sec", "instantaneous_ops_per_sec", G, "Commands per second now."),
    ("rejected_connections", "rejected_connections_total", C, "Connections refused."),
    ("total_net_input_bytes", "net_input_bytes_total", C, "Bytes received."),
    ("total_net_output_bytes", "net_output_bytes_total", C, "Bytes sent."),
    (
        "total_net_repl_input_bytes",
        "net_repl_input_bytes_total",
        C,
        "Bytes received for replication.",
    ),
    (
        "total_net_repl_output_bytes",
        "net_repl_output_bytes_total",
        C,
        "Bytes sent for replication.",
    ),
    ("expired_subkeys", "expired_subkeys_total", C, "Fields of hashes that expired."),
    ("expired_keys", "expired_keys_total", C, "Keys that expired."),
    (
        "expired_stale_perc",
        "expired_stale_percentage",
        G,
        "Expired keys that are still there, in percent.",
    ),
    (
        "expired_time_cap_reached_count",
        "expired_time_cap_reached_total",
        C,
        "Turns of expiry that ran out of time.",
    ),
    (
        "expire_cycle_cpu_milliseconds",
        "expire_cycle_cpu_time_ms_total",
        C,
        "Milliseconds spent on expiry.",
    ),
    ("evicted_keys", "evicted_keys_total", C, "Keys evicted."),
    ("evicted_clients", "evicted_clients_total", C, "Connections closed for their memory."),
    ("evicted_scripts", "evicted_scripts_total", C, "Scripts forgotten for others."),
    (
        "total_eviction_exceeded_time",
        "eviction_exceeded_time_ms_total",
        C,
        "Milliseconds spent above maxmemory.",
    ),
    (
        "current_eviction_exceeded_time",
        "current_eviction_exceeded_time_ms",
        G,
        "Milliseconds above maxmemory until now.",
    ),
    ("keyspace_hits", "keyspace_hits_total", C, "Lookups that found a key."),
    ("keyspace_misses", "keyspace_misses_total", C, "Lookups that found none."),
    ("pubsub_channels", "pubsub_channels", G, "Channels with subscribers."),
    ("pubsub_patterns", "pubsub_patterns", G, "Patterns with subscribers."),
    ("pubsubshard_channels", "pubsubshard_channels", G, "Sharded channels with subscribers."),
    ("latest_fork_usec", "latest_fork_usec", G, "Always 0: there are no forks."),
    ("tracking_total_keys", "tracking_total_keys", G, "Keys remembered for client-side caching."),
    ("tracking_total_items", "tracking_total_items", G, "Keys and connections remembered for it."),
    ("tracking_total_prefixes", "tracking_total_prefixes", G, "Prefixes remembered for it."),
    ("unexpected_error_replies", "unexpected_error_replies", C, "Errors of links between servers."),
    ("total_error_replies", "total_error_replies", C, "Error replies."),
    (
        "dump_payload_sanitizations",
        "dump_payload_sanitizations",
        C,
        "Payloads of RESTORE that were verified.",
    ),
    ("total_reads_processed", "total_reads_processed", C, "Reads from sockets."),
    ("total_writes_processed", "total_writes_processed", C, "Writes to sockets."),
    (
        "io_threaded_reads_processed",
        "io_threaded_reads_processed",
        C,
        "Always 0; see io_threads_active.",
    ),
    (
        "io_threaded_writes_processed",
        "io_threaded_writes_processed",
        C,
        "Always 0; see io_threads_active.",
    ),
    (
        "client_query_buffer_limit_disconnections",
        "client_query_buffer_limit_disconnections_total",
        C,
        "Connections closed for their input.",
    ),
    (
        "client_output_buffer_limit_disconnections",
        "client_output_buffer_limit_disconnections_total",
        C,
        "Connections closed for their output.",
    ),
    (
        "reply_buffer_shrinks",
        "reply_buffer_shrinks_total",
        C,
        "Always 0: idle connections have no buffer.",
    ),
    (
        "reply_buffer_expands",
        "reply_buffer_expands_total",
        C,
        "Always 0: idle connections have no buffer.",
    ),
    ("eventloop_cycles", "eventloop_cycles_total", C, "Wake-ups of the event loops."),
    (
        "eventloop_duration_sum",
        "eventloop_duration_sum_usec_total",
        C,
        "Microseconds in the event loops.",
    ),
    (
        "eventloop_duration_cmd_sum",
        "eventloop_duration_cmd_sum_usec_total",
        C,
        "Microseconds of them in commands.",
    ),
    (
        "instantaneous_eventloop_cycles_per_sec",
        "instantaneous_eventloop_cycles_per_sec",
        G,
        "Wake-ups per second of one loop now.",
    ),
    (
        "instantaneous_eventloop_duration_usec",
        "instantaneous_eventloop_duration_usec",
        G,
        "Microseconds of one cycle now.",
    ),
    ("acl_access_denied_auth", "acl_access_denied_auth_total", C, "Logins refused."),
    ("acl_access_denied_cmd", "acl_access_denied_cmd_total", C, "Commands refused by ACL."),
    ("acl_access_denied_key", "acl_access_denied_key_total", C, "Keys refused by ACL."),
    ("acl_access_denied_channel", "acl_access_denied_channel_total", C, "Channels refused by ACL."),
    (
        "slave_expires_tracked_keys",
        "slave_expires_tracked_keys",
        G,
        "Keys with an expiry on a writable replica.",
    ),
    ("migrate_cached_sockets", "migrate_cached_sockets_total", G, "Connections kept for MIGRATE."),
    ("active_defrag_hits", "defrag_hits", G, "Always 0: there is no defragmentation."),
    ("active_defrag_misses", "defrag_misses", G, "Always 0: there is no defragmentation."),
    ("active_defrag_key_hits", "defrag_key_hits", G, "Always 0: there is no defragmentation."),
    ("active_defrag_key_misses", "defrag_key_misses", G, "Always 0: there is no defragmentation."),
    // Replication
    ("connected_slaves", "connected_slaves", G, "Replicas."),
    ("repl_backlog_size", "replication_backlog_bytes", G, "Bytes the backlog may take."),
    ("repl_backlog_active", "repl_backlog_is_active", G, "1 with a backlog."),
    (
        "repl_backlog_first_byte_offset",
        "repl_backlog_first_byte_offset",
        G,
        "Offset at which the backlog begins.",
    ),
    ("repl_backlog_histlen", "repl_backlog_history_bytes", G, "Bytes in the backlog."),
    ("master_repl_offset", "master_repl_offset", G, "The replication offset."),
    ("second_repl_offset", "second_repl_offset", G, "The offset up to which the former ID holds."),
    ("slave_priority", "slave_priority", G, "Priority for a failover."),
    ("in_sync_replicas", "replicas_in_sync", G, "Replicas that have what is acknowledged."),
    ("in_sync_replicas_lost", "replicas_in_sync_lost", G, "Lost replicas that writes wait for."),
    (
        "acknowledged_offset",
        "acknowledged_offset",
        G,
        "The offset up to which writes are acknowledged.",
    ),
    ("sentinels_heard", "sentinels_heard", G, "Sentinels that have named a primary."),
    ("sentinel_lease", "sentinel_lease", G, "Whether enough Sentinels see this primary."),
    ("sync_full", "replica_resyncs_full", G, "Full synchronizations."),
    ("sync_partial_ok", "replica_partial_resync_accepted", G, "Partial synchronizations."),
    (
        "sync_partial_err",
        "replica_partial_resync_denied",
        G,
        "Partial synchronizations that were refused.",
    ),
    // CPU
    ("used_cpu_sys", "cpu_sys_seconds_total", C, "Processor seconds in the kernel."),
    ("used_cpu_user", "cpu_user_seconds_total", C, "Processor seconds outside the kernel."),
    ("used_cpu_sys_children", "cpu_sys_children_seconds_total", C, "The same of ended children."),
    ("used_cpu_user_children", "cpu_user_children_seconds_total", C, "The same of ended children."),
    // Cluster
    ("cluster_enabled", "cluster_enabled", G, "1 in cluster mode."),
    // Topics
    (
        "http_connections",
        "topics_http_connections",
        G,
        "Connections of the HTTP interface of topics.",
    ),
    ("topics_open", "topics_open", G, "Topics that are open."),
    ("topics_waiting_appends", "topics_waiting_appends", G, "Appends that wait to be stored."),
    ("topics_pending_bytes", "topics_pending_bytes", G, "Bytes that wait to be stored."),
    ("topics_pending_bytes_limit", "topics_pending_limit_bytes", G, "How many may wait."),
    ("topics_kept_bytes", "topics_kept_bytes", G, "Bytes of batches kept for readers."),
    ("topics_kept_bytes_limit", "topics_kept_limit_bytes", G, "How many may be kept."),
    ("topics_answers_bytes", "topics_answers_bytes", G, "Bytes that readers have not taken yet."),
    ("topics_answers_bytes_limit", "topics_answers_limit_bytes", G, "How many there may be."),
    ("topics_descriptors", "topics_descriptors", G, "Descriptors that topics use."),
    ("topics_descriptors_limit", "topics_descriptors_limit", G, "How many they may use."),
    ("topics_appends", "topics_appends_total", C, "Appends that were stored."),
    ("topics_appended_records", "topics_appended_records_total", C, "Records that were stored."),
    ("topics_appended_bytes", "topics_appended_bytes_total", C, "Their bytes, as stored."),
    ("topics_writes", "topics_writes_total", C, "Writes that they were stored with."),
    ("topics_duplicates", "topics_duplicates_total", C, "Retries that were recognised."),
    ("topics_refused", "topics_refused_total", C, "Requests refused for lack of memory."),
    ("topics_reads", "topics_reads_total", C, "Reads that found records."),
    ("topics_read_bytes", "topics_read_bytes_total", C, "Bytes that they found, as stored."),
    ("topics_storage_errors", "topics_storage_errors_total", C, "Writes that the storage failed."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_explained() {
        for (i, (field, metric, _, help)) in NAMES.iter().enumerate() {
            assert!(help.ends_with('.') && !help.contains(['\n', '\\']), "{metric}");
            let twice = NAMES[..i].iter().any(|(f, m, ..)| f == field || m == metric);
            assert!(!twice, "{field} {metric}");
        }
    }
}
