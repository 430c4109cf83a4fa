//! Who is in which channel.

use crate::broker::protocol::{ClientInfo, wrong};
use crate::broker::{PREFIX, key, now};
use crate::command::Command;
use crate::convert::FromValue;
use crate::error::Result;
use crate::pipeline::{Pipeline, Transaction};
use crate::script::Script;
use crate::topology::Shards;
use crate::value::Value;
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
    expire: Script,
    count: Script,
}

impl PresenceManager {
    /// Presence on one server, on several that share the channels, or on others of the topologies.
    #[must_use]
    pub fn new(shards: Shards, config: PresenceConfig) -> Self {
        let scripts = Scripts {
            add: Script::new(include_str!("presence_add.lua")),
            remove: Script::new(include_str!("presence_remove.lua")),
            expire: Script::new(include_str!("presence_expire.lua")),
            count: Script::new(include_str!("presence_count.lua")),
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
        let until = now().as_secs() + ttl;
        let server = self.shards.of(channel);
        if !self.config.counts_users && !self.config.by_hash_field {
            let [expire, data] = self.own_keys(channel);
            let mut transaction = Transaction::new();
            transaction
                .push(Command::new("HSET").arg((&data, client, info.encode())))
                .push(Command::new("EXPIRE").arg((&data, ttl)))
                .push(Command::new("ZADD").arg((&expire, until, client)))
                .push(Command::new("EXPIRE").arg((&expire, ttl)));
            return server.exec::<(i64, i64, i64, i64)>(transaction).await.map(drop);
        }
        let who = (client, info.encode(), &info.user);
        let args = (ttl, until, who, self.counts_users(), self.by_hash_field());
        self.scripts.add.run(server, self.keys(channel), args).await
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
        let server = self.shards.of(channel);
        let [expire, data] = self.own_keys(channel);
        if self.config.by_hash_field {
            return decode(server.call(Command::new("HGETALL").arg(data)).await?);
        }
        let now = now().as_secs();
        // A script would make a table of everybody. A client that comes back in between is not among those whose time
        // is over, since they are read last.
        let mut pipeline = Pipeline::new();
        pipeline.push(Command::new("HGETALL").arg(&data));
        pipeline.push(Command::new("ZRANGEBYSCORE").arg((&expire, 0, now)));
        let (all, gone): (Value, Vec<String>) = server.run(pipeline).await?;
        let mut present = decode(all)?;
        if !gone.is_empty() {
            gone.iter().for_each(|client| drop(present.remove(client)));
            self.scripts.expire.run::<()>(server, [expire, data], now).await?;
        }
        Ok(present)
    }

    /// How many are in a channel.
    ///
    /// # Errors
    ///
    /// As [`PresenceManager::get`].
    pub async fn stats(&self, channel: &str) -> Result<PresenceStats> {
        if self.config.counts_users {
            let args = (now().as_secs(), self.by_hash_field());
            let server = self.shards.of(channel);
            let count = self.scripts.count.run(server, self.keys(channel), args);
            let (clients, users) = count.await?;
            return Ok(PresenceStats { clients, users });
        }
        let present = self.get(channel).await?;
        let users: HashSet<&str> = present.values().map(|info| info.user.as_str()).collect();
        Ok(PresenceStats { clients: present.len() as u64, users: users.len() as u64 })
    }

    fn counts_users(&self) -> u8 {
        u8::from(self.config.counts_users)
    }

    fn by_hash_field(&self) -> u8 {
        u8::from(self.config.by_hash_field)
    }

    fn keys(&self, channel: &str) -> [String; 4] {
        let names = ["expire", "data", "user.expire", "user.clients"];
        names.map(|name| self.key(name, channel))
    }

    /// The keys without those that count users.
    fn own_keys(&self, channel: &str) -> [String; 2] {
        ["expire", "data"].map(|name| self.key(name, channel))
    }

    fn key(&self, name: &str, channel: &str) -> String {
        let what = format!("presence.{name}");
        key(&self.config.prefix, &what, channel, self.shards.of(channel))
    }
}

fn decode(all: Value) -> Result<HashMap<String, ClientInfo>> {
    let pairs = all.into_pairs().map_err(|_| wrong("no hash of clients"))?;
    let mut present = HashMap::with_capacity(pairs.len());
    for (client, info) in pairs {
        let info = ClientInfo::decode(&Bytes::from_value(info)?)?;
        present.insert(String::from_value(client)?, info);
    }
    Ok(present)
}
