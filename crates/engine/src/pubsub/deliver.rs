//! PUBLISH's message, from the arguments to the subscribers.

use std::sync::Arc;

use resp::Args;

use super::{ChannelKind, Payload, Wanted};
use crate::engine::{Engine, Local};

/// The subscribers of replicas get it, too.
#[cold]
fn pass_on(engine: &Engine, local: &Local, kind: ChannelKind, words: [&[u8]; 2]) {
    let name: &[u8] = match kind {
        ChannelKind::Shard => b"spublish",
        _ => b"publish",
    };
    local.own().lane.append_messages(engine.stream.counter(), |unit| {
        unit.command(0, name, words.len(), words.into_iter());
    });
}

/// Publishes the message in the arguments to the channel whose name has this hash. Returns how many
/// subscriptions it reaches.
#[inline]
pub fn deliver(
    engine: &Engine,
    local: &mut Local,
    kind: ChannelKind,
    hash: u64,
    args: &mut Args<'_>,
) -> u64 {
    note(engine, local, kind, [&args[1], &args[2]]);
    // A large message that was received into a buffer of its own is sent from there.
    let taken = args.take(2).map(Arc::new);
    let message = match taken {
        Some(whole) => Payload::Shared(whole),
        None => Payload::of(&args[2]),
    };
    local.publish(&engine.pubsub, kind, Wanted::hashed(&args[1], hash), message)
}

/// Publishes a message of the server's own. Returns how many subscriptions it reaches.
pub(crate) fn deliver_own(
    engine: &Engine,
    local: &mut Local,
    channel: &[u8],
    message: &[u8],
) -> u64 {
    note(engine, local, ChannelKind::Channel, [channel, message]);
    let to = Wanted::hashed(channel, stdx::hash::hash64(channel));
    local.publish(&engine.pubsub, ChannelKind::Channel, to, Payload::of(message))
}

/// Replicas and the guard of acknowledgements get the channel and the message, too.
#[inline]
fn note(engine: &Engine, local: &Local, kind: ChannelKind, words: [&[u8]; 2]) {
    let [channel, message] = words;
    engine.replication.acks.note(channel, message);
    if engine.replication.renders() {
        pass_on(engine, local, kind, words);
    }
}
