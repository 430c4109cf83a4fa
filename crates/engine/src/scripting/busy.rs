//! Scripts that run: the state that other threads see, and how they are ended.
//!
//! A script that has run for longer than `busy-reply-threshold` is *slow*: from then on every thread
//! answers BUSY to all but a few commands, as Redis does, and SCRIPT KILL can end it. Redis, which has
//! one thread, looks at no command before that: SCRIPT KILL, FUNCTION KILL and FUNCTION STATS that come
//! while a script runs wait until it is slow, or over. They do so here, too, on whichever thread they
//! arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use commands::Fail;
use commands::row::{Flags, Traits};
use config::Id;
use parking_lot::{Mutex, RwLock};
use resp::{Args, Out, Reply, Span};

use crate::attention::Attention;
use crate::clients::{Client, Early, PausedKill};
use crate::dispatch::lookup;
use crate::engine::Engine;
use crate::exec::{Policy, Request};
use crate::mailbox::Message;
use crate::session::Session;
use crate::table::Stuck;
use crate::thread::Thread;

/// While an EVAL is slow.
const BUSY_SCRIPT: Fail = Fail::text(
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
);
/// While a function is slow.
const BUSY_FUNCTION: Fail = Fail::text(
    "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
);
const NOT_BUSY: Fail = Fail::text("NOTBUSY No scripts in execution right now.");
const UNKILLABLE: Fail = Fail::text(
    "UNKILLABLE Sorry the script already executed write commands against the dataset. You can \
     either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE \
     command.",
);

const IDLE: u8 = 0;
const SCRIPT: u8 = 1;
const FUNCTION: u8 = 2;
/// A script runs that is not slow, but has looked at the clock at least once.
const RUNS: u8 = 3;

/// The script has written nothing: it may be killed, or write.
const HARMLESS: u8 = 0;
/// It has called a command that writes.
const WROTE: u8 = 1;
/// It ends as soon as it looks, and writes nothing before.
const KILLED: u8 = 2;

/// One thread's slow script, if it runs one.
#[derive(Default)]
pub(crate) struct Running {
    /// What kind of slow script runs, `SCRIPT` or `FUNCTION`, if any does; else `RUNS` or `IDLE`.
    slow: AtomicU8,
    /// When the one that `RUNS` began, in monotonic nanoseconds.
    since: AtomicU64,
    /// The states that exclude each other: `HARMLESS`, `WROTE` or `KILLED`.
    fate: AtomicU8,
    /// About a slow one.
    about: Mutex<About>,
    /// Bytes of the thread's machines, for INFO.
    pub(crate) vm_scripts: AtomicU64,
    pub(crate) vm_functions: AtomicU64,
}

/// The figures of FUNCTION STATS about a slow function.
#[derive(Clone, Default)]
pub struct About {
    /// Its name.
    pub name: String,
    /// The command that called it, and its arguments.
    pub command: Vec<Vec<u8>>,
    /// Monotonic nanoseconds.
    pub start: u64,
}

impl Running {
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self.slow.load(Relaxed), SCRIPT | FUNCTION)
    }

    /// The script has looked at the clock for the first time; it runs since `start`.
    pub(crate) fn begin_running(&self, engine: &Engine, start: u64) {
        if self.slow.load(Relaxed) == IDLE {
            let _all = engine.scripts.running.write();
            self.since.store(start, Relaxed);
            self.slow.store(RUNS, Relaxed);
        }
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.fate.load(Relaxed) == KILLED
    }

    /// It is about to write for the first time. False: it has been killed, and the killer was told that it
    /// has written nothing.
    pub(crate) fn begin_writing(&self) -> bool {
        if !self.is_slow() {
            // No command kills it, or will before it sees this: the script becomes slow under the list's
            // lock.
            self.fate.store(WROTE, Relaxed);
            return true;
        }
        self.fate.compare_exchange(HARMLESS, WROTE, Relaxed, Relaxed).is_ok()
    }

    /// Returns false when it has written. The list is locked, or this is the script's own thread.
    pub(crate) fn kill(&self) -> bool {
        !matches!(self.fate.compare_exchange(HARMLESS, KILLED, Relaxed, Relaxed), Err(WROTE))
    }

    /// The script has become slow.
    pub(crate) fn become_slow(&self, engine: &Engine, is_eval: bool, about: About) {
        let ms = engine.clock.monotonic_ns().saturating_sub(about.start) / 1_000_000;
        let how = if is_eval { "SCRIPT KILL" } else { "FUNCTION KILL" };
        crate::log!(
            engine.log,
            Warning,
            "Slow script detected: still in execution after {} milliseconds. You can try killing \
             the script using the {} command. Script name is: {}.",
            ms,
            how,
            about.name
        );
        *self.about.lock() = about;
        // Under the list's lock, so that no script that ends meanwhile clears the flag.
        let all = engine.scripts.running.write();
        self.slow.store(if is_eval { SCRIPT } else { FUNCTION }, Relaxed);
        engine.attention.set(Attention::BUSY, true);
        drop(all);
        engine.scripts.running.decided(engine);
    }

    /// It has ended. Returns whether it was killed, which it may not have noticed.
    pub(crate) fn end(&self, engine: &Engine) -> bool {
        // Only this thread sets it.
        if self.slow.load(Relaxed) != IDLE {
            self.slow.store(IDLE, Relaxed);
            *self.about.lock() = About::default();
            // Under the list's lock, so that two that end at once do not miss one another, and no command
            // that has seen it slow kills it any more.
            let all = engine.scripts.running.write();
            let any = all.iter().any(|r| r.is_slow());
            engine.attention.set(Attention::BUSY, any);
            drop(all);
            engine.scripts.running.decided(engine);
        }
        let killed = self.is_killed();
        self.fate.store(HARMLESS, Relaxed);
        killed
    }
}

/// The slow scripts of all threads.
#[derive(Default)]
pub struct AllRunning {
    all: RwLock<Vec<Arc<Running>>>,
    /// A command waits for a script that runs.
    awaited: AtomicBool,
}

impl AllRunning {
    fn write(&self) -> parking_lot::RwLockWriteGuard<'_, Vec<Arc<Running>>> {
        self.all.write()
    }

    /// Whether a script that runs since `asked` (monotonic nanoseconds) or longer may still become slow,
    /// and none is: a command about scripts is to be tried again then.
    pub(crate) fn is_undecided(&self, asked: u64) -> bool {
        let all = self.all.read();
        let runs =
            |r: &Arc<Running>| r.slow.load(Relaxed) == RUNS && r.since.load(Relaxed) <= asked;
        let undecided = !all.iter().any(|r| r.is_slow()) && all.iter().any(runs);
        if undecided {
            // While the list is locked: the script's thread sees it when it has had the lock.
            self.awaited.store(true, Relaxed);
        }
        undecided
    }

    /// A script has become slow, or has ended: commands that wait for that go on.
    fn decided(&self, engine: &Engine) {
        if self.awaited.swap(false, Relaxed) {
            engine.each_worker(|w| w.mailbox.post(Message::Resume));
        }
    }

    /// One more thread that runs scripts.
    pub(crate) fn add(&self) -> Arc<Running> {
        let r = Arc::new(Running::default());
        self.all.write().push(Arc::clone(&r));
        r
    }

    /// Bytes of all machines: of scripts, of functions.
    pub fn machine_bytes(&self) -> (u64, u64) {
        let all = self.all.read();
        let sum = |f: fn(&Running) -> &AtomicU64| all.iter().map(|r| f(r).load(Relaxed)).sum();
        (sum(|r| &r.vm_scripts), sum(|r| &r.vm_functions))
    }

    /// The refusal of commands while a script is slow. One that has been killed ends very soon, and is waited for:
    /// a client that was told that it is killed must not be told that it runs.
    pub fn refusal(&self) -> Option<Fail> {
        let all = self.all.read();
        let slow = all.iter().find(|r| r.is_slow() && !r.is_killed())?.slow.load(Relaxed);
        Some(if slow == SCRIPT { BUSY_SCRIPT } else { BUSY_FUNCTION })
    }

    /// SCRIPT KILL and FUNCTION KILL.
    pub fn kill(&self, is_eval: bool) -> Result<(), Fail> {
        let all = self.all.read();
        let wanted = if is_eval { SCRIPT } else { FUNCTION };
        let mut outcome = Err(NOT_BUSY);
        for r in all.iter() {
            match r.slow.load(Relaxed) {
                IDLE | RUNS => {}
                kind if kind != wanted => {
                    if outcome == Err(NOT_BUSY) {
                        outcome = Err(if kind == SCRIPT { BUSY_SCRIPT } else { BUSY_FUNCTION });
                    }
                }
                _ if r.kill() => outcome = Ok(()),
                _ => outcome = outcome.or(Err(UNKILLABLE)),
            }
        }
        outcome
    }

    /// The slow function that runs; an error when it is an EVAL.
    pub fn slow_function(&self) -> Result<Option<About>, Fail> {
        for r in self.all.read().iter() {
            match r.slow.load(Relaxed) {
                SCRIPT => return Err(BUSY_SCRIPT),
                FUNCTION => return Ok(Some(r.about.lock().clone())),
                _ => {}
            }
        }
        Ok(None)
    }
}

impl Engine {
    /// Whether a script runs for too long somewhere.
    pub fn is_busy(&self) -> bool {
        self.attention.get() & Attention::BUSY != 0
    }

    /// Answers a command of a client whose thread is stuck, which needs neither the thread nor the
    /// keyspace. Its changes of the client's session are noted for the thread. None: it has to wait for
    /// the thread, or there is no answer.
    pub fn answer_busy(&self, client: &Client, args: &Args<'_>) -> Option<Vec<u8>> {
        if client.closing.load(Relaxed) {
            return None;
        }
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, client.receiver.proto());
        let done = match self.admit_busy(client, args) {
            // The command has to wait.
            Ok(None) => return None,
            Ok(Some(id)) => self.run_busy(client, id, args, &mut reply)?,
            Err((fail, is_exec)) => Err(refuse(client, is_exec, fail)),
        };
        match done {
            // A silent one is taken from the input, too: seen again, it would be run again.
            Ok(Stuck::Answered | Stuck::Silent) => {}
            Ok(Stuck::Noted) => note(client, Early::Done(args.to_vecs(0))),
            Err(fail) => {
                self.count_error(&fail.0);
                reply.error(fail.bytes());
            }
        }
        Some(out.buf)
    }

    /// The number of a command that may run while a script is slow; none if it has to wait; or the refusal,
    /// and whether it is EXEC that is refused.
    fn admit_busy(&self, client: &Client, args: &Args<'_>) -> Result<Option<u16>, (Fail, bool)> {
        let id = lookup(self, args).map_err(|fail| (fail, false))?;
        let cmd = self.table.get(id);
        let refused = |fail| Err((fail, cmd.traits.has(Traits::EXEC)));
        let user = Arc::clone(&client.user.read());
        let request = Request { engine: self, id, args, user: &user, client };
        if let Err(refusal) = request.admit(Policy::STUCK) {
            return refused(refusal.fail(&user, cmd.row));
        }
        match cmd.row.flags.has(Flags::ALLOW_BUSY) {
            true => Ok(Some(id)),
            // Nothing is slow any more: the command waits for its thread.
            false => self.scripts.running.refusal().map_or(Ok(None), refused),
        }
    }

    /// Runs a command that may run while a script is slow, or queues it. None: it has to wait.
    fn run_busy(
        &self,
        client: &Client,
        id: u16,
        args: &Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Option<Result<Stuck, Fail>> {
        if client.is_in_multi() && !self.table.get(id).traits.has(Traits::IMMEDIATE) {
            client.multi.fetch_add(1, Relaxed);
            reply.simple("QUEUED");
            return Some(Ok(Stuck::Noted));
        }
        Some(self.table.while_stuck(id)?(self, client, args, reply))
    }
}

/// Refuses a command, as [`Thread::refuse`] does: a transaction that is being queued fails. Returns the text
/// of the refusal.
fn refuse(client: &Client, is_exec: bool, fail: Fail) -> Fail {
    if !client.is_in_multi() {
        return fail;
    }
    if is_exec {
        client.leave_multi();
        note(client, Early::Done(vec![b"DISCARD".to_vec()]));
        return Fail::new(format!("EXECABORT Transaction discarded because of: {}", fail.0));
    }
    client.dirty.store(true, Relaxed);
    note(client, Early::Refused);
    fail
}

/// The client's session follows when its thread is free.
fn note(client: &Client, what: Early) {
    client.rare().early.lock().0.push(what);
    client.has_early.store(true, Relaxed);
}

impl Engine {
    /// Executes the command of a client of a stuck thread that a pause holds back, if that command ends
    /// scripts.
    pub fn do_paused_kill(&self, client: &Client) {
        let Some(rare) = client.get_rare() else { return };
        let mut kill = rare.paused_kill.lock();
        let Some(PausedKill::Words(words)) = &mut *kill else { return };
        let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
        if let Some(reply) = self.answer_busy(client, &Args::new(&[], &spans, words)) {
            *kill = Some(PausedKill::Reply(reply));
        }
    }
}

impl Thread {
    /// Has the session run the commands that were answered while this thread was stuck.
    #[cold]
    pub(crate) fn catch_up(&mut self, engine: &Engine, session: &mut Session) {
        session.client.has_early.store(false, Relaxed);
        let early = std::mem::take(&mut *session.client.rare().early.lock());
        // The commands themselves do so again.
        let queued = session.multi.as_ref().map_or(-1, |m| m.commands().count() as i32);
        session.client.multi.store(queued, Relaxed);
        for what in early.0 {
            let mut words = match what {
                Early::Done(words) => words,
                Early::Refused => {
                    if let Some(multi) = &mut session.multi {
                        multi.failed = true;
                        session.client.dirty.store(true, Relaxed);
                    }
                    continue;
                }
            };
            let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
            let mut args = Args::new(&[], &spans, &mut words);
            let Ok(id) = lookup(engine, &args) else { continue };
            let mut out = Out::default();
            let mut reply = Reply::new(&mut out, session.proto);
            self.since = None;
            if self.queue(engine, session, id, &args) {
                continue;
            }
            self.call_command(engine, session, id, &mut args, &mut reply);
        }
    }
}

/// How long a script may run before it is slow, in nanoseconds.
pub(crate) fn threshold(engine: &Engine) -> u64 {
    match engine.config.int(Id::BusyReplyThreshold) {
        0 => u64::MAX,
        ms => (ms as u64).saturating_mul(1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Options;
    use crate::log::Log;
    use crate::table::CommandSet;

    fn engine() -> Arc<Engine> {
        Engine::new(Options {
            config: config::Config::new(),
            commands: CommandSet::NONE,
            durability: Arc::new(()),
            renames: Vec::new(),
            clock: stdx::clock::Clock::real(),
            log: Log::silent(),
            config_file: None,
            executable: String::new(),
        })
    }

    /// Between the answer to SCRIPT KILL and the script's next look, it may come to its first write.
    #[test]
    fn a_script_writes_or_is_killed() {
        let engine = engine();
        let all = &engine.scripts.running;
        let running = all.add();
        for _ in 0..2 {
            running.become_slow(&engine, true, About::default());
            assert_eq!(all.kill(true), Ok(()));
            assert!(!running.begin_writing() && running.is_killed());
            assert_eq!(all.kill(true), Ok(()));
            assert!(running.end(&engine), "or it would be run again");
            assert_eq!(all.kill(true), Err(NOT_BUSY));
            running.become_slow(&engine, true, About::default());
            assert!(running.begin_writing());
            assert_eq!(all.kill(true), Err(UNKILLABLE));
            assert!(!running.end(&engine));
            assert!(running.begin_writing());
            running.become_slow(&engine, true, About::default());
            assert_eq!(all.kill(true), Err(UNKILLABLE));
            assert!(!running.end(&engine));
        }
    }

    /// One script becomes slow while another one ends: while any is slow, all threads must know.
    #[test]
    fn a_slow_script_is_seen_as_long_as_it_is_slow() {
        let engine = engine();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let running = engine.scripts.running.add();
                    for _ in 0..50_000 {
                        running.become_slow(&engine, true, About::default());
                        assert!(engine.is_busy(), "nobody would be told, and nobody could kill it");
                        running.end(&engine);
                    }
                });
            }
        });
        assert!(!engine.is_busy());
    }
}
