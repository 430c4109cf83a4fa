//! Client-side caching: replies that are kept until the server says that their keys have changed.
//!
//! A cache has a connection of its own, on which the server tracks what it reads (`CLIENT TRACKING`, RESP3). Replies
//! and invalidations come on that one connection, in the order of the server's. The driver hands invalidations to
//! the store while it reads, before any caller sees a reply of the same read; a read that is under way then is not
//! kept (see the store). When the connection breaks, everything is forgotten at once, and on the next one tracking is
//! switched on in the first write, in front of any command: so there is no read that is kept and not tracked.
//!
//! A connection that is dead and does not say so sends no invalidations. The cache asks it every `check_every`
//! whether it lives; that time and the response time-out bound how old a value can get.
//!
//! In a cluster there is such a connection to each node (see `links`). What is kept of a slot is forgotten when the
//! slot has another master: the old one says nothing of keys that were not there when it moved. The map of slots is
//! asked for every `check_every`, too.

mod links;
mod read;
mod store;

use crate::arg::Arg;
use crate::client::Client;
use crate::command::Command;
use crate::convert::FromValue;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use links::{Links, Unkept};
use read::Read;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Found, Store};
use tokio::sync::oneshot;

/// How a cache works.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// Which reads the server tracks.
    pub tracking: Tracking,
    /// Replies that are kept, at most.
    pub entries_max: usize,
    /// Bytes that are kept, roughly; a larger reply is not kept at all.
    pub bytes_max: usize,
    /// A reply is not kept longer than this, and never longer than the server keeps its key.
    pub age_max: Option<Duration>,
    /// How often the server is asked whether the connection lives on which it tells what has changed.
    pub check_every: Duration,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            tracking: Tracking::OptIn,
            entries_max: 100_000,
            bytes_max: 64 << 20,
            age_max: None,
            check_every: Duration::from_secs(1),
        }
    }
}

/// Which keys the server tells about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tracking {
    /// Keys that were read to be kept: the server remembers them.
    OptIn,
    /// All keys with these prefixes, whether this client reads them or not: the server remembers nothing, and tells about every change.
    /// No prefix means all keys. A key without such a prefix is read and not kept.
    Broadcast(Vec<Vec<u8>>),
}

/// What a cache has done, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheMetrics {
    /// Reads that were answered from here.
    pub hits: u64,
    /// Reads that were sent.
    pub misses: u64,
    /// Reads that another read's reply has answered.
    pub joined: u64,
    /// Keys that the server said have changed.
    pub invalidations: u64,
    /// How often everything was forgotten: the connection broke, or the server was flushed.
    pub clears: u64,
    /// Replies that were given up for others.
    pub evicted: u64,
    /// Replies that are kept.
    pub entries: usize,
    /// Their bytes, roughly.
    pub bytes: usize,
}

/// Commands of one key whose replies depend on nothing but it, and that a cache keeps.
const CACHEABLE: [&str; 44] = [
    "BITCOUNT",
    "BITPOS",
    "EXISTS",
    "GEODIST",
    "GEOHASH",
    "GEOPOS",
    "GEOSEARCH",
    "GET",
    "GETBIT",
    "GETRANGE",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HSTRLEN",
    "HVALS",
    "LINDEX",
    "LLEN",
    "LPOS",
    "LRANGE",
    "PFCOUNT",
    "SCARD",
    "SISMEMBER",
    "SMEMBERS",
    "SMISMEMBER",
    "STRLEN",
    "SUBSTR",
    "TYPE",
    "XLEN",
    "XRANGE",
    "XREVRANGE",
    "ZCARD",
    "ZCOUNT",
    "ZLEXCOUNT",
    "ZMSCORE",
    "ZRANGE",
    "ZRANGEBYLEX",
    "ZRANGEBYSCORE",
    "ZRANK",
    "ZREVRANGE",
    "ZREVRANK",
    "ZSCORE",
];

/// The commands among them that take more than one key.
const WITH_MORE_KEYS: [&str; 2] = ["EXISTS", "PFCOUNT"];

/// A client-side cache: see [`Client::cache`]. A clone is another handle to the same one.
///
/// ```no_run
/// # use apus_client::{CacheConfig, cmd, prelude::*};
/// # async fn example(client: Client) -> apus_client::Result<()> {
/// let cache = client.cache(CacheConfig::default()).await?;
/// let name: Option<String> = cache.get("user:1").await?; // asks the server
/// let again: Option<String> = cache.get("user:1").await?; // does not, until the key changes
/// let fields: Vec<(String, String)> = cache.call(cmd().hgetall("h")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    shared: Arc<Shared>,
    links: Links,
}

#[derive(Debug)]
struct Shared {
    config: CacheConfig,
    store: Mutex<Store<Arc<Flight>>>,
    hits: AtomicU64,
    misses: AtomicU64,
    joined: AtomicU64,
    invalidations: AtomicU64,
    clears: AtomicU64,
}

/// A read that is under way, and those who wait for it beside the one that began it.
#[derive(Debug, Default)]
struct Flight(Mutex<Vec<oneshot::Sender<Result<Value>>>>);

impl Flight {
    fn join(&self) -> oneshot::Receiver<Result<Value>> {
        let (tell, told) = oneshot::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(tell);
        told
    }
}

impl Shared {
    fn store(&self) -> MutexGuard<'_, Store<Arc<Flight>>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clear(&self) {
        self.store().clear();
        self.clears.fetch_add(1, Relaxed);
    }

    /// What the server sent without being asked; nothing when the connection broke.
    fn accept(&self, push: Option<Vec<Value>>) {
        let Some(mut items) = push else { return self.clear() };
        if items.first().and_then(Value::as_bytes) != Some(b"invalidate") || items.len() < 2 {
            return;
        }
        match items.swap_remove(1) {
            Value::Array(keys) => {
                self.invalidations.fetch_add(keys.len() as u64, Relaxed);
                let mut store = self.store();
                keys.iter().filter_map(Value::as_bytes).for_each(|key| store.invalidate(key));
            }
            // FLUSHALL, FLUSHDB, or a tracking table that the server has given up.
            _ => self.clear(),
        }
    }

    fn is_tracked(&self, key: &[u8]) -> bool {
        match &self.config.tracking {
            Tracking::OptIn => true,
            Tracking::Broadcast(prefixes) => {
                prefixes.is_empty() || prefixes.iter().any(|prefix| key.starts_with(prefix))
            }
        }
    }

    /// When a reply must be forgotten: `left` is the server's `PTTL` for the key, in milliseconds.
    fn until(&self, began: Instant, left: Option<i64>) -> Option<Instant> {
        let left = left.and_then(|left| u64::try_from(left).ok()).map(Duration::from_millis);
        let age = [left, self.config.age_max].into_iter().flatten().min()?;
        began.checked_add(age)
    }
}

impl Client {
    /// A cache with connections of its own: one to this client's server or to the master that sentinels name, one to
    /// each node of a cluster that it reads from. Servers need RESP3 and `CLIENT TRACKING` (Redis 6).
    ///
    /// # Errors
    ///
    /// The connection cannot be made, or the server does not track. A cluster is not connected to before the first
    /// read, which fails then.
    pub async fn cache(&self, config: CacheConfig) -> Result<Cache> {
        let shared = Arc::new(Shared {
            store: Mutex::new(Store::new(config.entries_max, config.bytes_max)),
            config,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            joined: AtomicU64::new(0),
            invalidations: AtomicU64::new(0),
            clears: AtomicU64::new(0),
        });
        let links = Links::connect(self.source(), &shared).await?;
        Ok(Cache { shared, links })
    }
}

impl Cache {
    /// The value of a key.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply; a reply of another type.
    pub async fn get<T: FromValue>(&self, key: impl Arg) -> Result<T> {
        self.call(Command::new("GET").arg(key)).await
    }

    /// The values of several keys, each kept by itself; those that are not here are asked for together.
    ///
    /// # Errors
    ///
    /// The first error of one of them.
    pub async fn mget<T: FromValue>(
        &self,
        keys: impl IntoIterator<Item = impl Arg>,
    ) -> Result<Vec<T>> {
        let waiting: Vec<_> =
            keys.into_iter().map(|key| self.begin(Command::new("GET").arg(key))).collect();
        let mut values = Vec::with_capacity(waiting.len());
        for one in waiting {
            values.push(T::from_value(one?.wait().await?)?);
        }
        Ok(values)
    }

    /// The reply to a command that reads one key and nothing else, such as `GET`, `HGETALL` or `ZRANGE`.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply; a reply of another type; [`ErrorKind::Usage`] for a command that is not
    /// such a one.
    pub async fn call<T: FromValue>(&self, command: impl Into<Command>) -> Result<T> {
        T::from_value(self.begin(command.into())?.wait().await?)
    }

    /// Forgets what it knows of a key. A program that writes a key by another connection and wants to read what it
    /// wrote calls this after the write was answered: the server's own word may come later.
    pub fn forget(&self, key: impl AsRef<[u8]>) {
        self.shared.store().invalidate(key.as_ref());
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.shared.clear();
    }

    /// What it has done, and what it holds.
    #[must_use]
    pub fn metrics(&self) -> CacheMetrics {
        let shared = &self.shared;
        let (entries, bytes, evicted) = {
            let store = shared.store();
            (store.len(), store.bytes(), store.evicted)
        };
        CacheMetrics {
            hits: shared.hits.load(Relaxed),
            misses: shared.misses.load(Relaxed),
            joined: shared.joined.load(Relaxed),
            invalidations: shared.invalidations.load(Relaxed),
            clears: shared.clears.load(Relaxed),
            evicted,
            entries,
            bytes,
        }
    }

    /// Looks the reply up, or begins a read; a task of its own ends it, so that a caller that goes away takes
    /// nothing from those who have joined.
    fn begin(&self, command: Command) -> Result<Waiting> {
        let key = key_of(&command)?.to_vec();
        if !self.shared.is_tracked(&key) {
            self.shared.misses.fetch_add(1, Relaxed);
            return Ok(Waiting::Reply(self.links.send(command)));
        }
        let now = Instant::now();
        let mut waiting = None;
        let mut begun = None;
        let mut store = self.shared.store();
        let found = store.find(&key, command.encoded().0, now, || {
            let flight = Arc::new(Flight::default());
            waiting = Some(flight.join());
            begun = Some(flight.clone());
            flight
        });
        match found {
            Found::Kept(value) => {
                self.shared.hits.fetch_add(1, Relaxed);
                Ok(Waiting::Kept(value))
            }
            // Joined under the store's lock: the end of the read takes it, too, before it tells the others.
            Found::Flying(flight) => {
                self.shared.joined.fetch_add(1, Relaxed);
                Ok(Waiting::Flight(flight.join()))
            }
            Found::Missing(number) => {
                drop(store);
                self.shared.misses.fetch_add(1, Relaxed);
                let (Some(waiting), Some(flight)) = (waiting, begun) else {
                    return Err(Error::usage("a read that has not begun"));
                };
                let read = Read { cache: self.clone(), flight, key, command, number, began: now };
                tokio::spawn(read.run());
                Ok(Waiting::Flight(waiting))
            }
        }
    }
}

/// What a caller waits for.
enum Waiting {
    Kept(Value),
    Flight(oneshot::Receiver<Result<Value>>),
    Reply(Unkept),
}

impl Waiting {
    async fn wait(self) -> Result<Value> {
        match self {
            Self::Kept(value) => Ok(value),
            Self::Flight(told) => told.await.unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::Closed, "the runtime has ended the read"))
            }),
            Self::Reply(reply) => reply.await,
        }
    }
}

/// The only key of a command that may be kept.
fn key_of(command: &Command) -> Result<&[u8]> {
    let name = command.spec().name;
    let is_one = !WITH_MORE_KEYS.contains(&name) || command.args().count() == 2;
    if !CACHEABLE.contains(&name) || !is_one {
        return Err(Error::usage(format!(
            "{} cannot be cached: it does not read one key and nothing else",
            command.name()
        )));
    }
    command.first_key().ok_or_else(|| Error::usage(format!("{name} needs a key")))
}

#[cfg(test)]
mod tests {
    use super::{CACHEABLE, key_of};
    use crate::command::Command;
    use crate::lookup;

    #[test]
    fn what_is_kept_is_in_the_table_and_only_reads() {
        for name in CACHEABLE {
            let command = Command::new(name).arg("k");
            assert!(command.is_repeatable() && !command.is_blocking(), "{name}");
            assert_eq!(lookup::find(name).name, name);
            assert_eq!(key_of(&command).expect(name), b"k");
        }
        for (name, args) in [
            ("SET", vec!["k", "v"]),
            ("EXISTS", vec!["a", "b"]),
            ("RANDOMKEY", vec![]),
            ("TTL", vec!["k"]),
            ("GET", vec![]),
        ] {
            assert!(key_of(&Command::new(name).arg(args)).is_err(), "{name}");
        }
    }
}
