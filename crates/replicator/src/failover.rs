//! FAILOVER: this server hands the role of the primary over to one of its replicas.
//!
//! ```text
//!  FAILOVER ─► waits: writes are paused ─► the target has all ─► asks: PSYNC … FAILOVER ─► a replica of it
//!                 │ ABORT, the time is over                         │ ABORT, the target refuses
//!                 └────────────────► still the primary ◄────────────┘
//! ```
//!
//! Invariant: without FORCE the role changes at a moment at which every shard is locked and the target has
//! acknowledged the whole stream, so that no write is lost, even if a client has ended the pause.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use commands::Fail;
use engine::{Engine, Job, Message, Thread, log};
use parking_lot::Mutex;
use replication::render::GETACK;

use crate::role;
use crate::state::Replicator;

/// A pause without an end: milliseconds.
const FOREVER_MS: i64 = 1 << 40;

/// The failover that is under way, if one is.
#[derive(Default)]
pub struct Failover {
    plan: Mutex<Option<Plan>>,
    /// A look at this is cheaper than the lock.
    any: AtomicBool,
}

#[derive(Clone, Debug)]
struct Plan {
    wish: Wish,
    /// Unix milliseconds; 0: it may take any time.
    ends_ms: i64,
    /// The target is being asked.
    asks: bool,
}

/// What FAILOVER is told.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Address and port of the replica; none: the first that has everything.
    pub target: Option<(String, u16)>,
    /// Milliseconds for the target to catch up.
    pub timeout_ms: Option<i64>,
    /// When that time is over, the target takes over with what it has.
    pub force: bool,
}

impl Failover {
    /// The value of `master_failover_state` in INFO.
    pub fn word(&self) -> &'static str {
        match &*self.plan.lock() {
            None => "no-failover",
            Some(plan) if plan.asks => "failover-in-progress",
            Some(_) => "waiting-for-sync",
        }
    }

    /// Whether one is under way.
    pub fn is_on(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// Whether the target is being asked to take over.
    pub(crate) fn asks(&self) -> bool {
        self.is_on() && self.plan.lock().as_ref().is_some_and(|plan| plan.asks)
    }

    fn put(&self, plan: Option<Plan>) {
        self.any.store(plan.is_some(), Relaxed);
        *self.plan.lock() = plan;
    }
}

/// FAILOVER.
///
/// # Errors
/// Redis's, with their codes.
pub fn begin(engine: &Engine, wish: Wish) -> Result<(), Fail> {
    let r = Replicator::of(engine);
    if r.failover.is_on() {
        return Err(Fail::text("ERR FAILOVER already in progress."));
    }
    if r.following.primary().is_some() {
        return Err(Fail::text("ERR FAILOVER is not valid when server is a replica."));
    }
    if r.replicas.is_empty() {
        return Err(Fail::text("ERR FAILOVER requires connected replicas."));
    }
    if wish.force && (wish.timeout_ms.is_none() || wish.target.is_none()) {
        return Err(Fail::text(
            "ERR FAILOVER with force option requires both a timeout and target HOST and IP.",
        ));
    }
    if let Some(target) = &wish.target {
        match r.replicas.acknowledged_by(Some(target)) {
            Some((_, Some(_))) => {}
            Some((_, None)) => {
                return Err(Fail::text("ERR FAILOVER target replica is not online."));
            }
            None => return Err(Fail::text("ERR FAILOVER target HOST and PORT is not a replica.")),
        }
    }
    match &wish.target {
        Some((host, port)) => log!(engine.log, Notice, "FAILOVER requested to {}:{}.", host, port),
        None => log!(engine.log, Notice, "FAILOVER requested."),
    }
    let now = engine.clock.wall_ms() as i64;
    let ends_ms = wish.timeout_ms.map_or(0, |ms| now.saturating_add(ms));
    r.failover.put(Some(Plan { wish, ends_ms, asks: false }));
    engine.extend_pause(now + FOREVER_MS, true);
    // Replicas acknowledge every second by themselves.
    engine.replication.state().append(GETACK);
    engine.feed_now();
    Ok(())
}

/// FAILOVER ABORT.
///
/// # Errors
/// None is under way.
pub fn abort(engine: &Engine, thread: &mut Thread) -> Result<(), Fail> {
    if !Replicator::of(engine).failover.is_on() {
        return Err(Fail::text("ERR No failover in progress."));
    }
    give_up(engine, thread, "Failover manually aborted");
    Ok(())
}

/// This server stays the primary, or is it again.
fn give_up(engine: &Engine, thread: &mut Thread, why: &str) {
    let r = Replicator::of(engine);
    let Some(plan) = r.failover.plan.lock().clone() else { return };
    log!(engine.log, Notice, "Aborting manual failover: {}", why);
    r.failover.put(None);
    if plan.asks {
        role::replica_of_no_one(engine, thread);
    }
    engine.end_pause();
}

/// The target has taken over: called by the thread of the link.
pub(crate) fn succeeded(engine: &Engine) {
    let failover = &Replicator::of(engine).failover;
    if failover.asks() {
        failover.put(None);
        engine.end_pause();
    }
}

/// The target has refused: called by the thread of the link.
pub(crate) fn refused(engine: &Engine) {
    if Replicator::of(engine).failover.asks() {
        let job = |engine: &Engine, thread: &mut Thread| {
            give_up(engine, thread, "Failover target rejected psync request");
        };
        engine.post(0, Message::Run(Job::new(job)));
    }
}

/// Periodic work, on the first worker, which has nothing locked.
pub(crate) fn upkeep(engine: &Engine, thread: &mut Thread) {
    let r = Replicator::of(engine);
    if !r.failover.is_on() {
        return;
    }
    let Some(plan) = r.failover.plan.lock().clone() else { return };
    let now = engine.clock.wall_ms() as i64;
    // CLIENT UNPAUSE ends it, too.
    engine.extend_pause(now + FOREVER_MS, true);
    if plan.asks {
        return;
    }
    if plan.ends_ms > 0 && now >= plan.ends_ms {
        let Some((host, port)) = plan.wish.target.clone().filter(|_| plan.wish.force) else {
            return give_up(engine, thread, "Replica never caught up before timeout");
        };
        log!(engine.log, Notice, "Failover to {}:{} time out exceeded, failing over.", host, port);
        r.failover.put(Some(Plan { asks: true, ..plan }));
        role::replica_of(engine, thread, &host, port);
        return;
    }
    let target = plan.wish.target.clone();
    let synced = move |engine: &Engine| {
        let offset = engine.replication.state().history.offset();
        Replicator::of(engine).replicas.acknowledged_by_any(target.as_ref(), offset)
    };
    engine.render_changes(thread.worker());
    let Some((host, port)) = synced(engine) else { return };
    // Others see that the target is being asked before the link does.
    r.failover.put(Some(Plan { asks: true, ..plan.clone() }));
    if role::replica_of_if(engine, thread, &host, port, move |engine| synced(engine).is_some()) {
        log!(engine.log, Notice, "Failover target: {}:{} is synced, failing over.", host, port);
    } else {
        // A client has ended the pause and written.
        r.failover.put(Some(plan));
    }
}
