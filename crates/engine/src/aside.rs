//! Long commands run beside the event loops, on threads of their own.
//!
//! SUNIONSTORE of millions of members takes a second. On its worker thread, all other connections of the
//! thread would wait for it. So a command that will look at much is handed over to a *helper*: a thread
//! without connections. The connection waits as one that is blocked: nothing behind the command is executed
//! before it is answered. How much a command will look at is known from its row and the sizes of its values.
//!
//! 1. The worker estimates. Within a transaction or a script a command runs where it is.
//! 2. The helper announces the shards that it will lock. From then on commands that need one of these wait
//!    as they do in CLIENT PAUSE, so that no event loop waits for a lock. Commands that wait come before the
//!    next long command: helpers take turns for a shard, and let them run in between.
//! 3. The helper locks, runs and commits as a worker does: what the command changes is in the journal and
//!    visible before the shards are unlocked.
//! 4. The commands that waited go on, and the worker of the connection sends the reply.
//!
//! Nothing but waiting depends on the announcement: a command that does not see it waits for the lock, and
//! its thread with it. These do not see it: scripts that use keys which they did not declare, and the end of
//! a wait or a watch whose key lies in such a shard.
//!
//! The only worker of a keyspace without locks lets the helpers in, and uses locks until they are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

use commands::row::{Argv, Flags, Group, Scope, Traits};
use config::ClientClass;
use resp::{Args, Out, Proto, Reply, Span};
use store::{Block, Db, Empty, Key, Kind, ShardSet, Waiter};

use crate::acl::User;
use crate::attention::Attention;
use crate::blocking;
use crate::clients::Client;
use crate::dispatch::shards_of;
use crate::engine::{Engine, Worker};
use crate::helpers::{AT_ONCE, Shards};
use crate::log;
use crate::mailbox::{Job, Mailbox, Message};
use crate::session::Session;
use crate::table::Cmd;
use crate::thread::Thread;
use crate::tracking::Tracker;

/// Bytes of a string count for this part: they take less time than as many bytes of members.
const STRING_PART: usize = 8;
/// Bytes that a key or a member counts for where a command says how many it looks at.
const STEP: usize = 40;
/// Helpers at most. More long commands wait in line.
const HELPERS: usize = 4;
/// After the announcement, for the commands that have just looked and not seen it.
const GRACE: Duration = Duration::from_micros(200);
/// Times that periodic work is put off: some ten seconds.
const PUT_OFF: usize = 100;
/// How long a helper gives the workers to run the commands that have waited for the command before. It takes
/// longer where a worker itself runs something long.
const PATIENCE: Duration = Duration::from_millis(10);

/// A command that was handed over, and what its connection was like then.
struct Task {
    number: u64,
    worker: Arc<Worker>,
    waiter: Arc<Waiter>,
    client: Arc<Client>,
    user: Arc<User>,
    proto: Proto,
    db: usize,
    no_touch: bool,
    tracking: Option<Arc<Tracker>>,
    caching: bool,
    command: u16,
    args: Vec<Vec<u8>>,
}

/// The outcome of a long command.
struct Done {
    out: Out,
    failed: Option<commands::Fail>,
    nanos: u64,
    crowded: Option<usize>,
}

impl Thread {
    /// Hands a command over if its values say that it takes long. The session is blocked then.
    pub(crate) fn goes_aside(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: u16,
        args: &Args<'_>,
    ) -> bool {
        let cmd = engine.table.get(id);
        let bytes = self.estimate(engine, session.db, cmd, args);
        AT_ONCE.is_exceeded_by(bytes) && self.hand_over(engine, session, id, args)
    }

    /// Hands a command over, and the session is blocked then; false: there is no helper.
    #[cold]
    pub(crate) fn hand_over(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: u16,
        args: &Args<'_>,
    ) -> bool {
        if !engine.has_helper() {
            return false;
        }
        let block = Block::new(Vec::new(), Kind::String, None, Empty::Null);
        self.begin_wait(engine, session, id, block, args);
        let Some(waiter) = session.blocked.clone() else { return false };
        engine.keyspace.share(&self.cx.solo);
        let args = args.to_vecs(0);
        engine.helpers.add(|number| {
            let task = Task {
                number,
                worker: Arc::clone(self.worker()),
                waiter,
                client: Arc::clone(&session.client),
                user: Arc::clone(&session.user),
                proto: session.proto,
                db: session.db,
                no_touch: session.no_touch,
                tracking: session.tracking.clone(),
                caching: session.caching,
                command: id,
                args,
            };
            Job::new(move |engine, thread| task.run(engine, thread))
        });
        true
    }

    /// About how many bytes of values a command will look at.
    fn estimate(&mut self, engine: &Engine, index: usize, cmd: &Cmd, args: &Args<'_>) -> usize {
        let ks = &engine.keyspace;
        let steps = if cmd.traits.has(Traits::COST_OF_COUNT) {
            let steps = commands::scan_count(args).saturating_mul(STEP);
            if !AT_ONCE.is_exceeded_by(steps) {
                return 0;
            }
            steps
        } else {
            usize::MAX
        };
        if cmd.row.scope == Scope::Each {
            return Db::unlocked(ks, index, &mut self.cx).len().saturating_mul(STEP).min(steps);
        }
        let mut set = ShardSet::default();
        if shards_of(cmd, args, &mut set).is_err() {
            return 0;
        }
        // A command that writes does not read its first key, the destination.
        let skip = usize::from(
            cmd.traits.has(Traits::COST_OF_SMALLEST) && cmd.row.flags.has(Flags::WRITE),
        );
        let mut db = Db::lock_set(ks, index, set, &mut self.cx);
        let (mut keys, mut sum, mut least) = (0, 0usize, usize::MAX);
        let _ = commands::keys::positions(cmd.row, args, &mut |i| {
            keys += 1;
            if keys > skip {
                let bytes = db.inspect(Key::new(&args[i])).map_or(0, |e| match e.kind() {
                    Kind::String => e.bytes() / STRING_PART,
                    _ => e.bytes(),
                });
                sum = sum.saturating_add(bytes);
                least = least.min(bytes);
            }
        });
        if cmd.traits.has(Traits::COST_OF_SMALLEST) {
            least.saturating_mul(keys).min(sum)
        } else {
            sum.min(steps)
        }
    }
}

impl Engine {
    /// Whether there is a helper for one more command, started if need be.
    fn has_helper(&self) -> bool {
        let mut line = self.helpers.line.lock();
        if line.closed || line.idle > line.tasks.len() || line.helpers == HELPERS {
            return line.helpers > 0;
        }
        let Some(engine) = self.me.upgrade() else { return false };
        let worker = self.new_worker(Mailbox::new(|| {}));
        let number = self.workers().len() + line.helpers;
        let (helpers, shown) = (Arc::clone(&self.helpers), Arc::clone(&worker));
        let weak = self.me.clone();
        // Made by the thread itself, which alone may use it.
        let help = move || {
            let mut thread = Thread::new(&engine, number, worker);
            drop(engine);
            while let Some(task) = helpers.next() {
                let Some(engine) = weak.upgrade() else { return };
                task.run(&engine, &mut thread);
            }
        };
        match std::thread::Builder::new().name("apus-aside".into()).spawn(help) {
            Ok(_) => {
                self.helpers.workers.lock().push(shown);
                // It counts itself as idle when it waits.
                line.helpers += 1;
            }
            Err(e) => log!(self.log, Warning, "no thread for a long command: {}", e),
        }
        line.helpers > 0
    }

    /// Whether a command must wait since a long command has locked a shard that it needs.
    #[cold]
    pub(crate) fn waits_for_shards<A: Argv>(&self, session: &Session, cmd: &Cmd, args: &A) -> bool {
        let mut announced = self.helpers.announced.lock();
        let mut meets = |cmd: &Cmd, args: &dyn Argv| {
            if cmd.row.group == Group::Topic {
                return false;
            }
            let all = matches!(cmd.row.scope, Scope::All | Scope::Patterns | Scope::Each);
            if all || cmd.traits.has(Traits::LOCKS_ALL) {
                return announced.delays(&Shards::All);
            }
            let mut needs = ShardSet::default();
            let mut add = |i: usize| needs.add(stdx::hash::hash64(args.get(i)));
            // Without valid keys the command refuses before it looks at any.
            let _ = commands::keys::positions(cmd.row, &args, &mut add);
            needs.count() > 0 && announced.delays(&Shards::Some(needs))
        };
        match &session.multi {
            None => meets(cmd, args),
            Some(multi) if cmd.traits.has(Traits::EXEC) => {
                multi.commands().any(|(id, args)| meets(self.table.get(id), &args))
            }
            // The command is only queued, and runs later.
            Some(_) => false,
        }
    }
}

impl Engine {
    /// Whether periodic work that locks all shards is put off, since a long command has locked some: its
    /// thread would wait. So often at most, as long commands may follow one another without end.
    pub fn puts_off_locking_all(&self) -> bool {
        let put_off = &self.helpers.put_off;
        if self.attention.get() & Attention::LONG == 0 {
            put_off.store(0, Relaxed);
            return false;
        }
        put_off.fetch_add(1, Relaxed) < PUT_OFF
    }
}

impl Task {
    fn run(self, engine: &Engine, thread: &mut Thread) {
        let cmd = engine.table.get(self.command);
        let spans: Vec<Span> = (0..self.args.len()).map(Span::owned).collect();
        let mut owned = self.args.clone();
        let mut args = Args::new(&[], &spans, &mut owned);
        self.begin(engine, cmd);
        self.announce(engine, cmd, &args);
        thread.refresh(&engine.config);
        thread.sync_clock(&engine.clock);
        let mut session = Session {
            client: Arc::clone(&self.client),
            user: Arc::clone(&self.user),
            db: self.db,
            no_touch: self.no_touch,
            tracking: self.tracking.clone(),
            caching: self.caching,
            ..Session::inner(engine, thread.index)
        };
        let limit = engine.config.output_limits(ClientClass::Normal).most();
        let mut out = Out { limit, ..Out::default() };
        let mut reply = Reply::new(&mut out, self.proto);
        thread.whole = true;
        let start = engine.clock.monotonic_ns();
        let failed = thread
            .execute(engine, &mut session, self.command, &mut args, &mut reply)
            .inspect_err(|fail| reply.error(fail.bytes()))
            .err();
        let nanos = engine.clock.monotonic_ns().saturating_sub(start);
        thread.whole = false;
        if let Some(remark) = thread.cx.remark.take() {
            log!(engine.log, Warning, "{}", remark);
        }
        thread.serve_ready(engine);
        thread.send_mail(engine);
        self.unlock(engine);
        engine.helpers.done();
        let done = Done { out, failed, nanos, crowded: thread.take_crowded() };
        let home = Arc::clone(&self.worker);
        let end = move |engine: &Engine, thread: &mut Thread| self.end(engine, thread, done);
        home.mailbox.post(Message::Run(Job::new(end)));
    }

    /// From here on, commands that need the same shards wait.
    fn announce(&self, engine: &Engine, cmd: &Cmd, args: &Args<'_>) {
        let shards = match cmd.row.scope_of(args) {
            Scope::Keys => {
                let mut set = ShardSet::default();
                let _ = shards_of(cmd, args, &mut set);
                Shards::Some(set)
            }
            Scope::All | Scope::Patterns => Shards::All,
            // It locks one shard after the other, each for a short time.
            Scope::Each | Scope::None => return,
        };
        let set = || engine.attention.set(Attention::LONG, true);
        engine.helpers.announce(self.number, shards, || let_others_run(engine), set);
        std::thread::sleep(GRACE);
    }

    /// Waits for the end of CLIENT PAUSE.
    fn begin(&self, engine: &Engine, cmd: &Cmd) {
        let is_paused = || {
            engine.attention.get() & Attention::PAUSE != 0
                && engine.check_pause()
                && (!engine.pause.writes_only.load(Relaxed) || cmd.row.flags.has(Flags::WRITE))
        };
        engine.helpers.begin(is_paused, || std::thread::sleep(Duration::from_millis(1)));
    }

    /// Its shards are unlocked: the commands that wait for them go on.
    fn unlock(&self, engine: &Engine) {
        engine.helpers.release(self.number, |none_left| {
            if none_left {
                engine.attention.set(Attention::LONG, false);
            }
            engine.each_worker(|w| w.mailbox.post(Message::Resume));
        });
    }

    /// On the worker of the connection: counts the command and sends the reply.
    fn end(self, engine: &Engine, thread: &mut Thread, done: Done) {
        engine.keyspace.unshare(&thread.cx.solo);
        if let Some(crowded) = done.crowded {
            self.client.crowded.store(crowded as u32 + 1, Relaxed);
        }
        if let Some(fail) = &done.failed {
            thread.worker().count_error(engine, &fail.0);
        }
        blocking::spent(&self.waiter, done.nanos);
        let mut out = done.out;
        if out.shared.is_empty() {
            // The connection keeps it as it is when the socket does not take all of it.
            out.shared.push((0, Arc::new(std::mem::take(&mut out.buf))));
        }
        thread.answer_in_pieces(engine, &self.waiter, out, done.failed.is_some());
    }
}

/// Waits until every worker has looked at its messages, by which the commands that have waited go on.
fn let_others_run(engine: &Engine) {
    let left = Arc::new(AtomicUsize::new(0));
    engine.each_worker(|w| {
        left.fetch_add(1, Relaxed);
        let left = Arc::clone(&left);
        let there = move |_: &Engine, _: &mut Thread| {
            left.fetch_sub(1, Release);
        };
        w.mailbox.post(Message::Run(Job::new(there)));
    });
    let started = Instant::now();
    while left.load(Acquire) > 0 && started.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(50));
    }
}
