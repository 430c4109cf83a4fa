//! Who is in which channel.

use crate::broker::protocol::ClientInfo;
use crate::broker::{PREFIX, key, now};
use crate::convert::FromValue;
use crate::error::Result;
use crate::script::Script;
use crate::topology::Shards;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// How presence is kept. All who share channels need the same.
#[derive(Clone, Debug)]
pub struct PresenceConfig {
    /// Stands before each key.
    pub prefix: String,
    /// How long a client is there after it was last added, in whole seconds.
    pub ttl: Duration,
    /// Connections of each user are counted, so that [`PresenceManager::stats`] need not read everybody.
    pub counts_users: bool,
    /// Times are those of hash fields (`HEXPIRE`, Redis 7.4, Apus) and not of a sorted set beside the hash.
    pub by_hash_field: bool,
}

impl Default for PresenceConfig {
    fn default() -> Self {
        let ttl = Duration::from_secs(60);
        Self { prefix: PREFIX.into(), ttl, counts_users: false, by_hash_field: false }
    }
}

/// How many there are in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PresenceStats {
    /// Connections.
    pub clients: u64,
    /// Users, of which each may have several connections.
    pub users: u64,
}

/// Keeps who is in which channel. A clone is another handle to the same one.
#[derive(Clone, Debug)]
pub struct PresenceManager {
    shards: Shards,
    config: PresenceConfig,
    scripts: Arc<Scripts>,
}

#[derive(Debug)]
struct Scripts {
    add: Script,
    remove: Script,
    read: Script,
}

impl PresenceManager {
    /// Presence on one server, on several that share the channels, or on others of the topologies.
    #[must_use]
    pub fn new(shards: Shards, config: PresenceConfig) -> Self {
        let scripts = Scripts {
            add: Script::new(include_str!("presence_add.lua")),
            remove: Script::new(include_str!("presence_remove.lua")),
            read: Script::new(include_str!("presence_read.lua")),
        };
        Self { shards, config, scripts: Arc::new(scripts) }
    }

    /// Adds a client to a channel, or keeps it there for longer. `client` is what it is removed by, its connection's
    /// ID as a rule.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply.
    pub async fn add(&self, channel: &str, client: &str, info: &ClientInfo) -> Result<()> {
        let ttl = self.config.ttl.as_secs();
        let who = (client, info.encode(), &info.user);
        let args = (ttl, now().as_secs() + ttl, who, self.counts_users(), self.by_hash_field());
        self.scripts.add.run(self.shards.of(channel), self.keys(channel), args).await
    }

    /// Takes a client out of a channel.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply.
    pub async fn remove(&self, channel: &str, client: &str, user: &str) -> Result<()> {
        let args = (client, user, self.counts_users(), self.by_hash_field());
        self.scripts.remove.run(self.shards.of(channel), self.keys(channel), args).await
    }

    /// Who is in a channel.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply; what is there and is no client.
    pub async fn get(&self, channel: &str) -> Result<HashMap<String, ClientInfo>> {
        let present: Vec<(String, Bytes)> = self.read(channel, "all").await?;
        let decode = |(client, info): (String, Bytes)| Ok((client, ClientInfo::decode(&info)?));
        present.into_iter().map(decode).collect()
    }

    /// How many are in a channel.
    ///
    /// # Errors
    ///
    /// As [`PresenceManager::get`].
    pub async fn stats(&self, channel: &str) -> Result<PresenceStats> {
        if self.config.counts_users {
            let (clients, users) = self.read(channel, "count").await?;
            return Ok(PresenceStats { clients, users });
        }
        let present = self.get(channel).await?;
        let users: HashSet<&str> = present.values().map(|info| info.user.as_str()).collect();
        Ok(PresenceStats { clients: present.len() as u64, users: users.len() as u64 })
    }

    async fn read<T: FromValue>(&self, channel: &str, what: &str) -> Result<T> {
        let args = (now().as_secs(), self.by_hash_field(), what);
        self.scripts.read.run(self.shards.of(channel), self.keys(channel), args).await
    }

    fn counts_users(&self) -> u8 {
        u8::from(self.config.counts_users)
    }

    fn by_hash_field(&self) -> u8 {
        u8::from(self.config.by_hash_field)
    }

    fn keys(&self, channel: &str) -> [String; 4] {
        let names = ["expire", "data", "user.expire", "user.clients"];
        names.map(|name| {
            let what = format!("presence.{name}");
            key(&self.config.prefix, &what, channel, self.shards.of(channel))
        })
    }
}
