//! A worker thread's half of the engine: from a connection's bytes to its replies.
//!
//! **The batch is the unit of work.** All input of a connection is parsed in groups of up to
//! 32 commands, and the buckets of their keys are prefetched, then the entries. Only then are the commands executed, when
//! their cache misses have overlapped. At five million keys that is worth a factor of three. The buckets of a group arrive
//! while the group before it is executed, and its entries while the next group is parsed.
//!
//! Fast commands (constant time) of a group are timed together, so that a clock is read once per
//! group and not twice per command. When more is needed (slow log below a millisecond, latency monitor,
//! MONITOR, `maxmemory` …), [`Attention`](crate::Attention) says so and commands go through
//! [`dispatch`](Thread::dispatch) one by one.

mod answers;
mod batch;
mod foresee;
mod hints;

pub use foresee::Foreseen;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use answers::WaitingAnswers;
use batch::{NO_COMMAND, ParsedGroup};
use config::{Config, Id};
use hints::Hints;
use observe::calls::CallTimes;
use observe::costs::Costs;
use observe::stats::bump;
use observe::topkeys::Sampler;
use resp::{Args, Out, Parser, Proto, Reply, Span, Template};
use stdx::clock::Clock;
use store::{Context, Db, Evicted, Flush, Key, Policy, SHARDS, Waiter};

use crate::attention::Attention;
use crate::clients::PausedKill;
use crate::commit::commit;
use crate::dispatch::{Done, lookup};
use crate::engine::{Engine, Local, Worker};
use crate::scripting::Machines;
use crate::session::{Deferred, ReplyMode, Session};
use crate::settings;
use crate::tracking;

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// All whole commands are done; more input is needed.
    Read,
    /// A large argument is expected: see [`Parser::big`].
    ReadBig,
    /// There is much output: send it, then go on with the rest of the input.
    Flush,
    /// A command waits for a pause to end; go on with [`Thread::run`] afterwards.
    Wait,
    /// A command waits for its keys ([`Session::blocked`]); go on when it has been answered.
    Block,
    /// Send the output and close.
    Close,
}

/// The result of [`Thread::run`].
#[derive(Debug)]
pub struct Batch {
    /// Bytes of the input that are consumed. The rest must come first next time.
    pub consumed: usize,
    /// What to do next.
    pub next: Next,
}

/// Configuration that every command looks at, copied when it changes.
pub(crate) struct Hot {
    generation: u64,
    pub(crate) bulk_max: usize,
    pub(crate) slow_ns: u64,
    pub(crate) latency_ns: u64,
    pub(crate) latency_tracking: bool,
    pub(crate) maxmemory: u64,
    pub(crate) policy: Policy,
    /// How long one command evicts at most.
    pub(crate) evict_ns: u64,
    /// The most memory of all clients together, in bytes; 0: any number.
    pub(crate) clients_max: u64,
}

/// Called with the waiter of a command that waits for other things than keys.
pub type OnWait = Box<dyn FnOnce(&Engine, Arc<Waiter>) + Send>;

/// See the module's text.
pub struct Thread {
    /// Its number.
    pub index: usize,
    /// The context of commands.
    pub cx: Context,
    pub(crate) worker: Arc<Worker>,
    pub(crate) hot: Hot,
    pub(crate) evicted: Evicted,
    /// Its half of publish and subscribe.
    pub pubsub: Local,
    /// Messages about changes of the present unit: channels, and what is published there when it ends.
    pub(crate) announces: Vec<(Vec<u8>, Vec<u8>)>,
    /// Commands that are being parsed.
    group: ParsedGroup,
    /// For the next ones, while those are executed.
    spare: Vec<ParsedGroup>,
    hints: Hints,
    answers: WaitingAnswers,
    /// Next shard for the periodic work, and how many have had their turn in a round that ran out of time.
    sweep: usize,
    swept: usize,
    /// A thread that could not deliver the messages of the periodic work fast enough.
    crowded_by_cron: Option<usize>,
    /// Wall clock minus monotonic clock, in nanoseconds.
    wall_offset: i64,
    /// Monotonic clock when it was last read, in nanoseconds.
    pub(crate) mono: u64,
    /// When the wall clock's next millisecond begins, on the monotonic clock.
    now_until: u64,
    /// When the command before ended, where the next one follows at once: it starts then, and the
    /// clock is read once per command.
    pub(crate) since: Option<u64>,
    /// The shape of the last command that took the fast path, and its number.
    shape: Option<(Template, u16)>,
    /// The last command whose reply was a long one: the next of its kind is timed by itself.
    long: u16,
    /// Which commands are looked at for the top keys.
    pub(crate) sampler: Sampler,
    /// Which batches are timed by phase.
    pub(crate) costs: Costs,
    /// Nothing is executed in turns: the caller wants the reply at once.
    pub(crate) whole: bool,
    /// EXEC or a script is running its commands.
    pub in_transaction: bool,
    /// Wall time in microseconds while a script runs, for which time stands still.
    pub(crate) frozen_us: Option<u64>,
    /// There was no memory for commands that need some when the present one began.
    pub(crate) short_of_memory: bool,
    /// The interpreter, once a script has been run here.
    pub(crate) machines: Option<Box<Machines>>,
    pub(crate) call_times: CallTimes,
    /// The command that just ran waits until the journal is durable up to here (WAITAOF).
    pub awaits: Option<u64>,
    /// Gets the waiter of the command that just ran, if it waits.
    pub on_wait: Option<OnWait>,
    /// A command of the present batch tells of data: see [`crate::acks`].
    shows_data: bool,
    /// Changes that were moved out of the context's counters.
    pub(crate) collected_dirty: u64,
    /// `maxmemory-clients` may have changed: all clients are to be counted.
    pub(crate) recount_clients: bool,
}

impl Thread {
    /// The half of worker number `index`.
    pub fn new(engine: &Engine, index: usize, worker: Arc<Worker>) -> Self {
        let mut rng = stdx::rng::Rng::from_os()
            .unwrap_or_else(|_| stdx::rng::Rng::from_seed(engine.started_ms as u64 ^ index as u64));
        let (sampler, costs) = (Sampler::new(rng.next_u64()), Costs::new(rng.next_u64()));
        let mut t = Self {
            index,
            cx: Context::new(engine.clock.wall_ms() as i64, rng),
            pubsub: Local::new(index, Arc::clone(&worker), Arc::clone(&worker.outboxes)),
            worker,
            hot: Hot {
                generation: 0,
                bulk_max: 0,
                slow_ns: u64::MAX,
                latency_ns: u64::MAX,
                latency_tracking: true,
                maxmemory: 0,
                policy: Policy::NoEviction,
                evict_ns: 0,
                clients_max: 0,
            },
            evicted: Evicted::default(),
            group: ParsedGroup::default(),
            spare: Vec::new(),
            hints: Hints::new(),
            answers: WaitingAnswers::default(),
            sweep: 0,
            swept: 0,
            crowded_by_cron: None,
            wall_offset: 0,
            mono: 0,
            now_until: 0,
            since: None,
            shape: None,
            long: NO_COMMAND,
            sampler,
            costs,
            whole: false,
            in_transaction: false,
            announces: Vec::new(),
            frozen_us: None,
            short_of_memory: false,
            machines: None,
            call_times: CallTimes::default(),
            awaits: None,
            on_wait: None,
            shows_data: false,
            collected_dirty: 0,
            recount_clients: false,
        };
        if let Some(solo) = engine.solo.lock().take() {
            t.cx.solo = solo;
        }
        t.sync_clock(&engine.clock);
        t.refresh(&engine.config);
        t
    }

    /// Reads both clocks; called a few times per second.
    pub fn sync_clock(&mut self, clock: &Clock) {
        let wall = clock.wall_us();
        self.mono = clock.monotonic_ns();
        self.wall_offset = wall as i64 * 1000 - self.mono as i64;
        self.set_now();
    }

    /// Reads the monotonic clock and derives the wall time from it; called when the event loop
    /// wakes up. Returns monotonic nanoseconds.
    #[inline]
    pub fn tick(&mut self, engine: &Engine) -> u64 {
        self.mono = engine.clock.monotonic_ns();
        if self.mono >= self.now_until {
            self.set_now();
        }
        self.mono
    }

    fn set_now(&mut self) {
        let now_ms = (self.mono as i64 + self.wall_offset) / 1_000_000;
        self.cx.set_now(now_ms);
        self.now_until = ((now_ms + 1) * 1_000_000 - self.wall_offset) as u64;
    }

    /// Sets the commands' time to the clock's last reading, once that is in another millisecond. A deadline
    /// counts from when its command runs: with the time at which its batch began, the deadline would be too
    /// early behind many short commands. Within transactions and scripts time stands still.
    #[inline]
    pub(crate) fn time_went_by(&mut self) {
        if self.mono >= self.now_until && !self.in_transaction {
            self.set_now();
        }
    }

    /// Monotonic nanoseconds when the clock was last read.
    #[inline]
    pub fn mono(&self) -> u64 {
        self.mono
    }

    /// Wall time in microseconds: the present, or when the script that runs began.
    pub fn wall_us(&self, clock: &Clock) -> u64 {
        self.frozen_us.unwrap_or_else(|| clock.wall_us())
    }

    /// Wall time in microseconds when a clock was last read.
    pub(crate) fn wall_us_at_last_look(&self) -> u64 {
        u64::try_from((self.mono as i64 + self.wall_offset) / 1000).unwrap_or(0)
    }

    /// This thread's counters.
    pub fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    /// Copies the configuration when it has changed.
    #[inline]
    pub(crate) fn refresh(&mut self, config: &Config) {
        if config.generation() != self.hot.generation {
            self.reload(config);
        }
    }

    #[cold]
    fn reload(&mut self, c: &Config) {
        let generation = c.generation();
        let slow = c.int(Id::SlowlogLogSlowerThan);
        let latency = c.int(Id::LatencyMonitorThreshold);
        let policy = settings::policy(c);
        self.hot = Hot {
            generation,
            bulk_max: usize::try_from(c.bytes(Id::ProtoMaxBulkLen)).unwrap_or(usize::MAX),
            slow_ns: u64::try_from(slow).map_or(u64::MAX, |us| us.saturating_mul(1000)),
            latency_ns: if latency > 0 { latency as u64 * 1_000_000 } else { u64::MAX },
            latency_tracking: c.flag(Id::LatencyTracking),
            maxmemory: c.bytes(Id::Maxmemory),
            policy,
            evict_ns: settings::evict_ns(c.int(Id::MaxmemoryEvictionTenacity)),
            clients_max: match c.int(Id::MaxmemoryClients) {
                // A part of `maxmemory`, in percent; a part of no limit is no limit.
                percent @ ..0 => {
                    let part =
                        u128::from(c.bytes(Id::Maxmemory)) * u128::from(percent.unsigned_abs());
                    u64::try_from(part / 100).unwrap_or(u64::MAX)
                }
                bytes => bytes as u64,
            },
        };
        // Clients with much memory may send nothing for long.
        self.recount_clients = self.hot.clients_max > 0;
        self.pubsub.notify = c.notify_keyspace_events();
        settings::follow(c, &mut self.cx);
    }

    /// Whether a command has told of data since the last call.
    #[inline]
    pub fn take_shows_data(&mut self) -> bool {
        std::mem::take(&mut self.shows_data)
    }

    /// The command that is executed tells of data, or an answer that needs none.
    #[inline]
    pub fn note_shows_data(&mut self) {
        self.shows_data = true;
    }

    /// Moves the commands' counts into the counters that others read.
    #[inline]
    pub fn collect(&mut self) {
        let c = std::mem::take(&mut self.cx.counters);
        if c == store::Counters::default() {
            return;
        }
        let s = &self.worker.stats;
        bump(&s.keyspace_hits, c.keyspace_hits);
        bump(&s.keyspace_misses, c.keyspace_misses);
        bump(&s.expired_keys, c.expired_keys);
        bump(&s.expired_subkeys, c.expired_subkeys);
        bump(&s.evicted_keys, c.evicted_keys);
        bump(&s.expired_time_cap_reached, c.expired_time_cap_reached);
        bump(&s.dirty, c.dirty);
        self.collected_dirty += c.dirty;
    }

    /// Executes the commands at the start of `input` and appends their replies to `out`.
    pub fn run(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        parser: &mut Parser,
        input: &[u8],
        out: &mut Out,
    ) -> Batch {
        let batch = self.run_and_give(engine, session, parser, input, out);
        if let Some(taker) = session.take_input.take() {
            taker.give(input[..batch.consumed].to_vec());
        }
        batch
    }

    /// As [`Thread::run`], for a caller that gives the consumed input to [`Session::take_input`].
    pub fn run_and_give(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        parser: &mut Parser,
        input: &[u8],
        out: &mut Out,
    ) -> Batch {
        self.refresh(&engine.config);
        self.costs.begin(&self.worker.costs);
        engine.hotkeys.follow(&mut self.sampler);
        bump(&self.worker.stats.batches, 1);
        if session.client.has_early.load(Relaxed) {
            self.catch_up(engine, session);
        }
        let c = &session.client;
        // Never 0 while a command is executed, be it a command that waited or one whose last argument is
        // not in `input`: other threads, and this one, would take it for idle.
        c.query_bytes.store(input.len().max(1) as u64, Relaxed);
        if session.outbox.is_some() {
            // Messages sent to it before its commands arrived come before their replies.
            self.receive();
            self.take_outbox(session, out);
        }
        // Messages that no connection caused hold up no connection.
        self.pubsub.crowded = None;
        let batch = self.run_batch(engine, session, parser, input, out);
        self.send_mail(engine);
        let (c, left) = (&session.client, input.len() - batch.consumed);
        c.query_bytes.store(left.max(usize::from(parser.is_active())) as u64, Relaxed);
        batch
    }

    /// Runs a command that had to wait. Returns what to do instead of going on, if it waits again.
    fn run_deferred(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        mut args: Vec<Vec<u8>>,
        out: &mut Out,
    ) -> Option<Next> {
        let mark = out.mark();
        let kill = session.client.get_rare().and_then(|rare| rare.paused_kill.lock().take());
        if let Some(PausedKill::Reply(reply)) = kill {
            out.buf.extend_from_slice(&reply);
            self.after(session, out, mark);
            return None;
        }
        let spans: Vec<Span> = (0..args.len()).map(Span::owned).collect();
        let mut reply = Reply::new(out, session.proto);
        let mut a = Args::new(&[], &spans, &mut args);
        self.since = None;
        self.send_answers();
        match self.dispatch(engine, session, &mut a, &mut reply) {
            Done::Wait => {
                session.deferred = Some(Box::new(Deferred { words: args }));
                return Some(Next::Wait);
            }
            Done::Block => return Some(Next::Block),
            Done::Yes => {}
        }
        self.after(session, out, mark);
        None
    }

    /// Applies CLIENT REPLY to the answer of a blocked command: whether it is sent.
    pub fn may_answer(&self, session: &mut Session) -> bool {
        match session.reply {
            ReplyMode::On => true,
            ReplyMode::Off => false,
            ReplyMode::SkipThis | ReplyMode::SkipNext => {
                session.reply = ReplyMode::On;
                false
            }
        }
    }

    /// Applies CLIENT REPLY to the output of a command.
    #[inline]
    fn after(&mut self, session: &mut Session, out: &mut Out, mark: resp::Mark) {
        match session.reply {
            ReplyMode::On => {}
            ReplyMode::Off => out.truncate(mark),
            ReplyMode::SkipThis => {
                out.truncate(mark);
                session.reply = ReplyMode::SkipNext;
            }
            ReplyMode::SkipNext => {
                out.truncate(mark);
                session.reply = ReplyMode::On;
            }
        }
        // A message that a command publishes to its own connection comes behind its reply.
        self.take_outbox(session, out);
    }

    /// Periodic work, some times per second: active expiry, resizing, for this thread's part of
    /// the shards. Takes at most `budget_ns`. Returns whether keys are still due.
    pub fn cron(&mut self, engine: &Engine, threads: usize, budget_ns: u64) -> bool {
        self.refresh(&engine.config);
        self.sync_clock(&engine.clock);
        self.sampler.tick(self.mono);
        engine.tick_hotkeys();
        if self.index == 0 {
            engine.durability.upkeep(engine, self);
        }
        // Loaded keys do not expire: records that are yet to come may say otherwise.
        let loading = engine.attention.get() & Attention::LOADING != 0;
        if loading || engine.cron_paused.load(Relaxed) {
            return false;
        }
        // No client causes an expiry.
        self.cx.client = 0;
        tracking::upkeep(engine, &mut self.pubsub);
        if self.index == 0 {
            engine.migrations.upkeep(self.cx.now);
        }
        let start = engine.clock.monotonic_ns();
        let paused = engine.check_pause();
        let attention = engine.attention.get();
        let replica = attention & Attention::REPLICA != 0;
        let active = engine.active_expire.load(Relaxed) && !paused;
        if active && self.index == 0 {
            self.expire_own_keys(engine);
        }
        let active = active && !replica;
        // After the limit was lowered, commands may be too few to bring memory below it.
        let evicts = !paused && !engine.leaves_eviction_to_primary(attention);
        let mut left = evicts && self.make_room(engine) && self.is_over_memory();
        // Many clients may be notified of an expiry: keys expire no faster than the notifications are sent.
        let active =
            active && self.crowded_by_cron.is_none_or(|thread| self.has_room(engine, thread));
        left |= self.sweep_shards(engine, threads, active, || {
            engine.clock.monotonic_ns() - start > budget_ns
        });
        self.collect();
        self.send_mail(engine);
        if active {
            self.crowded_by_cron = self.pubsub.crowded.take();
        }
        let nanos = engine.clock.monotonic_ns() - start;
        bump(&self.worker.stats.expire_cycle_nanos, nanos);
        bump(&self.worker.stats.cron_nanos, nanos);
        if nanos >= self.hot.latency_ns {
            engine.latency.record("expire-cycle", nanos, self.cx.now);
        }
        left
    }

    /// Resizes the tables of this thread's part of the shards and, if `active`, expires their keys, until one round
    /// is done or the time `is_over`. Returns whether there is more to do.
    fn sweep_shards(
        &mut self,
        engine: &Engine,
        threads: usize,
        active: bool,
        is_over: impl Fn() -> bool,
    ) -> bool {
        let (mut looked, mut expired) = (std::mem::take(&mut self.swept), 0);
        let mut left = false;
        let round = SHARDS.div_ceil(threads);
        self.pubsub.crowded = None;
        while looked < round {
            let s = self.sweep;
            self.sweep += threads;
            if self.sweep >= SHARDS {
                self.sweep = self.index % threads.max(1);
            }
            looked += 1;
            for index in 0..engine.keyspace.databases() {
                if !engine.keyspace.is_used(index) {
                    continue;
                }
                // A script that takes long may have it locked.
                let Some(mut db) = Db::try_lock_shard(&engine.keyspace, index, s, &mut self.cx)
                else {
                    break;
                };
                db.upkeep(s);
                if active && db.has_due(s) {
                    // A bounded number under one lock, so that no thread waits long for the shard.
                    let n = db.expire_due(s, 64);
                    expired += n;
                    left |= n >= 64;
                    commit(engine, &mut self.pubsub, &mut db);
                }
            }
            if !self.cx.ready.is_empty() {
                self.serve_ready(engine);
            }
            if self.pubsub.crowded.is_some() || is_over() {
                if expired > 0 {
                    self.cx.counters.expired_time_cap_reached += 1;
                    left = true;
                }
                if looked < round {
                    // The others soon have theirs, or their due keys would wait for one more round.
                    self.swept = looked;
                    left = true;
                }
                break;
            }
        }
        left
    }

    /// Removes the keys of a writable replica's own clients whose time is over ([`crate::replication`]). Nothing is
    /// locked.
    fn expire_own_keys(&mut self, engine: &Engine) {
        let own = &engine.replication.own_keys;
        if own.is_empty() {
            return;
        }
        if !engine.is_replica() {
            // All keys expire again.
            return own.forget_all();
        }
        for name in own.take_due(self.cx.now) {
            let key = Key::new(&name.1);
            let mut db = Db::lock_one(&engine.keyspace, name.0, key, &mut self.cx);
            // The look removes it if its time is over.
            let later = db.peek(key).and_then(|entry| entry.deadline());
            commit(engine, &mut self.pubsub, &mut db);
            drop(db);
            if let Some(later) = later {
                own.put(name, later);
            }
        }
        if !self.cx.ready.is_empty() {
            self.serve_ready(engine);
        }
    }

    /// Does the jobs that other threads have posted, and leaves their other messages where they are: for a
    /// command that waits for such a job.
    pub fn run_jobs(&mut self, engine: &Engine) {
        for job in self.worker.mailbox.take_jobs() {
            job.run(engine, self);
        }
    }

    /// Empties all databases and forgets all libraries: the loaded data replaces them.
    pub fn flush_all(&mut self, engine: &Engine) {
        for index in 0..engine.keyspace.databases() {
            let mut db = Db::lock_all(&engine.keyspace, index, &mut self.cx);
            db.flush(Flush::Now);
            commit(engine, &mut self.pubsub, &mut db);
        }
        engine.clear_functions();
        engine.replication.own_keys.forget_all();
    }

    /// Runs one command given as words, for tests and for embedding. Never waits.
    pub fn call(&mut self, engine: &Engine, session: &mut Session, words: &[&[u8]]) -> Out {
        self.refresh(&engine.config);
        self.sync_clock(&engine.clock);
        let mut out = Out::default();
        let mut owned: Vec<Vec<u8>> = words.iter().map(|w| w.to_vec()).collect();
        let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
        let mut args = Args::new(&[], &spans, &mut owned);
        let mark = out.mark();
        let mut reply = Reply::new(&mut out, session.proto);
        self.since = None;
        self.whole = true;
        self.dispatch(engine, session, &mut args, &mut reply);
        self.whole = false;
        self.after(session, &mut out, mark);
        self.send_mail(engine);
        out
    }

    /// Number of the command that `words` call, if any.
    pub fn find(&self, engine: &Engine, args: &Args<'_>) -> Option<u16> {
        lookup(engine, args).ok()
    }

    /// The protocol error reply for input that arrives where none may (too large a query).
    pub fn proto(&self, session: &Session) -> Proto {
        session.proto
    }
}
