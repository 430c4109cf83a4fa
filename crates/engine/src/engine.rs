//! The state that all threads share.

use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed,
};
use std::sync::{Arc, Weak};

use config::{Config, Id};
use observe::costs::CostStats;
use observe::errors::Errors;
use observe::latency::LatencyMonitor;
use observe::rates::Rates;
use observe::slowlog::Slowlog;
use observe::stats::ThreadStats;
use observe::topkeys::{HotKeys, TopKeys};
use parking_lot::{Mutex, MutexGuard, RwLock};
use stdx::clock::Clock;
use store::Keyspace;

use crate::acl::Acl;
use crate::clients::Clients;
use crate::clients::Look;
use crate::ends::Ends;
use crate::helpers::Helpers;
use crate::journal::Journal;
use crate::log::Log;
use crate::mailbox::{Job, Mailbox, Message};
use crate::migrate::{Dial, Migrations};
use crate::monitor::Monitors;
use crate::persistence::{self, Persistence};
use crate::pubsub::{Hub, Inbox};
use crate::scripting::Scripts;
use crate::table::{CommandSet, Table};
use crate::tracking::Tracking;

/// Reasons for which a command cannot take the fast path. Zero most of the time: one load per group of
/// commands shows that none of them applies.
#[derive(Default)]
pub struct Attention(AtomicU32);

impl Attention {
    /// A client runs MONITOR.
    pub const MONITOR: u32 = 1;
    /// CLIENT PAUSE.
    pub const PAUSE: u32 = 2;
    /// `maxmemory` is set.
    pub const MAXMEMORY: u32 = 4;
    /// The slow log or the latency monitor needs every command timed by itself.
    pub const TIMING: u32 = 8;
    /// The server is loading its data.
    pub const LOADING: u32 = 16;
    /// Writes are refused because the journal cannot be written.
    pub const DISK: u32 = 128;
    /// Writes are refused because the last snapshot failed.
    pub const UNSAVED: u32 = 64;
    /// A script has run for longer than `busy-reply-threshold`.
    pub const BUSY: u32 = 256;
    /// Writes are refused because `min-replicas-to-write` asks for replicas, and there are none.
    pub const REPLICAS: u32 = 1024;
    /// Keys are being moved to another server.
    pub const MIGRATE: u32 = 512;
    /// Long commands have shards locked.
    pub const LONG: u32 = 2048;

    /// All reasons.
    #[inline]
    pub fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Sets or clears one.
    pub fn set(&self, bit: u32, on: bool) {
        if on {
            self.0.fetch_or(bit, Relaxed);
        } else {
            self.0.fetch_and(!bit, Relaxed);
        }
    }
}

/// CLIENT PAUSE.
#[derive(Default)]
pub struct Pause {
    /// Unix milliseconds; 0 when nothing is paused.
    pub until_ms: AtomicI64,
    /// Only commands that write.
    pub writes_only: AtomicBool,
    /// Locked while the two are changed together.
    gate: Mutex<()>,
}

/// How a shutdown was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownRequest {
    /// SAVE (`Some(true)`), NOSAVE (`Some(false)`), or as configured.
    pub save: Option<bool>,
    /// NOW: do not wait for replicas.
    pub now: bool,
    /// Go on even when saving fails.
    pub force: bool,
}

/// Carries out a shutdown.
pub type ShutdownHook = Box<dyn Fn(ShutdownRequest) + Send + Sync>;

/// Carries out the change of an option (listeners, limits …). The text of a refusal is the reason that
/// CONFIG SET answers; all options then return to their previous values, and the hook is called again for
/// those.
pub type ConfigHook = Box<dyn Fn(Id, &Config) -> Result<(), String> + Send + Sync>;

/// The parts that an engine is made from.
pub struct Options {
    /// The configuration.
    pub config: Config,
    /// The session commands.
    pub commands: CommandSet,
    /// `rename-command` lines: name and new name.
    pub renames: Vec<(String, String)>,
    /// Time.
    pub clock: Clock,
    /// Log.
    pub log: Log,
    /// The configuration file, for CONFIG REWRITE and INFO.
    pub config_file: Option<std::path::PathBuf>,
    /// Program and arguments, for INFO.
    pub executable: String,
}

/// One worker thread as others see it.
pub struct Worker {
    /// Its counters.
    pub stats: ThreadStats,
    /// The costs of its commands by phase.
    pub costs: CostStats,
    /// The keys that its commands named most.
    pub top_keys: TopKeys,
    /// Its inbox.
    pub mailbox: Mailbox,
    /// Messages that other threads send to its connections.
    pub inbox: Inbox,
    /// Bytes of the buffers in which push messages wait for their turn to be sent.
    pub outboxes: Arc<AtomicUsize>,
    /// Connections that live on it.
    pub connections: AtomicU64,
    /// Where it leaves its records for the journal.
    pub lane: Arc<persist::journal::Lane>,
    /// Some of its connections wait until the journal is durable: it is woken when it is.
    pub wake_request: persist::journal::WakeRequest,
}

/// See the module's text.
pub struct Engine {
    /// All data.
    pub keyspace: Arc<Keyspace>,
    /// With one worker thread: the right to the keyspace, until that thread takes it.
    pub(crate) solo: Mutex<Option<store::SoloToken>>,
    /// Options by name, live.
    pub config: Config,
    /// All commands.
    pub table: Table,
    /// Users and their permissions.
    pub acl: Acl,
    /// All connections.
    pub clients: Clients,
    /// Time.
    pub clock: Clock,
    /// Log.
    pub log: Log,
    /// Reasons not to take the fast path.
    pub attention: Attention,
    /// Clients that run MONITOR.
    pub monitors: Monitors,
    /// The subscriptions.
    pub pubsub: Hub,
    /// The clients that track keys.
    pub tracking: Tracking,
    /// Whether keyspace events are published, for which changes must be noted.
    notifies: AtomicBool,
    /// Scripts and functions.
    pub scripts: Scripts,
    /// SLOWLOG.
    pub slowlog: Slowlog,
    /// LATENCY.
    pub latency: LatencyMonitor,
    /// HOTKEYS.
    pub(crate) hotkeys: HotKeys,
    /// The event log.
    pub topics: crate::topics::Topics,
    /// MIGRATE.
    pub migrations: Migrations,
    /// Long commands beside the event loops.
    pub(crate) helpers: Arc<Helpers<Job, Worker>>,
    /// CLIENT PAUSE.
    pub pause: Pause,
    /// Locked while a thread changes options and applies the change. Locked before any shard: turning the
    /// journal on takes all of them.
    config_gate: Mutex<()>,
    /// Error replies by their first word, for INFO errorstats.
    pub errors: Errors,
    /// DEBUG SET-ACTIVE-EXPIRE.
    pub active_expire: AtomicBool,
    /// DEBUG SET-SKIP-CHECKSUM-VALIDATION
    pub trust_checksums: AtomicBool,
    /// Unix milliseconds.
    pub started_ms: i64,
    /// 40 hexadecimal digits, new at every start.
    pub run_id: String,
    /// The configuration file.
    pub config_file: Option<std::path::PathBuf>,
    /// Program path, for INFO.
    pub executable: String,
    /// TCP port that is listened on, for INFO; 0 if none.
    pub tcp_port: AtomicU32,
    /// The same with TLS.
    pub tls_port: AtomicU32,
    /// Called by SHUTDOWN; set by the owner of the listeners.
    pub on_shutdown: RwLock<Option<ShutdownHook>>,
    /// Called by CONFIG SET for every option that changed; set by the owner of the listeners.
    pub on_config: RwLock<Option<ConfigHook>>,
    /// Called by MIGRATE to connect to another server; set by the owner of the sockets.
    pub on_dial: RwLock<Option<Dial>>,
    /// Says whether the peer of a connection has closed it, which the thread of the connection may not
    /// have noticed yet; set by the owner of the sockets.
    pub on_look: RwLock<Option<Look>>,
    /// The replication ID: 40 hexadecimal digits (DEBUG CHANGE-REPL-ID draws a new one).
    pub replication_id: RwLock<String>,
    /// Bytes in use when the engine had just been made, for INFO memory.
    pub startup_memory: u64,
    /// DEBUG PAUSE-CRON.
    pub cron_paused: AtomicBool,
    /// The totals at the last reset, so that totals can start from zero.
    workers: RwLock<Vec<Arc<Worker>>>,
    /// Highest number of clients at once.
    pub peak_clients: AtomicU64,
    /// Clients that a command blocks.
    pub blocked_clients: AtomicU64,
    /// Instantaneous rates, sampled by the periodic work.
    pub rates: Rates,
    /// How the server ends, if it does: see [`crate::ends`].
    pub shutting_down: AtomicU8,
    /// Which threads have ended.
    pub ends: Ends,
    /// The journal (`appendonly`).
    pub journal: Journal,
    /// FLUSHALL found a snapshot being taken, and wants one when that is over.
    pub(crate) save_owed: AtomicBool,
    /// Snapshots.
    pub persistence: Persistence,
    pub(crate) me: Weak<Engine>,
}

/// 40 hexadecimal digits that no other server has.
pub fn random_id(now_ms: i64) -> String {
    let mut id = [0u8; 20];
    if stdx::rng::fill_from_os(&mut id).is_err() {
        // Without randomness, only time and address space differ.
        id[..8].copy_from_slice(&now_ms.to_le_bytes());
        id[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    }
    id.iter().map(|b| format!("{b:02x}")).collect()
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.helpers.close();
    }
}

impl Engine {
    /// An engine with an empty keyspace and no threads.
    pub fn new(o: Options) -> Arc<Self> {
        let now = o.clock.wall_ms() as i64;
        let databases = o.config.int(Id::Databases).max(1) as usize;
        let (keyspace, solo) = if o.config.int(Id::Threads) == 1 {
            let (ks, solo) = Keyspace::single(databases, now);
            (ks, Some(solo))
        } else {
            (Keyspace::new(databases, now), None)
        };
        let table = Table::new(o.commands, &o.renames);
        let engine = Arc::new_cyclic(|me| Self {
            keyspace,
            solo: Mutex::new(solo),
            acl: Acl::new(&table),
            table,
            clients: Clients::default(),
            clock: o.clock,
            log: o.log,
            attention: Attention::default(),
            monitors: Monitors::default(),
            pubsub: Hub::default(),
            tracking: Tracking::default(),
            notifies: AtomicBool::new(false),
            scripts: Scripts::default(),
            slowlog: Slowlog::default(),
            latency: LatencyMonitor::default(),
            hotkeys: HotKeys::default(),
            topics: crate::topics::Topics::default(),
            migrations: Migrations::default(),
            helpers: Arc::default(),
            pause: Pause::default(),
            config_gate: Mutex::new(()),
            errors: Errors::default(),
            active_expire: AtomicBool::new(true),
            trust_checksums: AtomicBool::new(false),
            started_ms: now,
            run_id: random_id(now),
            config_file: o.config_file,
            executable: o.executable,
            tcp_port: AtomicU32::new(0),
            tls_port: AtomicU32::new(0),
            on_shutdown: RwLock::default(),
            on_config: RwLock::default(),
            on_dial: RwLock::default(),
            on_look: RwLock::default(),
            replication_id: RwLock::new(random_id(now)),
            startup_memory: stdx::mem::used(),
            cron_paused: AtomicBool::new(false),
            workers: RwLock::default(),
            peak_clients: AtomicU64::new(0),
            blocked_clients: AtomicU64::new(0),
            rates: Rates::default(),
            shutting_down: AtomicU8::new(0),
            ends: Ends::default(),
            journal: Journal::default(),
            save_owed: AtomicBool::new(false),
            persistence: Persistence::new(now),
            me: Weak::clone(me),
            config: o.config,
        });
        engine.config_changed();
        engine
    }

    /// A reference that does not keep it alive, for threads that may outlive it.
    pub fn weak(&self) -> Weak<Self> {
        self.me.clone()
    }

    /// Registers a worker thread and gives it its number.
    pub fn add_worker(&self, mailbox: Mailbox) -> (usize, Arc<Worker>) {
        let worker = self.new_worker(mailbox);
        let mut all = self.workers.write();
        all.push(Arc::clone(&worker));
        (all.len() - 1, worker)
    }

    /// A worker that is not in the list: no connections live on it.
    pub(crate) fn new_worker(&self, mailbox: Mailbox) -> Arc<Worker> {
        Arc::new(Worker {
            stats: ThreadStats::new(self.table.len()),
            costs: CostStats::default(),
            top_keys: TopKeys::default(),
            mailbox,
            inbox: Inbox::default(),
            outboxes: Arc::default(),
            connections: AtomicU64::new(0),
            lane: self.journal.shared.add_lane(),
            wake_request: persist::journal::WakeRequest::default(),
        })
    }

    /// Calls `f` with every worker thread.
    pub(crate) fn each_worker(&self, f: impl FnMut(&Arc<Worker>)) {
        self.workers.read().iter().for_each(f);
    }

    /// Memory of all buffers in which push messages wait to be sent, those kept for the next time included.
    pub fn outbox_bytes(&self) -> u64 {
        self.workers().iter().map(|worker| worker.outboxes.load(Relaxed) as u64).sum()
    }

    /// The worker thread with this number.
    pub(crate) fn worker(&self, thread: usize) -> Option<Arc<Worker>> {
        self.workers.read().get(thread).cloned()
    }

    /// All worker threads.
    pub fn workers(&self) -> Vec<Arc<Worker>> {
        self.workers.read().clone()
    }

    /// Posts a message to a thread.
    pub fn post(&self, thread: usize, m: Message) {
        let worker = self.workers.read().get(thread).cloned();
        if let Some(w) = worker {
            w.mailbox.post(m);
        }
    }

    /// The right to change options. The thread that has it may be waiting for shards that a slow script has
    /// locked.
    pub(crate) fn lock_config(&self) -> MutexGuard<'_, ()> {
        loop {
            if let Some(gate) = self.config_gate.try_lock_for(std::time::Duration::from_millis(10))
            {
                return gate;
            }
            store::meanwhile();
        }
    }

    /// Updates the state derived from the configuration; called after every change of it.
    pub fn config_changed(&self) {
        let c = &self.config;
        self.attention.set(Attention::MAXMEMORY, c.bytes(Id::Maxmemory) > 0);
        // From a millisecond up, light commands are timed in groups, which take less as a rule; one that
        // takes longer is blamed on the likeliest of its commands.
        let slow = c.int(Id::SlowlogLogSlowerThan);
        let fine = (0..1000).contains(&slow) || c.int(Id::LatencyMonitorThreshold) > 0;
        self.attention.set(Attention::TIMING, fine);
        let wants = c.int(Id::MinReplicasToWrite) > 0 && c.int(Id::MinReplicasMaxLag) > 0;
        self.attention.set(Attention::REPLICAS, wants);
        self.journal.follow_config(c);
        persistence::follow_config(self);
        c.with_bytes(Id::Requirepass, |password| self.acl.follow_requirepass(password));
        let notifies = c.notify_keyspace_events() != 0;
        if self.notifies.swap(notifies, Relaxed) != notifies {
            if notifies {
                self.keyspace.take_interest();
            } else {
                self.keyspace.lose_interest();
            }
        }
    }

    /// Resets all counters (CONFIG RESETSTAT). The peak of memory is not one, as in Redis.
    pub fn reset_stats(&self) {
        for w in self.workers.read().iter() {
            w.stats.reset();
            w.costs.reset();
            w.top_keys.clear();
        }
        self.helpers.each_worker(|w| w.stats.reset());
        self.errors.reset();
        self.acl.log.reset_counts();
        self.keyspace.reset_lazy_counts();
        self.scripts.cache.reset_stats();
        self.rates.reset();
    }

    /// Pauses clients until `until_ms` (Unix milliseconds), or as long as a pause that is on
    /// already lasts, if that is longer. A pause of everything stays one.
    pub fn extend_pause(&self, until_ms: i64, writes_only: bool) {
        let _gate = self.pause.gate.lock();
        let current = self.pause.until_ms.load(Relaxed);
        let now = self.clock.wall_ms() as i64;
        let all_now = current > now && !self.pause.writes_only.load(Relaxed);
        let until = current.max(until_ms);
        if until > now {
            self.pause.writes_only.store(writes_only && !all_now, Relaxed);
            self.pause.until_ms.store(until, Relaxed);
            self.attention.set(Attention::PAUSE, true);
        }
    }

    /// Ends a pause.
    pub fn end_pause(&self) {
        let gate = self.pause.gate.lock();
        self.resume(&gate);
    }

    fn resume(&self, _gate: &MutexGuard<'_, ()>) {
        self.pause.until_ms.store(0, Relaxed);
        self.attention.set(Attention::PAUSE, false);
        for w in self.workers.read().iter() {
            w.mailbox.post(Message::Resume);
        }
    }

    /// Ends a pause whose time is over; called by the periodic work and by commands that find the
    /// pause on. Returns whether one is on.
    pub fn check_pause(&self) -> bool {
        if self.pause.until_ms.load(Relaxed) == 0 {
            return false;
        }
        let gate = self.pause.gate.lock();
        // Another thread may have made it longer, or ended it, before this one had the lock.
        let until = self.pause.until_ms.load(Relaxed);
        // Both times are rounded down to milliseconds, so the pause lasts until the next one.
        if until != 0 && self.clock.wall_ms() as i64 > until {
            self.resume(&gate);
            return false;
        }
        until != 0
    }
}
