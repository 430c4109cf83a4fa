//! PUBLISH's message, from the arguments to the subscribers.

use std::sync::Arc;

use resp::Args;

use super::{ChannelKind, Payload, Wanted};
use crate::engine::{Engine, Local};

/// The subscribers of replicas get it, too.
#[cold]
fn pass_on(engine: &Engine, local: &Local, kind: ChannelKind, args: &Args<'_>) {
    let name: &[u8] = match kind {
        ChannelKind::Shard => b"spublish",
        _ => b"publish",
    };
    let words = [&args[1], &args[2]];
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
    engine.replication.acks.note(&args[1], &args[2]);
    if engine.replication.renders() {
        pass_on(engine, local, kind, args);
    }
    // A large message that was received into a buffer of its own is sent from there.
    let taken = args.take(2).map(Arc::new);
    let message = match taken {
        Some(whole) => Payload::Shared(whole),
        None => Payload::of(&args[2]),
    };
    local.publish(&engine.pubsub, kind, Wanted::hashed(&args[1], hash), message)
}
