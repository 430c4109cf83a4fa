//! Periodic work for the replicas of this server.

use std::sync::atomic::Ordering::Relaxed;

use config::Id;
use engine::{Engine, Thread, log};
use replication::render::PING;
use replication::serve::State;

use crate::failover;
use crate::full;
use crate::leaving;
use crate::role;
use crate::state::Replicator;

/// Periodic work, some times per second, on the first worker, which has nothing locked.
pub fn upkeep(engine: &Engine, thread: &mut Thread) {
    let registry = &Replicator::of(engine).replicas;
    full::begin_if_due(engine, thread, registry);
    registry.acknowledged(engine, thread);
    failover::upkeep(engine, thread);
    leaving::upkeep(engine, thread);
    role::look(engine, thread);
    role::follow_config(engine);
    let now = engine.clock.wall_ms() as i64;
    if now - registry.looked_ms.load(Relaxed) < 1000 {
        return;
    }
    registry.looked_ms.store(now, Relaxed);
    registry.count(engine);
    let timeout = engine.config.int(Id::ReplTimeout).max(1) as u64 * 1000;
    for replica in registry.all() {
        match replica.state() {
            // It must not take the silence for the end of the link.
            Some(State::WaitStart | State::WaitEnd) => {
                replica.payload.push_line(b"\n");
                engine.feed_now();
            }
            _ if replica.about.lock().waits_too_long(now as u64, timeout) => {
                let name = replica.name();
                log!(
                    engine.log,
                    Warning,
                    "Disconnecting timedout replica (no connection for the copy): {}",
                    name
                );
                replica.close(engine);
            }
            _ if replica.takes_no_copy(now, timeout) => {
                let name = replica.name();
                log!(engine.log, Warning, "Disconnecting timedout replica (full sync): {}", name);
                replica.close(engine);
            }
            _ if replica.is_timed_out(now as u64, timeout) => {
                let name = replica.name();
                log!(
                    engine.log,
                    Warning,
                    "Disconnecting timedout replica (streaming sync): {}",
                    name
                );
                replica.close(engine);
            }
            _ => {}
        }
    }
    if engine.is_replica() || !engine.replication.renders() {
        // The first replica gets no PING before a period is over: a server that has just started would move
        // the offset on that it has restored.
        registry.pinged_ms.store(now, Relaxed);
        return;
    }
    engine.render_changes(thread.worker());
    let period = engine.config.int(Id::ReplPingReplicaPeriod).max(1) * 1000;
    if registry.is_empty() {
        registry.pinged_ms.store(now, Relaxed);
        end_when_alone(engine, thread, now);
    } else if now - registry.pinged_ms.load(Relaxed) >= period
        // The target could not catch up.
        && !Replicator::of(engine).failover.is_on()
    {
        registry.pinged_ms.store(now, Relaxed);
        engine.replication.state().append(PING);
        engine.feed_now();
    }
}

/// Frees the backlog when no replica has wanted it for long. The offset stands still then, so that this history
/// ends.
fn end_when_alone(engine: &Engine, thread: &mut Thread, now: i64) {
    let ttl = engine.config.int(Id::ReplBacklogTtl) * 1000;
    let since = engine.replication.state().alone_since;
    if ttl == 0 || since == 0 || now - since <= ttl {
        return;
    }
    durable::load::within(engine, thread, |_| engine.end_rendering());
    engine.replication.state().end_history(engine::random_repl_id(now));
    log!(
        engine.log,
        Notice,
        "Replication backlog freed after {} seconds without connected replicas.",
        ttl / 1000
    );
}
