//! REPLICAOF, SYNC, PSYNC, REPLCONF and FAILOVER.

use commands::row::{DocFlags, Flags, Group, Row, Scope};
use commands::{Fail, Outcome, parse};
use resp::{Args, Reply};

use super::command;
use engine::{Call, Client, Engine, SessionCommand, Stuck};
use replication::serve::{Answer, Replica};
use replicator::failover::{self, Wish};
use replicator::{Replicator, role};

const BASE: Row = Row {
    group: Group::Server,
    flags: Flags::ADMIN.or(Flags::NOSCRIPT),
    scope: Scope::None,
    complexity: "O(1)",
    ..Row::DEFAULT
};

const REPLICAOF_FLAGS: Flags = BASE.flags.or(Flags::NO_ASYNC_LOADING).or(Flags::STALE);
const SYNC_FLAGS: Flags = BASE.flags.or(Flags::NO_ASYNC_LOADING).or(Flags::NO_MULTI);

pub(crate) static REPLICAOF: SessionCommand = command(
    Row {
        name: "replicaof",
        since: "5.0.0",
        arity: 3,
        flags: REPLICAOF_FLAGS,
        summary: "Makes the server a replica of another, or a master again.",
        syntax: "REPLICAOF <host port | NO ONE>",
        transcript: r#"
> REPLICAOF NO ONE
OK
> REPLICAOF 127.0.0.1 none
(error) ERR Invalid master port
> REPLICAOF 127.0.0.1 70000
(error) ERR Invalid master port
"#,
        ..BASE
    },
    replica_of,
);

pub(crate) static SLAVEOF: SessionCommand = command(
    Row {
        name: "slaveof",
        since: "1.0.0",
        arity: 3,
        flags: REPLICAOF_FLAGS,
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "5.0.0",
        replaced_by: "`REPLICAOF`",
        summary: "Makes the server a replica of another, or a master again.",
        syntax: "SLAVEOF <host port | NO ONE>",
        transcript: r#"
> SLAVEOF no one
OK
"#,
        ..BASE
    },
    replica_of,
);

fn replica_of(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if Replicator::of(call.engine).failover.is_on() {
        return Err(Fail::text("ERR REPLICAOF not allowed while failing over."));
    }
    if args.is(1, "no") && args.is(2, "one") {
        let name = call.session.client.name();
        if engine::acks::of_connection(name.as_bytes()).is_some() {
            role::promoted_by_sentinel(call.engine, call.thread)?;
        } else {
            role::replica_of_no_one(call.engine, call.thread);
        }
        reply.ok();
        return Ok(());
    }
    let port = stdx::num::parse_i64(&args[2]).and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or(Fail::text("ERR Invalid master port"))?;
    let host = String::from_utf8_lossy(&args[1]).into_owned();
    if role::replica_of(call.engine, call.thread, &host, port) {
        reply.ok();
    } else {
        reply.simple("OK Already connected to specified master");
    }
    Ok(())
}

pub(crate) static SYNC: SessionCommand = command(
    Row {
        name: "sync",
        since: "1.0.0",
        arity: 1,
        flags: SYNC_FLAGS,
        complexity: "Depends on what is asked for",
        summary: "Internal: makes the connection that of a replica.",
        syntax: "SYNC",
        transcript: r#"
> MULTI
OK
> SYNC
(error) ERR Command not allowed inside a transaction
> DISCARD
OK
"#,
        ..BASE
    },
    |call, _, _| {
        let r = Replicator::of(call.engine);
        let up = r.following.is_up();
        r.replicas.psync(call.engine, call.session, up, None).map(drop)
    },
);

pub(crate) static PSYNC: SessionCommand = command(
    Row {
        name: "psync",
        since: "2.8.0",
        arity: -3,
        loose_arity: "FAILOVER may follow, and is not documented",
        flags: SYNC_FLAGS,
        complexity: "Depends on what is asked for",
        summary: "Internal: makes the connection that of a replica that goes on.",
        syntax: "PSYNC replicationid offset",
        transcript: r#"
> PSYNC ? x
(error) ERR value is not an integer or out of range
> PSYNC ? 1 FAILOVER
(error) ERR PSYNC FAILOVER can't be sent to a master.
"#,
        ..BASE
    },
    psync,
);

fn psync(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.is(3, "failover") {
        role::promoted_by_primary(call.engine, call.thread, &args[1])?;
    }
    let offset = parse::int(args, 2)?;
    let r = Replicator::of(call.engine);
    let (up, position) = (r.following.is_up(), Some((&args[1], offset)));
    if let Some(text) = r.replicas.psync(call.engine, call.session, up, position)? {
        reply.simple(&text);
    }
    Ok(())
}

pub(crate) static REPLCONF: SessionCommand = command(
    Row {
        name: "replconf",
        since: "3.0.0",
        arity: -1,
        loose_arity: "its options are not documented",
        flags: BASE.flags.or(super::ANYTIME).or(Flags::ALLOW_BUSY),
        doc_flags: DocFlags::SYSCMD,
        summary: "Internal: what a replica tells about itself.",
        syntax: "REPLCONF",
        transcript: r#"
> REPLCONF
OK
> REPLCONF listening-port 6380 capa eof capa psync2
OK
> REPLCONF listening-port x
(error) ERR value is not an integer or out of range
> REPLCONF rdb-only 2
(error) ERR value is out of range, value must between 0 and 1
> REPLCONF capa
(error) ERR syntax error
> REPLCONF shoe-size 42
(error) ERR Unrecognized REPLCONF option: shoe-size
"#,
        ..BASE
    },
    replconf,
);

fn replconf(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let words: Vec<&[u8]> = args.iter_from(1).collect();
    let r = Replicator::of(call.engine);
    if call.session.from_primary {
        if args.is(1, "getack") {
            r.following.getack();
        }
        return Ok(());
    }
    if r.replicas.replconf(call.engine, call.thread, call.session, &words)? {
        reply.ok();
    }
    Ok(())
}

pub(crate) static FAILOVER: SessionCommand = command(
    Row {
        name: "failover",
        since: "6.2.0",
        arity: -1,
        flags: BASE.flags.or(Flags::STALE),
        summary: "Hands the role of the master over to a replica.",
        syntax: "FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
        transcript: r#"
> FAILOVER
(error) ERR FAILOVER requires connected replicas.
> FAILOVER TO 127.0.0.1 6380 FORCE TIMEOUT 100
(error) ERR FAILOVER requires connected replicas.
> FAILOVER ABORT
(error) ERR No failover in progress.
> FAILOVER TIMEOUT 0
(error) ERR FAILOVER timeout must be greater than 0
> FAILOVER TO 127.0.0.1 x
(error) ERR value is not an integer or out of range
> FAILOVER FORCE FORCE
(error) ERR syntax error
"#,
        ..BASE
    },
    failover,
);

fn failover(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() == 2 && args.is(1, "abort") {
        failover::abort(call.engine, call.thread)?;
        reply.ok();
        return Ok(());
    }
    let mut wish = Wish::default();
    let mut i = 1;
    while i < args.len() {
        let more = args.len() - 1 - i;
        if args.is(i, "timeout") && more >= 1 && wish.timeout_ms.is_none() {
            let ms = parse::int(args, i + 1)?;
            if ms <= 0 {
                return Err(Fail::text("ERR FAILOVER timeout must be greater than 0"));
            }
            wish.timeout_ms = Some(ms);
            i += 1;
        } else if args.is(i, "to") && more >= 2 && wish.target.is_none() {
            let host = String::from_utf8_lossy(&args[i + 1]).into_owned();
            // No replica has another port.
            wish.target = Some((host, u16::try_from(parse::int(args, i + 2)?).unwrap_or(0)));
            i += 2;
        } else if args.is(i, "force") && !wish.force {
            wish.force = true;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    failover::begin(call.engine, wish)?;
    reply.ok();
    Ok(())
}

/// REPLCONF of a client whose thread is stuck: it changes nothing.
pub(crate) fn while_stuck(
    _: &Engine,
    _: &Client,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Stuck, Fail> {
    let words: Vec<&[u8]> = args.iter_from(1).collect();
    match Replica::default().replconf(&words, 0, 0) {
        Answer::Ok => reply.ok(),
        Answer::Error(text) => return Err(Fail::new(text)),
        // Replicas send these without waiting for an answer, and there is none.
        Answer::Acknowledged { .. } | Answer::Silent | Answer::GetAck => return Ok(Stuck::Silent),
    }
    Ok(Stuck::Answered)
}
