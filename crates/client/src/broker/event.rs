//! What happens in channels, as subscribers are told.

use crate::broker::protocol::{ClientInfo, Publication};
use bytes::Bytes;

/// Where a channel is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// How many publications its history has had.
    pub offset: u64,
    /// Another epoch is another history: what was lost cannot be recovered.
    pub epoch: String,
}

/// What happens in channels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "nearly all events are publications")]
pub enum BrokerEvent {
    /// Something was published.
    Publication {
        /// Where.
        channel: String,
        /// What; with its offset, if the channel has a history.
        publication: Publication,
        /// Where the channel is then; without an epoch if it has no history.
        position: Position,
        /// Clients may be sent the difference from the one before it.
        with_delta: bool,
        /// The one before it, if the difference is wanted and the history had one.
        previous: Option<Publication>,
    },
    /// A client has come.
    Join {
        /// Where.
        channel: String,
        /// Who.
        info: ClientInfo,
    },
    /// A client has left.
    Leave {
        /// Where.
        channel: String,
        /// Who.
        info: ClientInfo,
    },
    /// The connection to a shard broke, and its channels are subscribed to again: what was published in between is
    /// in their histories, if anywhere ([`Broker::recover`](super::Broker::recover)).
    Gap {
        /// The shard's number: its channels are those of which `shard_of(channel, shards)` is this.
        shard: usize,
    },
}

/// What happens in channels, as it was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerMessage {
    /// A message in a channel, in its envelope.
    Message {
        /// Where.
        channel: String,
        /// The envelope.
        message: Bytes,
    },
    /// As [`BrokerEvent::Gap`].
    Gap {
        /// The shard's number.
        shard: usize,
    },
}
