//! PING: <https://redis.io/docs/latest/commands/ping/>

use commands::Outcome;
use commands::row::{Flags, Group, Row, Traits};
use commands::{Fail, row::Scope};
use engine::acks::{Silence, of_connection};
use engine::{Call, Replayed, SessionCommand};
use resp::{Args, Reply};

pub(crate) static PING: SessionCommand = SessionCommand {
    row: Row {
        name: "ping",
        group: Group::Connection,
        arity: -1,
        traits: Traits::WHILE_SUBSCRIBED.or(Traits::NEEDS_DISK),
        flags: Flags::FAST,
        tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Answers PONG, or with its argument.",
        syntax: "PING [message]",
        transcript: r#"
> PING
PONG
> PING hello
"hello"
> PING a b
(error) ERR wrong number of arguments for 'ping' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() <= 2 && call.session.only_subscribes() {
        // In the form of a message, which is all that such a client expects.
        reply.array(2);
        reply.bulk("pong");
        reply.bulk(args.get(1).unwrap_or_default());
        return Ok(());
    }
    if call.engine.replication.acks.is_silent(Silence::Ping) && is_sentinel(call) {
        return Err(UNCONFIRMED);
    }
    pong(args, reply)
}

/// Whether this is the connection of a Sentinel.
pub(crate) fn is_sentinel(call: &Call<'_>) -> bool {
    call.session.client.with_names(|names| of_connection(names.name.as_bytes()).is_some())
}

/// What Sentinels are told by a server that does not know whether it is their primary.
pub(crate) const UNCONFIRMED: Fail = Fail::text(
    "NOREPLICAS This server does not know yet whether the Sentinels take it for the primary.",
);

fn pong(args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    match args.len() {
        1 => reply.simple("PONG"),
        2 => reply.bulk(&args[1]),
        _ => return Err(Fail::arity("ping")),
    }
    Ok(())
}

pub(super) fn replayed(_: &mut Replayed<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    pong(args, reply)
}
