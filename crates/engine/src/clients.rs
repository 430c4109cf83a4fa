//! The registry of connections, for CLIENT LIST, CLIENT KILL, INFO and MONITOR.
//!
//! A connection belongs to one thread. The part that other threads may read is its [`Client`]: atomics
//! that its thread stores once per batch, and a few strings behind a lock that change rarely.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed,
};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use pubsub::Receiver;
use store::Waiter;

use crate::acl::User;
use crate::shares::{Share, Sum};

/// The two addresses of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `ip:port`, or `path:0` for a Unix socket.
    pub peer: Box<str>,
    /// The address of our side.
    pub local: Box<str>,
    /// Whether it is a Unix socket.
    pub unix: bool,
    /// Whether the peer is on this machine (loopback or Unix socket).
    pub loopback: bool,
    /// File descriptor, for CLIENT LIST.
    pub fd: i32,
}

impl Endpoint {
    /// The endpoint of a session without a connection.
    pub fn nowhere() -> Self {
        Self { peer: Box::default(), local: Box::default(), unix: true, loopback: true, fd: -1 }
    }
}

/// Strings a client sets about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// CLIENT SETNAME.
    pub name: String,
    /// CLIENT SETINFO lib-name.
    pub lib_name: String,
    /// CLIENT SETINFO lib-ver.
    pub lib_ver: String,
}

/// SCRIPT KILL or its like that CLIENT PAUSE held back. Its thread may get stuck in a script before it
/// gets back to the connection, and then does at least this.
#[derive(Debug)]
pub enum PausedKill {
    /// The command.
    Words(Vec<Vec<u8>>),
    /// The command has run; this is its reply.
    Reply(Vec<u8>),
}

/// The kind of peer at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Peer {
    /// A client.
    Client,
    /// A replica of this server.
    Replica,
    /// The primary of this server.
    Primary,
    /// A replica of this server, on the connection that has the full copy only.
    ReplicaCopy,
}

/// The part of a connection that other threads may read.
#[derive(Debug)]
#[expect(missing_docs, reason = "fields are those of CLIENT LIST by meaning")]
pub struct Client {
    pub id: u64,
    /// Number of the thread it lives on.
    pub thread: usize,
    pub endpoint: Endpoint,
    /// The connection speaks TLS.
    pub tls: AtomicBool,
    /// Unix milliseconds.
    pub created_ms: i64,
    names: RwLock<Option<Box<Names>>>,
    /// The user that it is authenticated as, or the default one.
    pub user: RwLock<Arc<User>>,
    /// Unix milliseconds of the last interaction.
    pub active_ms: AtomicI64,
    pub db: AtomicU32,
    /// Number of the last command plus one; 0 before the first.
    pub last_cmd: AtomicU16,
    pub query_bytes: AtomicU64,
    pub query_capacity: AtomicU64,
    pub args_bytes: AtomicU64,
    pub output_bytes: AtomicU64,
    pub output_objects: AtomicU32,
    pub(crate) total_commands: AtomicU64,
    pub net_in: AtomicU64,
    pub net_out: AtomicU64,
    pub authenticated: AtomicBool,
    pub monitor: AtomicBool,
    /// See [`Client::peer`].
    peer: AtomicU8,
    /// The part that senders of push messages use.
    pub receiver: Arc<Receiver>,
    pub no_evict: AtomicBool,
    pub no_touch: AtomicBool,
    /// A command run for it while it was blocked has given a thread too much to deliver: that thread's
    /// number plus one. 0 if not.
    pub crowded: AtomicU32,
    /// Set when the connection is to be closed after its pending output.
    pub closing: AtomicBool,
    /// Waits for CLIENT PAUSE to end.
    pub paused: AtomicBool,
    /// [`Rare::early`] is not empty.
    pub(crate) has_early: AtomicBool,
    /// Commands that MULTI has queued, or -1.
    pub multi: AtomicI32,
    /// Keys that are watched.
    pub watch: AtomicU32,
    /// A watched key has changed, or a command was refused while queueing: EXEC will fail.
    pub dirty: AtomicBool,
    /// The blocked command.
    pub blocked: Mutex<Option<Arc<Waiter>>>,
    /// The bytes that [`Clients::account`] last counted for it.
    accounted: Share,
    /// What most connections never need: a connection that is idle is small.
    rare: OnceLock<Box<Rare>>,
}

/// The part of a [`Client`] that is made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    /// The command that waits for the end of CLIENT PAUSE although it could end a script.
    pub(crate) paused_kill: Mutex<Option<PausedKill>>,
    /// Commands that were answered while its thread was stuck, for its session to follow.
    pub(crate) early: Mutex<Noted>,
    /// The waker of a client that waits for records of a topic.
    topic_wait: Mutex<Option<::log::Waiting>>,
    /// Bytes of the commands that MULTI has queued, and of watched keys.
    pub(crate) multi_bytes: AtomicU64,
    pub(crate) watch_bytes: AtomicU64,
}

// With the counts of its `Arc` it is as large as a block of the allocator.
const _: () = assert!(size_of::<Client>() <= 256 - 16, "a connection has got larger");

/// What a session has to follow of what its client was told while its thread was stuck.
#[derive(Debug)]
pub(crate) enum Early {
    /// The command with these words has been answered as done, or as queued.
    Done(Vec<Vec<u8>>),
    /// A command was refused while a transaction is queued: EXEC will be, too.
    Refused,
}

/// The commands that came early, in their order.
#[derive(Debug, Default)]
pub(crate) struct Noted(pub(crate) Vec<Early>);

impl Client {
    /// What is at the other end.
    pub fn peer(&self) -> Peer {
        match self.peer.load(Relaxed) {
            1 => Peer::Replica,
            2 => Peer::Primary,
            3 => Peer::ReplicaCopy,
            _ => Peer::Client,
        }
    }

    /// Sets what is at the other end.
    pub fn set_peer(&self, peer: Peer) {
        self.peer.store(peer as u8, Relaxed);
    }

    pub(crate) fn new(
        id: u64,
        thread: usize,
        endpoint: Endpoint,
        now_ms: i64,
        user: Arc<User>,
    ) -> Self {
        Self {
            id,
            thread,
            endpoint,
            tls: AtomicBool::new(false),
            created_ms: now_ms,
            names: RwLock::default(),
            user: RwLock::new(user),
            active_ms: AtomicI64::new(now_ms),
            db: AtomicU32::new(0),
            last_cmd: AtomicU16::new(0),
            query_bytes: AtomicU64::new(0),
            query_capacity: AtomicU64::new(0),
            args_bytes: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            output_objects: AtomicU32::new(0),
            total_commands: AtomicU64::new(0),
            net_in: AtomicU64::new(0),
            net_out: AtomicU64::new(0),
            authenticated: AtomicBool::new(false),
            monitor: AtomicBool::new(false),
            peer: AtomicU8::new(Peer::Client as u8),
            receiver: Arc::new(Receiver::new(id, thread)),
            no_evict: AtomicBool::new(false),
            no_touch: AtomicBool::new(false),
            crowded: AtomicU32::new(0),
            closing: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            has_early: AtomicBool::new(false),
            multi: AtomicI32::new(-1),
            watch: AtomicU32::new(0),
            dirty: AtomicBool::new(false),
            blocked: Mutex::default(),
            accounted: Share::default(),
            rare: OnceLock::new(),
        }
    }

    /// What most connections never need, if it was made.
    #[inline]
    pub(crate) fn get_rare(&self) -> Option<&Rare> {
        self.rare.get().map(|rare| &**rare)
    }

    /// The same; it is made.
    pub(crate) fn rare(&self) -> &Rare {
        self.rare.get_or_init(Box::default)
    }

    /// The command that waits for the end of CLIENT PAUSE could end a script.
    pub fn set_paused_kill(&self, kill: PausedKill) {
        *self.rare().paused_kill.lock() = Some(kill);
    }

    /// Sets the waker with which it waits for records of a topic; none: it does not.
    pub fn set_topic_wait(&self, waiting: Option<::log::Waiting>) {
        if waiting.is_some() || self.get_rare().is_some() {
            *self.rare().topic_wait.lock() = waiting;
        }
    }

    /// Bytes of the commands that MULTI has queued.
    pub(crate) fn multi_bytes(&self) -> u64 {
        self.get_rare().map_or(0, |rare| rare.multi_bytes.load(Relaxed))
    }

    /// Looks at what it has said about itself.
    pub fn with_names<R>(&self, look: impl FnOnce(&Names) -> R) -> R {
        match &*self.names.read() {
            Some(names) => look(names),
            None => look(&Names::default()),
        }
    }

    /// Changes what it has said about itself.
    pub fn change_names(&self, change: impl FnOnce(&mut Names)) {
        let mut own = self.names.write();
        let mut names = own.take().unwrap_or_default();
        change(&mut names);
        // Most clients say nothing.
        *own = (*names != Names::default()).then_some(names);
    }

    /// CLIENT SETNAME.
    pub fn set_name(&self, name: String) {
        self.change_names(|names| names.name = name);
    }

    /// The name that CLIENT SETNAME has set, or nothing.
    pub fn name(&self) -> String {
        self.with_names(|names| names.name.clone())
    }

    /// Whether it has begun a transaction, which EXEC or DISCARD has not ended yet.
    #[inline]
    pub fn is_in_multi(&self) -> bool {
        self.multi.load(Relaxed) >= 0
    }

    /// Others see that it queues no transaction.
    pub fn leave_multi(&self) {
        self.multi.store(-1, Relaxed);
        self.dirty.store(false, Relaxed);
    }

    /// Notes that it is to be closed, for its thread to see. Returns false when it was noted before.
    pub(crate) fn mark_closing(&self) -> bool {
        !self.closing.swap(true, Relaxed)
    }

    /// Memory of this connection: buffers and bookkeeping.
    pub fn memory(&self) -> u64 {
        self.query_capacity.load(Relaxed)
            + self.args_bytes.load(Relaxed)
            + self.output_bytes.load(Relaxed)
            + self.get_rare().map_or(0, Rare::memory)
            + self.receiver.subscription_bytes.load(Relaxed)
            + self.receiver.prefix_bytes.load(Relaxed)
            + (size_of::<Self>() + size_of::<Receiver>()) as u64
    }
}

impl Rare {
    fn memory(&self) -> u64 {
        self.multi_bytes.load(Relaxed) + self.watch_bytes.load(Relaxed) + size_of::<Self>() as u64
    }
}

/// Says whether the peer of a connection has closed it.
pub type Look = Arc<dyn Fn(&Client) -> bool + Send + Sync>;

/// Connections with less memory than this are evicted without a look at their peers.
const LOOKED_AT: u64 = 32 * 1024;

/// A connection that has been taken off the list.
pub(crate) struct Evicted {
    pub(crate) client: Arc<Client>,
    /// The client was being closed already.
    pub(crate) was_closing: bool,
}

/// All connections by number.
#[derive(Default)]
pub struct Clients {
    map: Mutex<BTreeMap<u64, Arc<Client>>>,
    next: AtomicU64,
    count: AtomicU64,
    /// Bytes of all of them, as far as [`account`](Self::account) has counted them.
    bytes: Sum,
}

impl Clients {
    /// Registers a connection that lives on `thread`. Numbers start at 1 and are never used twice.
    pub(crate) fn add(
        &self,
        thread: usize,
        endpoint: Endpoint,
        now_ms: i64,
        user: &Arc<User>,
    ) -> Arc<Client> {
        let id = self.next.fetch_add(1, Relaxed) + 1;
        let client = Arc::new(Client::new(id, thread, endpoint, now_ms, Arc::clone(user)));
        self.map.lock().insert(id, Arc::clone(&client));
        self.count.fetch_add(1, Relaxed);
        client
    }

    /// Removes a connection that has been closed, or is going to be: no list shows it any more.
    pub fn remove(&self, client: &Client) {
        if self.map.lock().remove(&client.id).is_some() {
            self.count.fetch_sub(1, Relaxed);
        }
        self.bytes.take_back(&client.accounted);
    }

    /// Counts the memory of a connection. Returns the bytes of all that were counted: exact while every
    /// thread calls this behind every batch (`maxmemory-clients` is set).
    pub fn account(&self, client: &Client) -> u64 {
        self.bytes.count(&client.accounted, client.memory());
        self.bytes.get()
    }

    /// Removes connections from the list until the memory of all is `limit` bytes at most, and returns
    /// the removed ones; they are to be closed. Connections that are being closed already come first,
    /// and those that their peers have closed; then the largest. CLIENT NO-EVICT protects a connection,
    /// which still counts.
    pub(crate) fn evict(&self, limit: u64, look: Option<&Look>) -> Vec<Evicted> {
        let all = self.all();
        for c in &all {
            // Counted anew for all: some may have freed memory without reporting it.
            self.account(c);
        }
        if self.bytes.get() <= limit {
            return Vec::new();
        }
        let is_closing = |c: &Client| {
            let has_gone = || c.memory() >= LOOKED_AT && look.is_some_and(|look| look(c));
            c.closing.load(Relaxed) || has_gone()
        };
        // Other threads change these figures: the sort reads each of them once.
        let closing: Vec<_> = all.into_iter().map(|c| (is_closing(&c), c)).collect();
        let may_go = |(closing, c): &(bool, Arc<Client>)| *closing || !c.no_evict.load(Relaxed);
        let mut all: Vec<_> = closing.into_iter().filter(may_go).collect();
        all.sort_by_cached_key(|(closing, c)| (!closing, Reverse(c.memory())));
        let mut evicted = Vec::new();
        for (was_closing, client) in all {
            if self.bytes.get() <= limit {
                break;
            }
            client.mark_closing();
            self.remove(&client);
            evicted.push(Evicted { client, was_closing });
        }
        evicted
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed) as usize
    }

    /// The connection with this number.
    pub fn get(&self, id: u64) -> Option<Arc<Client>> {
        self.map.lock().get(&id).cloned()
    }

    /// All of them, oldest first.
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.map.lock().values().cloned().collect()
    }
}
