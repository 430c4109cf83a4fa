//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group live.
pub trait LiveCommands: Target {
    /// Publishes the same to several live channels.
    ///
    /// `LIVE.BROADCAST numchannels channel [channel ...] data [BINARY] [TAG name value [TAG name value ...]] [ID idempotency-key] [DELTA] [NOHISTORY] [VERSION version] [VERSIONEPOCH epoch]`
    fn live_broadcast(&self, numchannels: impl Arg, channels: impl Arg, data: impl Arg) -> Request<'_, options::LiveBroadcast> {
        Request::of(self.target(), &table::LIVE_BROADCAST).with(numchannels).with(channels).with(data)
    }

    /// Lists live channels with subscribers.
    ///
    /// `LIVE.CHANNELS [pattern]`
    fn live_channels(&self) -> Request<'_, options::LiveChannels> {
        Request::of(self.target(), &table::LIVE_CHANNELS)
    }

    /// Ends connections of a user.
    ///
    /// `LIVE.DISCONNECT [USER user] [CLIENT client] [SESSION session] [CODE code] [REASON text] [EXCEPT client [EXCEPT client ...]]`
    fn live_disconnect(&self) -> Request<'_, options::LiveDisconnect> {
        Request::of(self.target(), &table::LIVE_DISCONNECT)
    }

    /// Reads the history of a live channel.
    ///
    /// `LIVE.HISTORY channel [LIMIT count] [SINCE offset epoch] [REVERSE]`
    fn live_history(&self, channel: impl Arg) -> Request<'_, options::LiveHistory> {
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
    /// `LIVE.PUBLISH channel data [BINARY] [TAG name value [TAG name value ...]] [ID idempotency-key] [DELTA] [NOHISTORY] [VERSION version] [VERSIONEPOCH epoch]`
    fn live_publish(&self, channel: impl Arg, data: impl Arg) -> Request<'_, options::LivePublish> {
        Request::of(self.target(), &table::LIVE_PUBLISH).with(channel).with(data)
    }

    /// Changes when connections of a user expire.
    ///
    /// `LIVE.REFRESH [USER user] [CLIENT client] [SESSION session] [EXPIRED] [EXPIREAT unix-time-seconds] [INFO json]`
    fn live_refresh(&self) -> Request<'_, options::LiveRefresh> {
        Request::of(self.target(), &table::LIVE_REFRESH)
    }

    /// Subscribes connections of a user to a live channel.
    ///
    /// `LIVE.SUBSCRIBE channel [USER user] [CLIENT client] [SESSION session] [EXPIREAT unix-time-seconds] [INFO json] [DATA json] [SINCE offset epoch]`
    fn live_subscribe(&self, channel: impl Arg) -> Request<'_, options::LiveSubscribe> {
        Request::of(self.target(), &table::LIVE_SUBSCRIBE).with(channel)
    }

    /// Ends subscriptions of a user.
    ///
    /// `LIVE.UNSUBSCRIBE [channel] [USER user] [CLIENT client] [SESSION session]`
    fn live_unsubscribe(&self) -> Request<'_, options::LiveUnsubscribe> {
        Request::of(self.target(), &table::LIVE_UNSUBSCRIBE)
    }
}

impl<T: Target + ?Sized> LiveCommands for T {}

/// Options of LIVE.BROADCAST.
impl Request<'_, options::LiveBroadcast> {
    /// `BINARY`.
    pub fn binary(self) -> Self {
        self.with("BINARY")
    }

    /// `TAG`.
    pub fn tag(self, tags: impl Arg) -> Self {
        self.with(tags)
    }

    /// `ID`.
    pub fn id(self, idempotency_key: impl Arg) -> Self {
        self.with("ID").with(idempotency_key)
    }

    /// `DELTA`.
    pub fn delta(self) -> Self {
        self.with("DELTA")
    }

    /// `NOHISTORY`.
    pub fn nohistory(self) -> Self {
        self.with("NOHISTORY")
    }

    /// `VERSION`.
    pub fn version(self, version: impl Arg) -> Self {
        self.with("VERSION").with(version)
    }

    /// `VERSIONEPOCH`.
    pub fn versionepoch(self, epoch: impl Arg) -> Self {
        self.with("VERSIONEPOCH").with(epoch)
    }
}

/// Options of LIVE.CHANNELS.
impl Request<'_, options::LiveChannels> {
    /// The argument `pattern`.
    pub fn pattern(self, pattern: impl Arg) -> Self {
        self.with(pattern)
    }
}

/// Options of LIVE.DISCONNECT.
impl Request<'_, options::LiveDisconnect> {
    /// `USER`.
    pub fn user(self, user: impl Arg) -> Self {
        self.with("USER").with(user)
    }

    /// `CLIENT`.
    pub fn client(self, client: impl Arg) -> Self {
        self.with("CLIENT").with(client)
    }

    /// `SESSION`.
    pub fn session(self, session: impl Arg) -> Self {
        self.with("SESSION").with(session)
    }

    /// `CODE`.
    pub fn code(self, code: impl Arg) -> Self {
        self.with("CODE").with(code)
    }

    /// `REASON`.
    pub fn reason(self, text: impl Arg) -> Self {
        self.with("REASON").with(text)
    }

    /// `EXCEPT`.
    pub fn except(self, clients: impl Arg) -> Self {
        self.with(clients)
    }
}

/// Options of LIVE.HISTORY.
impl Request<'_, options::LiveHistory> {
    /// `LIMIT`.
    pub fn limit(self, count: impl Arg) -> Self {
        self.with("LIMIT").with(count)
    }

    /// `SINCE`.
    pub fn since(self, offset: impl Arg, epoch: impl Arg) -> Self {
        self.with("SINCE").with(offset).with(epoch)
    }

    /// `REVERSE`.
    pub fn reverse(self) -> Self {
        self.with("REVERSE")
    }
}

/// Options of LIVE.PUBLISH.
impl Request<'_, options::LivePublish> {
    /// `BINARY`.
    pub fn binary(self) -> Self {
        self.with("BINARY")
    }

    /// `TAG`.
    pub fn tag(self, tags: impl Arg) -> Self {
        self.with(tags)
    }

    /// `ID`.
    pub fn id(self, idempotency_key: impl Arg) -> Self {
        self.with("ID").with(idempotency_key)
    }

    /// `DELTA`.
    pub fn delta(self) -> Self {
        self.with("DELTA")
    }

    /// `NOHISTORY`.
    pub fn nohistory(self) -> Self {
        self.with("NOHISTORY")
    }

    /// `VERSION`.
    pub fn version(self, version: impl Arg) -> Self {
        self.with("VERSION").with(version)
    }

    /// `VERSIONEPOCH`.
    pub fn versionepoch(self, epoch: impl Arg) -> Self {
        self.with("VERSIONEPOCH").with(epoch)
    }
}

/// Options of LIVE.REFRESH.
impl Request<'_, options::LiveRefresh> {
    /// `USER`.
    pub fn user(self, user: impl Arg) -> Self {
        self.with("USER").with(user)
    }

    /// `CLIENT`.
    pub fn client(self, client: impl Arg) -> Self {
        self.with("CLIENT").with(client)
    }

    /// `SESSION`.
    pub fn session(self, session: impl Arg) -> Self {
        self.with("SESSION").with(session)
    }

    /// `EXPIRED`.
    pub fn expired(self) -> Self {
        self.with("EXPIRED")
    }

    /// `EXPIREAT`.
    pub fn expireat(self, unix_time_seconds: impl Arg) -> Self {
        self.with("EXPIREAT").with(unix_time_seconds)
    }

    /// `INFO`.
    pub fn info(self, json: impl Arg) -> Self {
        self.with("INFO").with(json)
    }
}

/// Options of LIVE.SUBSCRIBE.
impl Request<'_, options::LiveSubscribe> {
    /// `USER`.
    pub fn user(self, user: impl Arg) -> Self {
        self.with("USER").with(user)
    }

    /// `CLIENT`.
    pub fn client(self, client: impl Arg) -> Self {
        self.with("CLIENT").with(client)
    }

    /// `SESSION`.
    pub fn session(self, session: impl Arg) -> Self {
        self.with("SESSION").with(session)
    }

    /// `EXPIREAT`.
    pub fn expireat(self, unix_time_seconds: impl Arg) -> Self {
        self.with("EXPIREAT").with(unix_time_seconds)
    }

    /// `INFO`.
    pub fn info(self, json: impl Arg) -> Self {
        self.with("INFO").with(json)
    }

    /// `DATA`.
    pub fn data(self, json: impl Arg) -> Self {
        self.with("DATA").with(json)
    }

    /// `SINCE`.
    pub fn since(self, offset: impl Arg, epoch: impl Arg) -> Self {
        self.with("SINCE").with(offset).with(epoch)
    }
}

/// Options of LIVE.UNSUBSCRIBE.
impl Request<'_, options::LiveUnsubscribe> {
    /// The argument `channel`.
    pub fn channel(self, channel: impl Arg) -> Self {
        self.with(channel)
    }

    /// `USER`.
    pub fn user(self, user: impl Arg) -> Self {
        self.with("USER").with(user)
    }

    /// `CLIENT`.
    pub fn client(self, client: impl Arg) -> Self {
        self.with("CLIENT").with(client)
    }

    /// `SESSION`.
    pub fn session(self, session: impl Arg) -> Self {
        self.with("SESSION").with(session)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of LIVE.BROADCAST.
    #[derive(Debug)]
    pub enum LiveBroadcast {}
    /// Of LIVE.CHANNELS.
    #[derive(Debug)]
    pub enum LiveChannels {}
    /// Of LIVE.DISCONNECT.
    #[derive(Debug)]
    pub enum LiveDisconnect {}
    /// Of LIVE.HISTORY.
    #[derive(Debug)]
    pub enum LiveHistory {}
    /// Of LIVE.PUBLISH.
    #[derive(Debug)]
    pub enum LivePublish {}
    /// Of LIVE.REFRESH.
    #[derive(Debug)]
    pub enum LiveRefresh {}
    /// Of LIVE.SUBSCRIBE.
    #[derive(Debug)]
    pub enum LiveSubscribe {}
    /// Of LIVE.UNSUBSCRIBE.
    #[derive(Debug)]
    pub enum LiveUnsubscribe {}
}
