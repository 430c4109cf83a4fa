//! The end of the server, with a last snapshot if there is to be one: at SHUTDOWN and at a signal.
//!
//! Every acknowledged write must be in it, so every thread has paused before it begins: CLIENT PAUSE's
//! gate is closed, and then the saving thread waits for each worker to be between two of its batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

use commands::{Fail, Outcome};
use config::{Id, SHUTDOWN_FORCE, SHUTDOWN_NOSAVE, SHUTDOWN_NOW, SHUTDOWN_SAVE};

use engine::{Attention, Engine, Job, Message, Thread, ends, log};

use crate::request::{Ending, ShutdownRequest};
use crate::state::Durable;
use crate::{journal, snapshots};

/// A thread whose command takes this long is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The answer of SHUTDOWN when the server does not end.
const FAILED: Fail = Fail::text("ERR Errors trying to SHUTDOWN. Check logs.");

/// Ends the server, at once or when the replicas have everything. Called by a worker thread. On an error the server
/// goes on.
///
/// # Errors
/// The server ends already, or its data cannot be saved.
pub fn shut_down(
    engine: &Engine,
    thread: &mut Thread,
    request: ShutdownRequest,
    manner: u8,
) -> Result<Ending, Fail> {
    let shutdown = &Durable::of(engine).shutdown;
    let can = shutdown.hook.read().is_some();
    if can && shutdown.waits.get().is_some_and(|waits| waits(engine, thread, request, manner)) {
        return Ok(Ending::Waits);
    }
    end(engine, thread, request, manner)?;
    Ok(Ending::Now)
}

/// Saves as asked or configured, and ends the server, whatever the replicas have. Called by a worker thread. On an error
/// the server goes on.
///
/// # Errors
/// As [`shut_down`].
pub fn end(
    engine: &Engine,
    thread: &mut Thread,
    request: ShutdownRequest,
    manner: u8,
) -> Result<(), Fail> {
    let d = Durable::of(engine);
    if d.shutdown.hook.read().is_none() || !engine.ends.begin(manner) {
        return Err(FAILED);
    }
    if journal::is_beginning(engine) {
        // The data in memory is nowhere else yet.
        if request.force {
            log!(engine.log, Warning, "Writing initial AOF. Exit anyway.");
        } else {
            log!(engine.log, Warning, "Writing initial AOF, can't exit");
            goes_on(engine);
            return Err(FAILED);
        }
    }
    let save = request.save.unwrap_or_else(|| !engine.config.save_points().is_empty());
    if save {
        pause(engine, thread);
        log!(engine.log, Notice, "Saving the final RDB snapshot before exiting.");
        if let Err(e) = wait_and_save(engine, thread)
            && !request.force
        {
            log!(
                engine.log,
                Warning,
                "Error trying to save the DB, can't exit. SHUTDOWN NOSAVE exits without."
            );
            goes_on(engine);
            engine.end_pause();
            return Err(if e.0.len() > 3 { e } else { FAILED });
        }
    }
    if let Some(hook) = d.shutdown.hook.read().as_ref() {
        hook(request);
    }
    Ok(())
}

/// The shutdown has failed. A request that has come meanwhile is still there.
fn goes_on(engine: &Engine) {
    let asked = Durable::of(engine).shutdown.asked.lock();
    engine.ends.fail();
    if asked.is_some() {
        engine.ends.ask();
    }
}

/// Ends the server without saving, while no thread can do more than that. A shutdown that waits for a
/// script before it saves is not waited for, either.
pub fn begin_shutdown(engine: &Engine, request: ShutdownRequest, manner: u8) -> Outcome {
    let hook = Durable::of(engine).shutdown.hook.read();
    let begins = hook.as_ref().filter(|_| engine.ends.begin(manner));
    let Some(hook) = begins else { return Err(FAILED) };
    hook(request);
    Ok(())
}

/// Ends the server as the option (`shutdown-on-sigterm` or `…-sigint`) says.
pub fn ask_shutdown(engine: &Engine, how: Id) {
    let wishes = engine.config.int(how);
    let has = |bit| wishes & bit != 0;
    let save = if has(SHUTDOWN_SAVE) { Some(true) } else { has(SHUTDOWN_NOSAVE).then_some(false) };
    let request = ShutdownRequest { save, now: has(SHUTDOWN_NOW), force: has(SHUTDOWN_FORCE) };
    let shutdown = &Durable::of(engine).shutdown;
    if engine.attention.get() & Attention::LOADING != 0 {
        // Nothing has changed yet, and a save would lose the data that is not loaded yet.
        let request = ShutdownRequest { save: Some(false), ..request };
        engine.ends.begin(ends::ORDERLY);
        if let Some(hook) = shutdown.hook.read().as_ref() {
            hook(request);
        }
        return;
    }
    let mut asked = shutdown.asked.lock();
    *asked = Some(request);
    engine.ends.ask();
    drop(asked);
    // Not in the periodic work only, which comes ten times per second.
    engine.post(0, Message::Run(Job::new(begin_asked)));
}

/// Begins a shutdown that a signal requested.
pub(crate) fn begin_asked(engine: &Engine, thread: &mut Thread) {
    if engine.cron_paused.load(Relaxed) {
        return;
    }
    let asked = Durable::of(engine).shutdown.asked.lock().take();
    if let Some(request) = asked {
        // The error is in the log, and the server goes on.
        let _ = shut_down(engine, thread, request, ends::ORDERLY);
    }
}

/// SHUTDOWN ABORT: cancels a shutdown that a signal requested and that has not begun.
pub fn abort(engine: &Engine) -> Result<(), Fail> {
    let mut asked = Durable::of(engine).shutdown.asked.lock();
    asked.take().ok_or(Fail::text("ERR No shutdown in progress."))?;
    engine.ends.cancel();
    log!(engine.log, Notice, "Shutdown manually aborted.");
    Ok(())
}

/// Redis gives up a save that is under way in the background; here it may end first, if it does so soon.
fn wait_and_save(engine: &Engine, thread: &mut Thread) -> Result<(), Fail> {
    let snapshots = &Durable::of(engine).snapshots;
    let started = Instant::now();
    let mut given_up = false;
    while snapshots.is_busy() {
        if !given_up && started.elapsed() > PATIENCE {
            given_up = true;
            log!(engine.log, Warning, "The background save takes long and is given up.");
            snapshots.give_up();
        }
        // Its end is a message to a worker, which may be this one.
        thread.run_jobs(engine);
        std::thread::sleep(Duration::from_millis(1));
        if started.elapsed() > PATIENCE * 6 {
            log!(engine.log, Warning, "A background save does not end.");
            return Err(FAILED);
        }
    }
    snapshots::save(engine, thread)
}

/// Stops all commands but the one that is running here.
fn pause(engine: &Engine, thread: &Thread) {
    engine.extend_pause(i64::MAX, false);
    let left = Arc::new(AtomicUsize::new(0));
    let others = engine.workers().into_iter().enumerate().filter(|(i, _)| *i != thread.index);
    for (_, w) in others {
        left.fetch_add(1, Relaxed);
        let left = Arc::clone(&left);
        let there = move |_: &Engine, _: &mut Thread| {
            left.fetch_sub(1, Release);
        };
        w.mailbox.post(Message::Run(Job::new(there)));
    }
    let started = Instant::now();
    while (left.load(Acquire) > 0 || engine.runs_long_commands()) && started.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(200));
    }
    engine.await_stream(PATIENCE);
}
