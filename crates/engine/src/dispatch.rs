//! One command: lookup, the checks that come before it, its run, and the commit of its effects.
//!
//! The order of the checks is Redis's (`processCommand`), because clients see it in the errors.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use commands::Fail;
use commands::fail::quoted;
use commands::row::{Flags, Group, Row, Scope, Traits};
use config::Id;
use resp::{Args, Reply};
use store::{Db, Key, ShardSet};

use crate::acl;
use crate::blocking::{self, register};
use crate::clients::Client;
use crate::engine::{Attention, Engine, Worker};
use crate::journal::{self, Own};
use crate::persistence;
use crate::pubsub::{self, Local};
use crate::scripting;
use crate::session::{ReplyMode, Session};
use crate::stats::bump;
use crate::table::{Call, Cmd, Run};
use crate::thread::Thread;
use crate::tracking;

const OOM: Fail = Fail::text("OOM command not allowed when used memory > 'maxmemory'.");
const NOAUTH: Fail = Fail::text("NOAUTH Authentication required.");
const LOADING: Fail = Fail::text("LOADING Apus is loading the dataset in memory");

/// Keys that one command evicts before it looks at the clock, as in Redis.
const EVICT_FEWEST: u32 = 16;

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// It was answered.
    Yes,
    /// It must wait until a pause is over; nothing was written.
    Wait,
    /// It waits for one of its keys; nothing was written.
    Block,
}

/// The command that `args` call: its number, or the refusal.
pub(crate) fn lookup(engine: &Engine, args: &Args<'_>) -> Result<u16, Fail> {
    let name = &args[0];
    let Some(top) = engine.table.find(name) else {
        return Err(unknown(args));
    };
    specific(engine, top, args)
}

/// The same where the number of the top-level command is known.
#[inline]
fn specific(engine: &Engine, top: u16, args: &Args<'_>) -> Result<u16, Fail> {
    let cmd = engine.table.get(top);
    if cmd.row.subcommands.is_empty() {
        return Ok(top);
    }
    subcommand(engine, top, args)
}

fn subcommand(engine: &Engine, top: u16, args: &Args<'_>) -> Result<u16, Fail> {
    // Alone, a container's arity refuses it; COMMAND's does not.
    let Some(sub) = args.get(1) else { return Ok(top) };
    engine.table.find_sub(top, sub).ok_or_else(|| {
        let sub = quoted(&sub[..sub.len().min(128)]);
        // As it was called: the command may have been renamed.
        let name = String::from_utf8_lossy(&args[0]).to_ascii_uppercase();
        Fail::new(format!("ERR unknown subcommand '{sub}'. Try {name} HELP."))
    })
}

/// Number of the command called `name`, or of its subcommand if it has any.
pub(crate) fn find(engine: &Engine, name: &[u8], sub: Option<&[u8]>) -> Option<u16> {
    let top = engine.table.find(name)?;
    match sub {
        Some(sub) if !engine.table.subs(top).is_empty() => engine.table.find_sub(top, sub),
        _ => Some(top),
    }
}

#[cold]
fn unknown(args: &Args<'_>) -> Fail {
    let name = &args[0];
    let mut text = format!(
        "ERR unknown command '{}', with args beginning with: ",
        quoted(&name[..name.len().min(128)])
    );
    // Redis counts quotes and blanks towards the 128, and cuts an argument to the remaining length.
    let mut used = 0usize;
    for a in args.iter_from(1) {
        if used >= 128 {
            break;
        }
        let a = &a[..a.len().min(128 - used)];
        used += a.split(|b| *b == 0).next().map_or(0, <[u8]>::len) + 3;
        text.push_str(&format!("'{}' ", quoted(a)));
    }
    Fail::new(text)
}

/// Whether SCRIPT KILL and its like wait until the scripts that run are slow or have ended.
#[cold]
fn waits_for_script(engine: &Engine, session: &mut Session) -> bool {
    if session.multi.is_some() {
        return false;
    }
    if session.asked == 0 {
        session.asked = engine.clock.monotonic_ns();
    }
    let waits = engine.scripts.running.is_undecided(session.asked);
    if !waits {
        session.asked = 0;
    }
    waits
}

/// Answers an error, and counts it among the replies and by its kind.
pub(crate) fn answer_error(worker: &Worker, engine: &Engine, fail: &Fail, reply: &mut Reply<'_>) {
    engine.count_error(&fail.0);
    bump(&worker.stats.error_replies, 1);
    reply.error(fail.bytes());
}

impl Thread {
    /// Runs one command with all checks, and times it.
    pub(crate) fn dispatch(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        args: &mut Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Done {
        let id = lookup(engine, args);
        self.dispatch_found(engine, session, id, args, reply)
    }

    /// The same for a command whose name has been looked up: `top` is its number, its container's for
    /// a subcommand.
    #[inline]
    pub(crate) fn dispatch_known(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        top: u16,
        args: &mut Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Done {
        let id = specific(engine, top, args);
        self.dispatch_found(engine, session, id, args, reply)
    }

    fn dispatch_found(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: Result<u16, Fail>,
        args: &mut Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Done {
        // A command before this one in the batch may have been CONFIG SET.
        self.refresh(&engine.config);
        let id = match id {
            Ok(id) => id,
            Err(fail) => {
                session.client.last_cmd.store(0, Relaxed);
                if args.is(0, "post") || args.is(0, "host:") {
                    self.cross_protocol(engine, session);
                } else {
                    self.refuse(engine, session, None, &fail, reply);
                }
                return Done::Yes;
            }
        };
        // Before it runs: CLIENT LIST shows itself.
        session.client.last_cmd.store(id + 1, Relaxed);
        let cmd = engine.table.get(id);
        if let Err(fail) = self.permit(engine, session, id, args) {
            self.refuse(engine, session, Some(id), &fail, reply);
            return Done::Yes;
        }
        if session.tracking.is_some() {
            tracking::limit(engine, &mut self.pubsub, tracking::FORGET_AT_ONCE);
        }
        if session.reply == ReplyMode::On {
            // Clients are notified of the keys evicted for this command before its reply.
            self.take_outbox(session, reply.out());
        }
        if engine.attention.get() & Attention::PAUSE != 0 && paused(engine, session, cmd, args) {
            return Done::Wait;
        }
        if cmd.row.group == Group::Scripting
            && cmd.row.flags.has(Flags::ALLOW_BUSY)
            && waits_for_script(engine, session)
        {
            return Done::Wait;
        }
        if engine.attention.get() & Attention::MIGRATE != 0
            && engine.waits_for_move(session, cmd, args)
        {
            return Done::Wait;
        }
        if engine.attention.get() & Attention::LONG != 0
            && engine.waits_for_shards(session, cmd, args)
        {
            return Done::Wait;
        }
        if let Some(multi) = &mut session.multi
            && !cmd.traits.has(Traits::IMMEDIATE)
        {
            let flags = match cmd.row.group {
                Group::Scripting => scripting::flags_of(engine, cmd, args),
                _ => cmd.row.flags,
            };
            let bytes = multi.queue(id, cmd, flags, args) as u64;
            session.client.multi.fetch_add(1, Relaxed);
            bump(&session.client.multi_bytes, bytes);
            reply.simple("QUEUED");
            self.count_command(&session.client, 1);
            return Done::Yes;
        }
        let done = self.call_command(engine, session, id, args, reply);
        if session.caching && session.multi.is_none() && !cmd.traits.has(Traits::CONNECTIONS) {
            session.caching = false;
        }
        if !self.cx.ready.is_empty() {
            self.serve_ready(engine);
            self.since = None;
        }
        done
    }

    /// Runs one command that may run: shows it to monitors, times it and counts it.
    pub(crate) fn call_command(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: u16,
        args: &mut Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Done {
        let cmd = engine.table.get(id);
        let hidden = Flags::SKIP_MONITOR.or(Flags::ADMIN);
        if engine.attention.get() & Attention::MONITOR != 0 && !cmd.row.flags.has_any(hidden) {
            engine.monitors.feed(engine, session, self.wall_us(engine), args);
            self.pubsub.note_crowd(engine);
        }
        // The time of the checks before a command is not its time.
        let since = self.since.take().filter(|_| engine.attention.get() == 0);
        let start = since.unwrap_or_else(|| engine.clock.monotonic_ns());
        self.mono = start;
        self.time_went_by();
        let errors = reply.errors();
        let failed = self.answer(engine, session, id, args, reply);
        self.mono = engine.clock.monotonic_ns();
        let nanos = self.mono.saturating_sub(start);
        self.time_went_by();
        if let Some(w) = &session.blocked {
            // It counts when it is answered.
            blocking::spent(w, nanos);
            return Done::Block;
        }
        self.since = Some(self.mono);
        // The errors of a transaction's commands are theirs.
        if failed || reply.errors() != errors && !cmd.traits.has(Traits::EXEC) {
            bump(&self.worker.stats.commands[usize::from(id)].failed, 1);
        }
        if self.count_call(engine, &session.client, id, nanos) {
            engine.slowlog.record(engine, &session.client, nanos, args);
        }
        Done::Yes
    }

    /// Runs a command and answers its error, if it is one. Returns whether it was.
    #[inline]
    pub(crate) fn answer(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: u16,
        args: &mut Args<'_>,
        reply: &mut Reply<'_>,
    ) -> bool {
        let Err(fail) = self.execute(engine, session, id, args, reply) else { return false };
        if let Some(remark) = self.cx.remark.take() {
            crate::log!(engine.log, Warning, "{}", remark);
        }
        answer_error(&self.worker, engine, &fail, reply);
        true
    }

    /// Counts one execution. Returns whether it is one for the slow log.
    pub(crate) fn count_call(
        &mut self,
        engine: &Engine,
        client: &Client,
        id: u16,
        nanos: u64,
    ) -> bool {
        let cmd = engine.table.get(id);
        let stats = &self.worker.stats.commands[usize::from(id)];
        stats.called(1, nanos, self.hot.latency_tracking);
        let waited = self.worker.costs.waited(cmd.row.group);
        if self.costs.on {
            self.costs.executed(&self.worker.costs, cmd.row.group, (1, nanos, waited));
        }
        bump(&self.worker.stats.command_nanos, nanos);
        self.count_command(client, 1);
        if nanos >= self.hot.latency_ns {
            let event = if cmd.row.flags.has(Flags::FAST) { "fast-command" } else { "command" };
            engine.latency.record(event, nanos, self.cx.now);
        }
        nanos >= self.hot.slow_ns && !cmd.row.flags.has(Flags::SKIP_SLOWLOG)
    }

    /// The checks before a command runs.
    fn permit(
        &mut self,
        engine: &Engine,
        session: &Session,
        id: u16,
        args: &Args<'_>,
    ) -> Result<(), Fail> {
        let cmd = engine.table.get(id);
        let flags = cmd.row.flags;
        if !cmd.row.arity_fits(args.len()) {
            return Err(Fail::arity(cmd.row.name));
        }
        if !flags.has(Flags::NO_AUTH) && session.needs_auth(engine) {
            return Err(NOAUTH);
        }
        if flags.has(Flags::NO_MULTI) && session.multi.is_some() {
            return Err(Fail::text("ERR Command not allowed inside a transaction"));
        }
        if flags.has(Flags::PROTECTED) {
            crate::server::debug::allowed(engine, session)?;
        }
        if let Err(denied) = acl::check(engine, &session.user, id, args) {
            let context = acl::Context::of(session);
            acl::note(engine, &session.user, &session.client, context, (id, args), denied);
            return Err(denied.fail(&session.user, cmd.row));
        }
        let attention = engine.attention.get();
        // While everything or all writes are paused, nothing is evicted, and no command is refused.
        // Nothing is evicted, either, for a command that can end a script, or while a script is slow: the
        // script may have locked the shards that eviction would wait for.
        let evicts = attention & Attention::BUSY == 0
            && !flags.has(Flags::ALLOW_BUSY)
            && (attention & Attention::PAUSE == 0 || !engine.check_pause());
        self.short_of_memory = false;
        if attention & Attention::MAXMEMORY != 0 && evicts {
            let free = self.make_room(engine);
            self.short_of_memory = !free;
            // A queued command takes memory, whatever it does.
            let queues = session.multi.is_some() && !cmd.traits.has(Traits::IMMEDIATE);
            if !free && (queues || flags_with_queue(session, cmd).has(Flags::DENYOOM)) {
                return Err(OOM);
            }
        }
        let writes = flags_with_queue(session, cmd).has(Flags::WRITE);
        if (writes || cmd.traits.has(Traits::NEEDS_DISK))
            && let Some(fail) = engine.refuses_writes()
        {
            return Err(fail);
        }
        if writes && let Some(fail) = engine.lacks_replicas() {
            return Err(fail);
        }
        if session.only_subscribes() && !cmd.traits.has(Traits::WHILE_SUBSCRIBED) {
            return Err(subscribed(cmd.row));
        }
        if attention & Attention::LOADING != 0 && !flags.has(Flags::LOADING) {
            return Err(LOADING);
        }
        if attention & Attention::BUSY != 0 && !flags.has(Flags::ALLOW_BUSY) {
            return engine.scripts.running.refusal().map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Runs the command's function under its locks, and commits.
    #[inline]
    pub(crate) fn execute(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: u16,
        args: &mut Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<(), Fail> {
        let cmd = engine.table.get(id);
        // Nothing waits inside a transaction.
        self.cx.may_block = !self.in_transaction;
        self.cx.client = session.client.id;
        let run = match cmd.run {
            Run::Session(run) => {
                if session.tracking.is_some()
                    && cmd.row.flags.has(Flags::READONLY)
                    // A script's keys are those its commands read.
                    && !cmd.row.flags.has(Flags::NO_MANDATORY_KEYS)
                {
                    // It locks the keys that it reads itself, later.
                    tracking::remember(engine, &mut self.pubsub, session, cmd, args);
                }
                let outcome = run(&mut Call { engine, thread: self, session }, args, reply);
                if let Some(block) = self.cx.block.take() {
                    self.begin_wait(engine, session, id, block, args);
                }
                return outcome;
            }
            Run::Data(run) => run,
        };
        if cmd.traits.has(Traits::WALKS)
            && self.cx.may_block
            && !self.whole
            && self.walk_keys(engine, session, id, args)
        {
            return Ok(());
        }
        if cmd.traits.has_any(Traits::LONG.or(Traits::MEETS).or(Traits::STEPS))
            && self.cx.may_block
            && !self.whole
            && self.goes_aside(engine, session, id, args)
        {
            return Ok(());
        }
        self.cx.no_touch = session.no_touch;
        if cmd.row.scope == Scope::Patterns {
            self.cx.reads_all = acl::reads_all(engine, &session.user, id, args);
        }
        // A pause stops everything that changes data, expiry included.
        self.cx.keep_expired =
            engine.attention.get() & Attention::PAUSE != 0 && engine.check_pause();
        self.cx.trust_checksums = engine.trust_checksums.load(Relaxed);
        let ks = &engine.keyspace;
        let index = session.db;
        let mut keys = ShardSet::default();
        let mut db = match cmd.row.scope_of(&*args) {
            Scope::Keys if cmd.one_key => {
                let key = Key::new(&args[1]);
                // The pointer is compared, not read, so it may outlive the borrow of `args`.
                Db::lock_one(ks, index, key, &mut self.cx)
            }
            // Where there are no locks, it makes no difference which shards are locked.
            Scope::Keys if ks.is_single() => Db::lock_all(ks, index, &mut self.cx),
            Scope::Keys => {
                // Without valid keys the command refuses before it looks at any.
                match shards_of(cmd, &*args, &mut keys) {
                    Ok(_) => Db::lock_set(ks, index, keys, &mut self.cx),
                    Err(_) => Db::unlocked(ks, index, &mut self.cx),
                }
            }
            Scope::All | Scope::Patterns => Db::lock_all(ks, index, &mut self.cx),
            Scope::Each | Scope::None => Db::unlocked(ks, index, &mut self.cx),
        };
        let outcome = run(&mut db, args, reply);
        commit_own(engine, &mut self.pubsub, &mut db, &Own { db: index, cmd, args });
        if session.tracking.is_some() && cmd.row.flags.has(Flags::READONLY) {
            tracking::remember(engine, &mut self.pubsub, session, cmd, args);
        }
        if db.cx.block.is_some() {
            // Before the shards are unlocked: a change after this look finds it waiting.
            register(engine, session, id, &mut db, args);
        }
        if !db.cx.ready.is_empty() && !self.in_transaction {
            // Before the shards are unlocked, so that no later command is served first.
            db.into_hold();
            self.serve_ready(engine);
            engine.keyspace.release(&mut self.cx);
        } else {
            drop(db);
        }
        self.cx.keep_expired = false;
        if cmd.row.scope == Scope::All && cmd.traits.has(Traits::SAVES_AFTER) && outcome.is_ok() {
            self.save_after_flush(engine);
        }
        if !self.cx.overdue.is_empty() {
            self.remove_overdue(engine);
        }
        // A script's counters are collected at its end.
        if !self.cx.in_script {
            self.collect();
        }
        outcome
    }

    /// FLUSHALL leaves an empty snapshot where snapshots are configured, as Redis does: the deleted data
    /// does not come back with a restart.
    #[cold]
    pub(crate) fn save_after_flush(&mut self, engine: &Engine) {
        let loading = engine.attention.get() & Attention::LOADING != 0;
        if loading || engine.config.save_points().is_empty() {
            return;
        }
        // A snapshot that is being taken in the background contains the deleted data: another follows it.
        let busy = engine.persistence.is_busy();
        engine.save_owed.store(busy, Relaxed);
        if !busy {
            // The log has the reason if it fails, and Redis does not report it to the client either.
            let _ = persistence::save(engine, self, &persistence::path(engine));
        }
    }

    /// Removes the expired keys that a walk over the shards came across.
    #[cold]
    fn remove_overdue(&mut self, engine: &Engine) {
        for (index, key) in std::mem::take(&mut self.cx.overdue) {
            let key = Key::new(&key);
            let mut db = Db::lock_one(&engine.keyspace, index, key, &mut self.cx);
            // Looking at it removes it, unless it has been set again.
            db.peek(key);
            commit(engine, &mut self.pubsub, &mut db);
        }
    }

    /// Counts and answers a command that was not run.
    #[cold]
    pub(crate) fn refuse(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: Option<u16>,
        fail: &Fail,
        reply: &mut Reply<'_>,
    ) {
        if let Some(multi) = &mut session.multi {
            if id.is_some_and(|id| engine.table.get(id).traits.has(Traits::EXEC)) {
                // An EXEC that may not run ends its transaction.
                let text = format!("EXECABORT Transaction discarded because of: {}", fail.0);
                self.discard(engine, session);
                return self.refuse(engine, session, id, &Fail::new(text), reply);
            }
            multi.failed = true;
            session.client.spoiled.store(true, Relaxed);
        }
        if let Some(id) = id {
            bump(&self.worker.stats.commands[usize::from(id)].rejected, 1);
        }
        answer_error(&self.worker, engine, fail, reply);
    }

    /// A browser was made to send an HTTP request here (cross-protocol scripting): its headers
    /// would be refused one by one, but its body could be commands.
    #[cold]
    fn cross_protocol(&self, engine: &Engine, session: &mut Session) {
        static LOGGED_MS: AtomicI64 = AtomicI64::new(i64::MIN);
        session.closing = true;
        let (now, last) = (self.cx.now, LOGGED_MS.load(Relaxed));
        // Once a minute, or the log could be flooded from outside.
        if now.saturating_sub(last) < 60_000 {
            return;
        }
        LOGGED_MS.store(now, Relaxed);
        crate::log!(
            engine.log,
            Warning,
            "An HTTP request arrived instead of commands, maybe an attack through somebody's \
             browser; closed the connection from {}",
            session.client.endpoint.peer
        );
    }

    /// Whether more memory is in use than `maxmemory`.
    pub(crate) fn is_over_memory(&self) -> bool {
        let max = self.hot.maxmemory;
        // The memory that does not count is looked at only where it matters: this runs before every
        // write.
        max != 0
            && stdx::mem::used() > max
            && stdx::mem::used().saturating_sub(stdx::mem::apart()) > max
    }

    /// Evicts until memory is below `maxmemory`, for a bounded time. Returns whether commands that
    /// need memory may run: it is below, or will be when eviction has had more time. False when the
    /// policy has nothing to evict (no key has a deadline under a volatile one).
    pub(crate) fn make_room(&mut self, engine: &Engine) -> bool {
        let max = self.hot.maxmemory;
        if !self.is_over_memory() {
            return true;
        }
        let samples = engine.config.int(Id::MaxmemorySamples).max(1) as usize;
        // No client did this, so all clients are notified.
        self.cx.client = 0;
        let start = engine.clock.monotonic_ns();
        let (mut more, mut evicted) = (true, 0u32);
        // Invalidations of an evicted key take memory, too, until they have been sent, and so do buffers
        // that are kept for the next time: neither must cause further evictions.
        let mut told = engine.outbox_bytes();
        // Nor does memory that has limits of its own: topics, HTTP.
        let counted = |told: u64| stdx::mem::used().saturating_sub(told + stdx::mem::apart());
        while counted(told) > max {
            let policy = self.hot.policy;
            let pubsub = &mut self.pubsub;
            let commit = |db: &mut Db<'_>| {
                let before = stdx::mem::used();
                commit(engine, pubsub, db);
                told += stdx::mem::used().saturating_sub(before);
            };
            more = self.evicted.one(&engine.keyspace, policy, samples, &mut self.cx, commit);
            // The memory that is being freed in the background will be enough, unless very much is
            // missing.
            if engine.keyspace.lazy_counts().0 > 0 && counted(told) < max.saturating_add(max / 8) {
                break;
            }
            if !more {
                break;
            }
            // The next command or the periodic work goes on with the eviction.
            evicted += 1;
            if evicted.is_multiple_of(EVICT_FEWEST)
                && engine.clock.monotonic_ns() - start > self.hot.evict_ns
            {
                break;
            }
        }
        self.collect();
        let nanos = engine.clock.monotonic_ns() - start;
        bump(&self.worker.stats.total_eviction_exceeded_nanos, nanos);
        if nanos >= self.hot.latency_ns {
            engine.latency.record("eviction-cycle", nanos, self.cx.now);
        }
        // Values that are being freed in the background make room soon.
        more || counted(told) <= max || engine.keyspace.lazy_counts().0 > 0
    }
}

/// Turns a command's effects into their consequences, while its shards are still locked: the one place
/// for journal, replication, events, waiters and invalidations as they come.
#[inline(always)]
pub(crate) fn commit(engine: &Engine, local: &mut Local, db: &mut Db<'_>) {
    let effects = &mut db.cx.effects;
    if effects.observed {
        commit_observed(engine, local, db, None);
    } else if effects.dirty != 0 {
        db.cx.counters.dirty += effects.dirty;
        effects.dirty = 0;
    }
}

/// [`commit`] for a command that a client has called: its arguments are its journal form, unless the
/// effects state another.
#[inline(always)]
pub(crate) fn commit_own(engine: &Engine, local: &mut Local, db: &mut Db<'_>, own: &Own<'_>) {
    let effects = &mut db.cx.effects;
    if effects.observed {
        commit_observed(engine, local, db, Some(own));
    } else if effects.dirty != 0 {
        db.cx.counters.dirty += effects.dirty;
        effects.dirty = 0;
    }
}

#[cold]
fn subscribed(row: &Row) -> Fail {
    Fail::new(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
         allowed in this context",
        row.name
    ))
}

#[inline(never)]
fn commit_observed(engine: &Engine, local: &mut Local, db: &mut Db<'_>, own: Option<&Own<'_>>) {
    db.cx.counters.dirty += db.cx.effects.dirty;
    if engine.journal.is_on()
        && let Some(lane) = local.lane()
    {
        journal::note(engine, lane, db, own);
    }
    if !db.cx.effects.events.is_empty() {
        db.settle();
        let by = db.cx.client;
        for event in &db.cx.effects.events {
            if event.is_change() {
                tracking::invalidate(engine, local, by, &event.key);
            }
            pubsub::notify(engine, local, event);
        }
    }
    if db.cx.effects.flushed {
        tracking::invalidate_all(engine, local);
    }
    db.cx.effects.clear();
}

/// Adds the shards of a command's keys to `set`.
pub(crate) fn shards_of<A: commands::row::Argv + ?Sized>(
    cmd: &Cmd,
    args: &A,
    set: &mut ShardSet,
) -> Result<usize, commands::row::KeyError> {
    commands::keys::positions(cmd.row, args, &mut |i| set.add(stdx::hash::hash64(args.get(i))))
}

/// A command's flags, and for EXEC those of its queued commands, too: a transaction writes, and needs
/// memory, when one of its commands does.
fn flags_with_queue(session: &Session, cmd: &Cmd) -> Flags {
    let queued = session.multi.as_ref().filter(|_| cmd.traits.has(Traits::EXEC));
    cmd.row.flags.or(queued.map_or(Flags::NONE, |m| m.flags))
}

/// Whether CLIENT PAUSE holds this command back. A pause of everything holds back CLIENT UNPAUSE
/// too, as in Redis: it ends by itself. Redis counts monitors among the replicas, which never wait.
/// Here a command that ends scripts does not wait either, while a script is busy.
#[cold]
fn paused(engine: &Engine, session: &Session, cmd: &Cmd, args: &Args<'_>) -> bool {
    if session.monitor
        || !engine.check_pause()
        || engine.is_busy() && cmd.traits.has(Traits::ENDS_SCRIPTS)
    {
        return false;
    }
    let flags = match cmd.row.group {
        Group::Scripting => scripting::flags_of(engine, cmd, args),
        _ => flags_with_queue(session, cmd),
    };
    let queueing = session.multi.is_some() && !cmd.traits.has(Traits::IMMEDIATE);
    !engine.pause.writes_only.load(Relaxed)
        || !queueing && flags.has_any(Flags::WRITE.or(Flags::MAY_REPLICATE))
}
