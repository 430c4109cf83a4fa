//! Live channels: Centrifugo's client protocol and server API on the web port.
//!
//! ```text
//!  transport.rs: WebSocket, SSE, HTTP streams ─► live-protocol: commands ─► hub: clients, channels ─► store.rs: keys
//!                          ▲                                        ▲  │                        │ PUB/SUB
//!                          └──── frames, appended once per turn ────┘  └◄── tapped messages ◄───┘
//!  api.rs: POST /api/… and LIVE.… commands ─► store.rs, and mail to the hubs of all threads
//! ```
//!
//! Each worker thread has a [`Hub`]: the clients whose connections live there, and for each of their channels the
//! subscribers. The first subscriber of a channel has the thread tap the channel of Centrifugo's Redis engine in
//! PUB/SUB. So every publisher reaches every subscriber, whether it is a client, the API, a command, or another
//! server that uses this one as its Redis. Rules and options are in the crate `live`. With `live-broker` the keys and
//! the messages are in another server: see [`remote`].

mod api;
mod counts;
mod emulation;
mod http;
mod hub;
mod mail;
mod peers;
mod proxies;
pub(crate) mod reload;
mod remote;
mod store;
mod tally;
mod topics;
mod transport;
mod uuid;
mod value;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use ::live::Options;
use ::live::limit::Bucket;
use ::live::options::{Prefixes, Rate};
use ::live::proxy::Forwards;
use ::live::token::jwks::Jwks;
use config::Id;
use engine::{Engine, log};
use live_http::Asker;
use parking_lot::{Mutex, RwLock};
use stdx::hash::Seeded;

pub(crate) use api::commands;
use counts::Counts;
pub(crate) use counts::Figures;
pub(crate) use hub::wire::Transport;
use hub::wire::Wire;
pub(crate) use hub::{Cx, Hub};
pub(crate) use mail::Mail;
pub(crate) use proxies::{Asked, Figures as ProxyFigures, STEPS_MS};
pub(crate) use remote::BrokerFigures;
use remote::Remote;
pub(crate) use tally::{BROADCAST_US, Key, LAG_US, Measured, NAMES, PING_US, Pushed, Space, Sum};
pub(crate) use transport::answer;

/// Thread, client number, and how commands are sent, by session.
type Sessions = HashMap<Box<str>, (usize, u64, Wire), Seeded>;

/// What all threads share.
pub(crate) struct Live {
    options: RwLock<Arc<Options>>,
    file: Mutex<reload::File>,
    /// What keys and PUB/SUB channels begin with, since the start.
    pub(crate) prefixes: Prefixes,
    /// This server, among several.
    pub(crate) node: String,
    pub(crate) jwks: Mutex<Jwks>,
    /// Asks applications, from the first question on.
    asker: OnceLock<Result<Asker, String>>,
    /// The headers that questions need, by the options of which they are.
    forwards: Mutex<Option<(Arc<Options>, Arc<Forwards>)>>,
    /// Of connections that get their commands by requests.
    sessions: Mutex<Sessions>,
    mail: Mutex<Vec<Vec<Mail>>>,
    /// Users with connections, and how many.
    users: Mutex<HashMap<Box<str>, u32, Seeded>>,
    peers: Mutex<peers::Peers>,
    /// Questions to applications.
    proxies: proxies::Proxies,
    /// New connections, if their rate is limited.
    begins: Mutex<Option<Bucket>>,
    /// By namespace.
    counts: RwLock<HashMap<String, Arc<Counts>, Seeded>>,
    /// By thread.
    tallies: RwLock<Vec<Arc<tally::Tally>>>,
    /// Connections above `connection_limit`.
    refused: AtomicU64,
    /// Channels with subscribers, and how many.
    channels: Mutex<HashMap<Arc<str>, u32, Seeded>>,
    /// Where the channels are, if not in this server.
    remote: Option<Remote>,
    topics: topics::Topics,
}

impl Live {
    /// Reads the file that `live-config` names; none: live channels are off.
    ///
    /// # Errors
    /// The file cannot be read, or does not hold a configuration.
    pub(crate) fn load(engine: &Arc<Engine>) -> io::Result<Option<Arc<Self>>> {
        let path = engine.config.string(Id::LiveConfig);
        let broker = engine.config.string(Id::LiveBroker);
        if path.is_empty() {
            if !broker.is_empty() {
                log!(engine.log, Warning, "live-broker does nothing without live-config");
            }
            return Ok(None);
        }
        let bad = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        let (file, options) = reload::File::read(engine, &path).map_err(bad)?;
        let broker = remote::parse(&broker).map_err(bad)?;
        let partitions = engine.config.int(Id::LiveBrokerPartitions) as usize;
        let mut failed = None;
        let live = Arc::new_cyclic(|live: &Weak<Self>| {
            let at = (live.clone(), Arc::downgrade(engine));
            let remote = (!broker.is_empty())
                .then(|| Remote::new(at, (&options.prefixes, partitions), broker));
            let remote = remote.transpose().unwrap_or_else(|why| {
                failed = Some(why);
                None
            });
            Self::new(file, options, remote)
        });
        if let Some(why) = failed {
            return Err(why);
        }
        if let Some(remote) = &live.remote {
            remote.begin();
        }
        Ok(Some(live))
    }

    fn new(file: reload::File, options: Arc<Options>, remote: Option<Remote>) -> Self {
        Self {
            prefixes: options.prefixes.clone(),
            options: RwLock::new(options),
            file: Mutex::new(file),
            node: uuid::new_uuid(),
            jwks: Mutex::default(),
            asker: OnceLock::new(),
            forwards: Mutex::default(),
            sessions: Mutex::default(),
            mail: Mutex::default(),
            users: Mutex::default(),
            peers: Mutex::default(),
            proxies: proxies::Proxies::default(),
            begins: Mutex::default(),
            counts: RwLock::default(),
            tallies: RwLock::default(),
            refused: AtomicU64::new(0),
            channels: Mutex::default(),
            remote,
            topics: topics::Topics::default(),
        }
    }

    /// The server has ended: the broker is told what it was to be told.
    pub(crate) fn finish(&self) {
        if let Some(remote) = &self.remote {
            remote.finish();
        }
    }

    /// A subscription begins, or ends, on some thread.
    fn count_subscription(&self, counts: &engine::Live, channel: &Arc<str>, begins: bool) {
        let mut all = self.channels.lock();
        if begins {
            counts.subscriptions.fetch_add(1, Relaxed);
            *all.entry(Arc::clone(channel)).or_default() += 1;
        } else if let Some(n) = all.get_mut(&**channel) {
            counts.subscriptions.fetch_sub(1, Relaxed);
            *n -= 1;
            if *n == 0 {
                all.remove(&**channel);
            }
        }
        counts.channels.store(all.len() as u64, Relaxed);
    }

    /// Whether one more connection may begin: of all (`connection_limit`), and of those in a second
    /// (`connection_rate_limit`).
    fn lets_in(&self, engine: &Engine, options: &Options) -> bool {
        let client = &options.client;
        let most = client.connection_limit as u64;
        if most > 0 && engine.live.clients.load(Relaxed) >= most {
            self.refused.fetch_add(1, Relaxed);
            return false;
        }
        let rate = Rate { rate: client.connection_rate_limit, interval: Duration::from_secs(1) };
        if rate.rate == 0 {
            return true;
        }
        let now = engine.clock.wall_ms() as i64;
        self.begins.lock().get_or_insert_with(|| Bucket::full(rate, now)).take(rate, now)
    }

    /// A connection of a user begins, on whichever thread. False: the user has as many as permitted. The look and the
    /// step are one, so that connections which begin at the same time are not more than that.
    fn begin_user(&self, user: &str, most: Option<usize>) -> bool {
        let mut all = self.users.lock();
        let n = all.get(user).copied().unwrap_or(0);
        if most.is_some_and(|most| n as usize >= most) {
            return false;
        }
        all.insert(user.into(), n + 1);
        true
    }

    /// A connection of a user ends.
    fn end_user(&self, user: &str) {
        let mut all = self.users.lock();
        if let Some(n) = all.get_mut(user) {
            *n -= 1;
            if *n == 0 {
                all.remove(user);
            }
        }
    }

    /// Channels with subscribers whose names match a pattern, and how many; with an empty pattern all.
    fn channels(&self, pattern: &str) -> Vec<(String, u32)> {
        let all = self.channels.lock();
        let matches = |name: &str| {
            pattern.is_empty() || stdx::glob::matches(pattern.as_bytes(), name.as_bytes(), false)
        };
        let found = all.iter().filter(|(name, _)| matches(name));
        let mut found: Vec<_> = found.map(|(name, n)| (name.to_string(), *n)).collect();
        found.sort();
        found
    }

    /// The options at present.
    pub(crate) fn options(&self) -> Arc<Options> {
        Arc::clone(&self.options.read())
    }
}
