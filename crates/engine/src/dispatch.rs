//! One command of a client: its lookup, and what happens to it instead of being run: it is refused, waits,
//! or is queued. How it is run is in `exec.rs`.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use commands::Fail;
use commands::fail::quoted;
use commands::row::{Flags, Group, Traits};
use resp::{Args, Reply};
use store::ShardSet;

use crate::attention::Attention;
use crate::blocking::{self};
use crate::engine::Engine;
use crate::exec::Executed;
use crate::scripting;
use crate::session::{ReplyMode, Session};
use crate::table::Cmd;
use crate::thread::Thread;
use crate::tracking;
use observe::stats::bump;

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The command was answered.
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
        // The name as the client wrote it: the command may have been renamed.
        let name = String::from_utf8_lossy(&args[0]).to_ascii_uppercase();
        Fail::new(format!("ERR unknown subcommand '{sub}'. Try {name} HELP."))
    })
}

/// Number of the command called `name`, or of its subcommand if it has any.
pub fn find(engine: &Engine, name: &[u8], sub: Option<&[u8]>) -> Option<u16> {
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

    /// The same for a command whose number, or error, has been found.
    pub(crate) fn dispatch_found(
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
        if let Err(refusal) = self.admit(engine, session, id, args) {
            let fail = refusal.fail(&session.user, cmd.row);
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
        if self.queue(engine, session, id, args) {
            reply.simple("QUEUED");
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

    /// Queues a command that may run, if the session queues a transaction and the command is not one that is
    /// executed at once. Returns whether it has been queued.
    pub(crate) fn queue(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: u16,
        args: &Args<'_>,
    ) -> bool {
        let cmd = engine.table.get(id);
        let Some(multi) = &mut session.multi else { return false };
        if cmd.traits.has(Traits::IMMEDIATE) {
            return false;
        }
        let flags = match cmd.row.group {
            Group::Scripting => scripting::flags_of(engine, cmd, args),
            _ => cmd.row.flags,
        };
        let bytes = multi.queue(id, cmd, flags, args) as u64;
        session.client.multi.fetch_add(1, Relaxed);
        bump(&session.client.rare().multi_bytes, bytes);
        self.count_command(&session.client, 1);
        true
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
            engine.monitors.feed(engine, session, self.wall_us(&engine.clock), cmd.row, args);
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
        let failed = failed || reply.errors() != errors && !cmd.traits.has(Traits::EXEC);
        if self.account(engine, &session.client, Executed { id, nanos, failed }) {
            engine.note_slow(&session.client, nanos, cmd.row, args);
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
        self.worker.answer_error_to(engine, session, Some(id), &fail, reply);
        true
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
            session.client.dirty.store(true, Relaxed);
        }
        if let Some(id) = id {
            bump(&self.worker.stats.commands[usize::from(id)].rejected, 1);
        }
        self.worker.answer_error_to(engine, session, id, fail, reply);
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
            "An HTTP request arrived instead of commands, maybe an attack through a user's \
             browser; closed the connection from {}",
            session.client.endpoint.peer
        );
    }
}

/// Adds the shards of a command's keys to `set`.
pub(crate) fn shards_of<A: commands::row::Argv + ?Sized>(
    cmd: &Cmd,
    args: &A,
    set: &mut ShardSet,
) -> Result<usize, commands::row::KeyError> {
    commands::keys::positions(cmd.row, args, &mut |i| set.add(stdx::hash::hash64(args.get(i))))
}

/// A command's flags with what its script says about them, if it runs one: only looked for while the server is a
/// replica, when it matters.
pub(crate) fn flags_on_replica(engine: &Engine, cmd: &Cmd, args: &Args<'_>) -> Flags {
    let replica = engine.attention.get() & (Attention::REPLICA | Attention::STALE) != 0;
    match cmd.row.group {
        Group::Scripting if replica => scripting::flags_of(engine, cmd, args),
        _ => cmd.row.flags,
    }
}

/// A command's flags, and for EXEC those of its queued commands, too: a transaction writes, and needs
/// memory, when one of its commands does.
pub(crate) fn flags_with_queue(session: &Session, cmd: &Cmd) -> Flags {
    let queued = session.multi.as_ref().filter(|_| cmd.traits.has(Traits::EXEC));
    cmd.row.flags.or(queued.map_or(Flags::NONE, |m| m.flags))
}

/// Whether a command has a flag that allows it, and for EXEC each of its queued commands, too: the server may
/// have become a replica without a link since they were queued.
pub(crate) fn is_allowed_with_queue(
    session: &Session,
    cmd: &Cmd,
    flags: Flags,
    flag: Flags,
) -> bool {
    let queued = session.multi.as_ref().filter(|_| cmd.traits.has(Traits::EXEC));
    flags.has(flag) && queued.is_none_or(|m| !m.lacks.has(flag))
}

/// Whether CLIENT PAUSE holds this command back. A pause of everything holds back CLIENT UNPAUSE
/// too, as in Redis: it ends by itself. Redis counts monitors among the replicas, which never wait.
/// Here a command that ends scripts does not wait either, while a script is busy. A primary's stream is
/// held back before a batch of it begins.
#[cold]
fn paused(engine: &Engine, session: &Session, cmd: &Cmd, args: &Args<'_>) -> bool {
    if session.monitor
        || session.from_primary
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
