//! Becoming a replica, and a primary again.

use std::sync::Arc;

use commands::Fail;
use config::Id;
use engine::{Attention, Engine, Job, Message, Peer, Thread, log};
use replication::serve::failover_request;

use crate::guard::{Change, Promotion};
use crate::stale::note_link;
use crate::state::Replicator;

/// REPLICAOF host port. Returns false when that is the primary already.
pub fn replica_of(engine: &Engine, thread: &mut Thread, host: &str, port: u16) -> bool {
    let following = &Replicator::of(engine).following;
    if following.primary().is_some_and(|p| p.host == host && p.port == port) {
        return false;
    }
    note_option(engine, &format!("{host} {port}"));
    let host = host.to_owned();
    if thread.in_transaction {
        // The commands behind this one see it.
        following.announce(engine, host.clone(), port);
    }
    outside_transactions(engine, thread, move |engine, thread| {
        follow(engine, thread, &host, port, |_| true);
    });
    true
}

/// This primary becomes a replica if `may` says so at the moment of the change, at which no change of the data is
/// under way. Returns whether it has. Not inside a transaction.
pub(crate) fn replica_of_if(
    engine: &Engine,
    thread: &mut Thread,
    host: &str,
    port: u16,
    may: impl FnOnce(&Engine) -> bool,
) -> bool {
    let follows = follow(engine, thread, host, port, may);
    if follows {
        note_option(engine, &format!("{host} {port}"));
    }
    follows
}

fn follow(
    engine: &Engine,
    thread: &mut Thread,
    host: &str,
    port: u16,
    may: impl FnOnce(&Engine) -> bool,
) -> bool {
    let r = Replicator::of(engine);
    let previous = r.following.stop();
    // No batch of the old primary's stream is being executed from here on.
    let quiet = engine.replication.applying.lock();
    let follows = durable::load::within(engine, thread, |_| {
        engine.replication.state().render();
        let follows = may(engine);
        if follows {
            r.replicas.guard.follow_another(engine);
            engine.attention.set(Attention::REPLICA, true);
            engine.follow_acks();
            engine.end_rendering();
            engine.replication.state().mark(None);
        }
        follows
    });
    drop(quiet);
    if !follows {
        engine.feed_soon();
        return false;
    }
    note_link(engine, false);
    engine.follow_good_replicas();
    unblock_all(engine, thread);
    r.replicas.disconnect_all(engine);
    log!(engine.log, Notice, "REPLICAOF {}:{} enabled", host, port);
    r.following.start(engine, &r.replicas, host.to_owned(), port, previous);
    true
}

/// The primary that the configuration names, if it names one.
fn configured(engine: &Engine) -> Option<(String, u16)> {
    let option = engine.config.string(Id::Replicaof);
    let (host, port) = option.split_once(' ')?;
    Some((host.to_owned(), port.trim().parse().ok()?))
}

/// Makes this server a replica if the configuration says so: at the start, before loading. While it loads, it must not take
/// itself for a primary, and Sentinels must not either.
pub fn take_configured(engine: &Engine) {
    let Some((host, port)) = configured(engine) else { return };
    let r = Replicator::of(engine);
    r.following.expect(engine, host, port);
    r.replicas.guard.follow_another(engine);
    engine.attention.set(Attention::REPLICA, true);
    engine.follow_acks();
    note_link(engine, false);
}

/// Follows the primary that [`take_configured`] has found: at the start, behind loading.
pub fn begin_configured(engine: &Engine) {
    let Some((host, port)) = configured(engine) else { return };
    let begin = move |engine: &Engine, thread: &mut Thread| {
        // A command may have named another one, or none.
        let expected = Replicator::of(engine).following.primary();
        if expected.is_some_and(|p| p.host == host && p.port == port) {
            follow(engine, thread, &host, port, |_| true);
        }
    };
    engine.post(0, Message::Run(Job::new(begin)));
}

/// Looks at what is acknowledged and who is the primary; some times per second, with nothing locked.
pub(crate) fn look(engine: &Engine, thread: &mut Thread) {
    let registry = &Replicator::of(engine).replicas;
    match registry.guard.tick(engine, thread, registry.is_empty()) {
        Change::None => {}
        Change::Promote => replica_of_no_one(engine, thread),
        Change::Follow(host, port) => {
            // As a Sentinel does with CLIENT KILL: they take this server for the primary, and would read what a replica
            // has, which is nothing before its first copy.
            for client in engine.clients.all() {
                if client.peer() == Peer::Client {
                    engine.close(&client);
                }
            }
            replica_of(engine, thread, &host, port);
        }
    }
}

/// REPLICAOF NO ONE on a Sentinel's connection. A replica that may lack acknowledged writes refuses it.
pub fn promoted_by_sentinel(engine: &Engine, thread: &mut Thread) -> Result<(), commands::Fail> {
    let r = Replicator::of(engine);
    match r.replicas.guard.promotion(engine) {
        Promotion::Now => replica_of_no_one(engine, thread),
        Promotion::Soon => {
            log!(engine.log, Notice, "A Sentinel promotes this replica: the primary is left first");
            // It acknowledges no more. The thread ends by itself.
            r.following.cease();
            // The Sentinel has CONFIG REWRITE follow at once: started again, this server would follow its former primary.
            note_option(engine, "");
        }
        Promotion::Refused => {
            log!(
                engine.log,
                Warning,
                "A Sentinel wants to promote this replica, which may lack acknowledged writes: refused"
            );
            return Err(commands::Fail::text(
                "NOREPLICAS This replica may lack acknowledged writes: it is not promoted.",
            ));
        }
    }
    Ok(())
}

/// REPLICAOF NO ONE.
pub fn replica_of_no_one(engine: &Engine, thread: &mut Thread) {
    if !engine.is_replica() && Replicator::of(engine).following.primary().is_none() {
        return;
    }
    note_option(engine, "");
    outside_transactions(engine, thread, |engine, thread| {
        let r = Replicator::of(engine);
        // The thread ends by itself.
        drop(r.following.stop());
        let quiet = engine.replication.applying.lock();
        let size = engine.config.bytes(Id::ReplBacklogSize) as usize;
        let id = engine::random_repl_id(engine.clock.wall_ms() as i64);
        durable::load::within(engine, thread, |_| {
            let line = engine.replication.state().history.promote(id);
            log!(engine.log, Notice, "{}", line);
            engine.begin_rendering(size);
            engine.attention.set(Attention::REPLICA, false);
            engine.follow_acks();
            engine.attention.set(Attention::STALE, false);
        });
        drop(quiet);
        engine.replication.state().alone_since = engine.clock.wall_ms() as i64;
        engine.follow_good_replicas();
        look(engine, thread);
        // They are to learn the new id.
        r.replicas.disconnect_all(engine);
        log!(engine.log, Notice, "MASTER MODE enabled");
    });
}

/// `PSYNC id offset FAILOVER`: the primary of this replica hands its role over.
///
/// # Errors
/// This is no replica, or has another history.
pub fn promoted_by_primary(engine: &Engine, thread: &mut Thread, id: &[u8]) -> Result<(), Fail> {
    let own = engine.replication.state().history.id();
    failover_request(id, own, engine.is_replica()).map_err(Fail::text)?;
    log!(engine.log, Warning, "Failover request received for replid {}.", own);
    replica_of_no_one(engine, thread);
    Ok(())
}

/// `replica-serve-stale-data` may have changed.
pub fn follow_config(engine: &Engine) {
    let primary = Replicator::of(engine).following.primary();
    note_link(engine, primary.is_some_and(|p| p.is_up()));
}

/// A transaction has shards locked that the stream of a primary may wait for: the role changes behind it.
fn outside_transactions(
    engine: &Engine,
    thread: &mut Thread,
    change: impl FnOnce(&Engine, &mut Thread) + Send + 'static,
) {
    if thread.in_transaction {
        engine.post(thread.index, Message::Run(Job::new(change)));
    } else {
        change(engine, thread);
    }
}

/// CONFIG GET and CONFIG REWRITE show the role.
fn note_option(engine: &Engine, value: &str) {
    if let Err(e) = engine.config.note(Id::Replicaof, value) {
        log!(engine.log, Warning, "replicaof: {}", e);
    }
}

/// Clients that wait for a key, to write, wait in vain.
fn unblock_all(engine: &Engine, thread: &mut Thread) {
    let text = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> \
                replica?)";
    for client in engine.clients.all() {
        let waiter = client.blocked.lock().as_ref().map(Arc::clone);
        if let Some(waiter) = waiter {
            let bytes = format!("-{text}\r\n").into_bytes();
            thread.answer_waiter(engine, &waiter, bytes, Some(&commands::Fail::text(text)));
        }
    }
}
