//! SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE: <https://redis.io/docs/latest/commands/subscribe/>

use commands::Outcome;
use commands::row::{Channels, Flags, Row, Traits};
use resp::{Args, Reply};

use super::{BASE, CHANGING, SHARD_CHANNELS, command, confirm};
use engine::acl;
use engine::pubsub::ChannelKind;
use engine::{Call, SessionCommand};

pub(super) static SUBSCRIBE: SessionCommand = command(
    Row {
        name: "subscribe",
        since: "2.0.0",
        traits: Traits::WHILE_SUBSCRIBED,
        channels: Channels::Subscribe,
        arity: -2,
        flags: CHANGING.or(Flags::SENTINEL),
        complexity: "O(N) where N is the number of channels to subscribe to.",
        summary: "Receives what is published on channels from now on.",
        syntax: "SUBSCRIBE channel [channel ...]",
        transcript: r#"
> SUBSCRIBE news
1) "subscribe"
2) "news"
3) (integer) 1
> SUBSCRIBE news
1) "subscribe"
2) "news"
3) (integer) 1
> PSUBSCRIBE n*
1) "psubscribe"
2) "n*"
3) (integer) 2
# reset
# Who is subscribed may do everything else in RESP3 alone.
# resp: 3
> SUBSCRIBE news
1) "subscribe"
2) "news"
3) (integer) 1
> PUBSUB NUMSUB news
1) "news"
2) (integer) 1
"#,
        ..BASE
    },
    |call, args, reply| subscribe(call, args, reply, ChannelKind::Channel, "subscribe"),
);

pub(super) static PSUBSCRIBE: SessionCommand = command(
    Row {
        name: "psubscribe",
        since: "2.0.0",
        traits: Traits::WHILE_SUBSCRIBED,
        channels: Channels::SubscribePatterns,
        arity: -2,
        flags: CHANGING.or(Flags::SENTINEL),
        complexity: "O(N) where N is the number of patterns to subscribe to.",
        summary: "Receives what is published on all channels whose names match.",
        syntax: "PSUBSCRIBE pattern [pattern ...]",
        transcript: r#"
> PSUBSCRIBE news.*
1) "psubscribe"
2) "news.*"
3) (integer) 1
> PSUBSCRIBE ?
1) "psubscribe"
2) "?"
3) (integer) 2
"#,
        ..BASE
    },
    |call, args, reply| subscribe(call, args, reply, ChannelKind::Pattern, "psubscribe"),
);

pub(super) static SSUBSCRIBE: SessionCommand = command(
    Row {
        name: "ssubscribe",
        since: "7.0.0",
        traits: Traits::WHILE_SUBSCRIBED,
        channels: Channels::Subscribe,
        arity: -2,
        flags: CHANGING,
        keys: SHARD_CHANNELS,
        complexity: "O(N) where N is the number of shard channels to subscribe to.",
        summary: "Receives what is published on shard channels from now on.",
        syntax: "SSUBSCRIBE shardchannel [shardchannel ...]",
        transcript: r#"
> SSUBSCRIBE orders
1) "ssubscribe"
2) "orders"
3) (integer) 1
> SUBSCRIBE orders
1) "subscribe"
2) "orders"
3) (integer) 1
"#,
        ..BASE
    },
    |call, args, reply| subscribe(call, args, reply, ChannelKind::Shard, "ssubscribe"),
);

fn subscribe(
    call: &mut Call<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    kind: ChannelKind,
    word: &str,
) -> Outcome {
    // Messages published before this are not for the new subscriptions.
    call.thread.receive();
    let names = args.iter_from(1);
    call.thread.subscribe(call.engine, call.session, kind, names, |thread, session, name, n| {
        thread.push_reply(session, reply, |reply, _| confirm(reply, word, Some(name), n));
    });
    // A command that has withdrawn a permission meanwhile either looked before these subscriptions
    // were there, or has found them.
    let (user, pattern) = (&call.session.user, kind == ChannelKind::Pattern);
    if !args.iter_from(1).all(|name| acl::may_listen(user, name, pattern)) {
        call.session.closing = true;
    }
    Ok(())
}
