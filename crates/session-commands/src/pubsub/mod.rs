//! The commands of publish and subscribe.

mod introspect;
mod publish;
mod subscribe;
mod unsubscribe;

use commands::row::{Flags, Group, KeyFlags, KeySpec, Row, Scope};
use engine::{ReplayedFn, SessionCommand, SessionFn};
use resp::Reply;

pub(crate) static COMMANDS: &[&SessionCommand] = &[
    &subscribe::PSUBSCRIBE,
    &publish::PUBLISH,
    &introspect::PUBSUB,
    &unsubscribe::PUNSUBSCRIBE,
    &publish::SPUBLISH,
    &subscribe::SSUBSCRIBE,
    &subscribe::SUBSCRIBE,
    &unsubscribe::SUNSUBSCRIBE,
    &unsubscribe::UNSUBSCRIBE,
];

/// The flags that all of them have.
const COMMON: Flags = Flags::PUBSUB.or(Flags::LOADING).or(Flags::STALE);
/// The commands that change subscriptions.
const CHANGING: Flags = COMMON.or(Flags::NOSCRIPT);

/// The start of every row here.
const BASE: Row = Row { group: Group::PubSub, scope: Scope::None, ..Row::DEFAULT };

/// The commands that scripts in an append-only file of Redis may call.
pub(crate) const IN_REPLAYED_SCRIPTS: &[(&str, ReplayedFn)] = &[("publish", publish::replayed)];

/// Shard channels are routed like keys, and are none.
const SHARD_CHANNELS: &[KeySpec] = &[KeySpec::range(1, -1, 1, KeyFlags::NOT_KEY)];

const fn command(row: Row, run: SessionFn) -> SessionCommand {
    SessionCommand { row, run, subs: &[] }
}

/// Says that a subscription began or ended (`name`), or that there was none to end, and that the
/// connection has `n`.
#[inline]
fn confirm(reply: &mut Reply<'_>, word: &str, name: Option<&[u8]>, n: usize) {
    reply.push(3);
    reply.bulk(word);
    match name {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    reply.int(n as i64);
}
