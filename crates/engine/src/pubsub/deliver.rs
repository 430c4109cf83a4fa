//! PUBLISH's message, from the arguments to the subscribers.

use std::sync::Arc;

use resp::Args;

use super::{ChannelKind, Local, Payload, Wanted};
use crate::engine::Engine;

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
    // A large message that was received into a buffer of its own is sent from there.
    let taken = args.take(2).map(Arc::new);
    let message = match taken {
        Some(whole) => Payload::Shared(whole),
        None => Payload::of(&args[2]),
    };
    local.publish(&engine.pubsub, kind, Wanted::hashed(&args[1], hash), message)
}
