//! SLOWLOG: the last commands that took long.

use std::collections::VecDeque;
use std::sync::Arc;

use config::Id;
use parking_lot::Mutex;
use resp::Args;

use crate::clients::Client;
use crate::engine::Engine;
use crate::redact;

/// Arguments of a command that are kept, and bytes of each, as in Redis.
const ARGS_MAX: usize = 32;
const BYTES_MAX: usize = 128;

/// One slow command.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Counts up from 0.
    pub id: u64,
    /// Unix seconds.
    pub at: i64,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// Its arguments, cut to a reasonable length.
    pub args: Vec<Vec<u8>>,
    /// The client's address.
    pub peer: String,
    /// The client's name.
    pub name: String,
}

/// See the module's text.
#[derive(Default)]
pub struct Slowlog {
    list: Mutex<(u64, VecDeque<Arc<Entry>>)>,
}

impl Slowlog {
    /// Keeps a command.
    #[cold]
    pub fn record(&self, engine: &Engine, client: &Client, nanos: u64, args: &Args<'_>) {
        let max = usize::try_from(engine.config.int(Id::SlowlogMaxLen)).unwrap_or(0);
        if max == 0 {
            return;
        }
        let n = args.len();
        let keep = if n > ARGS_MAX { ARGS_MAX - 1 } else { n };
        let mut kept: Vec<Vec<u8>> = Vec::with_capacity(keep + 1);
        for (i, a) in args.iter_from(0).take(keep).enumerate() {
            if redact::hides(args, i) {
                kept.push(redact::TEXT.as_bytes().to_vec());
            } else if a.len() > BYTES_MAX {
                let mut cut = a[..BYTES_MAX].to_vec();
                cut.extend_from_slice(
                    format!("... ({} more bytes)", a.len() - BYTES_MAX).as_bytes(),
                );
                kept.push(cut);
            } else {
                kept.push(a.to_vec());
            }
        }
        if n > keep {
            kept.push(format!("... ({} more arguments)", n - keep).into_bytes());
        }
        let mut list = self.list.lock();
        let id = list.0;
        list.0 += 1;
        list.1.push_front(Arc::new(Entry {
            id,
            at: engine.clock.wall_ms() as i64 / 1000,
            micros: nanos / 1000,
            args: kept,
            peer: client.endpoint.peer.clone(),
            name: client.names.read().name.clone(),
        }));
        list.1.truncate(max);
    }

    /// The newest entries, newest first.
    pub fn newest(&self, n: usize) -> Vec<Arc<Entry>> {
        self.list.lock().1.iter().take(n).cloned().collect()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.list.lock().1.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the oldest beyond `max` (`slowlog-max-len`).
    pub fn trim(&self, max: usize) {
        self.list.lock().1.truncate(max);
    }

    /// Forgets them all.
    pub fn reset(&self) {
        self.list.lock().1.clear();
    }
}
