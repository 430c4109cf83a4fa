//! WAIT: <https://redis.io/docs/latest/commands/wait/>,
//! WAITAOF: <https://redis.io/docs/latest/commands/waitaof/>
//!
//! A client waits until as many replicas as it asks for have everything that any client has written so far,
//! its own writes among it. A client that asks for this server's journal waits until everything is durable
//! that was written on the thread of its connection so far.

use commands::row::{Acl, Flags, Group, Row, Scope};
use commands::{Fail, Outcome, parse};
use engine::{Call, SessionCommand};
use replicator::Replicator;
use replicator::replicas::{self, Own};
use resp::{Args, Reply};
use store::{Block, Empty, Kind};

const WAIT_ON_REPLICA: Fail = Fail::text(
    "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a \
     replica is configured to be writable (which is not the default) writes to replicas are just \
     local and are not propagated.",
);
const WAITAOF_ON_REPLICA: Fail = Fail::text(
    "ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas \
     are just local and are not propagated.",
);

const BASE: Row = Row {
    group: Group::Generic,
    flags: Flags::BLOCKING,
    acl: Acl::CONNECTION,
    tips: &["request_policy:all_shards", "response_policy:agg_min"],
    scope: Scope::None,
    complexity: "O(1)",
    ..Row::DEFAULT
};

pub(crate) static WAIT: SessionCommand = super::command(
    Row {
        name: "wait",
        since: "3.0.0",
        arity: 3,
        summary: "Waits until as many replicas have all writes of the connection so far.",
        syntax: "WAIT numreplicas timeout",
        transcript: r#"
> WAIT 0 0
(integer) 0
> WAIT -1 0
(integer) 0
> WAIT x 0
(error) ERR value is not an integer or out of range
> WAIT 0 x
(error) ERR timeout is not an integer or out of range
> WAIT 0 -1
(error) ERR timeout is negative
# Nothing waits in a transaction.
> MULTI
OK
> WAIT 1 0
QUEUED
> EXEC
1) (integer) 0
"#,
        ..BASE
    },
    |call, args, reply| {
        let replicas = parse::int(args, 1)?;
        let deadline = deadline(call, args, 2)?;
        if call.engine.is_replica() {
            return Err(WAIT_ON_REPLICA);
        }
        let wanted = usize::try_from(replicas).unwrap_or(0);
        let (offset, have) =
            Replicator::of(call.engine).replicas.position(call.engine, call.thread);
        if have >= wanted {
            reply.int(have as i64);
            return Ok(());
        }
        wait(call, deadline, Empty::Int(have as i64), reply);
        if call.thread.cx.block.is_some() {
            call.thread.on_wait = Some(Box::new(move |engine, waiter| {
                Replicator::of(engine).replicas.wait(engine, waiter, (offset, wanted), None);
            }));
        }
        Ok(())
    },
);

pub(crate) static WAITAOF: SessionCommand = super::command(
    Row {
        name: "waitaof",
        since: "7.2.0",
        arity: 4,
        summary: "Waits until the writes of the connection so far are in the append only files \
                  of this server, of as many replicas, or both.",
        syntax: "WAITAOF numlocal numreplicas timeout",
        transcript: r#"
# only: redis>=7.2
> WAITAOF 2 0 0
(error) ERR value is out of range, value must between 0 and 1
> WAITAOF 0 -1 0
(error) ERR value is out of range, must be positive
> WAITAOF 0 0 -1
(error) ERR timeout is negative
> WAITAOF 1 0 0
(error) ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.
"#,
        ..BASE
    },
    wait_aof,
);

fn wait_aof(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let local = parse::int(args, 1)?;
    if !(0..=1).contains(&local) {
        return Err(Fail::text("ERR value is out of range, value must between 0 and 1"));
    }
    let replicas = parse::int(args, 2)?;
    if replicas < 0 {
        return Err(Fail::text("ERR value is out of range, must be positive"));
    }
    let deadline = deadline(call, args, 3)?;
    if call.engine.is_replica() {
        return Err(WAITAOF_ON_REPLICA);
    }
    let journal = &call.engine.journal;
    if local > 0 && !journal.is_on() {
        return Err(durable::journal::OFF);
    }
    // The connection's own writes are among those of its thread.
    let written = call.thread.last_written();
    let here = i64::from(replicas::is_durable_here(call.engine, written));
    let wanted = usize::try_from(replicas).unwrap_or(0);
    let (offset, there) =
        Replicator::of(call.engine).replicas.position_on_disk(call.engine, call.thread);
    if here >= local && there >= wanted {
        parse::empty(Empty::Ints(here, there as i64), reply);
        return Ok(());
    }
    wait(call, deadline, Empty::Ints(here, there as i64), reply);
    if call.thread.cx.block.is_none() {
        return Ok(());
    }
    if wanted == 0 {
        call.thread.awaits = Some(written);
    } else {
        call.thread.on_wait = Some(Box::new(move |engine, waiter| {
            let own = Own { sequence: written, wanted: local > 0 };
            Replicator::of(engine).replicas.wait(engine, waiter, (offset, wanted), Some(own));
        }));
    }
    Ok(())
}

/// When the time in argument `i` is over: milliseconds, 0 means never.
fn deadline(call: &Call<'_>, args: &Args<'_>, i: usize) -> Result<Option<i64>, Fail> {
    let ms = stdx::num::parse_i64(&args[i])
        .ok_or(Fail::text("ERR timeout is not an integer or out of range"))?;
    match ms {
        ..0 => Err(Fail::text("ERR timeout is negative")),
        0 => Ok(None),
        _ => match call.thread.cx.now.checked_add(ms) {
            Some(at) => Ok(Some(at)),
            None => Err(Fail::text("ERR timeout is out of range")),
        },
    }
}

/// Waits for nothing but the time, or answers at once where nothing may wait.
pub(super) fn wait(
    call: &mut Call<'_>,
    deadline: Option<i64>,
    empty: Empty,
    reply: &mut Reply<'_>,
) {
    let cx = &mut call.thread.cx;
    if cx.may_block {
        let (kind, errors, args) = (Kind::String, false, None);
        cx.block = Some(Block { errors, args, ..Block::new(Vec::new(), kind, deadline, empty) });
    } else {
        parse::empty(empty, reply);
    }
}
