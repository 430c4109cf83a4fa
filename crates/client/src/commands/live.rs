//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group live.
pub trait LiveCommands: Target {
    /// Publishes the same to several live channels.
    ///
    /// `LIVE.BROADCAST numchannels channel data`
    fn live_broadcast(&self, numchannels: impl Arg, channel: impl Arg, data: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_BROADCAST).with(numchannels).with(channel).with(data)
    }

    /// Lists live channels with subscribers.
    ///
    /// `LIVE.CHANNELS pattern`
    fn live_channels(&self, pattern: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_CHANNELS).with(pattern)
    }

    /// Ends connections of a user.
    ///
    /// `LIVE.DISCONNECT USER user`
    fn live_disconnect(&self, user: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_DISCONNECT).with("USER").with(user)
    }

    /// Reads the history of a live channel.
    ///
    /// `LIVE.HISTORY channel`
    fn live_history(&self, channel: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_HISTORY).with(channel)
    }

    /// Removes the history of a live channel.
    ///
    /// `LIVE.HISTORY_REMOVE channel`
    fn live_history_remove(&self, channel: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_HISTORY_REMOVE).with(channel)
    }

    /// Tells about the servers of live channels.
    ///
    /// `LIVE.INFO`
    fn live_info(&self) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_INFO)
    }

    /// Lists who is in a live channel.
    ///
    /// `LIVE.PRESENCE channel`
    fn live_presence(&self, channel: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_PRESENCE).with(channel)
    }

    /// Counts who is in a live channel.
    ///
    /// `LIVE.PRESENCE_STATS channel`
    fn live_presence_stats(&self, channel: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_PRESENCE_STATS).with(channel)
    }

    /// Publishes to a live channel.
    ///
    /// `LIVE.PUBLISH channel data`
    fn live_publish(&self, channel: impl Arg, data: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_PUBLISH).with(channel).with(data)
    }

    /// Changes when connections of a user expire.
    ///
    /// `LIVE.REFRESH USER user`
    fn live_refresh(&self, user: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_REFRESH).with("USER").with(user)
    }

    /// Subscribes connections of a user to a live channel.
    ///
    /// `LIVE.SUBSCRIBE channel USER user`
    fn live_subscribe(&self, channel: impl Arg, user: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_SUBSCRIBE).with(channel).with("USER").with(user)
    }

    /// Ends subscriptions of a user.
    ///
    /// `LIVE.UNSUBSCRIBE channel USER user`
    fn live_unsubscribe(&self, channel: impl Arg, user: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LIVE_UNSUBSCRIBE).with(channel).with("USER").with(user)
    }
}

impl<T: Target + ?Sized> LiveCommands for T {}

pub(super) mod options {
    //! The commands of this group that have options.

    #[doc(hidden)]
    #[derive(Debug)]
    pub enum NoOptionsOfLive {}
}
