//! PUBSUB: <https://redis.io/docs/latest/commands/pubsub/>

use commands::Outcome;
use commands::row::{Flags, Row};
use resp::{Args, Reply};

use super::{BASE, COMMON, command};
use engine::pubsub::ChannelKind;
use engine::{Call, SessionCommand};

pub(super) static PUBSUB: SessionCommand = SessionCommand {
    row: Row {
        name: "pubsub",
        since: "2.8.0",
        arity: -2,
        complexity: "Depends on subcommand.",
        summary: "Channels and their subscribers.",
        subcommands: &[
            &CHANNELS.row,
            &HELP.row,
            &NUMPAT.row,
            &NUMSUB.row,
            &SHARDCHANNELS.row,
            &SHARDNUMSUB.row,
        ],
        ..BASE
    },
    run: engine::container,
    subs: &[&CHANNELS, &HELP, &NUMPAT, &NUMSUB, &SHARDCHANNELS, &SHARDNUMSUB],
};

static CHANNELS: SessionCommand = command(
    Row {
        name: "pubsub|channels",
        since: "2.8.0",
        arity: -2,
        flags: COMMON,
        complexity: "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels and patterns)",
        summary: "The channels that have subscribers.",
        syntax: "PUBSUB CHANNELS [pattern]",
        transcript: r#"
> PUBSUB CHANNELS
(empty array)
# reset
# resp: 3
> SUBSCRIBE news
1) "subscribe"
2) "news"
3) (integer) 1
> PUBSUB CHANNELS n*
1) "news"
> PUBSUB CHANNELS o*
(empty array)
> PUBSUB CHANNELS n* o*
(error) ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.
"#,
        ..BASE
    },
    |call, args, reply| channels(call, args, reply, ChannelKind::Channel),
);

static SHARDCHANNELS: SessionCommand = command(
    Row {
        name: "pubsub|shardchannels",
        since: "7.0.0",
        arity: -2,
        flags: COMMON,
        complexity: "O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short shard channels).",
        summary: "The shard channels that have subscribers.",
        syntax: "PUBSUB SHARDCHANNELS [pattern]",
        transcript: r#"
> PUBSUB SHARDCHANNELS
(empty array)
# reset
# resp: 3
> SSUBSCRIBE orders
1) "ssubscribe"
2) "orders"
3) (integer) 1
> PUBSUB SHARDCHANNELS o*
1) "orders"
> PUBSUB CHANNELS
(empty array)
"#,
        ..BASE
    },
    |call, args, reply| channels(call, args, reply, ChannelKind::Shard),
);

static NUMSUB: SessionCommand = command(
    Row {
        name: "pubsub|numsub",
        since: "2.8.0",
        arity: -2,
        flags: COMMON,
        complexity: "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
        summary: "How many subscribers channels have, those through patterns not counted.",
        syntax: "PUBSUB NUMSUB [channel [channel ...]]",
        transcript: r#"
> PUBSUB NUMSUB
(empty array)
> PUBSUB NUMSUB news
1) "news"
2) (integer) 0
"#,
        ..BASE
    },
    |call, args, reply| numbers(call, args, reply, ChannelKind::Channel),
);

static SHARDNUMSUB: SessionCommand = command(
    Row {
        name: "pubsub|shardnumsub",
        since: "7.0.0",
        arity: -2,
        flags: COMMON,
        complexity: "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
        summary: "How many subscribers shard channels have.",
        syntax: "PUBSUB SHARDNUMSUB [shardchannel [shardchannel ...]]",
        transcript: r#"
> PUBSUB SHARDNUMSUB orders
1) "orders"
2) (integer) 0
"#,
        ..BASE
    },
    |call, args, reply| numbers(call, args, reply, ChannelKind::Shard),
);

static NUMPAT: SessionCommand = command(
    Row {
        name: "pubsub|numpat",
        since: "2.8.0",
        arity: 2,
        flags: COMMON,
        complexity: "O(1)",
        summary: "How many different patterns have subscribers.",
        syntax: "PUBSUB NUMPAT",
        transcript: r#"
> PUBSUB NUMPAT
(integer) 0
# reset
# resp: 3
> PSUBSCRIBE n*
1) "psubscribe"
2) "n*"
3) (integer) 1
> PUBSUB NUMPAT
(integer) 1
"#,
        ..BASE
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        reply.int(call.engine.pubsub.names(ChannelKind::Pattern) as i64);
        Ok(())
    },
);

static HELP: SessionCommand = command(
    Row {
        name: "pubsub|help",
        since: "6.2.0",
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE),
        complexity: "O(1)",
        summary: "Shows what PUBSUB can do.",
        syntax: "PUBSUB HELP",
        transcript: r#"
> PUBSUB HELP
~  1) PUBSUB <subcommand> *
...
"#,
        ..BASE
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const LINES: &[&str] = &[
            "CHANNELS [<pattern>]",
            "    The channels that have subscribers: all, or those that match.",
            "NUMPAT",
            "    How many different patterns have subscribers.",
            "NUMSUB [<channel> ...]",
            "    How many subscribers the channels have, those through patterns not counted.",
            "SHARDCHANNELS [<pattern>]",
            "    The shard channels that have subscribers: all, or those that match.",
            "SHARDNUMSUB [<shardchannel> ...]",
            "    How many subscribers the shard channels have.",
        ];
        commands::help::write(reply, "PUBSUB", LINES);
        Ok(())
    },
);

fn channels(
    call: &mut Call<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    kind: ChannelKind,
) -> Outcome {
    if args.len() > 3 {
        return Err(crate::connection::usage(args));
    }
    let names = call.engine.pubsub.list(kind, args.get(2));
    reply.array(names.len());
    for name in names {
        reply.bulk(&*name);
    }
    Ok(())
}

fn numbers(
    call: &mut Call<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    kind: ChannelKind,
) -> Outcome {
    // Not a map in RESP3 either.
    reply.array((args.len() - 2) * 2);
    for name in args.iter_from(2) {
        reply.bulk(name);
        reply.int(call.engine.pubsub.subscribers(kind, name) as i64);
    }
    Ok(())
}
