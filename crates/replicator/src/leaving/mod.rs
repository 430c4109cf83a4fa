//! The end of a server that has replicas: it waits until they have everything, `shutdown-timeout` seconds at most, so that
//! a restart of a primary costs no write. Writes are paused meanwhile.
//!
//! Invariant: an offset is waited for only when no thread executes a command that began before the pause.

pub mod plan;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use config::Id;
use durable::ShutdownRequest;
use engine::{Attention, Engine, Job, Message, Thread, log};
use replication::render::GETACK;

use crate::replicas::Replica;
use crate::state::Replicator;

use plan::Plan;

/// Whether a shutdown has to wait for replicas: the hook `waits` of [`durable::Shutdown`]. A second one waits with the
/// first, unless it is not to wait.
pub fn waits(engine: &Engine, _: &mut Thread, request: ShutdownRequest, manner: u8) -> bool {
    let leaving = &Replicator::of(engine).leaving;
    let timeout_ms = engine.config.int(Id::ShutdownTimeout).max(0).saturating_mul(1000);
    let mut plan = leaving.plan.lock();
    if request.now || timeout_ms == 0 || engine.attention.get() & Attention::LOADING != 0 {
        *plan = None;
        return false;
    }
    // A script that is slow would not let the others pause.
    if plan.is_some() || engine.is_busy() || replicas(engine).is_empty() {
        return plan.is_some();
    }
    log!(engine.log, Notice, "Waiting for replicas before shutting down.");
    engine.ends.ask();
    engine.extend_pause(i64::MAX, true);
    let left = Arc::new(AtomicUsize::new(0));
    for w in engine.workers() {
        left.fetch_add(1, Relaxed);
        let left = Arc::clone(&left);
        let there = move |_: &Engine, _: &mut Thread| {
            left.fetch_sub(1, Release);
        };
        w.mailbox.post(Message::Run(Job::new(there)));
    }
    let ends_ms = (engine.clock.wall_ms() as i64).saturating_add(timeout_ms);
    *plan = Some(Plan { request, manner, ends_ms, left, target: None, is_over: false });
    true
}

/// Periodic work, on the first worker, which has nothing locked.
pub(crate) fn upkeep(engine: &Engine, thread: &mut Thread) {
    let leaving = &Replicator::of(engine).leaving;
    let mut planned = leaving.plan.lock();
    let goes_on = planned.is_none();
    let Some(plan) = planned.as_mut().filter(|plan| !plan.is_over) else {
        drop(planned);
        if goes_on {
            leaving.answer(engine, thread);
        }
        return;
    };
    // CLIENT UNPAUSE has ended it.
    engine.extend_pause(i64::MAX, true);
    let late = engine.clock.wall_ms() as i64 >= plan.ends_ms;
    if plan.target.is_none() && plan.left.load(Acquire) == 0 && !engine.runs_long_commands() {
        engine.render_changes(thread.worker());
        let mut state = engine.replication.state();
        plan.target = Some(state.history.offset());
        if !engine.is_replica() {
            // Replicas acknowledge every second by themselves.
            state.append(GETACK);
            engine.feed_now();
        }
    }
    let target = plan.target;
    let all_have =
        target.is_some_and(|t| replicas(engine).iter().all(|r| r.about.lock().ack() >= t));
    if !all_have && !late {
        return;
    }
    plan.is_over = true;
    let (request, manner) = (plan.request, plan.manner);
    drop(planned);
    tell(engine, target);
    if durable::end(engine, thread, request, manner).is_err() {
        log!(
            engine.log,
            Warning,
            "Errors trying to shut down the server. Check the logs for more information."
        );
        *leaving.plan.lock() = None;
        engine.end_pause();
        leaving.answer(engine, thread);
    }
}

/// SHUTDOWN ABORT: cancels a shutdown that waits. Returns whether one did.
pub fn abort(engine: &Engine, thread: &mut Thread) -> bool {
    let leaving = &Replicator::of(engine).leaving;
    if leaving.plan.lock().take_if(|plan| !plan.is_over).is_none() {
        return false;
    }
    log!(engine.log, Notice, "Shutdown manually aborted.");
    engine.ends.cancel();
    engine.end_pause();
    leaving.answer(engine, thread);
    true
}

/// The replicas that are to have everything: not those that want a copy only, or never acknowledge.
fn replicas(engine: &Engine) -> Vec<Arc<Replica>> {
    let mut all = Replicator::of(engine).replicas.all();
    all.retain(|r| {
        let about = r.about.lock();
        !about.rdb_only && !about.is_channel && !about.pre_psync
    });
    all
}

/// Tells in the log what the replicas have.
fn tell(engine: &Engine, target: Option<i64>) {
    let offset = target.unwrap_or_else(|| engine.replication.state().history.offset());
    let (all, mut lag) = (replicas(engine), 0);
    for replica in &all {
        let about = replica.about.lock();
        let (behind, state) = (offset - about.ack(), about.state.and_then(|s| s.word()));
        drop(about);
        if behind > 0 {
            lag += 1;
            let (name, state) = (replica.name(), state.unwrap_or("unknown"));
            log!(
                engine.log,
                Notice,
                "Lagging replica {} reported offset {} behind master, state={}.",
                name,
                behind,
                state
            );
        }
    }
    if !all.is_empty() {
        let (have, all) = (all.len() - lag, all.len());
        log!(engine.log, Notice, "{} of {} replicas are in sync when shutting down.", have, all);
    }
}
