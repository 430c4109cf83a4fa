//! Blocking commands: a command that found nothing waits in the shards of its keys. The command that
//! changes one of them runs it again, as if it arrived right then.
//!
//! - A command registers before it unlocks the shards in which it looked, so no change is missed.
//! - Commit readies a key that has waiters. The thread that ran the changing command serves the waiters
//!   before it unlocks the key's shard: first come, first served. Only a waiter whose command needs other
//!   shards, too, is served right after that, with all of its shards locked in order; a command that
//!   arrives in that instant may be faster. The reply is posted to the waiter's thread.
//! - Time-out, CLIENT UNBLOCK, the end of the connection and serving exclude each other through
//!   the waiter's state.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use commands::Fail;
use commands::row::Traits;
use observe::stats::bump;
use resp::{Args, Out, Proto, Reply, Span};
use store::{Block, Db, Empty, Garbage, Key, Keyspace, ShardSet, Waiter};

use crate::acl::{self, User};
use crate::clients::Client;
use crate::commit::commit;
use crate::dispatch::shards_of;
use crate::engine::Engine;
use crate::exec::{Executed, Policy, Refusal, Request, run_data};
use crate::mailbox::{self, Message};
use crate::session::Session;
use crate::table::Run;
use crate::thread::Thread;

/// How to run a blocked command again.
struct Job {
    command: u16,
    args: Vec<Vec<u8>>,
    proto: Proto,
    no_touch: bool,
    user: Arc<User>,
    deadline: Option<i64>,
    /// When it is run again although nothing has changed, in Unix milliseconds; [`i64::MAX`]: never.
    again: AtomicI64,
    empty: Empty,
    /// The integers of `empty`, as far as it is by now: replicas that have acknowledged.
    progress: [AtomicI64; 2],
    /// Time that its runs have taken so far.
    nanos: AtomicU64,
}

/// A run of a blocked command has taken so long.
pub(crate) fn spent(w: &Waiter, nanos: u64) {
    if let Some(job) = job(w) {
        job.nanos.fetch_add(nanos, Relaxed);
    }
}

fn job(w: &Waiter) -> Option<&Job> {
    w.job.downcast_ref()
}

/// Makes the session wait as the command that just ran requested. Its shards are locked.
pub(crate) fn register(
    engine: &Engine,
    session: &mut Session,
    command: u16,
    db: &mut Db<'_>,
    args: &Args<'_>,
) {
    let Some(mut block) = db.cx.block.take() else { return };
    let w = waiter(&engine.keyspace, session, command, &mut block, args);
    for key in &w.keys {
        db.wait(Key::new(key), &w);
    }
    let apart = std::mem::take(&mut db.cx.apart);
    if !apart.is_empty() {
        answer_after(engine, apart, &w);
    }
    blocked(&engine.blocked_clients, session, w);
}

/// Has the garbage freed elsewhere and the waiter answered then, as if its time were over.
fn answer_after(engine: &Engine, garbage: Vec<Garbage>, w: &Arc<Waiter>) {
    let w = Arc::clone(w);
    let Some(worker) = engine.workers().get(w.thread).cloned() else { return };
    engine.keyspace.free_apart(garbage, move || {
        let answer = move |engine: &Engine, thread: &mut Thread| {
            thread.unblock(engine, &w, false);
        };
        worker.mailbox.post(Message::Run(mailbox::Job::new(answer)));
    });
}

fn waiter(
    keyspace: &Keyspace,
    session: &Session,
    command: u16,
    block: &mut Block,
    args: &Args<'_>,
) -> Arc<Waiter> {
    block.keys.sort();
    block.keys.dedup();
    let job = Job {
        command,
        args: block.args.take().unwrap_or_else(|| args.to_vecs(0)),
        proto: session.proto,
        no_touch: session.no_touch,
        user: Arc::clone(&session.user),
        deadline: block.deadline,
        again: AtomicI64::new(block.again.unwrap_or(i64::MAX)),
        empty: block.empty,
        progress: match block.empty {
            Empty::Int(n) => [AtomicI64::new(0), AtomicI64::new(n)],
            Empty::Ints(a, b) => [AtomicI64::new(a), AtomicI64::new(b)],
            _ => Default::default(),
        },
        nanos: AtomicU64::new(0),
    };
    let c = &session.client;
    let place = (session.db, keyspace.ticket());
    Arc::new(Waiter::new((c.id, c.thread), place, block, Box::new(job)))
}

fn blocked(count: &AtomicU64, session: &mut Session, w: Arc<Waiter>) {
    *session.client.blocked.lock() = Some(Arc::clone(&w));
    session.blocked = Some(w);
    count.fetch_add(1, Relaxed);
}

/// The waiter has been served; the shards of its keys are locked.
fn finish(db: &mut Db<'_>, w: &Arc<Waiter>) {
    for key in &w.keys {
        db.unwait(Key::new(key), w);
    }
    w.end_try(true);
}

/// Whether the waiter's user may still run its command: permissions may have changed while it waited.
#[cold]
fn admit(engine: &Engine, w: &Waiter, job: &Job) -> Result<(), Refusal> {
    let (id, args, user) = (job.command, job.args.as_slice(), &*job.user);
    let Some(client) = engine.clients.get(w.client) else {
        return acl::check(&engine.table, user, id, args).map_err(Refusal::Denied);
    };
    Request { engine, id, args, user, client: &client }.admit(Policy::WAITER)
}

fn empty_reply(job: &Job) -> Vec<u8> {
    let mut out = Out::default();
    let mut reply = Reply::new(&mut out, job.proto);
    let [here, there] = job.progress.each_ref().map(|n| n.load(Relaxed));
    let empty = match job.empty {
        Empty::Int(_) => Empty::Int(there),
        Empty::Ints(..) => Empty::Ints(here, there),
        other => other,
    };
    commands::parse::empty(empty, &mut reply);
    out.buf
}

/// WAIT and WAITAOF: how far it is, which the client learns when its time is over.
pub fn note_progress(w: &Waiter, here: Option<i64>, there: i64) {
    if let Some(job) = job(w) {
        if let Some(here) = here {
            job.progress[0].store(here, Relaxed);
        }
        job.progress[1].store(there, Relaxed);
    }
}

impl Client {
    /// The client's waiter, if it has this answer id.
    pub fn waits_for(&self, answer_id: u64) -> Option<Arc<Waiter>> {
        self.blocked.lock().clone().filter(|w| w.answer_id == answer_id)
    }

    /// When the command that blocks it gives up, in Unix milliseconds, if it is blocked and does.
    pub fn waits_until(&self) -> Option<i64> {
        job(self.blocked.lock().as_ref()?)?.deadline
    }
}

impl Session {
    /// When the command that blocks it gives up or is run again, in Unix milliseconds; none: never, or it
    /// is not blocked.
    pub fn wakes_at(&self) -> Option<i64> {
        let job = job(self.blocked.as_ref()?)?;
        Some(job.deadline.unwrap_or(i64::MAX).min(job.again.load(Relaxed)))
            .filter(|at| *at < i64::MAX)
    }

    /// The session goes on: the command that blocked it has been answered.
    pub fn unblocked(&mut self) {
        self.blocked = None;
        *self.client.blocked.lock() = None;
        self.client.set_topic_wait(None);
    }
}

impl Thread {
    /// Makes the session wait for nothing but time, or other things than keys.
    pub(crate) fn begin_wait(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        command: u16,
        mut block: Block,
        args: &Args<'_>,
    ) {
        block.keys.clear();
        let w = waiter(&engine.keyspace, session, command, &mut block, args);
        blocked(&engine.blocked_clients, session, Arc::clone(&w));
        if let Some(on_wait) = self.on_wait.take() {
            on_wait(engine, Arc::clone(&w));
        }
        if let Some(sequence) = self.awaits.take()
            && !engine.durability.wait(engine, sequence, &w)
        {
            self.durable(engine, &w);
        }
    }

    /// Serves the waiters of keys that have changed. While the context has shards locked, waiters whose
    /// commands need other shards stay for the next call, and so do all waiters that came after them.
    #[cold]
    pub fn serve_ready(&mut self, engine: &Engine) {
        if self.cx.ready.is_empty() {
            return;
        }
        // A transaction may have taken long.
        self.tick(engine);
        let mut later = Vec::new();
        // Serving may ready further keys (BLMOVE).
        while !self.cx.ready.is_empty() {
            for (index, key) in std::mem::take(&mut self.cx.ready) {
                if !self.serve_key(engine, index, &key) {
                    later.push((index, key));
                }
            }
        }
        self.cx.ready = later;
        self.collect();
    }

    /// Returns false when it has to be done later.
    fn serve_key(&mut self, engine: &Engine, index: usize, key: &[u8]) -> bool {
        let key = Key::new(key);
        let mut shard = ShardSet::default();
        shard.add(key.hash);
        if !engine.keyspace.covers(&self.cx, &shard) {
            return false;
        }
        // The position in the order. A waiter that leaves meanwhile does not change the position of
        // another.
        let mut last = 0;
        loop {
            let mut db = Db::lock_one(&engine.keyspace, index, key, &mut self.cx);
            let next = db.next_waiting(key, last);
            // `next_waiting` may have removed an expired key.
            commit(engine, &mut self.pubsub, &mut db);
            drop(db);
            let Some(w) = next else { return true };
            last = w.ticket;
            if matches!(self.try_again(engine, &w, key), Tried::Uncovered) {
                return false;
            }
        }
    }

    fn try_again(&mut self, engine: &Engine, w: &Arc<Waiter>, key: Key<'_>) -> Tried {
        let Some(job) = job(w) else { return Tried::Over };
        let cmd = engine.table.get(job.command);
        let Run::Data(run) = cmd.run else { return Tried::Over };
        let mut set = ShardSet::default();
        if shards_of(cmd, job.args.as_slice(), &mut set).is_err() {
            return Tried::Over;
        }
        if !engine.keyspace.covers(&self.cx, &set) {
            return Tried::Uncovered;
        }
        self.cx.no_touch = job.no_touch;
        self.cx.client = w.client;
        let mut db = Db::lock_set(&engine.keyspace, w.db, set, &mut self.cx);
        let kind = db.peek(key).map(|e| e.kind());
        // The look may have removed the key.
        commit(engine, &mut self.pubsub, &mut db);
        if kind != Some(w.kind) && !w.errors || !w.begin_try() {
            return Tried::Over;
        }
        if !job.user.is_free()
            && let Err(refusal) = admit(engine, w, job)
        {
            finish(&mut db, w);
            drop(db);
            self.deny_blocked(engine, w, job, refusal);
            return Tried::Over;
        }
        let start = engine.clock.monotonic_ns();
        let mut owned = job.args.clone();
        let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, job.proto);
        db.cx.may_block = true;
        let mut args = Args::new(&[], &spans, &mut owned);
        let local = &mut self.pubsub;
        let outcome = run_data(engine, local, &mut db, run, (w.db, cmd), &mut args, &mut reply);
        if let Some(block) = db.cx.block.take() {
            let again = block.again.unwrap_or(i64::MAX);
            if again < job.again.swap(again, Relaxed) {
                // Its thread sleeps until the time that it knew.
                engine.post(w.thread, Message::Wakes(w.client));
            }
            w.end_try(false);
            spent(w, engine.clock.monotonic_ns().saturating_sub(start));
            return Tried::Over;
        }
        let failed = outcome.is_err();
        if let Err(fail) = outcome {
            self.worker.answer_error(engine, &fail, &mut reply);
        }
        finish(&mut db, w);
        drop(db);
        spent(w, engine.clock.monotonic_ns().saturating_sub(start));
        self.count_blocked(engine, w, failed);
        engine.blocked_clients.fetch_sub(1, Relaxed);
        engine.post(
            w.thread,
            Message::Answer(w.client, if out.shared.is_empty() { out.buf } else { out.join() }),
        );
        Tried::Over
    }

    /// Answers a blocked command that may not be run any more.
    #[cold]
    fn deny_blocked(&mut self, engine: &Engine, w: &Waiter, job: &Job, refusal: Refusal) {
        let fail = refusal.fail(&job.user, engine.table.get(job.command).row);
        bump(&self.worker.stats.commands[usize::from(job.command)].rejected, 1);
        engine.blocked_clients.fetch_sub(1, Relaxed);
        let mut out = Out::default();
        self.worker.answer_error(engine, &fail, &mut Reply::new(&mut out, job.proto));
        engine.post(w.thread, Message::Answer(w.client, out.buf));
    }

    /// Ends the waiting of a blocked command from outside. Returns whether it was still waiting.
    fn end_wait(&mut self, engine: &Engine, w: &Arc<Waiter>) -> bool {
        if !w.give_up() {
            return false;
        }
        engine.blocked_clients.fetch_sub(1, Relaxed);
        if !w.keys.is_empty() {
            let mut set = ShardSet::default();
            w.keys.iter().for_each(|k| set.add(stdx::hash::hash64(k)));
            let mut db = Db::lock_set(&engine.keyspace, w.db, set, &mut self.cx);
            for key in &w.keys {
                db.unwait(Key::new(key), w);
            }
        }
        true
    }

    /// Counts a blocked command that is being answered, once its result is known.
    fn count_blocked(&mut self, engine: &Engine, w: &Waiter, failed: bool) {
        let (Some(job), Some(client)) = (job(w), engine.clients.get(w.client)) else { return };
        let nanos = job.nanos.load(Relaxed);
        if self.account(engine, &client, Executed { id: job.command, nanos, failed }) {
            let mut owned = job.args.clone();
            let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
            let row = engine.table.get(job.command).row;
            engine.note_slow(&client, nanos, row, &Args::new(&[], &spans, &mut owned));
        }
    }

    /// CLIENT UNBLOCK: as if its time were over, or with an error. Returns whether it was waiting.
    pub fn unblock(&mut self, engine: &Engine, w: &Arc<Waiter>, error: bool) -> bool {
        // To clients it is no blocking command.
        let aside = Traits::COST_OF_VALUES
            .or(Traits::COST_OF_SMALLEST)
            .or(Traits::COST_OF_COUNT)
            .or(Traits::ESTIMATES_ITSELF);
        let runs = aside.or(Traits::WALKS_KEYSPACE);
        let runs = job(w).is_some_and(|job| engine.table.get(job.command).traits.has_any(runs));
        if runs || !self.end_wait(engine, w) {
            return false;
        }
        let reply = match job(w) {
            Some(job) if !error => empty_reply(job),
            _ => {
                self.worker.count_error(engine, "UNBLOCKED");
                b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n".to_vec()
            }
        };
        self.count_blocked(engine, w, error);
        engine.post(w.thread, Message::Answer(w.client, reply));
        true
    }

    /// Answers WAITAOF: the records that it waits for are durable.
    pub fn durable(&mut self, engine: &Engine, w: &Arc<Waiter>) {
        if !self.end_wait(engine, w) {
            return;
        }
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, job(w).map_or(Proto::V2, |job| job.proto));
        commands::parse::empty(Empty::Ints(1, 0), &mut reply);
        self.count_blocked(engine, w, false);
        engine.post(w.thread, Message::Answer(w.client, out.buf));
    }

    /// Answers a client that waits for something other than keys, if it still waits for the answer with
    /// this id.
    pub fn answer_waiting(
        &mut self,
        engine: &Engine,
        client: &Client,
        answer_id: u64,
        bytes: Vec<u8>,
        failed: Option<&Fail>,
    ) {
        if let Some(w) = client.waits_for(answer_id) {
            self.answer_waiter(engine, &w, bytes, failed);
        }
    }

    /// Answers a client that waits for something other than keys, if it still does.
    pub fn answer_waiter(
        &mut self,
        engine: &Engine,
        w: &Arc<Waiter>,
        bytes: Vec<u8>,
        failed: Option<&Fail>,
    ) {
        if !self.end_wait(engine, w) {
            return;
        }
        if let Some(Fail(text)) = failed {
            self.worker.count_error(engine, text);
        }
        self.count_blocked(engine, w, failed.is_some());
        engine.post(w.thread, Message::Answer(w.client, bytes));
    }

    /// Answers a client whose command was executed in turns or elsewhere, if it still waits.
    pub(crate) fn answer_in_pieces(
        &mut self,
        engine: &Engine,
        w: &Arc<Waiter>,
        out: Out,
        failed: bool,
    ) {
        if self.end_wait(engine, w) {
            self.count_blocked(engine, w, failed);
            engine.post(w.thread, Message::Pieces(w.client, out));
        }
    }

    /// Answers a blocked session whose time is over: the reply, or none if it has been served
    /// meanwhile and the answer is on its way, or if it goes on waiting after another try.
    pub fn time_out(&mut self, engine: &Engine, session: &mut Session) -> Option<Vec<u8>> {
        let w = session.blocked.clone()?;
        let is_over = |job: &Job| job.deadline.is_some_and(|at| at <= job.again.load(Relaxed));
        if !job(&w).is_none_or(is_over) {
            self.tick(engine);
            let key = w.keys.first()?.clone();
            self.try_again(engine, &w, Key::new(&key));
            self.serve_ready(engine);
            self.collect();
            return None;
        }
        if !self.end_wait(engine, &w) {
            return None;
        }
        self.count_blocked(engine, &w, false);
        session.unblocked();
        job(&w).map(empty_reply)
    }

    /// Removes the waiter of a connection that closes.
    pub fn leave(&mut self, engine: &Engine, session: &mut Session) {
        if let Some(w) = session.blocked.clone() {
            self.end_wait(engine, &w);
            session.unblocked();
        }
        self.discard(engine, session);
    }
}

enum Tried {
    /// The waiter has been served, still waits, or does not wait any more.
    Over,
    /// It needs shards that may not be locked here.
    Uncovered,
}
