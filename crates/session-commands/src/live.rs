//! LIVE.*: the server API of live channels as commands. Arguments and replies are the API's: docs/live.md.

use commands::row::{Acl, Channels, Flags, Group, Row, Scope};
use commands::{Fail, Outcome};
use engine::{Call, LiveAnswer, LiveWrite, SessionCommand};
use resp::{Args, Reply};

use crate::pending_reply::PendingReply;

const OFF: Fail = Fail::text("ERR live channels are off: set live-config");
const ELSEWHERE: Fail = Fail::text(
    "ERR channels of live-broker are in another server, which transactions and scripts do not reach",
);

/// The common part of the rows. Keys follow from the channel, and are none of the client's business: what a user may
/// do depends on the channel. In a transaction or script every shard is locked.
const BASE: Row = Row {
    group: Group::Live,
    since: "7.4.0",
    arity: -2,
    loose_arity: "the JSON of the HTTP API may be the only argument",
    scope: Scope::All,
    acl: Acl::PUBSUB,
    flags: Flags::WRITE,
    ..Row::DEFAULT
};

macro_rules! live {
    ($($name:ident $method:literal, $syntax:literal, $example:literal, $summary:literal, { $($field:ident: $value:expr),* };)*) => {
        $(static $name: SessionCommand = SessionCommand {
            row: Row {
                name: concat!("live.", $method),
                complexity: "O(N) where N is the number of connections and publications that it is about.",
                summary: $summary,
                syntax: concat!("LIVE.", $syntax),
                transcript: concat!("\n> LIVE.", $example, "\n(error) ERR live channels are off: set live-config\n"),
                $($field: $value,)*
                ..BASE
            },
            run: |call, args, reply| run($method, call, args, reply),
            subs: &[],
        };)*
        pub(crate) static COMMANDS: &[&SessionCommand] = &[$(&$name),*];
    };
}

live! {
    BROADCAST "broadcast", "BROADCAST numchannels channel [channel ...] data [BINARY] [TAG name value [TAG name value ...]] [ID idempotency-key] [DELTA] [NOHISTORY] [VERSION version] [VERSIONEPOCH epoch]", "BROADCAST 2 chat:a chat:b 1",
        "Publishes the same to several live channels.",
        { acl: Acl::PUBSUB.or(Acl::DANGEROUS) };
    CHANNELS "channels", "CHANNELS [pattern]", "CHANNELS",
        "Lists live channels with subscribers.", { loose_arity: "", arity: -1, acl: Acl::PUBSUB.or(Acl::DANGEROUS) };
    DISCONNECT "disconnect", "DISCONNECT [USER user] [CLIENT client] [SESSION session] [CODE code] [REASON text] [EXCEPT client [EXCEPT client ...]]", "DISCONNECT USER 42",
        "Ends connections of a user.", { acl: Acl::PUBSUB.or(Acl::DANGEROUS) };
    HISTORY "history", "HISTORY channel [LIMIT count] [SINCE offset epoch] [REVERSE]", "HISTORY chat:a LIMIT 10 REVERSE",
        "Reads the history of a live channel.", { loose_arity: "", channels: Channels::Publish };
    HISTORY_REMOVE "history_remove", "HISTORY_REMOVE channel", "HISTORY_REMOVE chat:a",
        "Removes the history of a live channel.", { channels: Channels::Publish };
    INFO "info", "INFO", "INFO",
        "Tells about the servers of live channels.", { arity: 1, loose_arity: "", acl: Acl::PUBSUB.or(Acl::DANGEROUS) };
    PRESENCE "presence", "PRESENCE channel", "PRESENCE chat:a",
        "Lists who is in a live channel.", { channels: Channels::Publish };
    PRESENCE_STATS "presence_stats", "PRESENCE_STATS channel", "PRESENCE_STATS chat:a",
        "Counts who is in a live channel.", { channels: Channels::Publish };
    PUBLISH "publish", "PUBLISH channel data [BINARY] [TAG name value [TAG name value ...]] [ID idempotency-key] [DELTA] [NOHISTORY] [VERSION version] [VERSIONEPOCH epoch]", "PUBLISH chat:a 1 TAG kind news",
        "Publishes to a live channel.", { channels: Channels::Publish };
    REFRESH "refresh", "REFRESH [USER user] [CLIENT client] [SESSION session] [EXPIRED] [EXPIREAT unix-time-seconds] [INFO json]", "REFRESH USER 42 EXPIRED",
        "Changes when connections of a user expire.", { acl: Acl::PUBSUB.or(Acl::DANGEROUS) };
    SUBSCRIBE "subscribe", "SUBSCRIBE channel [USER user] [CLIENT client] [SESSION session] [EXPIREAT unix-time-seconds] [INFO json] [DATA json] [SINCE offset epoch]", "SUBSCRIBE chat:a USER 42",
        "Subscribes connections of a user to a live channel.", { loose_arity: "", acl: Acl::PUBSUB.or(Acl::DANGEROUS) };
    UNSUBSCRIBE "unsubscribe", "UNSUBSCRIBE [channel] [USER user] [CLIENT client] [SESSION session]", "UNSUBSCRIBE chat:a USER 42",
        "Ends subscriptions of a user.", { acl: Acl::PUBSUB.or(Acl::DANGEROUS) };
}

fn run(method: &str, call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let Some(live) = call.engine.hooks.live.read().clone() else { return Err(OFF) };
    let words: Vec<&[u8]> = args.iter_from(1).collect();
    let wait = |call: &mut Call<'_>| -> Result<LiveAnswer, Fail> {
        if !call.thread.cx.may_block {
            return Err(ELSEWHERE);
        }
        let name = format!("LIVE.{}", method.to_ascii_uppercase());
        let channel = words.first().map_or_else(String::new, |w| String::from_utf8_lossy(w).into());
        let pending = PendingReply::wait(call, [&name, &channel], None)?;
        Ok(Box::new(move |write: LiveWrite| pending.answer(write)))
    };
    live(call, method, &words, reply, &wait)
}
