//! What a session keeps of its transaction: the commands since MULTI, and the keys of WATCH. How they are run is in
//! `queue.rs`.

use std::sync::Arc;

use commands::row::Flags;
use store::{ShardSet, Watch};

/// The commands that a session has queued since MULTI.
#[derive(Default)]
pub struct Multi {
    pub(crate) queue: Vec<Queued>,
    /// A command was refused: EXEC will be, too.
    pub(crate) failed: bool,
    /// Flags of all queued commands together.
    pub(crate) flags: Flags,
    /// Permission flags that at least one queued command lacks.
    pub(crate) lacks: Flags,
    /// Shards of their keys.
    pub(crate) shards: ShardSet,
    /// One of them needs every shard.
    pub(crate) all: bool,
    /// Bytes of their arguments.
    pub(crate) bytes: usize,
}

pub(crate) struct Queued {
    pub(crate) command: u16,
    pub(crate) args: Vec<Vec<u8>>,
}

impl Multi {
    /// The queued commands: their numbers and arguments.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (u16, &[Vec<u8>])> {
        self.queue.iter().map(|q| (q.command, q.args.as_slice()))
    }
}

/// The keys that a session watches.
#[derive(Default)]
pub(crate) struct Watching {
    pub(crate) flag: Arc<Watch>,
    /// Database and key.
    pub(crate) keys: Vec<(usize, Vec<u8>)>,
}
