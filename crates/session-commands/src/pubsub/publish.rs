//! PUBLISH and SPUBLISH: <https://redis.io/docs/latest/commands/publish/>

use commands::Outcome;
use commands::row::{Channels, Flags, KeyFlags, KeySpec, Row};
use resp::{Args, Reply};

use super::{BASE, COMMON, command};
use engine::pubsub::{ChannelKind, deliver};
use engine::{Call, Replayed, SessionCommand};

const FLAGS: Flags = COMMON.or(Flags::FAST).or(Flags::MAY_REPLICATE);

pub(super) static PUBLISH: SessionCommand = command(
    Row {
        name: "publish",
        since: "2.0.0",
        channels: Channels::Publish,
        arity: 3,
        flags: FLAGS.or(Flags::SENTINEL),
        complexity: "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed patterns (by any client).",
        summary: "Sends a message to all who are subscribed to a channel.",
        syntax: "PUBLISH channel message",
        transcript: r#"
> PUBLISH news hello
(integer) 0
> PUBLISH news
(error) ERR wrong number of arguments for 'publish' command
"#,
        ..BASE
    },
    |call, args, reply| publish(call, args, reply, ChannelKind::Channel),
);

pub(super) static SPUBLISH: SessionCommand = command(
    Row {
        name: "spublish",
        since: "7.0.0",
        channels: Channels::PublishShard,
        arity: 3,
        flags: FLAGS,
        keys: &[KeySpec::one(1, KeyFlags::NOT_KEY)],
        complexity: "O(N) where N is the number of clients subscribed to the receiving shard channel.",
        summary: "Sends a message to all who are subscribed to a shard channel.",
        syntax: "SPUBLISH shardchannel message",
        transcript: r#"
> SPUBLISH orders new
(integer) 0
"#,
        ..BASE
    },
    |call, args, reply| publish(call, args, reply, ChannelKind::Shard),
);

fn publish(
    call: &mut Call<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    kind: ChannelKind,
) -> Outcome {
    let hash = stdx::hash::hash64(&args[1]);
    let receivers = deliver(call.engine, &mut call.thread.pubsub, kind, hash, args);
    reply.int(receivers as i64);
    Ok(())
}

/// No client has subscribed to anything while the server loads.
pub(super) fn replayed(_: &mut Replayed<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.int(0);
    Ok(())
}
