//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group pubsub.
pub trait PubsubCommands: Target {
    /// Sends a message to all who are subscribed to a channel.
    ///
    /// `PUBLISH channel message`
    fn publish(&self, channel: impl Arg, message: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::PUBLISH).with(channel).with(message)
    }

    /// The channels that have subscribers.
    ///
    /// `PUBSUB CHANNELS [pattern]`
    fn pubsub_channels(&self) -> Request<'_, options::PubsubChannels> {
        Request::of(self.target(), &table::PUBSUB_CHANNELS)
    }

    /// Shows what PUBSUB can do.
    ///
    /// `PUBSUB HELP`
    fn pubsub_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::PUBSUB_HELP)
    }

    /// How many different patterns have subscribers.
    ///
    /// `PUBSUB NUMPAT`
    fn pubsub_numpat(&self) -> Request<'_> {
        Request::of(self.target(), &table::PUBSUB_NUMPAT)
    }

    /// How many subscribers channels have, those through patterns not counted.
    ///
    /// `PUBSUB NUMSUB [channel [channel ...]]`
    fn pubsub_numsub(&self) -> Request<'_, options::PubsubNumsub> {
        Request::of(self.target(), &table::PUBSUB_NUMSUB)
    }

    /// The shard channels that have subscribers.
    ///
    /// `PUBSUB SHARDCHANNELS [pattern]`
    fn pubsub_shardchannels(&self) -> Request<'_, options::PubsubShardchannels> {
        Request::of(self.target(), &table::PUBSUB_SHARDCHANNELS)
    }

    /// How many subscribers shard channels have.
    ///
    /// `PUBSUB SHARDNUMSUB [shardchannel [shardchannel ...]]`
    fn pubsub_shardnumsub(&self) -> Request<'_, options::PubsubShardnumsub> {
        Request::of(self.target(), &table::PUBSUB_SHARDNUMSUB)
    }

    /// Sends a message to all who are subscribed to a shard channel.
    ///
    /// `SPUBLISH shardchannel message`
    fn spublish(&self, shardchannel: impl Arg, message: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SPUBLISH).with(shardchannel).with(message)
    }
}

impl<T: Target + ?Sized> PubsubCommands for T {}

/// Options of PUBSUB CHANNELS.
impl Request<'_, options::PubsubChannels> {
    /// The argument `pattern`.
    pub fn pattern(self, pattern: impl Arg) -> Self {
        self.with(pattern)
    }
}

/// Options of PUBSUB NUMSUB.
impl Request<'_, options::PubsubNumsub> {
    /// The argument `channel`.
    pub fn channels(self, channels: impl Arg) -> Self {
        self.with(channels)
    }
}

/// Options of PUBSUB SHARDCHANNELS.
impl Request<'_, options::PubsubShardchannels> {
    /// The argument `pattern`.
    pub fn pattern(self, pattern: impl Arg) -> Self {
        self.with(pattern)
    }
}

/// Options of PUBSUB SHARDNUMSUB.
impl Request<'_, options::PubsubShardnumsub> {
    /// The argument `shardchannel`.
    pub fn shardchannels(self, shardchannels: impl Arg) -> Self {
        self.with(shardchannels)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of PUBSUB CHANNELS.
    #[derive(Debug)]
    pub enum PubsubChannels {}
    /// Of PUBSUB NUMSUB.
    #[derive(Debug)]
    pub enum PubsubNumsub {}
    /// Of PUBSUB SHARDCHANNELS.
    #[derive(Debug)]
    pub enum PubsubShardchannels {}
    /// Of PUBSUB SHARDNUMSUB.
    #[derive(Debug)]
    pub enum PubsubShardnumsub {}
}
