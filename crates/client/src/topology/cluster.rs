//! A cluster: the map of slots, and commands that follow their keys.
//!
//! A command goes where the map says its key is. `MOVED` corrects the map, `ASK` sends the command once elsewhere,
//! `TRYAGAIN` and `CLUSTERDOWN` are tried again after a pause: a server that answers so has executed nothing. So
//! does a connection that broke before the command was written; one that broke later is the caller's to judge.

use crate::command::Command;
use crate::config::{Address, Config};
use crate::connection::{Batch, Reply, Resolve, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::server::Server;
use crate::spec::{RequestPolicy, ResponsePolicy};
use crate::subscriber::Subscriber;
use crate::topology::slots::{SLOTS, slot};
use crate::value::Value;
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;

/// How often a command is sent elsewhere or again before its error is the caller's.
pub(crate) const ATTEMPTS: u32 = 16;
/// Commands follow so many `MOVED` without a pause.
const MOVES: u32 = 3;
const NO_NODE: u16 = u16::MAX;

/// A cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    config: Config,
    map: Mutex<Arc<Map>>,
    nodes: Mutex<HashMap<Address, Arc<Server>>>,
    /// Only one asks for the map at a time.
    refreshing: tokio::sync::Mutex<()>,
    /// Caches, which forget what has moved.
    watchers: Mutex<Vec<Weak<dyn Watch>>>,
}

/// What is told when slots have other masters.
pub(crate) trait Watch: std::fmt::Debug + Send + Sync {
    /// The slots for which `has_moved` is true have another master than before; all masters are `masters`.
    fn slots_moved(&self, has_moved: &dyn Fn(u16) -> bool, masters: &[Address]);
}

#[derive(Debug)]
struct Map {
    /// The number of the node that has a slot.
    slots: Box<[u16]>,
    nodes: Vec<Node>,
    version: u64,
}

/// A master with its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    master: Address,
    replicas: Vec<Address>,
}

impl Cluster {
    /// Asks one of the addresses for the map.
    pub(crate) async fn connect(config: Config) -> Result<Arc<Self>> {
        let seeds = config.cluster.clone();
        let map = Map { slots: vec![NO_NODE; SLOTS].into(), nodes: Vec::new(), version: 0 };
        let cluster = Self {
            config: Config { cluster: Vec::new(), fail_while_down: true, database: 0, ..config },
            map: Mutex::new(Arc::new(map)),
            nodes: Mutex::default(),
            refreshing: tokio::sync::Mutex::new(()),
            watchers: Mutex::default(),
        };
        cluster.refresh_from(&seeds).await?;
        Ok(Arc::new(cluster))
    }

    fn map(&self) -> Arc<Map> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The connections to a node; needs the runtime.
    fn server(&self, address: &Address) -> Arc<Server> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let connect = || Server::lazy(Config { address: address.clone(), ..self.config.clone() });
        nodes.entry(address.clone()).or_insert_with(connect).clone()
    }

    /// All nodes' shared connections.
    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The masters' connections, by the map.
    pub(crate) fn masters(&self) -> Vec<Arc<Server>> {
        self.map().nodes.iter().map(|node| self.server(&node.master)).collect()
    }

    async fn refresh_from(&self, addresses: &[Address]) -> Result<()> {
        let mut last = Error::usage("a cluster needs an address");
        for address in addresses {
            let command = Command::new("CLUSTER SLOTS");
            let reply = Reply::new(self.server(address).shared().clone(), command).await;
            match reply.and_then(crate::FromValue::from_value) {
                Ok(value) => {
                    let mut map = Map::read(value, address)?;
                    let mut current = self.map.lock().unwrap_or_else(PoisonError::into_inner);
                    map.version = current.version + 1;
                    let map = Arc::new(map);
                    let old = std::mem::replace(&mut *current, map.clone());
                    drop(current);
                    self.tell(&old, &map);
                    return Ok(());
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Tells caches what has moved.
    fn tell(&self, old: &Map, new: &Map) {
        if old.slots == new.slots && old.nodes == new.nodes {
            return;
        }
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| watcher.strong_count() > 0);
        let watchers: Vec<_> = watchers.iter().filter_map(Weak::upgrade).collect();
        let masters: Vec<Address> = new.nodes.iter().map(|node| node.master.clone()).collect();
        let has_moved = |slot: u16| old.master_of(slot) != new.master_of(slot);
        watchers.iter().for_each(|watcher| watcher.slots_moved(&has_moved, &masters));
    }

    /// Has something told from now on of slots that move.
    pub(crate) fn watch(&self, watcher: Weak<dyn Watch>) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
    }

    /// Asks for the map now.
    pub(crate) async fn refresh_now(&self) {
        self.refresh(self.map().version).await;
    }

    /// The master that has a key by the map, and the map's version.
    pub(crate) fn home_of(&self, key: &[u8]) -> (Option<Address>, u64) {
        let map = self.map();
        (map.master_of(slot(key)).cloned(), map.version)
    }

    /// How connections to a node are made.
    pub(crate) fn settings(&self, address: &Address) -> Settings {
        Settings::new(Config { address: address.clone(), ..self.config.clone() })
    }

    /// A subscriber that follows the slot of a channel, or stays with any master that is there.
    pub(crate) async fn subscriber(self: &Arc<Self>, channel: Option<&[u8]>) -> Result<Subscriber> {
        let home =
            Home { cluster: self.clone(), slot: channel.map(slot), asked: AtomicU64::new(0) };
        let mut settings = Settings::new(self.config.clone());
        settings.resolver = Some(Arc::new(home));
        Subscriber::connect(settings).await
    }

    /// Asks for the map, unless another caller has done so since `seen`.
    pub(crate) async fn refresh(&self, seen: u64) {
        let _one = self.refreshing.lock().await;
        let map = self.map();
        if map.version != seen {
            return;
        }
        let mut addresses: Vec<Address> =
            map.nodes.iter().map(|node| node.master.clone()).collect();
        addresses.extend(map.nodes.iter().flat_map(|node| node.replicas.iter().cloned()));
        // The servers that are known and not in the map: the first addresses, above all.
        addresses.extend(self.nodes.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned());
        // A map that cannot be read now is read after the next error.
        let _ = self.refresh_from(&addresses).await;
    }

    /// Where a key is, or any master.
    fn address_for(&self, map: &Map, key: Option<&[u8]>, reads: bool) -> Option<Address> {
        let node = match key {
            Some(key) => map.nodes.get(usize::from(map.slots[usize::from(slot(key))]))?,
            None if map.nodes.is_empty() => return None,
            None => {
                &map.nodes[usize::try_from(crate::random::number()).unwrap_or(0) % map.nodes.len()]
            }
        };
        if reads && self.config.read_from_replicas && !node.replicas.is_empty() {
            let i = usize::try_from(crate::random::number()).unwrap_or(0) % node.replicas.len();
            return Some(node.replicas[i].clone());
        }
        Some(node.master.clone())
    }

    /// The server that has a key now.
    pub(crate) fn server_for(&self, key: Option<&[u8]>) -> Result<Arc<Server>> {
        let address = self.address_for(&self.map(), key, false);
        address.map(|address| self.server(&address)).ok_or_else(no_node)
    }

    /// Sends a command where it belongs.
    pub(crate) async fn send(&self, command: Command) -> Result<Value> {
        match command.spec().request {
            RequestPolicy::MultiShard => self.split(&command).await,
            RequestPolicy::AllNodes | RequestPolicy::AllShards if command.first_key().is_none() => {
                self.everywhere(&command).await
            }
            _ => self.follow(&command).await,
        }
    }

    async fn follow(&self, command: &Command) -> Result<Value> {
        let mut to: Option<(Address, bool)> = None;
        let mut attempt = 0;
        loop {
            let map = self.map();
            let (address, is_asking) = match to.take() {
                Some(to) => to,
                None => {
                    let reads = command.is_repeatable();
                    let address =
                        self.address_for(&map, command.first_key(), reads).ok_or_else(no_node);
                    match address {
                        Ok(address) => (address, false),
                        Err(error) if attempt >= ATTEMPTS => return Err(error),
                        Err(_) => {
                            self.pause(&map, &mut attempt).await;
                            continue;
                        }
                    }
                }
            };
            let error = match self.send_to(&address, command, is_asking).await {
                Ok(Value::Error(error)) => Error::from(error),
                result => match result {
                    Err(error) => error,
                    ok => return ok,
                },
            };
            if attempt >= ATTEMPTS {
                return Err(error);
            }
            match (error.code(), error.kind()) {
                // Nodes that have not agreed yet send it to and fro.
                ("MOVED", _) if attempt >= MOVES => self.pause(&map, &mut attempt).await,
                ("MOVED", _) => {
                    to = redirect(&error, &address).map(|address| (address, false));
                    attempt += 1;
                    self.refresh(map.version).await;
                }
                ("ASK", _) => {
                    to = redirect(&error, &address).map(|address| (address, true));
                    attempt += 1;
                }
                ("TRYAGAIN" | "CLUSTERDOWN" | "LOADING", _) => self.pause(&map, &mut attempt).await,
                (_, ErrorKind::Connection)
                    if !error.is_maybe_executed() || command.is_repeatable() =>
                {
                    self.pause(&map, &mut attempt).await;
                }
                _ => return Err(error),
            }
        }
    }

    async fn pause(&self, map: &Map, attempt: &mut u32) {
        self.pause_and_refresh(map.version, *attempt).await;
        *attempt += 1;
    }

    /// Waits before the next attempt, and asks for a newer map than `seen`.
    pub(crate) async fn pause_and_refresh(&self, seen: u64, attempt: u32) {
        tokio::time::sleep(self.config.backoff.pause(attempt)).await;
        self.refresh(seen).await;
    }

    async fn send_to(
        &self,
        address: &Address,
        command: &Command,
        is_asking: bool,
    ) -> Result<Value> {
        #[cfg(feature = "tracing")]
        crate::trace::record_address(&tracing::Span::current(), address);
        let server = self.server(address);
        if command.is_blocking() {
            let mut exclusive = server.acquire().await?;
            let reply = Reply::new(exclusive.connection.clone(), command.duplicate()).await;
            exclusive.is_clean = reply.is_ok();
            return reply;
        }
        if !is_asking {
            return Reply::new(server.shared().clone(), command.duplicate()).await;
        }
        // ASKING is about the command after it: nobody's may come in between.
        let mut batch = Batch::new();
        batch.push(&Command::new("ASKING"));
        batch.push(command);
        let replies = Reply::batch(server.shared().clone(), batch).await?;
        Ok(replies.into_elements().ok().and_then(|mut replies| replies.pop()).unwrap_or(Value::Nil))
    }

    /// One command for each slot of its keys, and one reply of theirs.
    async fn split(&self, command: &Command) -> Result<Value> {
        let args: Vec<&[u8]> = command.args().skip(1).collect();
        let name = command.name();
        // MSET has a value behind each key.
        let step = if name == "MSET" { 2 } else { 1 };
        if args.is_empty() || !args.len().is_multiple_of(step) {
            return self.follow(command).await;
        }
        let mut parts: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (i, pair) in args.chunks(step).enumerate() {
            parts.entry(slot(pair[0])).or_default().push(i);
        }
        if parts.len() == 1 {
            return self.follow(command).await;
        }
        let commands: Vec<Command> = parts
            .values()
            .map(|places| {
                let args = places.iter().flat_map(|&i| &args[i * step..(i + 1) * step]);
                args.fold(Command::new(&name), |command, arg| command.arg(*arg))
            })
            .collect();
        let replies = together(commands.iter().map(|command| self.follow(command))).await;
        let replies = replies.into_iter().collect::<Result<Vec<Value>>>()?;
        if name != "MGET" {
            return combine(command.spec().response, replies);
        }
        let mut values = vec![Value::Nil; args.len()];
        for (places, reply) in parts.values().zip(replies) {
            let elements =
                reply.into_elements().map_err(|value| Error::unexpected("an array", &value))?;
            for (&place, element) in places.iter().zip(elements) {
                values[place] = element;
            }
        }
        Ok(Value::Array(values))
    }

    /// All masters, and one reply of theirs.
    async fn everywhere(&self, command: &Command) -> Result<Value> {
        let map = self.map();
        let send = |node: &Node| {
            let address = node.master.clone();
            async move {
                match self.send_to(&address, command, false).await {
                    Ok(Value::Error(error)) => Err(Error::from(error)),
                    result => result,
                }
            }
        };
        let replies = together(map.nodes.iter().map(send)).await;
        if command.spec().response == ResponsePolicy::OneSucceeded {
            let mut last = Err(no_node());
            for reply in replies {
                if reply.is_ok() {
                    return reply;
                }
                last = reply;
            }
            return last;
        }
        combine(command.spec().response, replies.into_iter().collect::<Result<_>>()?)
    }

    /// Several commands, each where it belongs; those for one node are written together.
    pub(crate) async fn replies(&self, commands: Vec<Command>) -> Result<Vec<Value>> {
        let send = |command: Command| async move {
            match self.send(command).await {
                Err(error) => match error.server() {
                    Some(error) => Ok(Value::Error(error.clone())),
                    None => Err(error),
                },
                reply => reply,
            }
        };
        together(commands.into_iter().map(send)).await.into_iter().collect()
    }
}

/// Where a subscriber of a cluster connects to.
#[derive(Debug)]
struct Home {
    cluster: Arc<Cluster>,
    slot: Option<u16>,
    /// How often it was asked for: the map may be old from the second time on.
    asked: AtomicU64,
}

impl Resolve for Home {
    /// Boxed, since asking for the map needs a connection, too.
    fn find(&self) -> Pin<Box<dyn Future<Output = Result<Address>> + Send + '_>> {
        Box::pin(async {
            if self.asked.fetch_add(1, Relaxed) > 0 {
                self.cluster.refresh_now().await;
            }
            let map = self.cluster.map();
            let found = match self.slot {
                Some(slot) => map.master_of(slot).cloned(),
                None => self.cluster.address_for(&map, None, false),
            };
            found.ok_or_else(no_node)
        })
    }

    /// A replica hears what is published, too; that a slot is elsewhere is said when it is subscribed to.
    fn check_role(&self, _: &Value) -> Result<()> {
        Ok(())
    }

    fn slot(&self) -> Option<u16> {
        self.slot
    }
}

pub(crate) fn no_node() -> Error {
    Error::connection("no node of the cluster has the slot")
}

/// The address in `MOVED 3999 127.0.0.1:6381`; a server that does not know its name leaves the host out.
fn redirect(error: &Error, from: &Address) -> Option<Address> {
    let text = error.server()?.text();
    let (host, port) = text.split(' ').nth(2)?.rsplit_once(':')?;
    let port = port.parse().ok()?;
    match (host, from) {
        ("", Address::Tcp(host, _)) => Some(Address::Tcp(host.clone(), port)),
        ("", Address::Unix(_)) => None,
        (host, _) => Some(Address::Tcp(host.to_owned(), port)),
    }
}

/// What several replies are together.
fn combine(policy: ResponsePolicy, replies: Vec<Value>) -> Result<Value> {
    let numbers = || -> Result<Vec<i64>> {
        replies.iter().cloned().map(crate::FromValue::from_value).collect()
    };
    Ok(match policy {
        ResponsePolicy::Sum => Value::Int(numbers()?.iter().sum()),
        ResponsePolicy::Min => Value::Int(numbers()?.into_iter().min().unwrap_or(0)),
        ResponsePolicy::Max => Value::Int(numbers()?.into_iter().max().unwrap_or(0)),
        ResponsePolicy::And => Value::Int(i64::from(numbers()?.iter().all(|&n| n != 0))),
        ResponsePolicy::AllSucceeded | ResponsePolicy::OneSucceeded => {
            replies.into_iter().next().unwrap_or(Value::Nil)
        }
        // Arrays are joined (KEYS); anything else has no meaning together.
        ResponsePolicy::Default
            if replies.iter().all(|reply| matches!(reply, Value::Array(_) | Value::Set(_))) =>
        {
            Value::Array(
                replies
                    .into_iter()
                    .flat_map(|reply| reply.into_elements().unwrap_or_default())
                    .collect(),
            )
        }
        ResponsePolicy::Default => Value::Array(replies),
    })
}

/// Awaits all of them at once.
async fn together<T, F: Future<Output = T>>(futures: impl Iterator<Item = F>) -> Vec<T> {
    struct One<T, F> {
        future: Option<Pin<Box<F>>>,
        output: Option<T>,
    }
    let mut waiting: Vec<One<T, F>> =
        futures.map(|future| One { future: Some(Box::pin(future)), output: None }).collect();
    poll_fn(|cx| {
        let mut is_done = true;
        for One { future, output } in &mut waiting {
            let Some(polled) = future.as_mut().map(|future| future.as_mut().poll(cx)) else {
                continue;
            };
            match polled {
                Poll::Ready(ready) => {
                    *output = Some(ready);
                    *future = None;
                }
                Poll::Pending => is_done = false,
            }
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    waiting.into_iter().filter_map(|one| one.output).collect()
}

impl Map {
    fn master_of(&self, slot: u16) -> Option<&Address> {
        let node = self.nodes.get(usize::from(self.slots[usize::from(slot)]))?;
        Some(&node.master)
    }

    /// Reads the reply of `CLUSTER SLOTS`.
    fn read(value: Value, asked: &Address) -> Result<Self> {
        let wrong = || Error::protocol("a map of slots that is none");
        let mut slots: Box<[u16]> = vec![NO_NODE; SLOTS].into();
        let mut nodes: Vec<Node> = Vec::new();
        for range in value.into_elements().map_err(|_| wrong())? {
            let mut items = range.into_elements().map_err(|_| wrong())?.into_iter();
            let mut bound = || match items.next() {
                Some(Value::Int(n)) => usize::try_from(n).ok().filter(|&n| n < SLOTS),
                _ => None,
            };
            let (Some(first), Some(last)) = (bound(), bound()) else { return Err(wrong()) };
            let mut addresses = items.map(|node| address(node, asked));
            let master = addresses.next().ok_or_else(wrong)?.ok_or_else(wrong)?;
            let node = Node { master, replicas: addresses.flatten().collect() };
            let number = nodes.iter().position(|known| *known == node).unwrap_or_else(|| {
                nodes.push(node);
                nodes.len() - 1
            });
            let number = u16::try_from(number).map_err(|_| wrong())?;
            slots.get_mut(first..=last).ok_or_else(wrong)?.fill(number);
        }
        Ok(Self { slots, nodes, version: 0 })
    }
}

/// A node's address; one without a host is where we have asked.
fn address(node: Value, asked: &Address) -> Option<Address> {
    let mut items = node.into_elements().ok()?.into_iter();
    let host = items.next()?;
    let Value::Int(port) = items.next()? else { return None };
    let port = u16::try_from(port).ok()?;
    match (host.as_str().filter(|host| !host.is_empty() && *host != "?"), asked) {
        (Some(host), _) => Some(Address::Tcp(host.to_owned(), port)),
        (None, Address::Tcp(host, _)) => Some(Address::Tcp(host.clone(), port)),
        (None, Address::Unix(_)) => None,
    }
}
