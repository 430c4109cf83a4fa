//! The state that all threads share.

use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed,
};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use config::{Config, Id};
use observe::costs::CostStats;
use observe::errors::Errors;
use observe::latency::LatencyMonitor;
use observe::rates::Rates;
use observe::slowlog::Slowlog;
use observe::stats::ThreadStats;
use observe::topkeys::{HotKeys, TopKeys};
use parking_lot::{Mutex, MutexGuard, RwLock};
use replication::ReplId;
use stdx::clock::Clock;
use store::{Class, Keyspace};
use stream::Stream;

use crate::acl::Acl;
use crate::attention::Attention;
use crate::clients::Clients;
use crate::clients::Look;
use crate::durability::Durability;
use crate::ends::Ends;
use crate::feeders::FeedRequest;
use crate::helpers::Helpers;
use crate::journal::Journal;
use crate::log::Log;
use crate::mailbox::{Job, Mailbox, Message};
use crate::migrate::{Dial, Migrations};
use crate::monitor::Monitors;
use crate::pubsub::{Hub, Inbox};
use crate::replication::Replication;
use crate::scripting::Scripts;
use crate::table::{CommandSet, LiveCall, Table};
use crate::tracking::Tracking;

/// CLIENT PAUSE.
#[derive(Default)]
pub(crate) struct Pause {
    /// Unix milliseconds; 0 when nothing is paused.
    until_ms: AtomicI64,
    /// Only commands that write.
    pub(crate) writes_only: AtomicBool,
    /// Locked while the two are changed together.
    gate: Mutex<()>,
}

/// Carries out the change of an option (listeners, limits …). The text of a refusal is the reason that
/// CONFIG SET answers; all options then return to their previous values, and the hook is called again for
/// those.
pub type ConfigHook = Box<dyn Fn(Id, &Config) -> Result<(), String> + Send + Sync>;

/// Makes names and values for INFO.
pub type Fields = Box<dyn Fn() -> Vec<(String, String)> + Send + Sync>;

/// The parts that an engine is made from.
pub struct Options {
    /// The configuration.
    pub config: Config,
    /// The session commands.
    pub commands: CommandSet,
    /// Journal and snapshots; `()` for none.
    pub durability: Arc<dyn Durability>,
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

/// What the owner of the sockets does for the engine. It sets each of them after the engine was made.
#[derive(Default)]
pub struct Hooks {
    /// Called by CONFIG SET for every option that changed.
    pub config: RwLock<Option<ConfigHook>>,
    /// Fields of INFO about the web port.
    pub web_info: RwLock<Option<Fields>>,
    /// Fields of INFO about live channels.
    pub live_info: RwLock<Option<Fields>>,
    /// Called by MIGRATE to connect to another server.
    pub dial: RwLock<Option<Dial>>,
    /// Says whether the peer of a connection has closed it, which the thread of the connection may not
    /// have noticed yet.
    pub look: RwLock<Option<Look>>,
    /// Called by commands of live channels, while there are such.
    pub live: RwLock<Option<LiveCall>>,
}

/// Facts about the process that the engine itself does not use; INFO shows them.
pub struct ServerInfo {
    /// Bytes in use when the engine had just been made.
    pub startup_memory: u64,
    /// The configuration file.
    pub config_file: Option<std::path::PathBuf>,
    /// The program and its arguments.
    pub executable: String,
    /// TCP port that is listened on; 0 if none.
    pub tcp_port: AtomicU32,
    /// TCP port that is listened on for TLS; 0 if none.
    pub tls_port: AtomicU32,
}

/// One worker thread as others see it.
pub struct Worker {
    /// Its counters.
    pub stats: ThreadStats,
    /// The costs of its commands by phase.
    pub(crate) costs: CostStats,
    /// The keys that its commands named most.
    pub(crate) top_keys: TopKeys,
    /// Its inbox.
    pub mailbox: Mailbox,
    /// Messages that other threads send to its connections.
    pub inbox: Inbox,
    /// Bytes of the buffers in which push messages wait for their turn to be sent.
    pub(crate) outboxes: Arc<AtomicUsize>,
    /// Connections that live on it.
    pub connections: AtomicU64,
    /// How many of them are fed with the stream of changes.
    pub fed: AtomicUsize,
    /// Requests of other threads to feed these.
    pub feed_request: FeedRequest,
    /// Where it leaves its records for the readers of the stream.
    pub lane: Arc<stream::Lane>,
    /// Some of its connections wait until the journal is durable: it is woken when it is.
    pub wake_request: persist::journal::WakeRequest,
}

/// One thread's half of publishing and subscribing.
pub(crate) type Local = ::pubsub::Local<Worker>;

/// See the module's text.
pub struct Engine {
    /// All data.
    pub keyspace: Arc<Keyspace>,
    /// With one worker thread: the right to the keyspace, until that thread takes it.
    pub solo: Mutex<Option<store::SoloToken>>,
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
    notifies_misses: AtomicBool,
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
    /// The part that others see of the thread that executes a primary's stream: its counters, above all.
    pub link_worker: OnceLock<Arc<Worker>>,
    /// Long commands beside the event loops.
    pub(crate) helpers: Arc<Helpers<Job, Worker>>,
    /// CLIENT PAUSE.
    pub(crate) pause: Pause,
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
    /// Facts about the process that INFO shows.
    pub info: ServerInfo,
    /// What the owner of the sockets does for the engine.
    pub hooks: Hooks,
    /// Live channels.
    pub live: crate::live::Live,
    /// Its role in replication, and the stream for replicas.
    pub replication: Replication,
    /// DEBUG PAUSE-CRON.
    pub cron_paused: AtomicBool,
    /// The worker threads, by number.
    workers: RwLock<Vec<Arc<Worker>>>,
    /// Clients that a command blocks.
    pub blocked_clients: AtomicU64,
    /// Instantaneous rates, sampled by the periodic work.
    pub rates: Rates,
    /// How the server ends, if it does, and which threads have ended.
    pub ends: Ends,
    /// Where commits leave their records, and what replies wait for.
    pub journal: Journal,
    /// The journal's files, and snapshots.
    pub durability: Arc<dyn Durability>,
    /// The committed records, in one order.
    pub stream: Arc<Stream>,
    pub(crate) me: Weak<Engine>,
}

/// A replication id that no other server has.
pub fn random_repl_id(now_ms: i64) -> ReplId {
    ReplId::parse(random_id(now_ms).as_bytes()).expect("40 digits")
}

/// 40 hexadecimal digits that no other server has.
pub fn random_id(now_ms: i64) -> String {
    let mut id = [0u8; 20];
    if stdx::rng::fill_from_os(&mut id).is_err() {
        // Without randomness, only time and address space differ.
        id[..8].copy_from_slice(&now_ms.to_le_bytes());
        id[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    }
    let digit = |n: u8| char::from(b"0123456789abcdef"[usize::from(n)]);
    id.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.helpers.close();
    }
}

impl Engine {
    /// An engine with an empty keyspace and no threads.
    pub fn new(o: Options) -> Arc<Self> {
        let stream = Arc::<Stream>::default();
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
            notifies_misses: AtomicBool::new(false),
            scripts: Scripts::default(),
            slowlog: Slowlog::default(),
            latency: LatencyMonitor::default(),
            hotkeys: HotKeys::default(),
            topics: crate::topics::Topics::default(),
            migrations: Migrations::default(),
            link_worker: OnceLock::new(),
            helpers: Arc::default(),
            pause: Pause::default(),
            config_gate: Mutex::new(()),
            errors: Errors::default(),
            active_expire: AtomicBool::new(true),
            trust_checksums: AtomicBool::new(false),
            started_ms: now,
            run_id: random_id(now),
            info: ServerInfo {
                startup_memory: stdx::mem::used(),
                config_file: o.config_file,
                executable: o.executable,
                tcp_port: AtomicU32::new(0),
                tls_port: AtomicU32::new(0),
            },
            hooks: Hooks::default(),
            live: crate::live::Live::default(),
            replication: Replication::new(random_repl_id(now)),
            cron_paused: AtomicBool::new(false),
            workers: RwLock::default(),
            blocked_clients: AtomicU64::new(0),
            rates: Rates::default(),
            ends: Ends::default(),
            journal: Journal::new(Arc::clone(&stream)),
            stream,
            durability: o.durability,
            me: Weak::clone(me),
            config: o.config,
        });
        engine.config_changed();
        engine
    }

    /// This engine, for a thread that outlives the call.
    pub fn arc(&self) -> Arc<Self> {
        self.me.upgrade().expect("an engine in use has an owner")
    }

    /// Logs the configured features that will not work.
    pub fn warn_at_start(&self) {
        if self.attention.get() & Attention::REPLICAS != 0 {
            crate::log!(
                self.log,
                Warning,
                "min-replicas-to-write is {}: writes are refused until so many replicas have come",
                self.config.int(Id::MinReplicasToWrite)
            );
        }
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
    pub fn new_worker(&self, mailbox: Mailbox) -> Arc<Worker> {
        Arc::new(Worker {
            stats: ThreadStats::new(self.table.len()),
            costs: CostStats::default(),
            top_keys: TopKeys::default(),
            mailbox,
            inbox: Inbox::default(),
            outboxes: Arc::default(),
            connections: AtomicU64::new(0),
            fed: AtomicUsize::new(0),
            feed_request: FeedRequest::default(),
            lane: self.stream.add_lane(),
            wake_request: persist::journal::WakeRequest::default(),
        })
    }

    /// Calls `f` with every worker thread.
    pub fn each_worker(&self, f: impl FnMut(&Arc<Worker>)) {
        self.workers.read().iter().for_each(f);
    }

    /// Whether long commands are being run. With CLIENT PAUSE on, none begins behind this look.
    pub fn runs_long_commands(&self) -> bool {
        self.helpers.is_busy()
    }

    /// Memory of all buffers in which push messages wait to be sent, those kept for the next time and those
    /// between threads included.
    pub fn outbox_bytes(&self) -> u64 {
        let bytes = |w: &Arc<Worker>| w.outboxes.load(Relaxed) + w.inbox.backlog.posted();
        self.workers().iter().map(|worker| bytes(worker) as u64).sum()
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
    pub fn lock_config(&self) -> MutexGuard<'_, ()> {
        loop {
            if let Some(gate) = self.config_gate.try_lock_for(std::time::Duration::from_millis(10))
            {
                return gate;
            }
            store::meanwhile();
        }
    }

    /// Refuses writes while fewer replicas are good than `min-replicas-to-write` says.
    pub fn follow_good_replicas(&self) {
        let wanted = usize::try_from(self.config.int(Id::MinReplicasToWrite)).unwrap_or(0);
        let refuse = self.config.int(Id::MinReplicasMaxLag) > 0
            && self.replication.good.load(Relaxed) < wanted
            && !self.is_replica()
            || self.replication.acks.is_stalled() && self.replication.acks.is_on();
        self.attention.set(Attention::REPLICAS, refuse);
    }

    /// Updates the state derived from the configuration; called after every change of it.
    pub fn config_changed(&self) {
        let c = &self.config;
        self.attention.set(Attention::MAXMEMORY, c.bytes(Id::Maxmemory) > 0);
        // From a millisecond up, fast commands are timed in groups, which take less as a rule; one that
        // takes longer is blamed on the likeliest of its commands.
        let slow = c.int(Id::SlowlogLogSlowerThan);
        let fine = (0..1000).contains(&slow) || c.int(Id::LatencyMonitorThreshold) > 0;
        self.attention.set(Attention::TIMING, fine);
        self.follow_acks();
        self.follow_good_replicas();
        self.replication.resize_backlog(c.bytes(Id::ReplBacklogSize) as usize);
        self.durability.config_changed(self);
        c.with_bytes(Id::Requirepass, |password| self.acl.follow_requirepass(password));
        let classes = c.notify_keyspace_events();
        let notifies = classes != 0;
        if self.notifies.swap(notifies, Relaxed) != notifies {
            if notifies {
                self.keyspace.take_interest();
            } else {
                self.keyspace.lose_interest();
            }
        }
        let misses = classes & Class::KeyMiss as u32 != 0;
        if self.notifies_misses.swap(misses, Relaxed) != misses {
            self.keyspace.keep_misses(misses);
        }
    }

    /// Resets all counters (CONFIG RESETSTAT). The peak of memory is not one, as in Redis.
    pub fn reset_stats(&self) {
        let syncs = &self.replication.counts;
        for count in [&syncs.full, &syncs.partial, &syncs.refused, &syncs.failed] {
            count.store(0, Relaxed);
        }
        for w in self.executing_workers() {
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

    /// Whether CLIENT PAUSE holds back what a primary sends: all of it, in either kind of pause. Asked with
    /// `replication.applying` locked.
    pub fn holds_stream_back(&self) -> bool {
        self.attention.get() & Attention::PAUSE != 0 && self.check_pause()
    }

    /// Waits, behind the begin of a pause, until the batch of a primary's stream that is under way has ended; not longer
    /// than `patience`. The calling thread has nothing locked.
    pub fn await_stream(&self, patience: Duration) {
        drop(self.replication.applying.try_lock_for(patience));
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
