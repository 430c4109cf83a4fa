//! Keys that are being moved: commands that name one of them wait until that is over.
//!
//! So no client sees a key in two places or none, and no change is lost, as in Redis, where all
//! clients wait for a MIGRATE. Names are enough, whatever the database: a command that waits without
//! need waits shortly.

use std::collections::HashMap;

use commands::row::{Argv, Group, Traits};
use parking_lot::Mutex;

use crate::attention::Attention;
use crate::engine::Engine;
use crate::mailbox::Message;
use crate::session::Session;
use crate::table::Cmd;

/// Keys, and how many moves each is part of.
#[derive(Default)]
pub(super) struct Frozen(Mutex<HashMap<Vec<u8>, usize>>);

impl Engine {
    /// Lets commands that name one of the keys wait until [`thaw`](Self::thaw).
    pub fn freeze(&self, keys: &[Vec<u8>]) {
        let mut frozen = self.migrations.frozen.0.lock();
        for key in keys {
            *frozen.entry(key.clone()).or_default() += 1;
        }
        self.attention.set(Attention::MIGRATE, true);
    }

    /// Lets the commands go on that wait for the keys.
    pub fn thaw(&self, keys: &[Vec<u8>]) {
        let mut frozen = self.migrations.frozen.0.lock();
        for key in keys {
            if let Some(n) = frozen.get_mut(key) {
                *n -= 1;
                if *n == 0 {
                    frozen.remove(key);
                }
            }
        }
        if frozen.is_empty() {
            self.attention.set(Attention::MIGRATE, false);
        }
        drop(frozen);
        self.each_worker(|w| w.mailbox.post(Message::Resume));
    }

    /// Whether a command must wait since it names a key that is being moved.
    #[cold]
    pub(crate) fn waits_for_move<A: Argv>(&self, session: &Session, cmd: &Cmd, args: &A) -> bool {
        let frozen = self.migrations.frozen.0.lock();
        let named = |cmd: &Cmd, args: &dyn Argv| {
            if cmd.row.group == Group::Topic {
                return false;
            }
            let mut found = false;
            let mut look = |i: usize| found |= frozen.contains_key(args.get(i));
            // Without valid keys the command refuses before it looks at any.
            let _ = commands::keys::positions(cmd.row, &args, &mut look);
            found
        };
        match &session.multi {
            None => named(cmd, args),
            Some(multi) if cmd.traits.has(Traits::EXEC) => {
                multi.commands().any(|(id, args)| named(self.table.get(id), &args))
            }
            // The command is only queued, and runs later.
            Some(_) => false,
        }
    }
}
