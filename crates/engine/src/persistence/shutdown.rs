//! The last snapshot: at SHUTDOWN and at a signal that ends the server.
//!
//! Every acknowledged write must be in it, so every thread has paused before it begins: CLIENT PAUSE's
//! gate is closed, and then the saving thread waits for each worker to be between two of its batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

use commands::{Fail, Outcome};
use config::{Id, SHUTDOWN_FORCE, SHUTDOWN_NOSAVE, SHUTDOWN_NOW, SHUTDOWN_SAVE};

use crate::ends;
use crate::engine::{Attention, Engine, ShutdownRequest};
use crate::log;
use crate::mailbox::{Job, Message};
use crate::thread::Thread;

/// A thread whose command takes this long is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The answer of SHUTDOWN when the server does not end.
const FAILED: Fail = Fail::text("ERR Errors trying to SHUTDOWN. Check logs.");

/// Saves as asked or configured, and ends the server. Called by a worker thread. On an error the
/// server goes on.
pub fn shut_down(
    engine: &Engine,
    thread: &mut Thread,
    request: ShutdownRequest,
    manner: u8,
) -> Result<(), Fail> {
    if engine.on_shutdown.read().is_none() || !claim(engine, manner) {
        return Err(FAILED);
    }
    if engine.journal.is_beginning() {
        // The data in memory is nowhere else yet.
        if request.force {
            log!(engine.log, Warning, "Writing initial AOF. Exit anyway.");
        } else {
            log!(engine.log, Warning, "Writing initial AOF, can't exit");
            engine.shutting_down.store(ends::NOT, Relaxed);
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
            engine.shutting_down.store(ends::NOT, Relaxed);
            engine.end_pause();
            return Err(if e.0.len() > 3 { e } else { FAILED });
        }
    }
    if let Some(hook) = engine.on_shutdown.read().as_ref() {
        hook(request);
    }
    Ok(())
}

/// Notes how the server ends. False: it is ending already, and no sooner than that.
fn claim(engine: &Engine, manner: u8) -> bool {
    engine.shutting_down.fetch_max(manner, Relaxed) < manner
}

/// Ends the server without saving, while no thread can do more than that. A shutdown that waits for a
/// script before it saves is not waited for, either.
pub fn begin_shutdown(engine: &Engine, request: ShutdownRequest, manner: u8) -> Outcome {
    let hook = engine.on_shutdown.read();
    let Some(hook) = hook.as_ref().filter(|_| claim(engine, manner)) else { return Err(FAILED) };
    hook(request);
    Ok(())
}

impl Engine {
    /// Ends the server as the option (`shutdown-on-sigterm` or `…-sigint`) says.
    pub fn ask_shutdown(&self, how: Id) {
        let wishes = self.config.int(how);
        let has = |bit| wishes & bit != 0;
        let save =
            if has(SHUTDOWN_SAVE) { Some(true) } else { has(SHUTDOWN_NOSAVE).then_some(false) };
        let request = ShutdownRequest { save, now: has(SHUTDOWN_NOW), force: has(SHUTDOWN_FORCE) };
        if self.attention.get() & Attention::LOADING != 0 {
            // Nothing has changed yet, and a save would lose the data that is not loaded yet.
            let request = ShutdownRequest { save: Some(false), ..request };
            self.shutting_down.store(ends::ORDERLY, Relaxed);
            if let Some(hook) = self.on_shutdown.read().as_ref() {
                hook(request);
            }
            return;
        }
        *self.persistence.asked.lock() = Some(request);
        // Not in the periodic work only, which comes ten times per second.
        let job = |engine: &Engine, thread: &mut Thread| begin_asked(engine, thread);
        self.post(0, Message::Run(Job::new(job)));
    }
}

impl Engine {
    /// Whether the server has been asked to end, and the request was not cancelled and has not failed.
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down.load(Relaxed) != ends::NOT || self.persistence.asked.lock().is_some()
    }
}

/// Begins a shutdown that a signal requested.
pub(super) fn begin_asked(engine: &Engine, thread: &mut Thread) {
    if engine.cron_paused.load(Relaxed) {
        return;
    }
    let asked = engine.persistence.asked.lock().take();
    if let Some(request) = asked {
        // The error is in the log, and the server goes on.
        let _ = shut_down(engine, thread, request, ends::ORDERLY);
    }
}

/// SHUTDOWN ABORT: cancels a shutdown that a signal requested and that has not begun.
pub fn abort(engine: &Engine) -> Result<(), Fail> {
    let asked = engine.persistence.asked.lock().take();
    asked.ok_or(Fail::text("ERR No shutdown in progress."))?;
    log!(engine.log, Notice, "Shutdown manually aborted.");
    Ok(())
}

/// Redis gives up a save that is under way in the background; here it may end first, if it does so soon.
fn wait_and_save(engine: &Engine, thread: &mut Thread) -> Result<(), Fail> {
    let path = super::path(engine);
    let started = Instant::now();
    let mut given_up = false;
    while engine.persistence.busy.load(Relaxed) {
        if !given_up && started.elapsed() > PATIENCE {
            given_up = true;
            log!(engine.log, Warning, "The background save takes long and is given up.");
            engine.persistence.give_up();
        }
        // Its end is a message to a worker, which may be this one.
        thread.run_jobs(engine);
        std::thread::sleep(Duration::from_millis(1));
        if started.elapsed() > PATIENCE * 6 {
            log!(engine.log, Warning, "A background save does not end.");
            return Err(FAILED);
        }
    }
    super::save(engine, thread, &path)
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
    while left.load(Acquire) > 0 && started.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(200));
    }
}
