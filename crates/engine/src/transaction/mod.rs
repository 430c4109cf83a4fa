//! MULTI, EXEC and WATCH.
//!
//! MULTI queues commands with their arguments. EXEC locks the shards of all their keys (and of the
//! watched ones) while it looks whether a watched key has changed and runs the queue, so that no
//! client sees a part of it. A command that needs to see everything makes it lock every shard. A
//! transaction over one shard costs its lock and nothing more.
//!
//! WATCH registers in the shards of its keys; a command that changes one of them marks the watch
//! there, under the same lock.

mod discard;
mod exec;
mod multi;
mod unwatch;
mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use commands::row::{Flags, Group, Scope, Traits};
use resp::Args;
use store::{Db, Key, ShardSet, Watch};

use crate::dispatch::shards_of;
use crate::engine::Engine;
use crate::session::Session;
use crate::table::{Cmd, Run, SessionCommand};
use crate::thread::Thread;

pub(crate) static COMMANDS: &[&SessionCommand] =
    &[&discard::DISCARD, &exec::EXEC, &multi::MULTI, &unwatch::UNWATCH, &watch::WATCH];

/// The commands that a session has queued since MULTI.
#[derive(Default)]
pub(crate) struct Multi {
    queue: Vec<Queued>,
    /// A command was refused: EXEC will be, too.
    pub(crate) failed: bool,
    /// Flags of all queued commands together.
    pub(crate) flags: Flags,
    /// Shards of their keys.
    shards: ShardSet,
    /// One of them needs every shard.
    all: bool,
    /// Bytes of their arguments.
    pub(crate) bytes: usize,
}

struct Queued {
    command: u16,
    args: Vec<Vec<u8>>,
}

impl Multi {
    /// The queued commands: their numbers and arguments.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (u16, &[Vec<u8>])> {
        self.queue.iter().map(|q| (q.command, q.args.as_slice()))
    }

    /// Adds a command that may run; `flags` say more about it than its row where it runs a script.
    /// Returns the bytes that it takes.
    pub(crate) fn queue(
        &mut self,
        command: u16,
        cmd: &Cmd,
        flags: Flags,
        args: &Args<'_>,
    ) -> usize {
        self.flags = self.flags.or(flags);
        match (cmd.run, cmd.row.scope_of(args)) {
            (Run::Data(_), Scope::Keys) => {
                // Without valid keys the command refuses before it looks at any.
                let _ = shards_of(cmd, args, &mut self.shards);
            }
            (Run::Data(_), Scope::None) => {}
            (Run::Data(_), Scope::All | Scope::Each | Scope::Patterns) => self.all = true,
            // They lock the shards that they need themselves; these are not known beforehand.
            (Run::Session(_), _) => {
                self.all |= match cmd.row.group {
                    // CLIENT UNBLOCK ends a waiter in some shard.
                    Group::Connection => cmd.traits.has(Traits::CONNECTIONS),
                    Group::PubSub => false,
                    _ => true,
                };
            }
        }
        self.bytes += args.bytes();
        let args = args.to_vecs(0);
        let bytes: usize = args.iter().map(|a| a.capacity() + size_of::<Vec<u8>>()).sum();
        self.queue.push(Queued { command, args });
        bytes + size_of::<Queued>()
    }
}

/// The keys that a session watches.
#[derive(Default)]
pub(crate) struct Watching {
    flag: Arc<Watch>,
    /// Database and key.
    keys: Vec<(usize, Vec<u8>)>,
}

/// Bytes that a watched key takes besides its name: here, and in its shard.
const WATCH_BYTES: usize = size_of::<(usize, Vec<u8>)>() + 64;

impl Thread {
    /// Ends a transaction and its watches without running it.
    pub fn discard(&mut self, engine: &Engine, session: &mut Session) {
        if session.multi.take().is_some() {
            session.client.multi.store(-1, Relaxed);
            session.client.multi_bytes.store(0, Relaxed);
        }
        self.unwatch(engine, session);
    }

    /// UNWATCH.
    pub(crate) fn unwatch(&mut self, engine: &Engine, session: &mut Session) {
        session.client.spoiled.store(false, Relaxed);
        let Some(w) = session.watching.take() else { return };
        session.client.watch.store(0, Relaxed);
        session.client.watch_bytes.store(0, Relaxed);
        for (index, key) in &w.keys {
            let key = Key::new(key);
            Db::lock_one(&engine.keyspace, *index, key, &mut self.cx).unwatch(key, &w.flag);
        }
    }
}
