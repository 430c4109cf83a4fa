//! UNSUBSCRIBE, PUNSUBSCRIBE and SUNSUBSCRIBE:
//! <https://redis.io/docs/latest/commands/unsubscribe/>

use commands::Outcome;
use commands::row::{Flags, Row, Traits};
use resp::{Args, Reply};

use super::{BASE, CHANGING, SHARD_CHANNELS, command, confirm};
use engine::pubsub::{ChannelKind, Name, Wanted};
use engine::{Call, SessionCommand};

pub(super) static UNSUBSCRIBE: SessionCommand = command(
    Row {
        name: "unsubscribe",
        since: "2.0.0",
        traits: Traits::WHILE_SUBSCRIBED,
        arity: -1,
        flags: CHANGING.or(Flags::SENTINEL),
        complexity: "O(N) where N is the number of channels to unsubscribe.",
        summary: "Ends subscriptions to channels: those that are named, or all.",
        syntax: "UNSUBSCRIBE [channel [channel ...]]",
        transcript: r#"
> UNSUBSCRIBE
1) "unsubscribe"
2) (nil)
3) (integer) 0
> SUBSCRIBE news
1) "subscribe"
2) "news"
3) (integer) 1
> UNSUBSCRIBE other
1) "unsubscribe"
2) "other"
3) (integer) 1
> UNSUBSCRIBE
1) "unsubscribe"
2) "news"
3) (integer) 0
> PING
PONG
"#,
        ..BASE
    },
    |call, args, reply| unsubscribe(call, args, reply, ChannelKind::Channel, "unsubscribe"),
);

pub(super) static PUNSUBSCRIBE: SessionCommand = command(
    Row {
        name: "punsubscribe",
        since: "2.0.0",
        traits: Traits::WHILE_SUBSCRIBED,
        arity: -1,
        flags: CHANGING.or(Flags::SENTINEL),
        complexity: "O(N) where N is the number of patterns to unsubscribe.",
        summary: "Ends subscriptions to patterns: those that are named, or all.",
        syntax: "PUNSUBSCRIBE [pattern [pattern ...]]",
        transcript: r#"
> PUNSUBSCRIBE
1) "punsubscribe"
2) (nil)
3) (integer) 0
> PSUBSCRIBE n*
1) "psubscribe"
2) "n*"
3) (integer) 1
> PUNSUBSCRIBE n*
1) "punsubscribe"
2) "n*"
3) (integer) 0
"#,
        ..BASE
    },
    |call, args, reply| unsubscribe(call, args, reply, ChannelKind::Pattern, "punsubscribe"),
);

pub(super) static SUNSUBSCRIBE: SessionCommand = command(
    Row {
        name: "sunsubscribe",
        since: "7.0.0",
        traits: Traits::WHILE_SUBSCRIBED,
        arity: -1,
        flags: CHANGING,
        keys: SHARD_CHANNELS,
        complexity: "O(N) where N is the number of shard channels to unsubscribe.",
        summary: "Ends subscriptions to shard channels: those that are named, or all.",
        syntax: "SUNSUBSCRIBE [shardchannel [shardchannel ...]]",
        transcript: r#"
> SUNSUBSCRIBE orders
1) "sunsubscribe"
2) "orders"
3) (integer) 0
> SSUBSCRIBE orders
1) "ssubscribe"
2) "orders"
3) (integer) 1
> SUNSUBSCRIBE
1) "sunsubscribe"
2) "orders"
3) (integer) 0
"#,
        ..BASE
    },
    |call, args, reply| unsubscribe(call, args, reply, ChannelKind::Shard, "sunsubscribe"),
);

fn unsubscribe(
    call: &mut Call<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    kind: ChannelKind,
    word: &str,
) -> Outcome {
    // Messages published before this still count.
    call.thread.receive();
    let names: Vec<Option<Name>> = if args.len() > 1 {
        args.iter_from(1).map(|name| Some(Wanted::new(name).keep())).collect()
    } else {
        match call.session.client.receiver.names(kind) {
            // There is an answer all the same.
            all if all.is_empty() => vec![None],
            all => all.into_iter().map(Some).collect(),
        }
    };
    for name in names {
        let name = name.as_deref();
        if let Some(name) = name {
            call.thread.unsubscribe(call.engine, call.session, kind, name);
        }
        let n = call.session.client.receiver.told(kind);
        call.thread.push_reply(call.session, reply, |reply, _| confirm(reply, word, name, n));
    }
    Ok(())
}
