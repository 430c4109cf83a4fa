//! How far a load has come: for INFO and the log.

use std::fmt::Display;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use engine::log;
use engine::log::Log;

/// A line in the log this often, in milliseconds.
const TELL_MS: i64 = 5000;

/// The load that is under way, or was the last.
#[derive(Default)]
pub struct Loading {
    /// Unix milliseconds at which it began; 0 while nothing is.
    since_ms: AtomicI64,
    total: AtomicU64,
    pub(crate) loaded: AtomicU64,
    /// Memory in use when the file was written, as the file records it.
    pub(crate) used_mem: AtomicU64,
    /// The database that the replication stream behind the snapshot has selected.
    pub(crate) stream_db: AtomicU64,
    /// Keys loaded.
    pub(crate) keys: AtomicU64,
    /// Commands replayed.
    commands: AtomicU64,
    /// Keys left out because they had expired.
    pub(crate) expired: AtomicU64,
    /// Keys left out because they were empty.
    pub(crate) empty: AtomicU64,
    told_ms: AtomicI64,
}

impl Loading {
    pub(crate) fn begin(&self, total: u64, now_ms: i64) {
        self.total.store(total, Relaxed);
        for n in [&self.loaded, &self.commands] {
            n.store(0, Relaxed);
        }
        self.told_ms.store(now_ms, Relaxed);
        self.since_ms.store(now_ms, Relaxed);
    }

    /// A snapshot begins to be read: the figures of the last one are reset.
    pub(crate) fn begin_snapshot(&self) {
        for n in [&self.keys, &self.expired, &self.empty, &self.used_mem, &self.stream_db] {
            n.store(0, Relaxed);
        }
    }

    /// The most keys that there can be in all, whatever the file says: each has at least a type, a name and a value.
    pub(crate) fn keys_max(&self) -> u64 {
        self.total.load(Relaxed) / 3
    }

    /// The database that the replication stream behind the last snapshot has selected.
    pub fn stream_db(&self) -> usize {
        self.stream_db.load(Relaxed) as usize
    }

    /// The part that is done, and about how many seconds are left, once that can be estimated.
    fn progress(&self, now_ms: i64) -> (f64, Option<f64>) {
        let (total, loaded) = (self.total.load(Relaxed), self.loaded.load(Relaxed));
        // A file may have grown since it was measured.
        let part = (loaded as f64 / total.max(1) as f64).min(1.0);
        let elapsed = (now_ms - self.since_ms.load(Relaxed)).max(0) as f64 / 1000.0;
        (part, (part > 0.0).then(|| elapsed / part - elapsed))
    }

    /// INFO's fields while something is loaded.
    pub fn info(&self, now_ms: i64) -> Vec<(&'static str, String)> {
        let since = self.since_ms.load(Relaxed);
        if since == 0 {
            return Vec::new();
        }
        let (total, loaded) = (self.total.load(Relaxed), self.loaded.load(Relaxed));
        let (part, left) = self.progress(now_ms);
        let left = left.unwrap_or(1.0);
        vec![
            ("loading_start_time", (since / 1000).to_string()),
            ("loading_total_bytes", total.to_string()),
            ("loading_rdb_used_mem", self.used_mem.load(Relaxed).to_string()),
            ("loading_loaded_bytes", loaded.to_string()),
            ("loading_loaded_perc", format!("{:.2}", part * 100.0)),
            ("loading_eta_seconds", format!("{left:.0}")),
        ]
    }

    /// Notes the progress of the replay of commands: bytes of all files, and commands.
    pub(crate) fn reached(&self, bytes: u64, commands: u64) {
        self.loaded.store(bytes, Relaxed);
        self.commands.store(commands, Relaxed);
    }

    /// It is over.
    pub(crate) fn end(&self) {
        self.since_ms.store(0, Relaxed);
    }

    /// Logs how far it has come, if it is time.
    pub(crate) fn tell(&self, log: &Log, now: i64, what: &dyn Display) {
        if now - self.told_ms.load(Relaxed) < TELL_MS {
            return;
        }
        self.told_ms.store(now, Relaxed);
        log!(log, Notice, "Loading {}: {}", what, self.describe(now));
    }

    fn describe(&self, now_ms: i64) -> String {
        let (part, left) = self.progress(now_ms);
        let what = match self.commands.load(Relaxed) {
            0 => format!("{} keys", self.keys.load(Relaxed)),
            commands => format!("{commands} commands"),
        };
        let left = left.map_or_else(String::new, |left| format!(", about {left:.0} seconds left"));
        format!("{:.0}%, {what}{left}", part * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_part_and_the_rest_is_not_negative() {
        let loading = Loading::default();
        loading.begin(200, 10_000);
        assert_eq!(loading.describe(12_000), "0%, 0 keys");
        loading.reached(50, 7);
        assert_eq!(loading.describe(12_000), "25%, 7 commands, about 6 seconds left");
        // The clock was set back, and the file has grown.
        loading.reached(400, 9);
        assert_eq!(loading.describe(9_000), "100%, 9 commands, about 0 seconds left");
        let info = loading.info(9_000);
        assert!(info.contains(&("loading_loaded_perc", "100.00".to_owned())), "{info:?}");
        loading.end();
        assert!(loading.info(9_000).is_empty());
    }
}
