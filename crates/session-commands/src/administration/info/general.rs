//! Sections about the process, its clients, its data and the features around it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::{Id, Supervised};
use store::Db;

use super::Section;
use durable::{Durable, snapshots};
use engine::Attention;
use engine::{COMPAT_VERSION, process};
use engine::{Call, Client, Engine, Peer};
use replicator::Replicator;
use replicator::link::Primary;

pub(super) fn server(call: &mut Call<'_>, s: &mut Section) {
    let engine = call.engine;
    let config = &engine.config;
    let wall_us = engine.clock.wall_us();
    let up = ((wall_us / 1000) as i64 - engine.started_ms).max(0) / 1000;
    s.put("redis_version", COMPAT_VERSION);
    s.put("server_name", "apus");
    s.put("apus_version", env!("CARGO_PKG_VERSION"));
    s.put("redis_git_sha1", "00000000");
    s.put("redis_git_dirty", 0);
    s.put("redis_build_id", "0");
    s.put("redis_mode", "standalone");
    s.put("os", process::os());
    s.put("arch_bits", usize::BITS);
    s.put("monotonic_clock", "POSIX clock_gettime");
    let poll = if cfg!(target_os = "linux") { "epoll" } else { "kqueue" };
    s.put("multiplexing_api", poll);
    s.put("atomicvar_api", "rust-core");
    // Not compiled by gcc; Redis shows this then.
    s.put("gcc_version", "0.0.0");
    s.put("process_id", std::process::id());
    let supervised: Supervised = config.chosen(Id::Supervised);
    s.put("process_supervised", if supervised == Supervised::Systemd { "systemd" } else { "no" });
    s.put("run_id", &engine.run_id);
    // As in Redis: that of TLS, if there is no other.
    let ports = [&engine.info.tcp_port, &engine.info.tls_port].map(|port| port.load(Relaxed));
    s.put("tcp_port", ports.into_iter().find(|port| *port != 0).unwrap_or(0));
    s.put("server_time_usec", wall_us);
    s.put("uptime_in_seconds", up);
    s.put("uptime_in_days", up / 86_400);
    s.put("hz", config.int(Id::Hz));
    s.put("configured_hz", config.int(Id::Hz));
    s.put("lru_clock", call.thread.cx.lru_clock);
    s.put("executable", &engine.info.executable);
    let file = engine.info.config_file.as_ref().map(|path| path.display().to_string());
    s.put("config_file", file.unwrap_or_default());
    s.put("worker_threads", engine.workers().len());
    s.put("io_threads_active", 0);
    if let Some(ms) = Replicator::of(engine).leaving.left_ms(engine) {
        s.put("shutdown_in_milliseconds", ms);
    }
    listeners(call, s);
}

fn listeners(call: &Call<'_>, s: &mut Section) {
    let config = &call.engine.config;
    let mut n = 0;
    let mut put = |value: String| {
        s.put(&format!("listener{n}"), value);
        n += 1;
    };
    let binds: String = config.list(Id::Bind).iter().map(|b| format!(",bind={b}")).collect();
    let port = call.engine.info.tcp_port.load(Relaxed);
    if port != 0 {
        put(format!("name=tcp{binds},port={port}"));
    }
    let path = config.string(Id::Unixsocket);
    if !path.is_empty() {
        put(format!("name=unix,bind={path}"));
    }
    let port = call.engine.info.tls_port.load(Relaxed);
    if port != 0 {
        put(format!("name=tls{binds},port={port}"));
    }
}

pub(super) fn clients(call: &mut Call<'_>, s: &mut Section) {
    let all = call.engine.clients.all();
    let most_in = all.iter().map(|c| c.query_capacity.load(Relaxed)).max();
    let most_out = all.iter().map(|c| c.output_bytes.load(Relaxed)).max();
    // As in Redis, a client that waits for CLIENT PAUSE to end counts.
    let paused = all.iter().filter(|c| c.paused.load(Relaxed)).count() as u64;
    let blocked = call.engine.blocked_clients.load(Relaxed);
    let watches = all.iter().map(|c| u64::from(c.watch.load(Relaxed))).filter(|n| *n > 0);
    let timed = all.iter().filter(|c| c.waits_until().is_some()).count();
    // No client waits for a key most of the time, and then nothing is locked for this.
    let (awaited, told) = if blocked > 0 {
        Db::lock_all(&call.engine.keyspace, 0, &mut call.thread.cx).awaited_keys()
    } else {
        (0, 0)
    };
    // As in Redis, replicas do not count; a primary does.
    let of_replica = |c: &Arc<Client>| matches!(c.peer(), Peer::Replica | Peer::ReplicaCopy);
    s.put("connected_clients", all.iter().filter(|c| !of_replica(c)).count());
    s.put("cluster_connections", 0);
    s.put("tls_connected_clients", all.iter().filter(|c| c.tls.load(Relaxed)).count());
    s.put("maxclients", call.engine.config.int(Id::Maxclients));
    s.put("client_recent_max_input_buffer", most_in.unwrap_or(0));
    s.put("client_recent_max_output_buffer", most_out.unwrap_or(0));
    s.put("blocked_clients", blocked + paused);
    s.put("tracking_clients", call.engine.tracking.clients());
    s.put("pubsub_clients", call.engine.pubsub.clients());
    s.put("watching_clients", watches.clone().count());
    s.put("clients_in_timeout_table", timed);
    s.put("total_watched_keys", watches.sum::<u64>());
    s.put("total_blocking_keys", awaited);
    s.put("total_blocking_keys_on_nokey", told);
}

pub(super) fn persistence(call: &mut Call<'_>, s: &mut Section) {
    let engine = call.engine;
    let loading = engine.attention.get() & Attention::LOADING != 0;
    s.put("loading", u8::from(loading));
    s.zeros(&["async_loading", "current_cow_peak", "current_cow_size", "current_cow_size_age"]);
    s.put("current_fork_perc", "0.00");
    let durable = Durable::of(engine);
    for (name, value) in snapshots::info(engine) {
        if name == "rdb_last_bgsave_time_sec" {
            let ok = durable.snapshots.last_ok();
            s.put("rdb_last_bgsave_status", if ok { "ok" } else { "err" });
        }
        s.put(name, value);
    }
    let now = engine.clock.wall_ms() as i64;
    let journal = &engine.journal;
    s.put("aof_enabled", u8::from(journal.is_on()));
    for (name, value) in durable.journal.rewrite.info(now) {
        match name {
            "aof_last_bgrewrite_ok" => {
                s.put("aof_last_bgrewrite_status", if value == 1 { "ok" } else { "err" });
            }
            name => s.put(name, value),
        }
    }
    s.put("aof_last_write_status", if journal.shared.is_failing() { "err" } else { "ok" });
    s.zeros(&["aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size"]);
    if journal.is_on() {
        let figures = &journal.shared.figures;
        let waiting: usize = engine.workers().iter().map(|w| w.lane.waiting()).sum();
        s.put("aof_current_size", figures.size.load(Relaxed));
        s.put("aof_base_size", figures.base_size.load(Relaxed));
        s.put("aof_pending_rewrite", u8::from(durable.journal.rewrite.is_scheduled()));
        s.put("aof_buffer_length", waiting as u64 + figures.pending.load(Relaxed));
        let unsynced = journal.shared.durable() < journal.shared.written();
        s.put("aof_pending_bio_fsync", u8::from(unsynced));
        s.put("aof_delayed_fsync", figures.delayed.load(Relaxed));
    }
    for (name, value) in durable.loading.info(now) {
        s.put(name, value);
    }
}

pub(super) fn replication(call: &mut Call<'_>, s: &mut Section) {
    let engine = call.engine;
    engine.render_changes(call.thread.worker());
    let registry = &Replicator::of(engine).replicas;
    match Replicator::of(engine).following.primary() {
        Some(primary) => put_primary(engine, &primary, s),
        None => s.put("role", "master"),
    }
    let lines = registry.info(engine);
    s.put("connected_slaves", lines.len());
    for (name, value) in Replicator::of(engine).replicas.guard.info(engine) {
        s.put(name, value);
    }
    if engine.config.int(Id::MinReplicasToWrite) > 0 && engine.config.int(Id::MinReplicasMaxLag) > 0
    {
        s.put("min_slaves_good_slaves", registry.good(engine));
    }
    for (i, line) in lines.iter().enumerate() {
        s.put(&format!("slave{i}"), line);
    }
    s.put("master_failover_state", Replicator::of(engine).failover.word());
    let state = engine.replication.state();
    let history = &state.history;
    s.put("master_replid", history.id().as_str());
    s.put("master_replid2", history.second_id().as_str());
    s.put("master_repl_offset", history.offset());
    s.put("second_repl_offset", history.second_offset());
    s.put("repl_backlog_active", u8::from(state.backlog.is_some()));
    s.put("repl_backlog_size", engine.config.bytes(Id::ReplBacklogSize));
    let figures = state.backlog.as_ref().map(replication::backlog::Backlog::figures);
    s.put("repl_backlog_first_byte_offset", figures.map_or(0, |f| f.first));
    s.put("repl_backlog_histlen", figures.map_or(0, |f| f.len));
}

/// The fields of a replica.
fn put_primary(engine: &Engine, primary: &Primary, s: &mut Section) {
    let now = engine.clock.wall_ms() as i64;
    let seconds = |since: i64| if since == 0 { -1 } else { (now - since).max(0) / 1000 };
    s.put("role", "slave");
    s.put("master_host", &*primary.host);
    s.put("master_port", primary.port);
    s.put("master_link_status", if primary.is_up() { "up" } else { "down" });
    let heard = if primary.is_up() { seconds(primary.heard_ms()) } else { -1 };
    s.put("master_last_io_seconds_ago", heard);
    let syncs = primary.state() == "sync";
    s.put("master_sync_in_progress", u8::from(syncs));
    let offset = engine.replication.state().history.offset();
    s.put("slave_read_repl_offset", offset.max(primary.read()));
    s.put("slave_repl_offset", offset);
    if syncs {
        let (total, read) = primary.transfer();
        s.put("master_sync_total_bytes", total);
        s.put("master_sync_read_bytes", read);
        s.put("master_sync_left_bytes", total.saturating_sub(read));
        // A copy without a length in front has no known part.
        let part = if total == 0 { 0.0 } else { read as f64 * 100.0 / total as f64 };
        s.put("master_sync_perc", format!("{part:.2}"));
        s.put("master_sync_last_io_seconds_ago", seconds(primary.copy_heard_ms()).max(0));
    }
    let (held, most) = primary.held();
    s.put("replica_full_sync_buffer_size", held);
    s.put("replica_full_sync_buffer_peak", most);
    if !primary.is_up() {
        s.put("master_link_down_since_seconds", seconds(primary.down_since_ms()));
    }
    let promotable = Replicator::of(engine).replicas.guard.is_promotable(engine);
    let priority = if promotable { engine.config.int(Id::ReplicaPriority) } else { 0 };
    s.put("slave_priority", priority);
    s.put("slave_read_only", u8::from(engine.config.flag(Id::ReplicaReadOnly)));
    s.put("replica_announced", u8::from(engine.config.flag(Id::ReplicaAnnounced)));
}

pub(super) fn cpu(_: &mut Call<'_>, s: &mut Section) {
    let mut put = |suffix: &str, time: process::CpuTime| {
        for (kind, t) in [("sys", time.system), ("user", time.user)] {
            let value = format!("{}.{:06}", t.as_secs(), t.subsec_micros());
            s.put(&format!("used_cpu_{kind}{suffix}"), value);
        }
    };
    put("", process::cpu_self());
    put("_children", process::cpu_children());
    // There is no main thread that executes everything: it is the one that answers.
    if let Some(time) = process::cpu_thread() {
        put("_main_thread", time);
    }
}

pub(super) fn modules(_: &mut Call<'_>, _: &mut Section) {}

pub(super) fn cluster(_: &mut Call<'_>, s: &mut Section) {
    s.put("cluster_enabled", 0);
}

pub(super) fn keyspace(call: &mut Call<'_>, s: &mut Section) {
    let ks = &call.engine.keyspace;
    for index in 0..ks.databases() {
        let mut db = Db::unlocked(ks, index, &mut call.thread.cx);
        let keys = db.len();
        if keys > 0 {
            let (expires, avg_ttl) = db.expiring();
            let parts = db.expiring_parts();
            let value =
                format!("keys={keys},expires={expires},avg_ttl={avg_ttl},subexpiry={parts}");
            s.put(&format!("db{index}"), value);
        }
    }
}
