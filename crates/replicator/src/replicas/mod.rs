//! The replicas of this server: their connections, what they have acknowledged, and the clients that wait for
//! that (WAIT, WAITAOF).
//!
//! A connection becomes one of a replica in steps: REPLCONF says what the replica is like, PSYNC asks for the
//! stream. Then the connection is *fed* ([`engine::Feed`]): first the full copy, if the replica needs one, then the
//! stream.

mod handshake;
mod replica;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use config::Id;
use engine::Engine;
use parking_lot::Mutex;
use replication::acks::MinReplicas;

use crate::guard::Guard;

pub use replica::{Replica, of_session};
pub use waiting::{Own, is_durable_here};

use waiting::Waiting;

/// All replicas, and the clients that wait for them.
#[derive(Default)]
pub struct Registry {
    /// Connections that have sent PSYNC, in the order in which they did.
    all: Mutex<Vec<Arc<Replica>>>,
    waiting: Mutex<Vec<Waiting>>,
    /// What is acknowledged, and who may be promoted.
    pub guard: Guard,
    /// Some client waits: a look at this is cheaper than the lock.
    any_waiting: AtomicBool,
    /// When the last PING went into the stream, and the last look at acknowledgements: Unix milliseconds.
    pub(crate) pinged_ms: AtomicI64,
    pub(crate) looked_ms: AtomicI64,
}

impl Registry {
    /// All replicas.
    pub fn all(&self) -> Vec<Arc<Replica>> {
        self.all.lock().clone()
    }

    /// The replica at an address, or the first: how others reach it, and what it has acknowledged if it is
    /// online.
    pub(crate) fn acknowledged_by(
        &self,
        target: Option<&(String, u16)>,
    ) -> Option<((String, u16), Option<i64>)> {
        let all = self.all.lock();
        let mut found = all
            .iter()
            .map(|r| r.reached_at())
            .filter(|(address, _)| target.is_none_or(|target| target == address));
        found.next()
    }

    /// A replica, the one at `target` if that is given, that has executed everything up to `offset`.
    pub(crate) fn acknowledged_by_any(
        &self,
        target: Option<&(String, u16)>,
        offset: i64,
    ) -> Option<(String, u16)> {
        let all = self.all.lock();
        let mut found = all.iter().map(|r| r.reached_at()).filter(|(address, ack)| {
            target.is_none_or(|target| target == address) && ack.is_some_and(|ack| ack >= offset)
        });
        found.next().map(|(address, _)| address)
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.all.lock().is_empty()
    }

    /// Closes the connections of all replicas: what they were sent is not this server's data any more.
    pub fn disconnect_all(&self, engine: &Engine) {
        for replica in self.all() {
            replica.close(engine);
        }
    }

    /// INFO's lines `slaveN`.
    pub fn info(&self, engine: &Engine) -> Vec<String> {
        let now = engine.clock.wall_ms();
        let line = |r: &Arc<Replica>| r.about.lock().info(r.peer(), now);
        self.all.lock().iter().filter_map(line).collect()
    }

    /// The entries of ROLE: address, port and acknowledged offset.
    pub fn role(&self) -> Vec<[String; 3]> {
        self.all.lock().iter().filter_map(|r| r.about.lock().role(r.peer())).collect()
    }

    /// The number of replicas with as little lag as `min-replicas-max-lag` asks for.
    pub fn good(&self, engine: &Engine) -> usize {
        let min = min_replicas(engine);
        let now = engine.clock.wall_ms();
        min.good(self.all.lock().iter().map(|r| r.progress()), now)
    }

    /// Refuses writes while too few replicas are good.
    pub fn count(&self, engine: &Engine) {
        engine.replication.good.store(self.good(engine), Relaxed);
        engine.follow_good_replicas();
    }
}

fn min_replicas(engine: &Engine) -> MinReplicas {
    MinReplicas {
        to_write: engine.config.int(Id::MinReplicasToWrite).max(0) as usize,
        max_lag_s: engine.config.int(Id::MinReplicasMaxLag).max(0) as u64,
    }
}
