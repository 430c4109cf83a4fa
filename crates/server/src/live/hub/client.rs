//! The clients of a thread.

use std::sync::Arc;

use ::live::SubscribeOptions;
use ::live::limit::Limiter;

use super::waits::Waits;
use super::wire::Wire;
use live_protocol::ClientInfo;

/// A subscription, as its client sees it.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) channel: Arc<str>,
    pub(crate) server_side: bool,
    /// The client refreshes it.
    pub(crate) client_side_refresh: bool,
    /// In seconds of the Unix clock; 0: never.
    pub(crate) expire_at: i64,
    /// The application is being asked whether it lives on.
    pub(crate) refreshing: bool,
    pub(crate) info: Box<[u8]>,
    pub(crate) presence: bool,
    pub(crate) join_leave: bool,
}

/// Headers that the application is sent, by the options of proxies.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// Of the request that has begun the connection.
    pub(crate) http: Vec<(String, String)>,
    /// Of the connect command.
    pub(crate) emulated: Vec<(String, String)>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    /// Its identifier, which other clients see.
    pub(crate) uid: Box<str>,
    /// Its secret, with which requests send commands for it; empty where that is not so.
    pub(crate) session: Box<str>,
    pub(crate) wire: Wire,
    /// It has connected: it has a user.
    pub(crate) connected: bool,
    /// Its connect command has failed, and no other may follow.
    pub(crate) unusable: bool,
    pub(crate) user: Box<str>,
    pub(crate) info: Box<[u8]>,
    /// JSON for proxies.
    pub(crate) meta: Option<Box<[u8]>>,
    /// The client refreshes the connection; otherwise the server asks the application.
    pub(crate) client_side_refresh: bool,
    pub(crate) limiter: Limiter,
    /// None: no header is sent on.
    pub(crate) headers: Option<Box<Headers>>,
    /// None: no command waits.
    pub(super) waits: Option<Box<Waits>>,
    /// The application is being asked whether the connection lives on.
    pub(crate) refreshing: bool,
    pub(crate) subscriptions: Vec<Subscription>,
    /// In seconds of the Unix clock; 0: never.
    pub(crate) expire_at: i64,
    /// Unix milliseconds at which something is due; 0: never.
    pub(crate) stale_at: i64,
    pub(crate) ping_at: i64,
    pub(crate) pong_until: i64,
    pub(crate) presence_at: i64,
    pub(crate) check_at: i64,
    /// When a ping was sent that has not been answered; 0: there is none.
    pub(crate) pinged_at: i64,
    /// What it has told of itself, for metrics.
    pub(crate) names: u8,
}

/// Grace after expiry, in seconds: of connections and of subscriptions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grace {
    pub(crate) connection: i64,
    pub(crate) subscription: i64,
}

impl Client {
    pub(crate) fn subscription(&self, channel: &str) -> Option<&Subscription> {
        self.subscriptions.iter().find(|s| &*s.channel == channel)
    }

    pub(crate) fn subscription_mut(&mut self, channel: &str) -> Option<&mut Subscription> {
        self.subscriptions.iter_mut().find(|s| &*s.channel == channel)
    }

    /// Whether it has told its name.
    pub(super) fn named(&self) -> usize {
        usize::from(self.names & 1)
    }

    /// What others are told of it in a channel.
    pub(crate) fn info_in(&self, chan_info: &[u8]) -> ClientInfo {
        ClientInfo {
            user: self.user.to_string(),
            client: self.uid.to_string(),
            conn_info: self.info.to_vec(),
            chan_info: chan_info.to_vec(),
        }
    }

    /// When it has expired for good, or the application is to be asked; 0: never.
    pub(crate) fn over_at(&self, grace: i64) -> i64 {
        if self.refreshing {
            return 0;
        }
        late(self.expire_at, if self.client_side_refresh { grace } else { 0 })
    }

    /// When something is due next, in Unix milliseconds; 0: never.
    pub(crate) fn due(&self, grace: Grace) -> i64 {
        let subs = self.subscriptions.iter();
        let subs = subs.map(|s| s.over_at(grace.subscription));
        let own = [
            self.stale_at,
            self.ping_at,
            self.pong_until,
            self.presence_at,
            self.check_at,
            self.over_at(grace.connection),
        ];
        own.into_iter().chain(subs).filter(|at| *at > 0).min().unwrap_or(0)
    }
}

/// When something that expires at a second is over for good, in Unix milliseconds; 0: never.
pub(crate) fn late(expire_at: i64, grace: i64) -> i64 {
    if expire_at > 0 { expire_at.saturating_add(grace).saturating_mul(1000) } else { 0 }
}

impl Subscription {
    /// As for a connection.
    pub(crate) fn over_at(&self, grace: i64) -> i64 {
        if self.refreshing {
            return 0;
        }
        late(self.expire_at, if self.client_side_refresh { grace } else { 0 })
    }

    pub(crate) fn new(
        channel: Arc<str>,
        options: &SubscribeOptions,
        (server_side, client_side_refresh): (bool, bool),
    ) -> Self {
        Self {
            channel,
            server_side,
            client_side_refresh,
            expire_at: options.expire_at,
            refreshing: false,
            info: options.info.clone().into(),
            presence: options.presence,
            join_leave: options.join_leave,
        }
    }
}
