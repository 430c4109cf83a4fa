//! Channels with histories and presence in a Redis-compatible server, as centrifuge's Redis engine has them.
//!
//! The keys, the values in them and the messages are those of centrifuge v0.38, so that its nodes and programs with
//! this crate share channels. The scripts are ours: they are not seen from outside.
//!
//! | key (`centrifuge` is the prefix) | |
//! |---|---|
//! | `centrifuge.client.CHANNEL` | the channel of PUB/SUB |
//! | `centrifuge.stream.CHANNEL`, `centrifuge.list.CHANNEL` | the history |
//! | `centrifuge.stream.meta.CHANNEL`, `centrifuge.list.meta.CHANNEL` | `s` the last offset, `e` the epoch, `v` and `ve` the version |
//! | `centrifuge.result.CHANNEL.KEY` | what an idempotent publication was answered |
//! | `centrifuge.presence.data.CHANNEL`, `….expire.CHANNEL` | who is there, until when |
//! | `centrifuge.presence.user.clients.CHANNEL`, `….user.expire.CHANNEL` | how many connections a user has |
//!
//! In a cluster the channel stands in braces in keys, so that all of a channel's are in one slot. With partitions, the
//! number of its partition stands in braces before it, in its keys and in its name for PUB/SUB, which is sharded then.

mod envelope;
mod event;
mod presence;
mod protocol;
mod subscriptions;

pub use event::{BrokerEvent, BrokerMessage, Position};
pub use presence::{PresenceConfig, PresenceManager, PresenceStats};
pub use protocol::{ClientInfo, Publication};
pub use subscriptions::Subscriptions;

use crate::client::Client;
use crate::command::Command;
use crate::convert::FromValue;
use crate::error::{Error, Result};
use crate::pipeline::Transaction;
use crate::script::Script;
use crate::topology::Shards;
use crate::value::Value;
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The prefix of keys and channels if none is given.
const PREFIX: &str = "centrifuge";
/// How long the answer to an idempotent publication is known if nothing else is said.
const RESULT_TTL: Duration = Duration::from_secs(300);

/// How a broker keeps channels. All who share channels need the same.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Stands before each key and channel.
    pub prefix: String,
    /// Histories are lists and not streams; they cannot be read in reverse.
    pub uses_lists: bool,
    /// How long the position of an unused channel is kept; it is forgotten last of all. In whole seconds; zero is
    /// for ever.
    pub meta_ttl: Duration,
    /// In a cluster, channels are spread over so many partitions, each with a connection for sharded PUB/SUB to the
    /// node that has it. With 0, each message goes to all nodes. It must be as centrifuge's
    /// `NumShardedPubSubPartitions`.
    pub partitions: usize,
}

impl Default for BrokerConfig {
    fn default() -> Self {
        let meta_ttl = Duration::from_secs(30 * 24 * 3600);
        Self { prefix: PREFIX.into(), uses_lists: false, meta_ttl, partitions: 0 }
    }
}

/// How something is published.
#[derive(Clone, Debug, Default)]
pub struct PublishOptions {
    /// How many publications the history keeps, and for how long, in whole seconds. Without both there is none.
    pub history_size: u32,
    /// See `history_size`.
    pub history_ttl: Duration,
    /// A publication with a known key is not published again; it gets the first reply.
    pub idempotency_key: String,
    /// How long the key is known; five minutes if it is zero.
    pub result_ttl: Duration,
    /// Subscribers may send their clients the difference from the publication before it.
    pub with_delta: bool,
    /// With a history in a stream: a version that is not higher than the last one is not published. Zero is none.
    pub version: u64,
    /// Versions are compared within an epoch of their own; empty is with any.
    pub version_epoch: String,
    /// Who publishes, if that is a client.
    pub info: Option<ClientInfo>,
    /// What the application says beside the payload.
    pub tags: BTreeMap<String, String>,
}

/// What became of a publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// Where the channel is now; with offset 0 and no epoch if it has no history.
    pub position: Position,
    /// It was published before, under the same idempotency key.
    pub is_repeated: bool,
    /// Its version was not new, so it was not published.
    pub is_skipped: bool,
}

/// Which part of a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// What comes behind this position, or before it in reverse.
    pub since: Option<Position>,
    /// How many publications at most; `Some(0)` is the position alone.
    pub limit: Option<u32>,
    /// The newest first.
    pub is_reverse: bool,
}

/// A part of a channel's history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The publications.
    pub publications: Vec<Publication>,
    /// Where the channel is.
    pub position: Position,
}

/// What a client gets that was away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// All that it has missed.
    Recovered(History),
    /// Something is lost: another epoch, or more than the history has. The channel is here.
    Lost(Position),
}

/// Publishes, and reads histories. A clone is another handle to the same one.
///
/// ```no_run
/// use apus_client::broker::{Broker, BrokerConfig, PublishOptions};
/// use apus_client::Shards;
/// use std::time::Duration;
///
/// # async fn example() -> apus_client::Result<()> {
/// let broker = Broker::new(Shards::connect(["redis://127.0.0.1"]).await?, BrokerConfig::default());
/// let mut subscriptions = broker.subscriptions().await?;
/// subscriptions.subscribe("news").await?;
/// let history_ttl = Duration::from_secs(60);
/// let options = PublishOptions { history_size: 100, history_ttl, ..PublishOptions::default() };
/// let published = broker.publish("news", "hello", &options).await?;
/// println!("{:?}: {:?}", published.position, subscriptions.next().await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Broker {
    shards: Shards,
    config: BrokerConfig,
    scripts: Arc<Scripts>,
}

#[derive(Debug)]
struct Scripts {
    add: Script,
    /// The same for what needs no more.
    add_only: Script,
    publish_once: Script,
    read: Script,
}

impl Broker {
    /// A broker on one server, on several that share the channels, or on others of the topologies.
    #[must_use]
    pub fn new(shards: Shards, config: BrokerConfig) -> Self {
        let (add, add_only) = match config.uses_lists {
            true => (include_str!("add_to_list.lua"), include_str!("add_only_to_list.lua")),
            false => (include_str!("add_to_stream.lua"), include_str!("add_only_to_stream.lua")),
        };
        let scripts = Scripts {
            add: Script::new(add),
            add_only: Script::new(add_only),
            publish_once: Script::new(include_str!("publish_once.lua")),
            read: Script::new(include_str!("read_history.lua")),
        };
        Self { shards, config, scripts: Arc::new(scripts) }
    }

    /// The same broker for channels whose positions are known for so long: see [`BrokerConfig::meta_ttl`].
    #[must_use]
    pub fn with_meta_ttl(&self, meta_ttl: Duration) -> Self {
        let config = BrokerConfig { meta_ttl, ..self.config.clone() };
        Self { config, ..self.clone() }
    }

    /// Publishes in a channel, and in its history if the options say so.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply, where [`Error::is_maybe_executed`] says whether it may have been
    /// published: an idempotency key makes it safe to publish again.
    pub async fn publish(
        &self,
        channel: &str,
        data: impl Into<Bytes>,
        options: &PublishOptions,
    ) -> Result<Published> {
        let has_history = options.history_size > 0 && options.history_ttl.as_secs() > 0;
        let publication = Publication {
            offset: 0,
            data: data.into(),
            info: options.info.clone(),
            tags: options.tags.clone(),
            time: i64::try_from(now().as_millis()).unwrap_or(i64::MAX),
        };
        // Without a history there is no envelope that says it.
        let message = publication.encode(options.with_delta && !has_history);
        if has_history {
            return self.add(channel, &message, options).await;
        }
        let (client, to) = (self.client(channel), self.channel(channel));
        if options.idempotency_key.is_empty() {
            client.call(Command::new(self.publishing(client)).arg((to, message))).await?;
            return Ok(Published::default());
        }
        let args = (message, to, self.publishing(client), result_ttl(options));
        let result = self.result_key(channel, &options.idempotency_key);
        let is_repeated = self.scripts.publish_once.run(client, result, args).await?;
        Ok(Published { is_repeated, ..Published::default() })
    }

    async fn add(
        &self,
        channel: &str,
        message: &[u8],
        options: &PublishOptions,
    ) -> Result<Published> {
        let client = self.client(channel);
        let has_key = !options.idempotency_key.is_empty();
        let (history_key, meta_key) = (self.history_key(channel), self.meta_key(channel));
        // A list is cut behind its last index.
        let size = options.history_size - u32::from(self.config.uses_lists);
        let history = (message, size, options.history_ttl.as_secs(), self.channel(channel));
        let meta = (self.config.meta_ttl.as_secs(), now().as_secs(), self.publishing(client));
        if !has_key && !options.with_delta && options.version == 0 {
            let (keys, args) = ([history_key, meta_key], (history, meta));
            let reply = self.scripts.add_only.run::<(u64, String)>(client, keys, args);
            let (offset, epoch) = reply.await?;
            let position = Position { offset, epoch };
            return Ok(Published { position, ..Published::default() });
        }
        let keys = [history_key, meta_key, self.result_key(channel, &options.idempotency_key)];
        let result = if has_key { result_ttl(options).to_string() } else { String::new() };
        let version =
            (result, u8::from(options.with_delta), options.version, &options.version_epoch);
        let reply = self.scripts.add.run::<(u64, String, bool, bool)>(
            client,
            keys,
            (history, meta, version),
        );
        let (offset, epoch, is_repeated, is_skipped) = reply.await?;
        Ok(Published { position: Position { offset, epoch }, is_repeated, is_skipped })
    }

    /// Says that a client has come into a channel.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply.
    pub async fn publish_join(&self, channel: &str, info: &ClientInfo) -> Result<()> {
        self.publish_info(channel, b"__j__", info).await
    }

    /// Says that a client has left a channel.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply.
    pub async fn publish_leave(&self, channel: &str, info: &ClientInfo) -> Result<()> {
        self.publish_info(channel, b"__l__", info).await
    }

    async fn publish_info(&self, channel: &str, kind: &[u8], info: &ClientInfo) -> Result<()> {
        let message = [kind, &info.encode()].concat();
        let client = self.client(channel);
        let command = Command::new(self.publishing(client)).arg((self.channel(channel), message));
        client.call(command).await.map(drop)
    }

    /// A part of a channel's history, and where the channel is.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply; what is in the history and is no publication; lists in reverse.
    pub async fn history(&self, channel: &str, filter: &HistoryFilter) -> Result<History> {
        if self.config.uses_lists && filter.is_reverse {
            return Err(Error::usage("a history in a list cannot be read in reverse"));
        }
        let (kind, from) = match (filter.limit, &filter.since, filter.is_reverse) {
            (Some(0), ..) => ("none", 0),
            _ if self.config.uses_lists => ("list", 0),
            (_, None, false) => ("forward", 0),
            (_, None, true) => ("reverse", 0),
            (_, Some(since), false) => ("forward", since.offset.saturating_add(1)),
            // Before the first one there is nothing.
            (_, Some(since), true) if since.offset <= 1 => ("none", 0),
            (_, Some(since), true) => ("reverse", since.offset - 1),
        };
        let read = match (kind, from) {
            // Nothing to read, or up to a position that has to be read first.
            ("none", _) | ("reverse", 0) => None,
            _ => self.read_together(channel, kind, from, filter.limit).await?,
        };
        let (offset, epoch, entries) = match read {
            Some(read) => read,
            None => {
                let keys = [self.history_key(channel), self.meta_key(channel)];
                let meta_ttl = self.config.meta_ttl.as_secs();
                let args = (kind, from, filter.limit.unwrap_or(0), meta_ttl, now().as_secs());
                self.scripts.read.run(self.client(channel), keys, args).await?
            }
        };
        let position = Position { offset, epoch };
        let publications = match self.config.uses_lists {
            true => part_of_list(Vec::<Bytes>::from_value(entries)?, filter, &position)?,
            false => Vec::<Entry>::from_value(entries)?.into_iter().map(|entry| entry.0).collect(),
        };
        Ok(History { publications, position })
    }

    /// A part of a channel's history that is not empty by itself, and where the channel is; nothing if the channel has
    /// no epoch yet. In a transaction, since a script would make Lua's strings and tables of all publications.
    async fn read_together(
        &self,
        channel: &str,
        kind: &str,
        from: u64,
        limit: Option<u32>,
    ) -> Result<Option<(u64, String, Value)>> {
        let (history, meta) = (self.history_key(channel), self.meta_key(channel));
        let mut transaction = Transaction::new();
        transaction.push(Command::new("HMGET").arg((&meta, "s", "e")));
        let ttl = self.config.meta_ttl.as_secs();
        if ttl > 0 {
            transaction.push(Command::new("EXPIRE").arg((&meta, ttl)));
        }
        let read = match kind {
            "list" => Command::new("LRANGE").arg((&history, 0, -1)),
            "forward" => Command::new("XRANGE").arg((&history, from, "+")),
            _ => Command::new("XREVRANGE").arg((&history, from, "-")),
        };
        let read = match limit.filter(|_| kind != "list") {
            Some(limit) => read.arg(("COUNT", limit)),
            None => read,
        };
        transaction.push(read);
        let mut replies = self.client(channel).exec::<Vec<Value>>(transaction).await?;
        let entries = replies.pop().unwrap_or(Value::Nil);
        let place = replies.into_iter().next().unwrap_or(Value::Nil);
        let (offset, epoch) = <(Option<u64>, Option<String>)>::from_value(place)?;
        Ok(epoch.map(|epoch| (offset.unwrap_or(0), epoch, entries)))
    }

    /// What a client has missed that was at a position, if all of it is there: at most `limit` publications.
    ///
    /// # Errors
    ///
    /// As [`Broker::history`].
    pub async fn recover(&self, channel: &str, since: &Position, limit: u32) -> Result<Recovery> {
        // One more than is asked for says whether that would be all.
        let filter = HistoryFilter {
            since: Some(since.clone()),
            limit: Some(limit.saturating_add(1)),
            is_reverse: false,
        };
        let history = self.history(channel, &filter).await?;
        let missed = history.position.offset.checked_sub(since.offset);
        let is_all =
            missed == Some(history.publications.len() as u64) && missed <= Some(u64::from(limit));
        let follows = history
            .publications
            .iter()
            .zip(since.offset + 1..)
            .all(|(p, offset)| p.offset == offset);
        match history.position.epoch == since.epoch && is_all && follows {
            true => Ok(Recovery::Recovered(history)),
            false => Ok(Recovery::Lost(history.position)),
        }
    }

    /// Removes a channel's publications. Its position stays, so that no reader takes new publications for the removed ones.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply.
    pub async fn remove_history(&self, channel: &str) -> Result<()> {
        let command = Command::new("DEL").arg(self.history_key(channel));
        self.client(channel).call(command).await.map(drop)
    }

    /// Subscriptions to channels, with a connection of their own to each shard.
    ///
    /// # Errors
    ///
    /// A connection cannot be made.
    pub async fn subscriptions(&self) -> Result<Subscriptions> {
        let prefix = format!("{}.client.", self.config.prefix);
        Subscriptions::connect(&self.shards, prefix, self.config.partitions).await
    }

    fn client(&self, channel: &str) -> &Client {
        self.shards.of(channel)
    }

    fn channel(&self, channel: &str) -> String {
        let client = self.client(channel);
        format!("{}.client.{}", self.config.prefix, self.placed(channel, client))
    }

    /// How messages are published.
    fn publishing(&self, client: &Client) -> &'static str {
        if self.is_partitioned(client) { "SPUBLISH" } else { "PUBLISH" }
    }

    fn is_partitioned(&self, client: &Client) -> bool {
        is_partitioned(client, self.config.partitions)
    }

    /// A channel behind its partition, if it has one.
    fn placed<'n>(&self, channel: &'n str, client: &Client) -> Cow<'n, str> {
        match self.is_partitioned(client) {
            true => subscriptions::in_partition(channel, self.config.partitions).into(),
            false => channel.into(),
        }
    }

    fn key(&self, what: &str, channel: &str) -> String {
        let client = self.client(channel);
        match self.is_partitioned(client) {
            true => format!("{}.{what}.{}", self.config.prefix, self.placed(channel, client)),
            false => key(&self.config.prefix, what, channel, client),
        }
    }

    fn history_key(&self, channel: &str) -> String {
        self.key(if self.config.uses_lists { "list" } else { "stream" }, channel)
    }

    fn meta_key(&self, channel: &str) -> String {
        self.key(if self.config.uses_lists { "list.meta" } else { "stream.meta" }, channel)
    }

    fn result_key(&self, channel: &str, idempotency_key: &str) -> String {
        format!("{}.{idempotency_key}", self.key("result", channel))
    }
}

/// An entry of a stream; its ID is the offset.
struct Entry(Publication);

impl FromValue for Entry {
    fn from_value(value: Value) -> Result<Self> {
        let (id, fields) = <(String, Vec<(Bytes, Bytes)>)>::from_value(value)?;
        let data = fields.into_iter().find(|(name, _)| &**name == b"d");
        let (_, data) = data.ok_or_else(|| protocol::wrong("no data"))?;
        let offset = id.split('-').next().and_then(|offset| offset.parse().ok());
        let offset = offset.ok_or_else(|| protocol::wrong("an ID that is no offset"))?;
        Ok(Self(Publication { offset, ..Publication::decode(&data)?.0 }))
    }
}

/// What a filter takes of a list, which has the newest first.
fn part_of_list(
    entries: Vec<Bytes>,
    filter: &HistoryFilter,
    position: &Position,
) -> Result<Vec<Publication>> {
    let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
    let since = filter.since.as_ref().map_or(0, |since| since.offset);
    if filter.since.is_some() && position.offset < since {
        return Ok(Vec::new());
    }
    let all = entries.iter().rev().map(|entry| envelope::entry_of_list(entry));
    let all = all.collect::<Result<Vec<Publication>>>()?;
    Ok(all.into_iter().filter(|publication| publication.offset > since).take(limit).collect())
}

/// Whether channels of a client's server are spread over partitions.
fn is_partitioned(client: &Client, partitions: usize) -> bool {
    client.is_cluster() && partitions > 0
}

/// A key of a channel; in a cluster all keys of a channel have one slot.
fn key(prefix: &str, what: &str, channel: &str, client: &Client) -> String {
    match client.is_cluster() {
        true => format!("{prefix}.{what}.{{{channel}}}"),
        false => format!("{prefix}.{what}.{channel}"),
    }
}

fn result_ttl(options: &PublishOptions) -> u64 {
    match options.result_ttl.as_secs() {
        0 => RESULT_TTL.as_secs(),
        seconds => seconds,
    }
}

/// The time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
