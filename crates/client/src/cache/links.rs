//! The connections on which a cache reads, and on which servers tell what has changed.
//!
//! One server: one connection, made anew when sentinels say that the master is elsewhere. A cluster: one connection to
//! each master that was read from. A break of any of them forgets everything, which is seldom and simple. When the map
//! of slots changes, keys of slots with another master are forgotten, and reads of them that are under way are not
//! kept; connections to nodes that are masters no more are closed. A read is in the store before it looks at the map,
//! so no read misses the invalidation.

use crate::cache::{Shared, Tracking};
use crate::client::Source;
use crate::command::Command;
use crate::config::Address;
use crate::connection::{Connection, Reconnect, Reply, Settings};
use crate::error::Result;
use crate::topology::cluster::{Cluster, Watch};
use crate::topology::slot;
use crate::value::Value;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug)]
pub(super) enum Links {
    One(Arc<Connection>),
    Cluster(Arc<ClusterLinks>),
}

#[derive(Debug)]
pub(super) struct ClusterLinks {
    pub(super) cluster: Arc<Cluster>,
    shared: Arc<Shared>,
    by_node: Mutex<HashMap<Address, Arc<Connection>>>,
}

/// A reply that is not kept.
pub(super) type Unkept = Pin<Box<dyn Future<Output = Result<Value>> + Send>>;

impl Links {
    pub(super) async fn connect(source: Source<'_>, shared: &Arc<Shared>) -> Result<Self> {
        let every = shared.config.check_every;
        match source {
            Source::Server(server) => {
                let settings = tracking(server.settings(), shared);
                let on_push = on_push(shared);
                let connection = Connection::connect(settings, Some(on_push)).await?;
                let follower: Arc<dyn Reconnect> = connection.clone();
                server.follow(Arc::downgrade(&follower));
                tokio::spawn(check(Arc::downgrade(&connection), every));
                Ok(Self::One(connection))
            }
            Source::Cluster(cluster) => {
                let links = Arc::new(ClusterLinks {
                    cluster: cluster.clone(),
                    shared: shared.clone(),
                    by_node: Mutex::default(),
                });
                let watcher: Arc<dyn Watch> = links.clone();
                cluster.watch(Arc::downgrade(&watcher));
                tokio::spawn(check_cluster(Arc::downgrade(&links), every));
                Ok(Self::Cluster(links))
            }
        }
    }

    /// Sends a command whose reply is not kept.
    pub(super) fn send(&self, command: Command) -> Unkept {
        match self {
            Self::One(connection) => Box::pin(Reply::new(connection.clone(), command)),
            Self::Cluster(links) => {
                let cluster = links.cluster.clone();
                Box::pin(async move { cluster.send(command).await })
            }
        }
    }
}

impl ClusterLinks {
    fn by_node(&self) -> MutexGuard<'_, HashMap<Address, Arc<Connection>>> {
        self.by_node.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection to a node.
    pub(super) fn to(&self, address: &Address) -> Arc<Connection> {
        let connect = || {
            let settings = tracking(self.cluster.settings(address), &self.shared);
            Connection::lazy(settings, Some(on_push(&self.shared)))
        };
        self.by_node().entry(address.clone()).or_insert_with(connect).clone()
    }
}

impl Watch for ClusterLinks {
    fn slots_moved(&self, has_moved: &dyn Fn(u16) -> bool, masters: &[Address]) {
        self.shared.store().retain(|key| !has_moved(slot(key)));
        let mut gone = Vec::new();
        self.by_node().retain(|address, connection| {
            let is_master = masters.contains(address);
            if !is_master {
                gone.push(connection.clone());
            }
            is_master
        });
        // Their drivers end with the last handle, without the lock.
        drop(gone);
    }
}

/// A connection that begins with tracking.
fn tracking(mut settings: Settings, shared: &Shared) -> Settings {
    settings.opening = vec![opening(&shared.config.tracking)];
    settings
}

fn on_push(shared: &Arc<Shared>) -> Box<dyn FnMut(Option<Vec<Value>>) + Send> {
    let told = shared.clone();
    Box::new(move |push| told.accept(push))
}

/// The command that begins tracking.
fn opening(tracking: &Tracking) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = ["CLIENT", "TRACKING", "ON"].map(Into::into).into();
    match tracking {
        Tracking::OptIn => words.push("OPTIN".into()),
        Tracking::Broadcast(prefixes) => {
            words.push("BCAST".into());
            for prefix in prefixes {
                words.extend(["PREFIX".into(), prefix.clone()]);
            }
        }
    }
    words
}

/// Asks the connection from time to time whether it lives: the driver breaks one that is silent.
async fn check(connection: Weak<Connection>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(connection) = connection.upgrade() else { return };
        // The driver reports errors; this task ignores them.
        let _ = Reply::new(connection, Command::new("PING")).await;
    }
}

/// The same for all nodes' connections; and asks for the map of slots.
async fn check_cluster(links: Weak<ClusterLinks>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(links) = links.upgrade() else { return };
        links.cluster.refresh_now().await;
        let connections: Vec<_> = links.by_node().values().cloned().collect();
        drop(links);
        let asked: Vec<_> = connections
            .into_iter()
            .map(|connection| tokio::spawn(Reply::new(connection, Command::new("PING"))))
            .collect();
        for one in asked {
            let _ = one.await;
        }
    }
}
