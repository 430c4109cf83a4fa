//! A cluster: the map of slots, and commands that follow their keys.
//!
//! A command goes where the map says its key is. `MOVED` corrects the map, `ASK` sends the command once elsewhere,
//! `TRYAGAIN` and `CLUSTERDOWN` are tried again after a pause: a server that answers so has executed nothing. So
//! does a connection that broke before the command was written; one that broke later is the caller's to judge.

use crate::command::Command;
use crate::config::{Address, Config};
use crate::connection::{Reply, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::pipeline::Transaction;
use crate::server::Server;
use crate::spec::{RequestPolicy, ResponsePolicy};
use crate::topology::map::{Map, Node};
use crate::topology::slots::slot;
use crate::value::Value;
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;

/// How often a command is sent elsewhere or again before its error is the caller's.
pub(crate) const ATTEMPTS: u32 = 16;
/// Commands follow so many `MOVED` without a pause.
const MOVES: u32 = 3;

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

/// The way of a transaction to the node that has its keys.
#[derive(Debug, Default)]
pub(crate) struct Way {
    /// How often it was refused.
    attempt: u32,
    /// The version of the map by which it was sent last.
    seen: u64,
    /// Where it was sent last.
    stop: Option<Address>,
    /// Where that node has sent it for this once.
    asks: Option<Address>,
}

/// What is told when slots have other masters.
pub(crate) trait Watch: std::fmt::Debug + Send + Sync {
    /// The slots for which `has_moved` is true have another master than before; all masters are `masters`.
    fn slots_moved(&self, has_moved: &dyn Fn(u16) -> bool, masters: &[Address]);
}

impl Cluster {
    /// Asks one of the addresses for the map.
    pub(crate) async fn connect(config: Config) -> Result<Arc<Self>> {
        let seeds = config.cluster.clone();
        let cluster = Self {
            config: Config { cluster: Vec::new(), fail_while_down: true, database: 0, ..config },
            map: Mutex::new(Arc::new(Map::empty())),
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
            match self.ask_for_map(address).await {
                Ok(mut map) => {
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

    /// Asks a node for the map: for shards, and for slots if it does not know shards.
    async fn ask_for_map(&self, address: &Address) -> Result<Map> {
        let server = self.server(address);
        let ask = async |name: &'static str| -> Result<Value> {
            let reply = Reply::new(server.shared().clone(), Command::new(name)).await;
            reply.and_then(crate::FromValue::from_value)
        };
        match ask("CLUSTER SHARDS").await {
            Ok(value) => Map::read_shards(value, address, self.config.tls.is_some()),
            // Before Redis 7, or a user who may not.
            Err(error) if error.server().is_some() => {
                Map::read(ask("CLUSTER SLOTS").await?, address)
            }
            Err(error) => Err(error),
        }
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

    /// How connections are made whose node is still to be found.
    pub(crate) fn settings_of_any(&self) -> Settings {
        Settings::new(self.config.clone())
    }

    /// The master that has a slot, or any.
    pub(crate) fn master_of(&self, slot: Option<u16>) -> Option<Address> {
        let map = self.map();
        match slot {
            Some(slot) => map.master_of(slot).cloned(),
            None => self.address_for(&map, None, false),
        }
    }

    /// How connections to a node are made.
    pub(crate) fn settings(&self, address: &Address) -> Settings {
        Settings::new(Config { address: address.clone(), ..self.config.clone() })
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
        Reply::behind_asking(server.shared().clone(), command).await
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

    /// Runs a transaction where its keys are. A node that refuses one of its commands has executed none of them.
    pub(crate) async fn exec(&self, transaction: &Transaction) -> Result<Vec<Value>> {
        let mut way = Way::default();
        loop {
            let reply = match self.next_stop(&mut way, transaction.first_key()) {
                Ok((server, is_asking)) => transaction.run_on(server.shared(), is_asking).await,
                Err(error) => Err(error),
            };
            let Err(error) = &reply else { return reply };
            if !self.goes_on(&mut way, error).await {
                return reply;
            }
        }
    }

    /// Where a transaction with this first key is sent now, and whether behind `ASKING`.
    pub(crate) fn next_stop(
        &self,
        way: &mut Way,
        key: Option<&[u8]>,
    ) -> Result<(Arc<Server>, bool)> {
        let map = self.map();
        way.seen = map.version;
        let asks = way.asks.take();
        let is_asking = asks.is_some();
        way.stop = asks.or_else(|| self.address_for(&map, key, false));
        let address = way.stop.as_ref().ok_or_else(no_node)?;
        Ok((self.server(address), is_asking))
    }

    /// Whether a transaction that failed was certainly not executed and is to be sent again; waits if that helps.
    pub(crate) async fn goes_on(&self, way: &mut Way, error: &Error) -> bool {
        let is_refused =
            ["MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING"].contains(&error.code());
        let is_unsent = error.kind() == ErrorKind::Connection && !error.is_maybe_executed();
        if way.attempt >= ATTEMPTS || !(is_refused || is_unsent) {
            return false;
        }
        match (error.code(), &way.stop) {
            ("MOVED", _) if way.attempt < MOVES => self.refresh(way.seen).await,
            // Its keys have moved already, and their slot has not. If only some have moved, the other node
            // says TRYAGAIN.
            ("ASK", Some(address)) => way.asks = redirect(error, address),
            _ => self.pause_and_refresh(way.seen, way.attempt).await,
        }
        way.attempt += 1;
        true
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
