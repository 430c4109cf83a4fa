//! The one way of a command, from whichever caller it comes: admit → run → commit → account.
//!
//! A caller is a [`Policy`]: which checks come before its commands, and where their refusals are noted.
//!
//! | caller | checks | accounted |
//! |---|---|---|
//! | a client | all of them | by itself; fast commands as a run ([`Thread::account_run`]) |
//! | EXEC | permissions: the others were made when the command was queued | by itself |
//! | a blocked command that is run again | permissions | when it is answered, with the time of all its runs |
//! | a script | number of arguments, permissions, and what the script may do | its calls; their time is the script's |
//! | a client whose thread is stuck in a slow script | number of arguments, authentication, transaction, permissions | no |
//! | the journal, an append-only file ([`replay_data`]) | number of arguments, by the loader | no |

use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;

use commands::keys::Argv;
use commands::row::{Flags, Row, Scope, Traits};
use commands::runs::ParsedCommand;
use commands::{DataFn, Fail, Outcome};
use config::Id;
use resp::{Args, Reply};
use store::{Budget, Context, Db, Key, Keyspace, ShardSet};

use crate::acl::{self, User};
use crate::attention::Attention;
use crate::blocking::register;
use crate::clients::Client;
use crate::commit::Own;
use crate::commit::{commit, commit_own};
use crate::dispatch::{flags_on_replica, flags_with_queue, is_allowed_with_queue, shards_of};
use crate::engine::{Engine, Local, Worker};
use crate::helpers::AT_ONCE;
use crate::session::Session;
use crate::table::{Call, Cmd, Run};
use crate::thread::Thread;
use crate::tracking;
use observe::stats::bump;

const OOM: Fail = Fail::text("OOM command not allowed when used memory > 'maxmemory'.");
const NOAUTH: Fail = Fail::text("NOAUTH Authentication required.");
const LOADING: Fail = Fail::text("LOADING Apus is loading the dataset in memory");
const NO_REPLICAS: Fail = Fail::text("NOREPLICAS Not enough good replicas to write.");
const READONLY: Fail = Fail::text("READONLY You can't write against a read only replica.");
pub(crate) const MASTERDOWN: Fail =
    Fail::text("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.");
const NOT_IN_MULTI: Fail = Fail::text("ERR Command not allowed inside a transaction");
const NO_DEBUG: Fail = Fail::text(
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can \
     run it from a local connection, otherwise you need to set this option in the configuration \
     file, and then restart the server.",
);

/// A set of checks. [`Request::admit`] makes them in the order of this list, which is Redis's: clients see
/// it in the errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checks(u8);

impl Checks {
    /// The number of arguments fits.
    const ARITY: Self = Self(1);
    /// Scripts may call the command.
    const SCRIPT: Self = Self(1 << 1);
    /// The client has authenticated, if it has to.
    const AUTH: Self = Self(1 << 2);
    /// Transactions may contain the command.
    const MULTI: Self = Self(1 << 3);
    /// `enable-debug-command` allows it.
    const PROTECTED: Self = Self(1 << 4);
    /// The user has the permissions.
    const PERMISSIONS: Self = Self(1 << 5);
    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline(always)]
    fn has(self, check: Self) -> bool {
        self.0 & check.0 != 0
    }
}

/// Who calls a command: see the module's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    checks: Checks,
    /// Where ACL LOG says that a refused command came from; none: from the client's input, or its transaction.
    context: Option<acl::Origin>,
}

impl Policy {
    /// A client. Checks of the server's state follow: see [`Thread::admit`].
    const CLIENT: Self = Self {
        checks: Checks::ARITY
            .and(Checks::AUTH)
            .and(Checks::MULTI)
            .and(Checks::PROTECTED)
            .and(Checks::PERMISSIONS),
        context: None,
    };
    /// EXEC. A command that was allowed when it was queued may not be any more; AUTH may have been
    /// queued, too.
    pub(crate) const TRANSACTION: Self =
        Self { checks: Checks::PERMISSIONS, context: Some(acl::Origin::Multi) };
    /// A blocked command that is run again: permissions may have changed while it waited.
    pub(crate) const WAITER: Self =
        Self { checks: Checks::PERMISSIONS, context: Some(acl::Origin::TopLevel) };
    /// A script. What the script may do follows: see [`Engine::admit_in_script`].
    const SCRIPT: Self = Self {
        checks: Checks::ARITY.and(Checks::SCRIPT).and(Checks::PERMISSIONS),
        context: Some(acl::Origin::Script),
    };
    /// A script after DEBUG SET-DISABLE-DENY-SCRIPTS.
    const FREE_SCRIPT: Self =
        Self { checks: Checks::ARITY.and(Checks::PERMISSIONS), ..Self::SCRIPT };
    /// A client whose thread is stuck in a slow script.
    pub(crate) const STUCK: Self = Self {
        checks: Checks::ARITY.and(Checks::AUTH).and(Checks::MULTI).and(Checks::PERMISSIONS),
        context: None,
    };
}

/// A command that is to be admitted.
pub(crate) struct Request<'a, A: ?Sized> {
    pub(crate) engine: &'a Engine,
    /// The command's number.
    pub(crate) id: u16,
    pub(crate) args: &'a A,
    /// The user whose permissions count.
    pub(crate) user: &'a User,
    pub(crate) client: &'a Client,
}

/// Why a command is not admitted.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The number of arguments is wrong.
    Arity,
    /// The user lacks a permission.
    Denied(acl::Denied),
    /// Scripts may not call it, or not this script, for this reason.
    Script(&'static str),
    /// Any other reason, which is the same text for all callers.
    Other(Fail),
}

impl From<Fail> for Refusal {
    fn from(fail: Fail) -> Self {
        Self::Other(fail)
    }
}

impl Refusal {
    /// The error that a client gets.
    #[cold]
    pub(crate) fn fail(self, user: &User, row: &Row) -> Fail {
        match self {
            Self::Arity => Fail::arity(row.name),
            Self::Denied(denied) => denied.fail(user, row),
            Self::Script(why) => Fail::new(format!("ERR {why}")),
            Self::Other(fail) => fail,
        }
    }

    /// The error for a command of a transaction, in EXEC's reply.
    #[cold]
    pub(crate) fn revoked(self, user: &User, row: &Row) -> Fail {
        match self {
            Self::Denied(denied) => denied.revoked(),
            other => other.fail(user, row),
        }
    }

    /// The error that a script gets. It begins with a dash where the text names the error's kind.
    #[cold]
    pub(crate) fn script_error(self, user: &User, row: &Row) -> Cow<'static, str> {
        match self {
            Self::Arity => "Wrong number of args calling Redis command from script".into(),
            Self::Denied(denied) => {
                format!("ACL failure in script: {}", denied.text(user, row)).into()
            }
            Self::Script(why) => why.into(),
            Self::Other(Fail(text)) => format!("-{text}").into(),
        }
    }
}

impl<A: Argv + ?Sized> Request<'_, A> {
    /// The checks that depend on the call and its client alone: up to the permissions. A refusal for lack of
    /// a permission is noted in ACL LOG.
    #[inline]
    pub(crate) fn admit(&self, policy: Policy) -> Result<(), Refusal> {
        let Self { engine, client, .. } = *self;
        let (checks, cmd) = (policy.checks, engine.table.get(self.id));
        let flags = cmd.row.flags;
        if checks.has(Checks::ARITY) && !cmd.arity_fits(self.args.len()) {
            return Err(Refusal::Arity);
        }
        if checks.has(Checks::SCRIPT) && flags.has(Flags::NOSCRIPT) {
            return Err(Refusal::Script("This Redis command is not allowed from script"));
        }
        if checks.has(Checks::AUTH)
            && !flags.has(Flags::NO_AUTH)
            && !client.authenticated.load(Relaxed)
            && !engine.acl.is_open()
        {
            return Err(NOAUTH.into());
        }
        if checks.has(Checks::MULTI) && flags.has(Flags::NO_MULTI) && client.is_in_multi() {
            return Err(NOT_IN_MULTI.into());
        }
        if checks.has(Checks::PROTECTED)
            && flags.has(Flags::PROTECTED)
            && !engine.config.allows(Id::EnableDebugCommand, client.endpoint.loopback)
        {
            return Err(NO_DEBUG.into());
        }
        if checks.has(Checks::PERMISSIONS)
            && let Err(denied) = acl::check(&engine.table, self.user, self.id, self.args)
        {
            return Err(self.denied(policy, denied));
        }
        Ok(())
    }

    #[cold]
    fn denied(&self, policy: Policy, denied: acl::Denied) -> Refusal {
        let in_multi = self.client.is_in_multi();
        let of_client = if in_multi { acl::Origin::Multi } else { acl::Origin::TopLevel };
        let context = policy.context.unwrap_or(of_client);
        acl::note(self.engine, self.user, self.client, context, (self.id, self.args), denied);
        Refusal::Denied(denied)
    }
}

/// What a script may do.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The script may write nothing.
    pub(crate) read_only: bool,
    /// Memory is short, and it may not use more.
    pub(crate) out_of_memory: bool,
}

impl Engine {
    /// Whether nothing is to be evicted here: a replica deletes what its primary deletes.
    pub(crate) fn leaves_eviction_to_primary(&self, attention: u32) -> bool {
        attention & Attention::REPLICA != 0 && self.config.flag(Id::ReplicaIgnoreMaxmemory)
    }

    /// The refusal of writes while replicas are asked for.
    pub(crate) fn lacks_replicas(&self) -> Option<Fail> {
        (self.attention.get() & Attention::REPLICAS != 0).then_some(NO_REPLICAS)
    }

    /// Why commands that write are refused at present, if they are: the disk has failed.
    pub(crate) fn refuses_writes(&self) -> Option<Fail> {
        let failed = self.attention.get() & (Attention::UNSAVED | Attention::DISK) != 0;
        if failed { self.durability.refusal(self) } else { None }
    }

    /// Whether the server is a replica without a link that must not show its data.
    pub(crate) fn is_stale_for(&self, session: &Session) -> bool {
        self.attention.get() & Attention::STALE != 0 && !session.from_primary
    }

    /// Whether a write may be made: nothing refuses it for the disk's sake, for lack of replicas, or because
    /// the server is one itself.
    #[inline]
    fn admit_write(
        &self,
        session: &Session,
        needs_disk: bool,
        writes: bool,
    ) -> Result<(), Refusal> {
        if session.from_primary {
            return Ok(());
        }
        if (writes || needs_disk)
            && let Some(fail) = self.refuses_writes()
        {
            return Err(fail.into());
        }
        if writes && let Some(fail) = self.lacks_replicas() {
            return Err(fail.into());
        }
        if writes && self.is_read_only_for(session) {
            return Err(READONLY.into());
        }
        Ok(())
    }

    /// Whether the server is a replica that takes writes from its primary only.
    #[inline]
    pub(crate) fn is_read_only_for(&self, session: &Session) -> bool {
        !session.from_primary && self.is_read_only()
    }

    /// Whether clients cannot write: the server is a replica.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.is_replica() && self.config.flag(Id::ReplicaReadOnly)
    }

    /// The error for a client that writes to a replica; `None`: it may write.
    pub fn refuses_as_replica(&self) -> Option<Fail> {
        self.is_read_only().then_some(READONLY)
    }

    /// Whether the server is in a state in which the session may write, or read.
    pub(crate) fn may_write(&self, session: &Session, writes: bool) -> Result<(), Fail> {
        match self.admit_write(session, false, writes) {
            Err(Refusal::Other(fail)) => Err(fail),
            _ if self.is_stale_for(session) => Err(MASTERDOWN),
            _ => Ok(()),
        }
    }

    /// The checks before a command that a script calls, in Redis's order.
    pub(crate) fn admit_in_script(
        &self,
        session: &Session,
        limits: Limits,
        id: u16,
        args: &Args<'_>,
    ) -> Result<(), Refusal> {
        let engine = self;
        let (user, client) = (&session.user, &session.client);
        let all = engine.scripts.allow_all.load(Relaxed);
        let policy = if all { Policy::FREE_SCRIPT } else { Policy::SCRIPT };
        Request { engine, id, args, user, client }.admit(policy)?;
        let flags = engine.table.get(id).row.flags;
        if limits.read_only && flags.has_any(Flags::WRITE.or(Flags::MAY_REPLICATE)) {
            let why = "Write commands are not allowed from read-only scripts.";
            return Err(Refusal::Script(why));
        }
        engine.admit_write(session, false, flags.has(Flags::WRITE))?;
        if limits.out_of_memory && flags.has(Flags::DENYOOM) {
            return Err(OOM.into());
        }
        if engine.is_stale_for(session) && !flags.has(Flags::STALE) {
            return Err(Refusal::Script("Can not execute the command on a stale replica"));
        }
        Ok(())
    }
}

impl Thread {
    /// The checks before a command that a client sends.
    pub(crate) fn admit(
        &mut self,
        engine: &Engine,
        session: &Session,
        id: u16,
        args: &Args<'_>,
    ) -> Result<(), Refusal> {
        let (user, client) = (&session.user, &session.client);
        Request { engine, id, args, user, client }.admit(Policy::CLIENT)?;
        let cmd = engine.table.get(id);
        let flags = cmd.row.flags;
        let attention = engine.attention.get();
        // While everything or all writes are paused, nothing is evicted, and no command is refused.
        // Nothing is evicted, either, for a command that can end a script, or while a script is slow: the
        // script may have locked the shards that eviction would wait for.
        let evicts = attention & Attention::BUSY == 0
            && !engine.leaves_eviction_to_primary(attention)
            && !flags.has(Flags::ALLOW_BUSY)
            && (attention & Attention::PAUSE == 0 || !engine.check_pause());
        self.short_of_memory = false;
        if attention & Attention::MAXMEMORY != 0 && evicts {
            let free = self.make_room(engine);
            self.short_of_memory = !free;
            // A queued command takes memory, whatever it does.
            let queues = session.multi.is_some() && !cmd.traits.has(Traits::IMMEDIATE);
            if !free && (queues || flags_with_queue(session, cmd).has(Flags::DENYOOM)) {
                return Err(OOM.into());
            }
        }
        let told = flags_on_replica(engine, cmd, args);
        let writes = told.or(flags_with_queue(session, cmd)).has(Flags::WRITE);
        engine.admit_write(session, cmd.traits.has(Traits::NEEDS_DISK), writes)?;
        if session.only_subscribes() && !cmd.traits.has(Traits::WHILE_SUBSCRIBED) {
            return Err(only_subscribes(cmd.row).into());
        }
        let allowed = |flag| is_allowed_with_queue(session, cmd, told, flag);
        if engine.is_stale_for(session) && !allowed(Flags::STALE) {
            return Err(MASTERDOWN.into());
        }
        if attention & Attention::LOADING != 0 && !allowed(Flags::LOADING) {
            return Err(LOADING.into());
        }
        if attention & Attention::BUSY != 0 && !flags.has(Flags::ALLOW_BUSY) {
            return engine.scripts.running.refusal().map_or(Ok(()), |busy| Err(busy.into()));
        }
        Ok(())
    }

    /// Notes whether there is memory for commands that need some, and evicts if there is not.
    pub(crate) fn note_room(&mut self, engine: &Engine, attention: u32) {
        self.short_of_memory = attention & Attention::MAXMEMORY != 0
            && !engine.leaves_eviction_to_primary(attention)
            && (attention & Attention::PAUSE == 0 || !engine.check_pause())
            && !self.make_room(engine);
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
        if cmd.shows_data {
            self.note_shows_data();
        }
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
        if cmd.traits.has(Traits::WALKS_KEYSPACE)
            && self.cx.may_block
            && !self.whole
            && self.walk_keys(engine, session, id, args)
        {
            return Ok(());
        }
        let asks = self.cx.may_block && !self.whole;
        if asks
            && cmd.traits.has_any(
                Traits::COST_OF_VALUES.or(Traits::COST_OF_SMALLEST).or(Traits::COST_OF_COUNT),
            )
            && self.goes_aside(engine, session, id, args)
        {
            return Ok(());
        }
        self.cx.budget = if asks { AT_ONCE } else { Budget::UNLIMITED };
        loop {
            let outcome = self.run_locked(engine, session, (id, run), args, reply);
            if !std::mem::take(&mut self.cx.handed_over) {
                return outcome;
            }
            if self.hand_over(engine, session, id, args) {
                return Ok(());
            }
            // There is no thread for it. Now it runs here, without a budget.
        }
    }

    /// Locks the shards of a data command, runs it, and serves the waiters that it wakes.
    #[inline]
    fn run_locked(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        (id, run): (u16, DataFn),
        args: &mut Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Outcome {
        let cmd = engine.table.get(id);
        self.cx.no_touch = session.no_touch;
        if cmd.row.scope == Scope::Patterns {
            self.cx.reads_all = acl::reads_all(&engine.table, &session.user, id, args);
        }
        // A pause stops everything that changes data, expiry included, and so does a primary.
        let attention = engine.attention.get();
        self.cx.keep_expired = attention & Attention::REPLICA != 0
            || attention & Attention::PAUSE != 0 && engine.check_pause();
        self.cx.trust_checksums = engine.trust_checksums.load(Relaxed);
        let index = session.db;
        let mut db = lock_for(&engine.keyspace, index, cmd, args, &mut self.cx);
        let local = &mut self.pubsub;
        let outcome = run_data(engine, local, &mut db, run, (index, cmd), args, reply);
        if attention & Attention::REPLICA != 0 && cmd.is_write() && !session.from_primary {
            engine.replication.own_keys.remember(&mut db, (index, cmd.row), args);
        }
        db.cx.budget = Budget::UNLIMITED;
        if db.cx.handed_over {
            return outcome;
        }
        let tracks = session.tracking.is_some() || session.page != 0;
        if tracks && cmd.row.flags.has(Flags::READONLY) {
            tracking::remember(engine, &mut self.pubsub, session, cmd, args);
        }
        if db.cx.block.is_some() {
            // The waiter registers before the shards are unlocked: a change after this look finds it waiting.
            register(engine, session, id, &mut db, args);
        }
        if !db.cx.ready.is_empty() && !self.in_transaction {
            // Waiters are served before the shards are unlocked, so that no later command is served first.
            db.into_hold();
            self.serve_ready(engine);
            engine.keyspace.release(&mut self.cx);
        } else {
            drop(db);
        }
        self.cx.keep_expired = false;
        if cmd.row.scope == Scope::All && cmd.traits.has(Traits::SAVES_AFTER) && outcome.is_ok() {
            engine.durability.flushed(engine, self);
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

    /// Accounts one execution. Returns whether it is one for the slow log.
    pub(crate) fn account(&mut self, engine: &Engine, client: &Client, done: Executed) -> bool {
        let Executed { id, nanos, failed } = done;
        let row = engine.table.get(id).row;
        let stats = &self.worker.stats.commands[usize::from(id)];
        if failed {
            bump(&stats.failed, 1);
        }
        stats.called(1, nanos, self.hot.latency_tracking);
        let waited = self.worker.costs.waited(row.group, store::take_waits());
        if self.costs.on {
            self.costs.executed(&self.worker.costs, row.group, (1, nanos, waited));
        }
        bump(&self.worker.stats.command_nanos, nanos);
        self.count_command(client, 1);
        if nanos >= self.hot.latency_ns {
            let event = if row.flags.has(Flags::FAST) { "fast-command" } else { "command" };
            engine.latency.record(event, nanos, self.cx.now);
        }
        nanos >= self.hot.slow_ns && !row.flags.has(Flags::SKIP_SLOWLOG)
    }

    /// Accounts one execution within a script: its time is the script's.
    pub(crate) fn account_in_script(&mut self, client: &Client, done: Executed) {
        let stats = &self.worker.stats.commands[usize::from(done.id)];
        if done.failed {
            bump(&stats.failed, 1);
        }
        stats.called(1, done.nanos, self.hot.latency_tracking);
        self.count_command(client, 1);
    }

    /// Accounts a run of fast commands, which share its time.
    #[inline]
    pub(crate) fn account_run(
        &mut self,
        engine: &Engine,
        client: &Client,
        run: &[ParsedCommand],
        nanos: u64,
    ) {
        let family = engine.table.get(run[0].id).row.group;
        let waited = self.worker.costs.waited(family, store::take_waits());
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
        self.count_command(client, n);
        client.last_cmd.store(run[run.len() - 1].id + 1, Relaxed);
    }

    pub(crate) fn count_command(&self, client: &Client, n: u64) {
        bump(&self.worker.stats.commands_processed, n);
        bump(&client.total_commands, n);
    }
}

/// Locks the shards that a data command says it needs.
#[inline]
fn lock_for<'a>(
    ks: &'a Keyspace,
    index: usize,
    cmd: &Cmd,
    args: &Args<'_>,
    cx: &'a mut Context,
) -> Db<'a> {
    match cmd.row.scope_of(args) {
        Scope::Keys if cmd.one_key => {
            let key = Key::new(&args[1]);
            // The pointer is compared, not read, so it may outlive the borrow of `args`.
            Db::lock_one(ks, index, key, cx)
        }
        // Where there are no locks, it makes no difference which shards are locked.
        Scope::Keys if ks.is_single() => Db::lock_all(ks, index, cx),
        Scope::Keys => {
            let mut keys = ShardSet::default();
            // Without valid keys the command refuses before it looks at any.
            match shards_of(cmd, args, &mut keys) {
                Ok(_) => Db::lock_set(ks, index, keys, cx),
                Err(_) => Db::unlocked(ks, index, cx),
            }
        }
        Scope::All | Scope::Patterns => Db::lock_all(ks, index, cx),
        Scope::Each | Scope::None => Db::unlocked(ks, index, cx),
    }
}

/// Runs the function of a data command over the shards that are locked for it, and commits. `own` is the
/// selected database and the command.
#[inline(always)]
pub(crate) fn run_data(
    engine: &Engine,
    local: &mut Local,
    db: &mut Db<'_>,
    run: DataFn,
    own: (usize, &Cmd),
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let outcome = run(db, args, reply);
    // Otherwise no thread would run it elsewhere, and its client would wait for ever.
    assert!(!db.cx.handed_over || own.1.traits.has(Traits::ESTIMATES_ITSELF), "{}", own.1.row.name);
    commit_own(engine, local, db, &Own { db: own.0, cmd: own.1, args });
    outcome
}

/// The same for a command that a file has: its consequences came when it ran first.
pub fn replay_data(
    db: &mut Db<'_>,
    run: DataFn,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let outcome = run(db, args, reply);
    db.cx.effects.clear();
    db.cx.block = None;
    outcome
}

/// One execution of a command, for its accounts.
pub(crate) struct Executed {
    /// The command's number.
    pub(crate) id: u16,
    /// How long it took.
    pub(crate) nanos: u64,
    /// Whether it was answered with an error.
    pub(crate) failed: bool,
}

impl Worker {
    /// Answers an error, and counts it among the replies and by its kind.
    pub(crate) fn answer_error(&self, engine: &Engine, fail: &Fail, reply: &mut Reply<'_>) {
        self.count_error(engine, &fail.0);
        reply.error(fail.bytes());
    }

    /// The same for a command of `session`. If its primary sent the command, the data of the two differs.
    #[cold]
    pub(crate) fn answer_error_to(
        &self,
        engine: &Engine,
        session: &Session,
        command: Option<u16>,
        fail: &Fail,
        reply: &mut Reply<'_>,
    ) {
        if session.from_primary {
            let name = command.map_or("<unknown>", |id| engine.table.get(id).row.name);
            engine.note_divergence(&fail.0, name);
        }
        self.answer_error(engine, fail, reply);
    }

    /// Counts an error reply that begins with this text.
    pub(crate) fn count_error(&self, engine: &Engine, text: &str) {
        engine.count_error(text);
        bump(&self.stats.error_replies, 1);
    }
}

#[cold]
fn only_subscribes(row: &Row) -> Fail {
    Fail::new(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
         allowed in this context",
        row.name
    ))
}
