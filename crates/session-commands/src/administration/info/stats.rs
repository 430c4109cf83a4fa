//! Sections of counters: totals, by command, by error, by latency.

use std::sync::atomic::Ordering::Relaxed;

use config::Id;

use super::Section;
use crate::administration::latency;
use engine::pubsub::ChannelKind;
use engine::{Call, Engine};
use observe::stats::Totals;

pub(super) fn stats(call: &mut Call<'_>, s: &mut Section) {
    let engine = call.engine;
    let t = engine.totals();
    let rates = &engine.rates;
    let kb = |bytes: u64| format!("{:.2}", bytes as f64 / 1024.0);
    s.put("total_connections_received", t.connections_received);
    s.put("total_commands_processed", t.commands_processed);
    s.put("instantaneous_ops_per_sec", rates.ops_per_sec.load(Relaxed));
    s.put("total_net_input_bytes", t.net_input_bytes);
    s.put("total_net_output_bytes", t.net_output_bytes);
    s.put("total_net_repl_input_bytes", t.net_repl_input_bytes);
    s.put("total_net_repl_output_bytes", t.net_repl_output_bytes);
    s.put("instantaneous_input_kbps", kb(rates.input_bytes_per_sec.load(Relaxed)));
    s.put("instantaneous_output_kbps", kb(rates.output_bytes_per_sec.load(Relaxed)));
    s.put("instantaneous_input_repl_kbps", kb(rates.repl_input_bytes_per_sec.load(Relaxed)));
    s.put("instantaneous_output_repl_kbps", kb(rates.repl_output_bytes_per_sec.load(Relaxed)));
    s.put("rejected_connections", t.rejected_connections);
    let syncs = &engine.replication.counts;
    s.put("sync_full", syncs.full.load(Relaxed));
    s.put("sync_partial_ok", syncs.partial.load(Relaxed));
    s.put("sync_partial_err", syncs.refused.load(Relaxed));
    s.put("expired_subkeys", t.expired_subkeys);
    s.put("expired_keys", t.expired_keys);
    // The expiry index knows the due keys, so there are no stale ones to estimate.
    s.put("expired_stale_perc", "0.00");
    s.put("expired_time_cap_reached_count", t.expired_time_cap_reached);
    s.put("expire_cycle_cpu_milliseconds", t.expire_cycle_nanos / 1_000_000);
    s.put("evicted_keys", t.evicted_keys);
    s.put("evicted_clients", t.evicted_clients);
    s.put("evicted_scripts", engine.scripts.cache.evicted());
    s.put("total_eviction_exceeded_time", t.total_eviction_exceeded_nanos / 1_000_000);
    s.put("current_eviction_exceeded_time", 0);
    s.put("keyspace_hits", t.keyspace_hits);
    s.put("keyspace_misses", t.keyspace_misses);
    s.put("pubsub_channels", engine.pubsub.names(ChannelKind::Channel));
    s.put("pubsub_patterns", engine.pubsub.names(ChannelKind::Pattern));
    s.put("pubsubshard_channels", engine.pubsub.names(ChannelKind::Shard));
    s.zeros(&["latest_fork_usec", "total_forks"]);
    s.put("migrate_cached_sockets", engine.migrations.links());
    s.put("slave_expires_tracked_keys", engine.replication.own_keys.len());
    s.zeros(&[
        "active_defrag_hits",
        "active_defrag_misses",
        "active_defrag_key_hits",
        "active_defrag_key_misses",
        "total_active_defrag_time",
        "current_active_defrag_time",
    ]);
    s.put("tracking_total_keys", engine.tracking.keys());
    s.put("tracking_total_items", engine.tracking.items());
    s.put("tracking_total_prefixes", engine.tracking.prefixes());
    s.put("unexpected_error_replies", engine.replication.counts.failed.load(Relaxed));
    s.put("total_error_replies", t.error_replies);
    s.put("dump_payload_sanitizations", 0);
    s.put("total_reads_processed", t.reads_processed);
    s.put("total_writes_processed", t.writes_processed);
    s.zeros(&["io_threaded_reads_processed", "io_threaded_writes_processed"]);
    s.put("client_query_buffer_limit_disconnections", t.client_query_buffer_limit_disconnections);
    s.put("client_output_buffer_limit_disconnections", t.client_output_buffer_limit_disconnections);
    s.zeros(&["reply_buffer_shrinks", "reply_buffer_expands"]);
    event_loops(engine, &t, s);
    denials(engine, s);
}

fn event_loops(engine: &Engine, t: &Totals, s: &mut Section) {
    let rates = &engine.rates;
    s.put("eventloop_cycles", t.eventloop_cycles);
    s.put("eventloop_duration_sum", t.eventloop_nanos / 1000);
    s.put("eventloop_duration_cmd_sum", t.command_nanos / 1000);
    let cycles = rates.eventloop_cycles_per_sec.load(Relaxed);
    s.put("instantaneous_eventloop_cycles_per_sec", cycles);
    let duration = rates.eventloop_duration_usec.load(Relaxed);
    s.put("instantaneous_eventloop_duration_usec", duration);
}

fn denials(engine: &Engine, s: &mut Section) {
    let denied = engine.acl.log.counts();
    s.put("acl_access_denied_auth", denied.auth);
    s.put("acl_access_denied_cmd", denied.command);
    s.put("acl_access_denied_key", denied.key);
    s.put("acl_access_denied_channel", denied.channel);
}

pub(super) fn commands(call: &mut Call<'_>, s: &mut Section) {
    let workers = call.engine.executing_workers();
    for (id, cmd) in call.engine.table.all().iter().enumerate() {
        let (mut calls, mut nanos, mut rejected, mut failed) = (0u64, 0u64, 0u64, 0u64);
        for w in &workers {
            let c = &w.stats.commands[id];
            calls += c.calls.load(Relaxed);
            nanos += c.nanos.load(Relaxed);
            rejected += c.rejected.load(Relaxed);
            failed += c.failed.load(Relaxed);
        }
        if calls + rejected + failed == 0 {
            continue;
        }
        let usec = nanos / 1000;
        let each = nanos as f64 / 1000.0 / calls.max(1) as f64;
        let value = format!(
            "calls={calls},usec={usec},usec_per_call={each:.2},\
             rejected_calls={rejected},failed_calls={failed}"
        );
        s.put(&format!("cmdstat_{}", cmd.row.name), value);
    }
}

pub(super) fn debug(call: &mut Call<'_>, s: &mut Section) {
    let t = call.engine.totals();
    s.put("eventloop_duration_aof_sum", 0);
    s.put("eventloop_duration_cron_sum", t.cron_nanos / 1000);
    s.put("eventloop_duration_max", t.eventloop_nanos_max / 1000);
    s.put("eventloop_cmd_per_cycle_max", t.eventloop_commands_max);
}

pub(super) fn errors(call: &mut Call<'_>, s: &mut Section) {
    for (word, n) in call.engine.errors.all() {
        // Characters that would break the line's form are replaced, as in Redis.
        let word = word.replace([':', '#', '\n', '\r'], "_");
        s.put(&format!("errorstat_{word}"), format_args!("count={n}"));
    }
}

pub(super) fn latencies(call: &mut Call<'_>, s: &mut Section) {
    let config = &call.engine.config;
    if !config.flag(Id::LatencyTracking) {
        return;
    }
    let percentiles = config.latency_percentiles();
    for (id, cmd) in call.engine.table.all().iter().enumerate() {
        let Some(h) = latency::merged(call.engine, id as u16) else { continue };
        let values: Vec<_> = percentiles
            .iter()
            .map(|p| format!("p{p}={:.3}", h.percentile(*p) as f64 / 1000.0))
            .collect();
        s.put(&format!("latency_percentiles_usec_{}", cmd.row.name), values.join(","));
    }
}
