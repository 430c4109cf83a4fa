//! What a subscription is made with, from wherever the permission came.

use crate::options::{Namespace, RecoveryMode};
use std::time::Duration;

/// Where the permission for a subscription came from. The numbers are those that Centrifugo's API shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// Not known.
    Unknown = 0,
    /// The token of the connection named the channel.
    ConnectionToken = 1,
    /// The connect proxy named it.
    ConnectProxy = 2,
    /// A token of the subscription.
    SubscriptionToken = 3,
    /// The subscribe proxy.
    SubscribeProxy = 4,
    /// The user is in the channel's name.
    UserLimited = 5,
    /// The namespace lets clients subscribe.
    ClientAllowed = 6,
    /// The server runs insecure.
    ClientInsecure = 7,
    /// A unidirectional client asked for it in its connect.
    UniConnect = 8,
    /// It is the user's personal channel.
    UserPersonal = 9,
    /// The API subscribed.
    ServerApi = 10,
}

/// What a subscription is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscribeOptions {
    /// When it expires, in seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    /// Bytes about the subscriber, in presence and in its publications; empty: none.
    pub info: Vec<u8>,
    /// Bytes for the client, in the reply or push; empty: none.
    pub data: Vec<u8>,
    /// The client is in the channel's presence.
    pub presence: bool,
    /// Its joining and leaving are published.
    pub join_leave: bool,
    /// It is told of others' joining and leaving.
    pub push_join_leave: bool,
    /// Its position is followed.
    pub positioning: bool,
    /// It may recover.
    pub recovery: bool,
    /// How it recovers.
    pub recovery_mode: RecoveryMode,
    /// It is given the latest publication, unasked.
    pub auto_cache_recover: bool,
    /// It may ask for Fossil deltas.
    pub delta_fossil: bool,
    /// It may filter by tags.
    pub tags_filter: bool,
    /// How long offset and epoch are kept.
    pub history_meta_ttl: Duration,
    /// Where the permission came from.
    pub source: Source,
}

/// Options that a token, a proxy or the API sets otherwise than the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Override {
    /// For [`SubscribeOptions::presence`].
    pub presence: Option<bool>,
    /// For [`SubscribeOptions::join_leave`].
    pub join_leave: Option<bool>,
    /// For [`SubscribeOptions::push_join_leave`].
    pub force_push_join_leave: Option<bool>,
    /// For [`SubscribeOptions::positioning`].
    pub force_positioning: Option<bool>,
    /// For [`SubscribeOptions::recovery`].
    pub force_recovery: Option<bool>,
}

impl SubscribeOptions {
    /// What the namespace says, for a permission from `source`.
    #[must_use]
    pub fn of(namespace: &Namespace, source: Source) -> Self {
        let mut options = Self {
            expire_at: 0,
            info: Vec::new(),
            data: Vec::new(),
            presence: namespace.presence,
            join_leave: namespace.join_leave,
            push_join_leave: namespace.force_push_join_leave,
            positioning: namespace.force_positioning,
            recovery: namespace.force_recovery,
            recovery_mode: namespace.recovery_mode,
            auto_cache_recover: false,
            delta_fossil: namespace.delta_fossil,
            tags_filter: namespace.allow_tags_filter,
            history_meta_ttl: namespace.history_meta_ttl,
            source,
        };
        options.settle(namespace);
        options
    }

    /// Applies what differs from the namespace.
    pub fn apply(&mut self, namespace: &Namespace, differs: &Override) {
        let set = |option: &mut bool, value: Option<bool>| *option = value.unwrap_or(*option);
        set(&mut self.presence, differs.presence);
        set(&mut self.join_leave, differs.join_leave);
        set(&mut self.push_join_leave, differs.force_push_join_leave);
        set(&mut self.positioning, differs.force_positioning);
        set(&mut self.recovery, differs.force_recovery);
        self.settle(namespace);
    }

    /// Brings what follows from other options into line with them.
    pub(crate) fn settle(&mut self, namespace: &Namespace) {
        // A topic has all that it takes.
        self.positioning |= namespace.topic.is_some();
        self.recovery |= namespace.topic.is_some();
        self.auto_cache_recover = namespace.auto_cache_recover
            && self.recovery
            && self.recovery_mode == RecoveryMode::Cache;
    }
}
