//! The use of memory, computed once for INFO memory, MEMORY STATS and MEMORY DOCTOR.

use store::Db;

use crate::server::process;
use crate::table::Call;

/// All in bytes.
#[derive(Clone, Debug, Default)]
pub(in crate::server) struct Figures {
    /// Allocated at present, and at most.
    pub(in crate::server) used: u64,
    pub(in crate::server) peak: u64,
    /// Allocated when the server had started.
    pub(in crate::server) startup: u64,
    /// Occupied in the machine.
    pub(in crate::server) rss: u64,
    /// Of all connections.
    pub(in crate::server) clients: u64,
    /// Databases that have keys.
    pub(in crate::server) dbs: Vec<Database>,
    /// Tables that are being resized, and the bytes of the arrays that they leave.
    pub(in crate::server) resizing: (u64, u64),
}

/// One database: its number, its keys, and the bytes of its tables without the entries.
#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct Database {
    pub(in crate::server) index: usize,
    pub(in crate::server) keys: usize,
    pub(in crate::server) table: u64,
}

impl Figures {
    pub(in crate::server) fn now(call: &mut Call<'_>) -> Self {
        let engine = call.engine;
        let mut dbs = Vec::new();
        let mut resizing = (0, 0);
        for index in 0..engine.keyspace.databases() {
            let mut db = Db::unlocked(&engine.keyspace, index, &mut call.thread.cx);
            let keys = db.len();
            if keys > 0 {
                dbs.push(Database { index, keys, table: db.table_bytes() as u64 });
                let (tables, bytes) = db.resizing();
                resizing = (resizing.0 + tables as u64, resizing.1 + bytes as u64);
            }
        }
        Self {
            peak: stdx::mem::peak(),
            used: stdx::mem::used(),
            startup: engine.startup_memory,
            rss: process::rss(),
            clients: engine.clients.all().iter().map(|c| c.memory()).sum(),
            dbs,
            resizing,
        }
    }

    /// Everything that is not data.
    pub(in crate::server) fn overhead(&self) -> u64 {
        self.startup + self.clients + self.dbs.iter().map(|db| db.table).sum::<u64>()
    }

    /// Keys and values.
    pub(in crate::server) fn dataset(&self) -> u64 {
        self.used.saturating_sub(self.overhead())
    }

    /// The data's part of the memory allocated since the start, in percent.
    pub(in crate::server) fn dataset_percent(&self) -> f64 {
        ratio(self.dataset(), self.used.saturating_sub(self.startup)) * 100.0
    }

    /// The part of the peak that is in use, in percent.
    pub(in crate::server) fn peak_percent(&self) -> f64 {
        ratio(self.used, self.peak) * 100.0
    }

    /// Bytes occupied in the machine for each that is used.
    pub(in crate::server) fn fragmentation(&self) -> f64 {
        ratio(self.rss, self.used)
    }

    pub(in crate::server) fn fragmentation_bytes(&self) -> i64 {
        self.rss as i64 - self.used as i64
    }

    /// Keys in all databases.
    pub(in crate::server) fn keys(&self) -> usize {
        self.dbs.iter().map(|db| db.keys).sum()
    }
}

/// `a / b`, and 0 where there is nothing to divide by.
pub(in crate::server) fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}
