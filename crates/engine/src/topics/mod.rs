//! Topics: the event log of this server, opened when it is first used.
//!
//! Until then there is no directory, no thread and no memory of it. Both doors lead here: the
//! TOPIC.* commands, and the HTTP interface of the program that embeds the engine.

mod open;
mod place;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use ::log::Broker;
use parking_lot::Mutex;

pub use self::place::objects;

/// The log of an engine, open or not.
#[derive(Default)]
pub struct Topics {
    broker: OnceLock<Broker>,
    /// Locked while it is opened.
    opening: Mutex<()>,
    /// The reason that it waits, while a thread of its own opens a bucket.
    waits: Mutex<Option<String>>,
    closed: AtomicBool,
    /// Files that topics may have open at once; 0: as many as without a limit of the process.
    pub descriptors: AtomicUsize,
    /// Connections of the server that serves topics over HTTP.
    pub http_connections: AtomicUsize,
}

impl Topics {
    /// The log, if it is open.
    pub fn get(&self) -> Option<&Broker> {
        self.broker.get()
    }

    /// Whether it is open, for people.
    pub fn state(&self) -> &'static str {
        match self.broker.get() {
            Some(_) => "open",
            None if self.waits.lock().is_some() => "waiting",
            None => "unused",
        }
    }

    /// A vector of at least this capacity for input that probably becomes records, if one has come back.
    pub fn spare(&self, capacity: usize) -> Option<Vec<u8>> {
        self.broker.get()?.spare(capacity)
    }

    /// Stores the accepted records, and accepts no more.
    pub fn close(&self, within: Duration) -> bool {
        self.closed.store(true, Relaxed);
        self.broker.get().is_none_or(|b| b.close(within))
    }
}
