//! One of the servers of `live-broker`: what is followed there, and what it has.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Duration;

use ::live::options::Prefixes;
use apus_client::broker::{Broker, BrokerConfig, PresenceConfig, PresenceManager, Subscriptions};
use apus_client::{Client, Config, Subscriber};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::super::store::PRESENCE_TTL_S;

/// How long something may take that has no other bound.
pub(super) const PATIENCE: Duration = Duration::from_secs(4);

/// A channel that threads of this server follow.
pub(super) struct Follow {
    pub(super) threads: Vec<usize>,
    /// PUBLISH to its own name is for its subscribers, too.
    pub(super) plain: bool,
    /// It has a history: after a gap its position is looked at.
    pub(super) positioned: bool,
    /// Set when the broker has confirmed the subscription.
    confirmed: Arc<OnceCell<()>>,
}

/// What there is when the server was reached once. The client connects again by itself.
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) broker: Broker,
    pub(super) presence: PresenceManager,
    pub(super) subscriptions: Subscriptions,
    /// For control messages, and for channels by their own names.
    pub(super) own: Subscriber,
}

/// Counts since the start.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) messages: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) gaps: AtomicU64,
}

/// See the module's text.
pub(super) struct Shard {
    config: Config,
    pub(super) prefixes: Prefixes,
    partitions: usize,
    link: Mutex<Option<Arc<Link>>>,
    /// Why it is not reached; none: it is.
    down: Mutex<Option<String>>,
    /// The log was told whether it is.
    told: AtomicBool,
    pub(super) follows: Mutex<HashMap<String, Follow>>,
    /// Channels of control messages.
    pub(super) control: Mutex<Vec<String>>,
    pub(super) counts: Counts,
    /// Bytes of messages that wait for the threads of this server.
    pub(super) waiting: Arc<AtomicUsize>,
}

impl Shard {
    pub(super) fn new(mut config: Config, prefixes: &Prefixes, partitions: usize) -> Self {
        // A client of a browser is told at once that something is wrong, and tries again.
        config.fail_while_down = true;
        config.connect_timeout = config.connect_timeout.min(PATIENCE);
        config.response_timeout = Some(config.response_timeout.unwrap_or(PATIENCE).min(PATIENCE));
        config.name.get_or_insert_with(|| "apus-live".to_owned());
        Self {
            config,
            prefixes: prefixes.clone(),
            partitions,
            link: Mutex::default(),
            down: Mutex::new(Some("it was not reached yet".to_owned())),
            told: AtomicBool::new(false),
            follows: Mutex::default(),
            control: Mutex::default(),
            counts: Counts::default(),
            waiting: Arc::default(),
        }
    }

    /// Where it is, for the log: without the password.
    pub(super) fn name(&self) -> String {
        match (&self.config.sentinel, &*self.config.cluster) {
            (Some(sentinel), _) => format!("{} of Sentinel", sentinel.master),
            (None, [first, ..]) => format!("the cluster of {first}"),
            (None, []) => self.config.address.to_string(),
        }
    }

    /// Connects for the first time.
    pub(super) async fn connect(&self) -> apus_client::Result<Arc<Link>> {
        let client = Client::with_config(self.config.clone()).await?;
        let shards = apus_client::Shards::new(vec![client.clone()])?;
        let broker = BrokerConfig {
            prefix: self.prefixes.broker.clone(),
            partitions: self.partitions,
            ..BrokerConfig::default()
        };
        let broker = Broker::new(shards.clone(), broker);
        let presence = PresenceConfig {
            prefix: self.prefixes.presence.clone(),
            ttl: Duration::from_secs(PRESENCE_TTL_S as u64),
            ..PresenceConfig::default()
        };
        let presence = PresenceManager::new(shards, presence);
        let subscriptions = broker.subscriptions().await?;
        let own = client.subscriber().await?;
        let link = Arc::new(Link { client, broker, presence, subscriptions, own });
        *self.link.lock() = Some(Arc::clone(&link));
        Ok(link)
    }

    /// What there is, if it was reached.
    pub(super) fn link_if_any(&self) -> Option<Arc<Link>> {
        self.link.lock().clone()
    }

    /// What there is.
    pub(super) fn link(&self) -> Result<Arc<Link>, String> {
        match &*self.link.lock() {
            Some(link) => Ok(Arc::clone(link)),
            None => Err(self.fail(self.down.lock().clone().unwrap_or_default())),
        }
    }

    /// Counts an error, and says where it was.
    pub(super) fn fail(&self, why: impl std::fmt::Display) -> String {
        self.counts.errors.fetch_add(1, Relaxed);
        format!("live-broker {}: {why}", self.name())
    }

    /// Sets whether it is reached, or why it is not. Returns whether that is new.
    pub(super) fn set_down(&self, why: Option<String>) -> bool {
        let mut down = self.down.lock();
        let first = !self.told.swap(true, Relaxed);
        let changes = down.is_some() != why.is_some();
        *down = why;
        changes || first
    }

    pub(super) fn is_up(&self) -> bool {
        self.down.lock().is_none()
    }

    pub(super) fn followed(&self) -> usize {
        self.follows.lock().len()
    }

    pub(super) fn follow(&self, channel: &str, thread: usize, plain: bool) {
        let mut all = self.follows.lock();
        let follow = all.entry(channel.to_owned()).or_insert_with(|| Follow {
            threads: Vec::new(),
            plain: false,
            positioned: false,
            confirmed: Arc::default(),
        });
        if plain && !follow.plain {
            // Its own name is to be subscribed to, too.
            follow.plain = true;
            follow.confirmed = Arc::default();
        }
        if !follow.threads.contains(&thread) {
            follow.threads.push(thread);
        }
    }

    /// PUBLISH to the own name of a channel is not for its subscribers any more.
    pub(super) fn unset_plain(&self, channel: &str) {
        if let Some(follow) = self.follows.lock().get_mut(channel) {
            follow.plain = false;
        }
    }

    /// Subscribes to the own name of a channel, or ends that.
    pub(super) async fn follow_plain(&self, channel: &str, plain: bool) -> Result<(), String> {
        if plain {
            return self.ensure(channel, false).await;
        }
        let Some(link) = self.link_if_any() else { return Ok(()) };
        let end = tokio::time::timeout(PATIENCE, link.own.unsubscribe([channel]));
        end.await.map_or(Ok(()), |ended| ended.map_err(|why| self.fail(why)))
    }

    /// If no thread follows it any more: whether its own name was followed, too.
    pub(super) fn unfollow(&self, channel: &str, thread: usize) -> Option<bool> {
        let mut all = self.follows.lock();
        let follow = all.get_mut(channel)?;
        follow.threads.retain(|one| *one != thread);
        if !follow.threads.is_empty() {
            return None;
        }
        all.remove(channel).map(|follow| follow.plain)
    }

    /// Subscribes to a channel that is followed, unless that is done.
    pub(super) async fn ensure(&self, channel: &str, positioned: bool) -> Result<(), String> {
        let link = self.link()?;
        let (confirmed, plain) = {
            let mut all = self.follows.lock();
            let follow = all.get_mut(channel).ok_or("the channel is not followed any more")?;
            follow.positioned |= positioned;
            (Arc::clone(&follow.confirmed), follow.plain)
        };
        let subscribe = async {
            if plain {
                link.own.subscribe([channel]).await?;
            }
            link.subscriptions.subscribe(channel).await
        };
        let subscribe = async {
            let in_time = tokio::time::timeout(PATIENCE, subscribe).await;
            in_time
                .map_err(|_| "the subscription was not confirmed in time".to_owned())?
                .map_err(|why| why.to_string())
        };
        confirmed.get_or_try_init(|| subscribe).await.map(drop).map_err(|why| self.fail(why))
    }

    /// Unsubscribes from a channel, unless it is followed again.
    pub(super) async fn unsubscribe(&self, channel: &str, plain: bool) {
        let Ok(link) = self.link() else { return };
        let is_followed = || self.follows.lock().contains_key(channel);
        // Without a connection there is no confirmation, and no need for one.
        let unsubscribe = async {
            if !is_followed() {
                let _ = link.subscriptions.unsubscribe(channel).await;
            }
            if plain && !is_followed() {
                let _ = link.own.unsubscribe([channel]).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, unsubscribe).await;
    }
}
