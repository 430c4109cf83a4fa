//! The use of memory, computed once for INFO memory, MEMORY STATS and MEMORY DOCTOR.

use engine::Call;
use engine::process;
use store::Db;

/// All in bytes.
#[derive(Clone, Debug, Default)]
pub(in crate::administration) struct Figures {
    /// Allocated at present, and at most.
    pub(in crate::administration) used: u64,
    pub(in crate::administration) peak: u64,
    /// Allocated when the server had started.
    pub(in crate::administration) startup: u64,
    /// Occupied in the machine.
    pub(in crate::administration) rss: u64,
    /// Bytes of all connections.
    pub(in crate::administration) clients: u64,
    /// Databases that have keys.
    pub(in crate::administration) dbs: Vec<Database>,
    /// Tables that are being resized, and the bytes of the arrays that they leave.
    pub(in crate::administration) resizing: (u64, u64),
}

/// One database: its number, its keys, and the bytes of its tables without the entries.
#[derive(Clone, Copy, Debug)]
pub(in crate::administration) struct Database {
    pub(in crate::administration) index: usize,
    pub(in crate::administration) keys: usize,
    pub(in crate::administration) table: u64,
}

impl Figures {
    pub(in crate::administration) fn now(call: &mut Call<'_>) -> Self {
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
            startup: engine.info.startup_memory,
            rss: process::rss(),
            clients: engine.clients.all().iter().map(|c| c.memory()).sum(),
            dbs,
            resizing,
        }
    }

    /// Everything that is not data.
    pub(in crate::administration) fn overhead(&self) -> u64 {
        self.startup + self.clients + self.dbs.iter().map(|db| db.table).sum::<u64>()
    }

    /// Keys and values.
    pub(in crate::administration) fn dataset(&self) -> u64 {
        self.used.saturating_sub(self.overhead())
    }

    /// The data's part of the memory allocated since the start, in percent.
    pub(in crate::administration) fn dataset_percent(&self) -> f64 {
        ratio(self.dataset(), self.used.saturating_sub(self.startup)) * 100.0
    }

    /// The part of the peak that is in use, in percent.
    pub(in crate::administration) fn peak_percent(&self) -> f64 {
        ratio(self.used, self.peak) * 100.0
    }

    /// Bytes occupied in the machine for each that is used.
    pub(in crate::administration) fn fragmentation(&self) -> f64 {
        ratio(self.rss, self.used)
    }

    pub(in crate::administration) fn fragmentation_bytes(&self) -> i64 {
        self.rss as i64 - self.used as i64
    }

    /// Keys in all databases.
    pub(in crate::administration) fn keys(&self) -> usize {
        self.dbs.iter().map(|db| db.keys).sum()
    }
}

/// `a / b`, and 0 where there is nothing to divide by.
pub(in crate::administration) fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}
