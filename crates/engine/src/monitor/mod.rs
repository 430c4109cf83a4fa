//! MONITOR: clients that are sent every command that any client runs.

mod feed;

use parking_lot::Mutex;

use crate::attention::Attention;

/// The clients that run MONITOR.
#[derive(Default)]
pub struct Monitors {
    list: Mutex<Vec<(u64, usize)>>,
}

impl Monitors {
    /// Adds a client that lives on `thread`.
    pub fn add(&self, attention: &Attention, client: u64, thread: usize) {
        let mut list = self.list.lock();
        if !list.iter().any(|(id, _)| *id == client) {
            list.push((client, thread));
        }
        attention.set(Attention::MONITOR, true);
    }

    /// Removes a client; harmless when it is not there.
    pub fn remove(&self, attention: &Attention, client: u64) {
        let mut list = self.list.lock();
        list.retain(|(id, _)| *id != client);
        attention.set(Attention::MONITOR, !list.is_empty());
    }
}
