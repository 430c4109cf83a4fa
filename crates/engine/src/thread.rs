//! A worker thread's half of the engine: from a connection's bytes to its replies.
//!
//! **The batch is the unit of work.** All input of a connection is parsed in groups of up to
//! [`GROUP`] commands. While a group is parsed, the bucket of every key is prefetched; then the
//! entries are; only then are the commands executed, when their cache misses have overlapped. At
//! five million keys that is worth a factor of three.
//!
//! Light commands (constant time) of a group are timed together, so that a clock is read once per
//! group and not twice per command. When anybody needs more (slow log below a millisecond, latency
//! monitor, MONITOR, `maxmemory` …), [`Attention`](crate::Attention) says so and commands go
//! through [`dispatch`](Thread::dispatch) one by one.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::{Config, Id};
use resp::{Args, Limits, Out, Parsed, Parser, Proto, Reply, Shape, Span};
use store::{Context, Db, Evicted, Flush, Key, Named, Policy, SHARDS};

use crate::clients::Client;
use crate::costs::Costs;
use crate::dispatch::{Done, commit, commit_own, lookup};
use crate::engine::{Attention, Engine, Worker};
use crate::journal::{self, Own};
use crate::mailbox::Message;
use crate::persistence;
use crate::pubsub::Local;
use crate::scripting::{CallTimes, Machines};
use crate::session::{ReplyMode, Session};
use crate::settings;
use crate::stats::bump;
use crate::table::{Call, Run};
use crate::topkeys::Probe;
use crate::tracking;

/// Commands that are parsed before the first of them is executed, and keys of a script among them.
const GROUP: usize = 32;
const COUNTED_MAX: usize = 8;
/// Output after which a batch is interrupted to be sent, in bytes.
const OUTPUT_PAUSE: usize = 1 << 20;
/// Connections send at most this much per group check of shared values, too.
const NO_COMMAND: u16 = u16::MAX;

/// A command that took so long has deadlines to go by: those are in milliseconds.
const LONG_NS: u64 = 1_000_000;

/// How a batch ended.
#[derive(Debug, PartialEq, Eq)]
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
    /// Bytes of the input that are done with. The rest must come first next time.
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
    /// Bytes that all clients may hold together; 0: any number.
    pub(crate) clients_max: u64,
}

/// See the module's text.
pub struct Thread {
    /// Its number.
    pub index: usize,
    /// What commands find around them.
    pub cx: Context,
    pub(crate) worker: Arc<Worker>,
    pub(crate) hot: Hot,
    pub(crate) evicted: Evicted,
    pub(crate) pubsub: Local,
    spans: Vec<Span>,
    owned: Vec<Vec<u8>>,
    group: Vec<Parse>,
    /// Hashes of the keys of the group's commands over several keys.
    hashes: Vec<u64>,
    /// Next shard for the periodic work.
    sweep: usize,
    /// Wall clock minus monotonic clock, in nanoseconds.
    wall_offset: i64,
    /// Monotonic clock when it was last read, in nanoseconds.
    pub(crate) mono: u64,
    /// When the command before ended, where the next one follows at once: it starts then, and the
    /// clock is read once per command.
    pub(crate) since: Option<u64>,
    /// The shape of the last command that took the short way, and its number.
    shape: Option<(Shape, u16)>,
    /// Which commands are looked at for the top keys.
    pub(crate) probe: Probe,
    /// Which batches are timed by phase.
    pub(crate) costs: Costs,
    /// EXEC or a script is running its commands.
    pub(crate) in_transaction: bool,
    /// Wall time in microseconds while a script runs, for which time stands still.
    pub(crate) frozen_us: Option<u64>,
    /// There was no memory for commands that need some when the present one began.
    pub(crate) short_of_memory: bool,
    /// What runs scripts, once one has been run here.
    pub(crate) machines: Option<Box<Machines>>,
    pub(crate) call_times: CallTimes,
    /// The command that just ran waits until the journal is durable up to here (WAITAOF).
    pub(crate) awaits: Option<u64>,
    /// `maxmemory-clients` may have changed: all clients are to be counted.
    recount_clients: bool,
}

/// A parsed command of a group.
#[derive(Clone, Copy)]
struct Parse {
    /// Offset in the input behind it.
    end: usize,
    /// First span and number of spans.
    first: u32,
    argc: u32,
    /// Its number when it can take the short way, or `NO_COMMAND`.
    id: u16,
    hash: u64,
}

impl Thread {
    /// The half of worker number `index`.
    pub fn new(engine: &Engine, index: usize, worker: Arc<Worker>) -> Self {
        let mut rng = stdx::rng::Rng::from_os()
            .unwrap_or_else(|_| stdx::rng::Rng::from_seed(engine.started_ms as u64 ^ index as u64));
        let (probe, costs) = (Probe::new(rng.next_u64()), Costs::new(rng.next_u64()));
        let mut t = Self {
            index,
            cx: Context::new(engine.clock.wall_ms() as i64, rng),
            pubsub: Local::new(index, Arc::clone(&worker)),
            worker,
            hot: Hot {
                generation: 0,
                bulk_max: 0,
                slow_ns: u64::MAX,
                latency_ns: u64::MAX,
                latency_tracking: true,
                maxmemory: 0,
                policy: Policy::NoEviction,
                clients_max: 0,
            },
            evicted: Evicted::default(),
            spans: Vec::new(),
            owned: Vec::new(),
            group: Vec::with_capacity(GROUP),
            hashes: Vec::new(),
            sweep: 0,
            wall_offset: 0,
            mono: 0,
            since: None,
            shape: None,
            probe,
            costs,
            in_transaction: false,
            frozen_us: None,
            short_of_memory: false,
            machines: None,
            call_times: CallTimes::default(),
            awaits: None,
            recount_clients: false,
        };
        if let Some(seat) = engine.seat.lock().take() {
            t.cx.seat = seat;
        }
        t.sync_clock(engine);
        t.refresh(&engine.config);
        t
    }

    /// Reads both clocks; called a few times per second.
    pub fn sync_clock(&mut self, engine: &Engine) {
        let wall = engine.clock.wall_us();
        self.mono = engine.clock.monotonic_ns();
        self.wall_offset = wall as i64 * 1000 - self.mono as i64;
        self.cx.set_now((wall / 1000) as i64);
    }

    /// Reads the monotonic clock and derives the wall time from it; called when the event loop
    /// wakes up. Returns monotonic nanoseconds.
    #[inline]
    pub fn tick(&mut self, engine: &Engine) -> u64 {
        self.mono = engine.clock.monotonic_ns();
        self.cx.set_now((self.mono as i64 + self.wall_offset) / 1_000_000);
        self.mono
    }

    /// What comes behind a command that took long runs at a later time, in the same batch, too. Within
    /// transactions and scripts time stands still.
    #[inline]
    pub(crate) fn time_went_by(&mut self, nanos: u64) {
        if nanos >= LONG_NS && !self.in_transaction {
            self.cx.set_now((self.mono as i64 + self.wall_offset) / 1_000_000);
        }
    }

    /// Monotonic nanoseconds when the clock was last read.
    #[inline]
    pub fn mono(&self) -> u64 {
        self.mono
    }

    /// Wall time in microseconds: exactly now, or when the script that runs began.
    pub(crate) fn wall_us(&self, engine: &Engine) -> u64 {
        self.frozen_us.unwrap_or_else(|| engine.clock.wall_us())
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
            clients_max: match c.int(Id::MaxmemoryClients) {
                // A part of `maxmemory`, in percent; all of what is not limited is no limit.
                percent @ ..0 => {
                    let part =
                        u128::from(c.bytes(Id::Maxmemory)) * u128::from(percent.unsigned_abs());
                    u64::try_from(part / 100).unwrap_or(u64::MAX)
                }
                bytes => bytes as u64,
            },
        };
        // Clients that hold much already may not say anything for long.
        self.recount_clients = self.hot.clients_max > 0;
        self.pubsub.notify = c.notify_keyspace_events();
        settings::follow(c, &mut self.cx);
    }

    /// Moves what commands counted into the counters that others read.
    #[inline]
    pub(crate) fn collect(&mut self) {
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
    }

    pub(crate) fn count_command(&self, client: &Client, n: u64) {
        bump(&self.worker.stats.commands_processed, n);
        bump(&client.total_commands, n);
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
        self.refresh(&engine.config);
        self.costs.begin(&self.worker.costs);
        engine.hotkeys.follow(&mut self.probe);
        bump(&self.worker.stats.batches, 1);
        let c = &session.client;
        c.query_bytes.store(input.len() as u64, Relaxed);
        if session.outbox.is_some() {
            // What was sent to it before its commands arrived comes before their replies.
            self.receive();
            self.take_outbox(session, out);
        }
        let batch = self.run_batch(engine, session, parser, input, out);
        self.send_mail(engine);
        let (c, left) = (&session.client, input.len() - batch.consumed);
        c.query_bytes.store(left as u64, Relaxed);
        batch
    }

    fn run_batch(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        parser: &mut Parser,
        input: &[u8],
        out: &mut Out,
    ) -> Batch {
        let mut batch = Batch { consumed: 0, next: Next::Read };
        if session.client.closing.load(Relaxed) {
            // What waited for the end of a pause is not run for a client that has been killed.
            batch.next = Next::Close;
            return batch;
        }
        if let Some(args) = session.deferred.take()
            && let Some(next) = self.run_deferred(engine, session, args, out)
        {
            batch.next = next;
            return batch;
        }
        loop {
            // Another thread's CLIENT KILL takes effect here, before further commands.
            if session.closing || session.client.closing.load(Relaxed) {
                batch.next = Next::Close;
                return batch;
            }
            if out.len() >= OUTPUT_PAUSE {
                batch.next = Next::Flush;
                return batch;
            }
            let timed = self.costs.on.then(|| engine.clock.monotonic_ns());
            let stop = self.parse_group(engine, session, parser, input, batch.consumed, out);
            if let Some(start) = timed {
                self.mono = engine.clock.monotonic_ns();
                self.costs.parsed(self.group.len(), self.mono.saturating_sub(start));
            }
            if !self.group.is_empty()
                && let Some(next) = self.run_group(engine, session, input, &mut batch.consumed, out)
            {
                // What was parsed beyond the stop is parsed again later.
                *parser = Parser::default();
                batch.next = next;
                return batch;
            }
            match stop {
                Stop::Full => {}
                Stop::At(end, next) => {
                    batch.consumed = end;
                    batch.next = if session.closing { Next::Close } else { next };
                    return batch;
                }
            }
        }
    }

    /// Runs a command that had to wait. Returns what to do instead of going on, if it waits again.
    fn run_deferred(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        mut args: Vec<Vec<u8>>,
        out: &mut Out,
    ) -> Option<Next> {
        let spans: Vec<Span> = (0..args.len()).map(Span::owned).collect();
        let mark = out.mark();
        let mut reply = Reply::new(out, session.proto);
        let mut a = Args::new(&[], &spans, &mut args);
        self.since = None;
        match self.dispatch(engine, session, &mut a, &mut reply) {
            Done::Wait => {
                session.deferred = Some(args);
                return Some(Next::Wait);
            }
            Done::Block => return Some(Next::Block),
            Done::Yes => {}
        }
        self.after(session, out, mark);
        None
    }

    /// Parses up to a group of commands, and prefetches for those that take the short way.
    fn parse_group(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        parser: &mut Parser,
        input: &[u8],
        from: usize,
        out: &mut Out,
    ) -> Stop {
        let unauthenticated = session.needs_auth(engine);
        let limits = Limits { bulk_max: self.hot.bulk_max, unauthenticated };
        // A client that has yet to authenticate may do so with the next command, which changes
        // what the one after it may be.
        let most = if unauthenticated { 1 } else { GROUP };
        self.spans.clear();
        self.owned.clear();
        self.group.clear();
        self.hashes.clear();
        let mut pos = from;
        while self.group.len() < most {
            let resumed = parser.is_active();
            if !resumed && !unauthenticated {
                pos = self.parse_alike(engine, session.db, input, pos, &limits);
                if self.group.len() == most {
                    break;
                }
            }
            let first = self.spans.len();
            let parsed =
                parser.parse(&input[pos..], pos, &limits, &mut self.spans, &mut self.owned);
            match parsed {
                Parsed::Command(used) => {
                    let (id, hash) = self.classify(engine, session.db, input, pos, first);
                    pos += used;
                    let argc = (self.spans.len() - first) as u32;
                    self.group.push(Parse { end: pos, first: first as u32, argc, id, hash });
                    // A resumed command's large arguments are not in the input: it must not be
                    // parsed again, so nothing before it may stop the group.
                    if resumed {
                        break;
                    }
                }
                Parsed::Nothing(used) => pos += used,
                Parsed::Incomplete => return Stop::At(pos, Next::Read),
                // The parser has taken the rest over.
                Parsed::Big { .. } => return Stop::At(input.len(), Next::ReadBig),
                Parsed::Error(e) => {
                    // Replies of the commands before it come first: it is answered after them.
                    if self.group.is_empty() {
                        if session.reply == ReplyMode::On {
                            Reply::new(out, session.proto).error(format!("ERR {}", e.0));
                        }
                        session.closing = true;
                        bump(&self.worker.stats.error_replies, 1);
                        engine.count_error("ERR");
                        return Stop::At(input.len(), Next::Close);
                    }
                    break;
                }
            }
        }
        Stop::Full
    }

    /// Parses commands from `pos` on as long as they have the shape of the last one that took the
    /// short way, and returns the offset behind them.
    #[inline]
    fn parse_alike(
        &mut self,
        engine: &Engine,
        db: usize,
        input: &[u8],
        mut pos: usize,
        limits: &Limits,
    ) -> usize {
        let Some((shape, id)) = self.shape else { return pos };
        let argc = shape.argc() as u32;
        while self.group.len() < GROUP {
            let first = self.spans.len();
            let Some(end) = shape.parse(input, pos, limits, &mut self.spans) else { break };
            // The shape belongs to a command with a key, so there is an argument 1.
            let Some(key) = self.spans.get(first + 1).and_then(|k| k.bytes(input)) else { break };
            let hash = stdx::hash::hash64(key);
            engine.keyspace.prefetch_bucket(db, hash);
            self.group.push(Parse { end, first: first as u32, argc, id, hash });
            pos = end;
        }
        pos
    }

    /// Looks at input that will be executed soon: prefetches the bucket of its first command's key,
    /// and returns the key's hash, or 0 when it does not look like the commands before it.
    pub fn foresee(&mut self, engine: &Engine, session: &Session, input: &[u8]) -> u64 {
        let Some((shape, _)) = self.shape else { return 0 };
        let limits = Limits { bulk_max: self.hot.bulk_max, unauthenticated: false };
        self.spans.clear();
        if shape.parse(input, 0, &limits, &mut self.spans).is_none() {
            return 0;
        }
        let Some(key) = self.spans.get(1).and_then(|k| k.bytes(input)) else { return 0 };
        let hash = stdx::hash::hash64(key);
        engine.keyspace.prefetch_bucket(session.db, hash);
        hash
    }

    /// Prefetches the entries of keys whose buckets [`foresee`](Self::foresee) has prefetched: pairs
    /// of database and hash.
    pub fn prefetch(&self, engine: &Engine, keys: impl Iterator<Item = (usize, u64)>) {
        let pin = crossbeam_epoch::pin();
        for (db, hash) in keys.filter(|(_, hash)| *hash != 0) {
            engine.keyspace.prefetch_entry(db, hash, &pin);
        }
    }

    /// Decides whether a command takes the short way, and then prefetches its bucket.
    fn classify(
        &mut self,
        engine: &Engine,
        db: usize,
        input: &[u8],
        pos: usize,
        first: usize,
    ) -> (u16, u64) {
        let [name, rest @ ..] = &self.spans[first..] else { return (NO_COMMAND, 0) };
        let (name, key, argc) = (*name, rest.first().copied(), rest.len() + 1);
        let Some(id) = name.bytes(input).and_then(|name| engine.table.find(name)) else {
            return (NO_COMMAND, 0);
        };
        let cmd = engine.table.get(id);
        if !cmd.arity_fits(argc) {
            return (NO_COMMAND, 0);
        }
        if !cmd.one_key {
            let keys = match cmd.many_keys {
                // As many as there are; a last key counted from the end is the last argument.
                Some((last, step)) if last < 0 => Some((1..argc).step_by(step)),
                Some((last, step)) => Some((1..argc.min(2 + last as usize)).step_by(step)),
                None if cmd.counted_keys => {
                    let count = self.spans.get(first + 2).and_then(|n| n.bytes(input));
                    let count = count.and_then(stdx::num::parse_i64).unwrap_or(0);
                    let count = usize::try_from(count).unwrap_or(0).min(COUNTED_MAX);
                    Some((3..argc.min(3 + count)).step_by(1))
                }
                None => None,
            };
            for at in keys.into_iter().flatten() {
                if let Some(key) = self.spans[first + at].bytes(input) {
                    let hash = stdx::hash::hash64(key);
                    engine.keyspace.prefetch_bucket(db, hash);
                    self.hashes.push(hash);
                }
            }
            return (NO_COMMAND, 0);
        }
        let Some(key) = key.and_then(|k| k.bytes(input)) else { return (NO_COMMAND, 0) };
        let hash = stdx::hash::hash64(key);
        engine.keyspace.prefetch_bucket(db, hash);
        if !cmd.light {
            return (NO_COMMAND, hash);
        }
        if let Some(shape) = input.get(pos..).and_then(Shape::of)
            && shape.argc() == argc
        {
            self.shape = Some((shape, id));
        }
        (id, hash)
    }

    /// Executes the parsed group. Returns what to do instead of going on, if anything.
    fn run_group(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        input: &[u8],
        consumed: &mut usize,
        out: &mut Out,
    ) -> Option<Next> {
        let group = std::mem::take(&mut self.group);
        let spans = std::mem::take(&mut self.spans);
        let mut owned = std::mem::take(&mut self.owned);
        if group.len() > 1 || !self.hashes.is_empty() {
            let pin = crossbeam_epoch::pin();
            let single = group.iter().map(|p| p.hash).filter(|hash| *hash != 0);
            for hash in single.chain(self.hashes.iter().copied()) {
                engine.keyspace.prefetch_entry(session.db, hash, &pin);
            }
        }
        let mut next = None;
        let mut i = 0;
        self.since = None;
        while i < group.len() {
            if session.closing {
                // What comes behind QUIT is not looked at any more.
                next = Some(Next::Close);
                break;
            }
            // A command that is looked at for the top keys is executed by itself.
            let ahead = self.probe.ahead(group.len() - i);
            let until = i + ahead.max(1);
            let p = &group[i];
            let shot = (ahead == 0).then(|| {
                let spans = &spans[p.first as usize..][..p.argc as usize];
                self.aim(engine, &Args::new(input, spans, &mut owned), out.len())
            });
            let light =
                self.run_light(engine, session, input, &group[i..until], &spans, &mut owned, out);
            if light > 0 {
                let start = self.mono;
                self.mono = engine.clock.monotonic_ns();
                self.since = Some(self.mono);
                self.time_went_by(self.mono.saturating_sub(start));
                self.account(
                    engine,
                    session,
                    &group[i..i + light],
                    self.mono.saturating_sub(start),
                );
                match shot {
                    Some(shot) => {
                        let spans = &spans[p.first as usize..][..p.argc as usize];
                        let args = Args::new(input, spans, &mut owned);
                        let cmd = engine.table.get(p.id);
                        self.shoot(engine, Some((cmd, session.db, &args)), shot, out.len());
                    }
                    None => self.probe.pass(light),
                }
                i += light;
                *consumed = group[i - 1].end;
                continue;
            }
            let spans = &spans[p.first as usize..][..p.argc as usize];
            let mut args = Args::new(input, spans, &mut owned);
            let mark = out.mark();
            let mut reply = Reply::new(out, session.proto);
            *consumed = p.end;
            i += 1;
            match self.dispatch(engine, session, &mut args, &mut reply) {
                Done::Yes => {}
                Done::Wait => {
                    session.deferred = Some(args.to_vecs(0));
                    next = Some(Next::Wait);
                    break;
                }
                Done::Block => {
                    next = Some(Next::Block);
                    break;
                }
            }
            match shot {
                Some(shot) => {
                    // An unknown command has no number, and no keys.
                    let id = session.client.last_cmd.load(Relaxed).wrapping_sub(1);
                    let cmd = engine.table.all().get(usize::from(id));
                    // What is queued for a transaction is looked at when it runs.
                    let cmd = cmd.filter(|_| session.multi.is_none());
                    let command = cmd.map(|c| (c, session.db, &args));
                    self.shoot(engine, command, shot, out.len());
                }
                None => self.probe.pass(1),
            }
            self.after(session, out, mark);
            if out.len() >= OUTPUT_PAUSE && i < group.len() {
                next = Some(Next::Flush);
                break;
            }
        }
        self.collect();
        (self.group, self.spans, self.owned) = (group, spans, owned);
        next
    }

    /// Executes the light commands at the start of a group, as long as nothing needs attention.
    /// Returns how many.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the scratch buffers are lent, not owned, here")]
    fn run_light(
        &mut self,
        engine: &Engine,
        session: &Session,
        input: &[u8],
        group: &[Parse],
        spans: &[Span],
        owned: &mut [Vec<u8>],
        out: &mut Out,
    ) -> usize {
        if engine.attention.get() != 0
            || !session.authenticated
            || !session.user.is_free()
            || session.reply != ReplyMode::On
            || session.attention
            || session.multi.is_some()
        {
            return 0;
        }
        self.cx.client = session.client.id;
        self.cx.no_touch = session.no_touch;
        let mut reply = Reply::new(out, session.proto);
        let mut db = Db::unlocked(&engine.keyspace, session.db, &mut self.cx);
        if let [first, second, ..] = group
            && first.hash == second.hash
            && first.id != NO_COMMAND
            && let part @ 1.. = engine.table.get(first.id).part
        {
            prefetch_parts(&mut db, input, group, spans, owned, part);
        }
        let (mut last, mut run) = (NO_COMMAND, None);
        let mut n = 0;
        for p in group {
            if p.id != last {
                last = p.id;
                run = match (p.id != NO_COMMAND).then(|| engine.table.get(p.id).run) {
                    Some(Run::Data(run)) => Some(run),
                    _ => None,
                };
            }
            let Some(run) = run else { break };
            let spans = &spans[p.first as usize..][..p.argc as usize];
            let mut args = Args::new(input, spans, owned);
            db.move_to(Key { bytes: &args[1], hash: p.hash });
            let outcome = run(&mut db, &mut args, &mut reply);
            let own = Own { db: session.db, cmd: engine.table.get(p.id), args: &args };
            commit_own(engine, &mut self.pubsub, &mut db, &own);
            n += 1;
            if let Err(fail) = outcome {
                bump(&self.worker.stats.commands[usize::from(p.id)].failed, 1);
                bump(&self.worker.stats.error_replies, 1);
                engine.count_error(&fail.0);
                reply.error(fail.0.as_bytes());
            }
            if !db.cx.ready.is_empty() {
                // Who waits for what this command has changed comes before the next command, and
                // before anybody who comes now.
                db.into_hold();
                self.serve_ready(engine);
                engine.keyspace.release(&mut self.cx);
                self.serve_ready(engine);
                break;
            }
        }
        n
    }

    /// Shares the time of a run of light commands among them.
    #[inline]
    fn account(&mut self, engine: &Engine, session: &Session, run: &[Parse], nanos: u64) {
        let family = engine.table.get(run[0].id).row.group;
        let waited = self.worker.costs.waited(family);
        let tracking = self.hot.latency_tracking;
        let stats = &self.worker.stats;
        let n = run.len() as u64;
        let mut i = 0;
        while i < run.len() {
            // Usually a pipeline repeats one command: then this is one step.
            let same = run[i..].iter().take_while(|p| p.id == run[i].id).count();
            let share = nanos * same as u64 / n;
            stats.commands[usize::from(run[i].id)].called(same as u64, share, tracking);
            if self.costs.on {
                let family = engine.table.get(run[i].id).row.group;
                let cost = (same as u64, share, waited * same as u64 / n);
                self.costs.executed(&self.worker.costs, family, cost);
            }
            i += same;
        }
        bump(&stats.command_nanos, nanos);
        self.count_command(&session.client, n);
        session.client.last_cmd.store(run[run.len() - 1].id + 1, Relaxed);
    }

    /// Enforces `maxmemory-clients` when what `client` holds may have changed. Returns whether it is
    /// among those that have to go; all others are told to.
    #[inline]
    pub fn evict_clients(&mut self, engine: &Engine, client: &Client) -> bool {
        // The batch may have been CONFIG SET.
        self.refresh(&engine.config);
        if self.hot.clients_max == 0 {
            return false;
        }
        let over = engine.clients.account(client) > self.hot.clients_max;
        (over || self.recount_clients) && self.evict_largest(engine, client)
    }

    #[cold]
    fn evict_largest(&mut self, engine: &Engine, client: &Client) -> bool {
        self.recount_clients = false;
        let evicted = engine.clients.evict(self.hot.clients_max);
        for c in &evicted {
            bump(&self.worker.stats.evicted_clients, 1);
            crate::log!(
                engine.log,
                Notice,
                "Evicting client: id={} addr={}",
                c.id,
                c.endpoint.peer
            );
            if c.id != client.id {
                engine.post(c.thread, Message::Close(c.id));
            }
        }
        evicted.iter().any(|c| c.id == client.id)
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

    /// Applies CLIENT REPLY to what a command has written.
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
        // What a command publishes to its own connection comes behind its reply.
        self.take_outbox(session, out);
    }

    /// Periodic work, some times per second: active expiry, resizing, for this thread's part of
    /// the shards. Takes at most `budget_ns`. Returns whether keys are still due.
    pub fn cron(&mut self, engine: &Engine, threads: usize, budget_ns: u64) -> bool {
        self.refresh(&engine.config);
        self.sync_clock(engine);
        self.probe.tick(self.mono);
        engine.hotkeys.tick(engine);
        if self.index == 0 {
            persistence::upkeep(engine, self);
            if engine.save_owed.load(Relaxed) {
                self.save_after_flush(engine);
            }
            journal::upkeep(engine, self);
        }
        // What is loaded does not expire: records that are yet to come may say otherwise.
        let loading = engine.attention.get() & Attention::LOADING != 0;
        if loading || engine.cron_paused.load(Relaxed) {
            return false;
        }
        // What expires is nobody's doing.
        self.cx.client = 0;
        tracking::upkeep(engine, &mut self.pubsub);
        if self.index == 0 {
            engine.migrations.upkeep(self.cx.now);
        }
        let start = engine.clock.monotonic_ns();
        let paused = engine.check_pause();
        let active = engine.active_expire.load(Relaxed) && !paused;
        // After the limit was lowered, commands may be too few to bring memory below it.
        let mut left = !paused && self.make_room(engine) && self.is_over_memory();
        let (mut looked, mut expired) = (0, 0);
        while looked < SHARDS.div_ceil(threads) {
            let s = self.sweep;
            self.sweep += threads;
            if self.sweep >= SHARDS {
                self.sweep = self.index % threads.max(1);
            }
            looked += 1;
            for index in 0..engine.keyspace.databases() {
                let mut db = Db::lock_shard(&engine.keyspace, index, s, &mut self.cx);
                db.upkeep(s);
                if active && db.has_due(s) {
                    // A bounded number under one hold, so that nobody waits long for the shard.
                    let n = db.expire_due(s, 64);
                    expired += n;
                    left |= n >= 64;
                    commit(engine, &mut self.pubsub, &mut db);
                }
            }
            if !self.cx.ready.is_empty() {
                self.serve_ready(engine);
            }
            if engine.clock.monotonic_ns() - start > budget_ns {
                // Out of time by looking alone (a busy machine): the rest has until the next turn.
                if expired > 0 {
                    self.cx.counters.expired_time_cap_reached += 1;
                    left = true;
                }
                break;
            }
        }
        self.collect();
        self.send_mail(engine);
        let nanos = engine.clock.monotonic_ns() - start;
        bump(&self.worker.stats.expire_cycle_nanos, nanos);
        bump(&self.worker.stats.cron_nanos, nanos);
        if nanos >= self.hot.latency_ns {
            engine.latency.record("expire-cycle", nanos, self.cx.now);
        }
        left
    }

    /// Does what other threads have asked for, and leaves their other messages where they are: for a
    /// command that waits for such a job.
    pub(crate) fn run_jobs(&mut self, engine: &Engine) {
        for job in self.worker.mailbox.take_jobs() {
            job.run(engine, self);
        }
    }

    /// Empties all databases and forgets all libraries: what is loaded takes their place.
    pub(crate) fn flush_all(&mut self, engine: &Engine) {
        for index in 0..engine.keyspace.databases() {
            let mut db = Db::lock_all(&engine.keyspace, index, &mut self.cx);
            db.flush(Flush::Now);
            commit(engine, &mut self.pubsub, &mut db);
        }
        engine.clear_functions();
    }

    /// Runs one command given as words, for tests and for embedding. Never waits.
    pub fn call(&mut self, engine: &Engine, session: &mut Session, words: &[&[u8]]) -> Out {
        self.refresh(&engine.config);
        self.sync_clock(engine);
        let mut out = Out::default();
        let mut owned: Vec<Vec<u8>> = words.iter().map(|w| w.to_vec()).collect();
        let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
        let mut args = Args::new(&[], &spans, &mut owned);
        let mark = out.mark();
        let mut reply = Reply::new(&mut out, session.proto);
        self.since = None;
        self.dispatch(engine, session, &mut args, &mut reply);
        self.after(session, &mut out, mark);
        self.send_mail(engine);
        out
    }

    /// All sections of INFO, for an observer inside the process.
    pub fn info(&mut self, engine: &Engine) -> String {
        self.sync_clock(engine);
        let session = &mut Session::inner(engine, self.index);
        crate::server::info::everything(&mut Call { engine, thread: self, session })
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

/// Hints the processor to load the members or fields that commands about one value are about: they
/// are argument `part` of the commands at the start of `group` that share their key.
#[inline(never)]
fn prefetch_parts(
    db: &mut Db<'_>,
    input: &[u8],
    group: &[Parse],
    spans: &[Span],
    owned: &mut [Vec<u8>],
    part: u8,
) {
    let (first, part) = (&group[0], usize::from(part));
    let mut parts = [Named { name: &[], hash: 0 }; GROUP];
    let mut n = 0;
    for p in group.iter().take_while(|p| p.hash == first.hash).take(GROUP) {
        if part < p.argc as usize
            && let Some(name) = spans[p.first as usize + part].bytes(input)
        {
            parts[n] = Named { name, hash: stdx::hash::hash64(name) };
            n += 1;
        }
    }
    let spans = &spans[first.first as usize..][..first.argc as usize];
    let args = Args::new(input, spans, owned);
    let key = Key { bytes: &args[1], hash: first.hash };
    db.move_to(key);
    db.prefetch_parts(key, &parts[..n]);
}

/// Why parsing of a group ended.
enum Stop {
    /// The group is full, or something must be answered before going on.
    Full,
    /// Up to this offset the input is parsed; then this is next.
    At(usize, Next),
}
