//! One run of a script or a function: its locks, the checks of its commands, and its end.
//!
//! # Atomicity
//!
//! No client may see a script half done, and scripts over different keys should run at the same time.
//! So a script locks the shards of the keys that its call declares, for as long as it runs, if it is
//! *proven* to use no others (`lua::proof`, which interprets its code abstractly; declared keys that it
//! cannot reach with these arguments are not locked). Any other script runs with these shards locked
//! only as long as it has changed nothing and touches nothing else: before its first write, or the
//! first command over other keys, it is aborted without a trace and run again with every shard locked.
//! That is remembered, and next time it begins with every shard.
//!
//! Locking more shards while it runs is not possible: two such scripts could wait for each other, and a
//! script's writes cannot be undone. With one worker thread there are no locks, and nothing of this is
//! needed.

use std::borrow::Cow;
use std::sync::Arc;

use commands::row::{Flags, Group, Scope, Traits};
use commands::{Fail, Outcome};
use lua::{Called, Failure, Host, Invocation, Registered, Tick, Uses, Vm};
use observe::stats::bump;
use resp::{Args, Reply};
use store::ShardSet;

use super::busy::{self, About, Running};
use crate::acl;
use crate::attention::Attention;
use crate::dispatch::{lookup, shards_of};
use crate::engine::Engine;
use crate::exec::MASTERDOWN;
use crate::exec::{Executed, Limits};
use crate::log;
use crate::session::Session;
use crate::table::{Call, Cmd, Run};
use crate::thread::Thread;

/// When the server ends, a script is slow after this time at the latest, in nanoseconds, even if
/// `busy-reply-threshold` is off.
const PATIENCE_NS: u64 = 5_000_000_000;

/// After so much time in commands, the clock is looked at, in nanoseconds.
const LOOK_NS: u64 = 2_000_000;

/// The script to run, and the facts known about it.
pub(super) struct Task<'a> {
    pub(super) what: Invocation<'a>,
    pub(super) is_eval: bool,
    /// Its flags; none for a script without a shebang.
    pub(super) flags: Option<lua::Flags>,
    /// Called by one of the `_RO` commands.
    pub(super) read_only: bool,
    /// It uses these of its declared keys, and no others.
    pub(super) proven: Option<Uses>,
    /// It is known to need every shard.
    pub(super) needs_all: bool,
    pub(super) running: &'a Arc<Running>,
}

/// Runs it. Returns whether it needed every shard, which is to be remembered.
pub(super) fn run(
    call: &mut Call<'_>,
    vm: &mut Vm,
    task: &Task<'_>,
    reply: &mut Reply<'_>,
) -> (Outcome, bool) {
    let read_only = match prepare(call, task) {
        Ok(read_only) => read_only,
        Err(fail) => return (Err(fail), false),
    };
    let engine = call.engine;
    let inside = std::mem::replace(&mut call.thread.in_transaction, true);
    call.thread.cx.in_script = true;
    call.thread.call_times.begin();
    let frozen = call.thread.freeze();
    let db = call.session.db;
    let locks = !inside && !engine.keyspace.is_single();
    let mut all = !locks || task.needs_all;
    let mut needed_all = false;
    let outcome = loop {
        if locks {
            let shards = (!all).then(|| declared_shards(task));
            engine.keyspace.hold(&mut call.thread.cx, shards);
        }
        // All that it changes is one record of the journal.
        call.thread.begin_unit();
        let mut runner = Runner {
            engine,
            thread: call.thread,
            session: call.session,
            task,
            read_only,
            inside,
            over_memory: false,
            partial: !all,
            wrote: false,
            stray: false,
            start: 0,
            owed: 0,
            threshold: busy::threshold(engine),
        };
        runner.start = runner.thread.mono;
        runner.over_memory = runner.thread.short_of_memory && !allows_oom(task);
        let outcome = vm.run(&task.what, &mut runner, reply);
        let stray = runner.stray;
        let killed = task.running.end(engine);
        call.thread.end_unit(engine);
        call.thread.cx.untold = false;
        if call.session.db != db {
            call.session.select(db);
        }
        if outcome == Err(Failure::Aborted) && stray && !all && !killed {
            engine.keyspace.release(&mut call.thread.cx);
            (all, needed_all) = (true, true);
            continue;
        }
        break outcome;
    };
    call.thread.in_transaction = inside;
    call.thread.cx.in_script = false;
    call.thread.collect();
    call.thread.unfreeze(frozen);
    if !inside {
        release_keys(call);
    }
    let outcome = outcome.or_else(|failure| answer_failure(call, failure, reply));
    (outcome, needed_all)
}

/// The shards of the declared keys that the script uses.
#[inline(always)]
fn declared_shards(task: &Task<'_>) -> ShardSet {
    let mut shards = ShardSet::default();
    let declared = task.what.args.iter_from(task.what.first).take(task.what.keys);
    for (key, n) in declared.zip(1..) {
        if task.proven.is_none_or(|uses| uses.has(n)) {
            shards.add(stdx::hash::hash64(key));
        }
    }
    shards
}

/// Sends the messages of the script, serves the waiters of its keys, and unlocks the keys.
#[inline(always)]
fn release_keys(call: &mut Call<'_>) {
    // While the keys are still locked: messages of scripts over the same keys reach every thread in the
    // order in which the scripts ran. Live channels number theirs.
    call.thread.pubsub.post(call.engine);
    call.thread.serve_ready(call.engine);
    call.engine.keyspace.release(&mut call.thread.cx);
}

/// Replies with the error of a script, or hands it on as the outcome of the command that ran it.
#[cold]
fn answer_failure(call: &mut Call<'_>, failure: Failure, reply: &mut Reply<'_>) -> Outcome {
    match failure {
        Failure::Error(text, true) => {
            // The command that failed has counted it.
            reply.error(text);
            Ok(())
        }
        Failure::Error(text, false) => match String::from_utf8(text) {
            Ok(text) => Err(Fail::new(text)),
            Err(e) => {
                // It goes out as it is.
                let text = e.into_bytes();
                call.thread.worker.count_error(call.engine, &String::from_utf8_lossy(&text));
                reply.error(text);
                Ok(())
            }
        },
        Failure::Aborted => Err(Fail::text("ERR the script was ended")),
    }
}

fn allows_oom(task: &Task<'_>) -> bool {
    task.flags.is_some_and(|f| f.has(lua::Flags::ALLOW_OOM))
}

/// The checks before it runs. Returns whether it may write nothing.
fn prepare(call: &mut Call<'_>, task: &Task<'_>) -> Result<bool, Fail> {
    let stale = call.engine.is_stale_for(call.session);
    let Some(flags) = task.flags else {
        return if stale { Err(MASTERDOWN) } else { Ok(task.read_only) };
    };
    if stale && !flags.has(lua::Flags::ALLOW_STALE) {
        return Err(Fail::text(
            "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and \
             'allow-stale' flag is not set on the script.",
        ));
    }
    let no_writes = flags.has(lua::Flags::NO_WRITES);
    if !no_writes && call.engine.is_read_only_for(call.session) {
        let text = "READONLY Can not run script with write flag on readonly replica";
        return Err(Fail::text(text));
    }
    if !no_writes && task.read_only {
        return Err(Fail::text("ERR Can not execute a script with write flag using *_ro command."));
    }
    let refusal = || call.engine.refuses_writes().or_else(|| call.engine.lacks_replicas());
    if !no_writes && let Some(fail) = refusal() {
        return Err(fail);
    }
    if call.thread.short_of_memory && !no_writes && !flags.has(lua::Flags::ALLOW_OOM) {
        return Err(Fail::text(
            "OOM allow-oom flag is not set on the script, can not run it when used memory > \
             'maxmemory'",
        ));
    }
    Ok(no_writes)
}

/// The server, as the script that runs sees it.
struct Runner<'a, 't> {
    engine: &'a Engine,
    thread: &'a mut Thread,
    session: &'a mut Session,
    task: &'a Task<'t>,
    read_only: bool,
    /// It is a part of a transaction.
    inside: bool,
    /// Memory is short, and the script may not use more.
    over_memory: bool,
    /// Some shard is not locked.
    partial: bool,
    /// It has called a command that writes.
    wrote: bool,
    /// It was aborted because it needs every shard.
    stray: bool,
    /// Monotonic nanoseconds.
    start: u64,
    /// Time of its commands since the last look at the clock, in nanoseconds.
    owed: u64,
    threshold: u64,
}

impl Runner<'_, '_> {
    /// Whether a command may run with the shards that are locked.
    fn covers(&self, cmd: &Cmd, args: &Args<'_>) -> bool {
        let keys = match (cmd.run, cmd.row.group) {
            (Run::Session(_), Group::PubSub) => true,
            (Run::Session(_), Group::Connection) => !cmd.traits.has(Traits::CONNECTIONS),
            (Run::Session(_), _) => false,
            (Run::Data(_), _) => match cmd.row.scope_of(args) {
                Scope::None => true,
                Scope::Keys => {
                    let mut set = ShardSet::default();
                    // Without valid keys the command refuses before it looks at any.
                    let _ = shards_of(cmd, args, &mut set);
                    self.engine.keyspace.covers(&self.thread.cx, &set)
                }
                Scope::All | Scope::Each | Scope::Patterns => false,
            },
        };
        let writes = Flags::WRITE.or(Flags::MAY_REPLICATE);
        keys && (self.task.proven.is_some() || !cmd.row.flags.has_any(writes))
    }

    #[cold]
    fn refuse(&self, id: Option<u16>, text: Cow<'static, str>) -> Called {
        let counted = text.strip_prefix('-').unwrap_or("ERR");
        self.thread.worker.count_error(self.engine, counted);
        if let Some(id) = id {
            bump(&self.thread.worker.stats.commands[usize::from(id)].rejected, 1);
        }
        Called::Refused(text)
    }

    #[cold]
    fn note_kill(&self) {
        log!(self.engine.log, Notice, "Lua script killed by user with SCRIPT KILL.");
    }

    /// The server ends, and the script is slow. One that has changed nothing is not waited for, any
    /// other is, unless nothing is to be saved. Half of its changes are never left behind.
    #[cold]
    fn end_with_server(&self) -> Tick {
        if !self.inside && self.task.running.kill() {
            log!(self.engine.log, Notice, "A slow script is ended: the server is shutting down.");
            return Tick::Shutdown;
        }
        if !self.engine.ends.is_at_once() {
            return Tick::Continue;
        }
        log!(
            self.engine.log,
            Warning,
            "SHUTDOWN NOSAVE cuts off a script, or its transaction: nothing that it has written is saved."
        );
        self.engine.ends.strand()
    }
}

impl Host for Runner<'_, '_> {
    fn call(&mut self, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Called {
        let engine = self.engine;
        let Ok(id) = lookup(engine, args) else {
            return self.refuse(None, "Unknown Redis command called from script".into());
        };
        let cmd = engine.table.get(id);
        let limits =
            Limits { read_only: self.read_only, out_of_memory: self.over_memory && !self.wrote };
        if let Err(refusal) = engine.admit_in_script(self.session, limits, id, args) {
            let text = refusal.script_error(&self.session.user, cmd.row);
            return self.refuse(Some(id), text);
        }
        if self.partial && !self.covers(cmd, args) {
            if self.wrote {
                // A proven script stays within its keys, and any other has written nothing so far.
                // Should that ever be wrong, no command reads an unlocked shard.
                log!(self.engine.log, Warning, "script {} left its keys", self.task.what.name);
                return self.refuse(Some(id), "Script used keys that it did not declare".into());
            }
            // With nothing changed so far, it can start again.
            self.stray = true;
            return Called::Abort;
        }
        if self.owed >= LOOK_NS {
            // Commands add little to the hook's count, but may take long.
            match self.tick() {
                Tick::Continue => {}
                Tick::Kill => return Called::Kill,
                Tick::Shutdown => return Called::Shutdown,
            }
        }
        if cmd.row.flags.has(Flags::WRITE) && !self.wrote {
            if !self.task.running.begin_writing() {
                self.note_kill();
                return Called::Kill;
            }
            self.wrote = true;
        }
        self.owed += self.thread.call_from_script(engine, self.session, id, args, reply);
        Called::Replied
    }

    fn log(&mut self, level: u8, text: &[u8]) {
        super::log(self.engine, level, text);
    }

    fn may_call(&mut self, args: &Args<'_>) -> Option<bool> {
        let id = lookup(self.engine, args).ok()?;
        Some(acl::check(&self.engine.table, &self.session.user, id, args).is_ok())
    }

    fn set_repl(&mut self, targets: u8) {
        // The journal and the replicas read one stream, so the flag for the journal decides for both.
        self.thread.cx.untold = targets & lua::REPL_AOF == 0;
    }

    fn count_error(&mut self, text: &[u8]) {
        self.thread.worker.count_error(self.engine, &String::from_utf8_lossy(text));
    }

    fn tick(&mut self) -> Tick {
        self.owed = 0;
        let running = self.task.running;
        let ends = self.engine.ends.is_requested();
        if running.is_slow() {
            // This thread's other connections get BUSY, and may kill the script.
            store::meanwhile();
            if running.is_killed() {
                self.note_kill();
                return Tick::Kill;
            }
            return if ends { self.end_with_server() } else { Tick::Continue };
        }
        running.begin_running(self.engine, self.start);
        let threshold = if ends { self.threshold.min(PATIENCE_NS) } else { self.threshold };
        let elapsed = self.engine.clock.monotonic_ns().saturating_sub(self.start);
        if elapsed >= threshold {
            let about = About {
                name: self.task.what.name.to_owned(),
                command: self.task.what.args.to_vecs(0),
                start: self.start,
            };
            running.become_slow(self.engine, self.task.is_eval, about);
        }
        Tick::Continue
    }

    fn register(&mut self, _: Registered) -> Result<(), Cow<'static, str>> {
        Err("redis.register_function can only be called on FUNCTION LOAD command".into())
    }
}

impl Thread {
    /// Runs a command of a script, which has been checked, and counts it. Returns how long it took, in
    /// nanoseconds, or about.
    fn call_from_script(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: u16,
        args: &mut Args<'_>,
        reply: &mut Reply<'_>,
    ) -> u64 {
        if engine.attention.get() & Attention::MONITOR != 0 {
            let row = engine.table.get(id).row;
            engine.monitors.feed_script(engine, session, self.wall_us(&engine.clock), row, args);
        }
        let known = self.call_times.known(id);
        if known == Some(None) {
            self.mono = engine.clock.monotonic_ns();
        }
        let start = self.mono;
        let errors = reply.errors();
        let failed = self.answer(engine, session, id, args, reply);
        let nanos = match known {
            Some(Some(nanos)) => nanos,
            _ => {
                self.mono = engine.clock.monotonic_ns();
                let nanos = self.mono.saturating_sub(start);
                self.call_times.note(id, nanos);
                nanos
            }
        };
        let failed = failed || reply.errors() != errors;
        self.account_in_script(&session.client, Executed { id, nanos, failed });
        nanos
    }
}
