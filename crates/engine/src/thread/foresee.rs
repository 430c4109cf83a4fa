//! A look at input that will be executed soon.
//!
//! An event loop reads short input of several connections before it executes any, so that the memory that
//! it needs is on its way. Two kinds of command must not wait for such neighbours, nor they for it: those
//! that end scripts, and those that may run a script. Commands are found as dispatch finds them, whatever
//! they were renamed to.

use commands::row::Traits;
use resp::{Limits, Parsed, Parser};

use crate::dispatch;
use crate::engine::Engine;
use crate::session::Session;
use crate::thread::Thread;

/// What short input will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreseen {
    /// Nothing that takes long, as far as commands tell. The first command's key has this hash, and its
    /// bucket is being fetched; 0 when the command is not like those before it.
    Short(u64),
    /// One of its commands may run a script.
    RunsScript,
    /// Its first command ends scripts, or tells of the script that runs.
    EndsScripts,
}

const RUNS_SCRIPT: Traits = Traits::RUNS_TEXT
    .or(Traits::RUNS_DIGEST)
    .or(Traits::RUNS_FUNCTION)
    // EXEC runs a transaction, which may contain scripts.
    .or(Traits::EXEC);
const ENDS_SCRIPTS: Traits = Traits::ENDS_SCRIPTS.or(Traits::TELLS_OF_SCRIPTS);

impl Thread {
    /// Looks at short input that will be executed soon, and prefetches the bucket of its first command's
    /// key.
    pub fn foresee(&mut self, engine: &Engine, session: &Session, input: &[u8]) -> Foreseen {
        let (hash, end) = self.foresee_first(engine, session, input).unwrap_or((0, 0));
        // The frequent case: one command like those before it, which are fast.
        if end == input.len() {
            return Foreseen::Short(hash);
        }
        let mut found = Foreseen::Short(hash);
        each_command(engine, input, |first, traits, _| {
            if first && traits.has_any(ENDS_SCRIPTS) {
                found = Foreseen::EndsScripts;
            } else if found != Foreseen::EndsScripts && traits.has_any(RUNS_SCRIPT) {
                found = Foreseen::RunsScript;
            }
        });
        found
    }

    /// The hash of the first command's key, and where the command ends, if it looks like the fast commands
    /// before it.
    fn foresee_first(
        &mut self,
        engine: &Engine,
        session: &Session,
        input: &[u8],
    ) -> Option<(u64, usize)> {
        let (shape, id) = self.shape?;
        if !engine.table.get(id).one_key {
            return None;
        }
        let pin = store::epoch::pin();
        let limits = Limits { bulk_max: self.hot.bulk_max, unauthenticated: false };
        self.group.spans.clear();
        let end = shape.parse(input, 0, &limits, &mut self.group.spans)?;
        let key = self.group.spans.get(1).and_then(|k| k.bytes(input))?;
        let hash = stdx::hash::hash64(key);
        engine.keyspace.spot(session.db, hash, &pin).prefetch_bucket();
        Some((hash, end))
    }

    /// Prefetches the entries of keys whose buckets [`foresee`](Self::foresee) has prefetched: pairs
    /// of database and hash.
    pub fn prefetch(&self, engine: &Engine, keys: impl Iterator<Item = (usize, u64)>) {
        let pin = store::epoch::pin();
        for (db, hash) in keys.filter(|(_, hash)| *hash != 0) {
            engine.keyspace.spot(db, hash, &pin).node(hash).prefetch();
        }
    }
}

impl Engine {
    /// Whether a command, which is not empty, ends scripts, or tells of the script that runs.
    pub fn ends_scripts(&self, words: &[Vec<u8>]) -> bool {
        let sub = words.get(1).map(Vec::as_slice);
        words.first().is_some_and(|name| traits(self, name, sub).has_any(ENDS_SCRIPTS))
    }

    /// Whether this input is one command, which ends scripts or tells of the script that runs.
    pub fn only_ends_scripts(&self, input: &[u8]) -> bool {
        let mut only = false;
        each_command(self, input, |first, traits, end| {
            only = first && end == input.len() && traits.has_any(ENDS_SCRIPTS);
        });
        only
    }
}

/// The traits of the command with this name, or of its subcommand.
fn traits(engine: &Engine, name: &[u8], sub: Option<&[u8]>) -> Traits {
    let id = dispatch::find(engine, name, sub);
    id.map_or(Traits::NONE, |id| engine.table.get(id).traits)
}

/// Calls `look` with each whole command of short input: whether it is the first one, its traits, and where
/// it ends.
fn each_command(engine: &Engine, input: &[u8], mut look: impl FnMut(bool, Traits, usize)) {
    let limits = Limits { bulk_max: input.len(), unauthenticated: false };
    let (mut parser, mut spans, mut owned) = (Parser::default(), Vec::new(), Vec::new());
    let (mut pos, mut first) = (0, true);
    while pos < input.len() {
        spans.clear();
        owned.clear();
        match parser.parse(&input[pos..], pos, &limits, &mut spans, &mut owned) {
            Parsed::Command(used) => {
                pos += used;
                let args = resp::Args::new(input, &spans, &mut owned);
                look(first, traits(engine, &args[0], args.get(1)), pos);
                first = false;
            }
            Parsed::Nothing(used) => pos += used,
            Parsed::Incomplete | Parsed::Big { .. } | Parsed::Error(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Options;
    use crate::log::Log;
    use crate::table::CommandSet;

    // With the session commands: crates/session-commands/tests/foresee.rs.
    #[test]
    fn input_of_any_kind_is_looked_at() {
        let (clock, _) = stdx::clock::Clock::simulated(0);
        let engine = Engine::new(Options {
            config: config::Config::new(),
            commands: CommandSet::NONE,
            durability: std::sync::Arc::new(()),
            renames: Vec::new(),
            clock,
            log: Log::silent(),
            config_file: None,
            executable: String::new(),
        });
        for input in
            ["", "*", "\r\n", "get x\r\n", "nosuch\r\n", "*1\r\n$x\r\n", "*1\r\n$900000\r\nx"]
        {
            assert!(!engine.only_ends_scripts(input.as_bytes()), "{input}");
        }
        assert!(!engine.ends_scripts(&[]));
    }
}
