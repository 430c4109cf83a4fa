//! EXEC: <https://redis.io/docs/latest/commands/exec/>

use std::sync::atomic::Ordering::Relaxed;

use commands::row::{Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use resp::{Args, Reply, Span};
use store::{Db, Key};

use super::Multi;
use crate::commit::commit;
use crate::engine::Attention;
use crate::exec::{Policy, Request};
use crate::table::{Call, SessionCommand};

pub(crate) static EXEC: SessionCommand = SessionCommand {
    row: Row {
        name: "exec",
        group: Group::Transactions,
        since: "1.2.0",
        arity: 1,
        traits: Traits::EXEC.or(Traits::IMMEDIATE),
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::SKIP_MONITOR)
            .or(Flags::SKIP_SLOWLOG),
        scope: Scope::None,
        complexity: "Depends on commands in the transaction",
        summary: "Runs the queued commands of a transaction, with nobody else's in between.",
        syntax: "EXEC",
        transcript: r#"
> EXEC
(error) ERR EXEC without MULTI
> MULTI
OK
> EXEC
(empty array)
# A command that fails when it runs does not stop the others.
> MULTI
OK
> SET a x
QUEUED
> INCR a
QUEUED
> GET a
QUEUED
> EXEC
1) OK
2) (error) ERR value is not an integer or out of range
3) "x"
> MULTI
OK
> SELECT 1
QUEUED
> SET b 1
QUEUED
> DBSIZE
QUEUED
> EXEC
1) OK
2) OK
3) (integer) 1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let outcome = exec(call, reply);
    let engine = call.engine;
    if engine.attention.get() & Attention::MONITOR != 0 {
        // Monitors see it behind its commands, and also when there were none to run: it ends the
        // transaction that MULTI has begun.
        engine.monitors.feed(engine, call.session, call.thread.wall_us(engine), args);
    }
    outcome
}

fn exec(call: &mut Call<'_>, reply: &mut Reply<'_>) -> Outcome {
    let Some(multi) = call.session.multi.take() else {
        return Err(Fail::text("ERR EXEC without MULTI"));
    };
    call.session.client.multi.store(-1, Relaxed);
    call.session.client.multi_bytes.store(0, Relaxed);
    if multi.failed {
        call.thread.unwatch(call.engine, call.session);
        let text = "EXECABORT Transaction discarded because of previous errors.";
        return Err(Fail::text(text));
    }
    let Multi { queue, mut shards, all, .. } = *multi;
    let engine = call.engine;
    for (_, key) in call.session.watching.iter().flat_map(|w| &w.keys) {
        shards.add(stdx::hash::hash64(key));
    }
    let sets_options =
        |q: &super::Queued| engine.table.get(q.command).traits.has(Traits::SETS_OPTIONS);
    let _gate = queue.iter().any(sets_options).then(|| engine.lock_config());
    engine.keyspace.hold(&mut call.thread.cx, (!all).then_some(shards));
    if spoiled(call) {
        call.thread.unwatch(engine, call.session);
        engine.keyspace.release(&mut call.thread.cx);
        reply.null_array();
        return Ok(());
    }
    call.thread.unwatch(engine, call.session);
    call.thread.in_transaction = true;
    call.thread.begin_unit();
    reply.array(queue.len());
    for q in queue {
        let mut owned = q.args;
        let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
        let mut args = Args::new(&[], &spans, &mut owned);
        let (session, id) = (&*call.session, q.command);
        let (user, client) = (&*session.user, &session.client);
        let request = Request { engine, id, args: &args, user, client };
        if let Err(refusal) = request.admit(Policy::TRANSACTION) {
            let fail = refusal.revoked(user, engine.table.get(id).row);
            call.thread.refuse(engine, call.session, None, &fail, reply);
            continue;
        }
        let shot = call.thread.aim_inner(engine, &args, reply.out().len());
        call.thread.call_command(engine, call.session, q.command, &mut args, reply);
        if let Some(shot) = shot {
            let command = (engine.table.get(q.command), call.session.db, &args);
            call.thread.shoot(engine, Some(command), shot, reply.out().len());
        }
    }
    call.thread.end_unit(engine);
    call.thread.in_transaction = false;
    call.thread.serve_ready(engine);
    engine.keyspace.release(&mut call.thread.cx);
    Ok(())
}

/// Whether a watched key has changed. An expired one has, too: it is removed here.
fn spoiled(call: &mut Call<'_>) -> bool {
    let Some(w) = &call.session.watching else { return false };
    for (index, key) in &w.keys {
        let key = Key::new(key);
        let mut db = Db::lock_one(&call.engine.keyspace, *index, key, &mut call.thread.cx);
        db.peek(key);
        commit(call.engine, &mut call.thread.pubsub, &mut db);
    }
    w.flag.is_dirty()
}
