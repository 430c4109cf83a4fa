//! Runs of the same command, of which most pipelines consist.
//!
//! The most frequent commands have a second function, which executes a whole run of them in one
//! loop: without a call, an argument list and checks per command. It serves the fast path (the
//! key is there, without a deadline and of the usual form) and stops in front of every other case,
//! which the command's own function then serves. So it decides nothing: it is that function, cut short.

use resp::{Reply, Span};
use store::Db;

/// A parsed command that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub struct ParsedCommand {
    /// Offset in the input behind it.
    pub end: usize,
    /// Its first span.
    pub first: u32,
    /// Number of its spans.
    pub argc: u32,
    /// The command's number, if it is known and executed with its neighbours.
    pub id: u16,
    /// The number of the command with its name (a subcommand's container), if it is known.
    pub top: u16,
    /// Where in its bucket the key's entry probably is.
    pub near: u8,
    /// The key's hash.
    pub hash: u64,
}

/// Consecutive commands, of which the first ones are the same.
pub struct CommandRun<'a> {
    /// The bytes that spans point into.
    pub input: &'a [u8],
    /// The arguments of all commands.
    pub spans: &'a [Span],
    /// The commands; not empty.
    pub group: &'a [ParsedCommand],
}

/// Executes commands from the first on, as long as they are the same and the fast path serves
/// them; returns how many.
pub type RunFunction = fn(&mut Db<'_>, &CommandRun<'_>, &mut Reply<'_>) -> usize;

impl CommandRun<'_> {
    /// Calls `one` for every command of the first one's kind that has `N` arguments, the view moved to its
    /// key, until it returns false. Returns how often it was true.
    #[inline(always)]
    pub(crate) fn each<const N: usize>(
        &self,
        db: &mut Db<'_>,
        mut one: impl FnMut(&mut Db<'_>, &[&[u8]; N]) -> bool,
    ) -> usize {
        let id = self.group.first().map(|p| p.id);
        let mut n = 0;
        for p in self.group {
            let spans = self.spans.get(p.first as usize..).and_then(|s| s.first_chunk::<N>());
            let Some(spans) = spans.filter(|_| p.argc as usize == N && Some(p.id) == id) else {
                break;
            };
            let mut args: [&[u8]; N] = [&[]; N];
            // A loop over an iterator is not unrolled here, and costs a quarter of the time.
            let mut i = 1;
            while i < N {
                let Some(bytes) = spans[i].bytes(self.input) else { return n };
                args[i] = bytes;
                i += 1;
            }
            db.move_to(p.hash, usize::from(p.near));
            if !one(db, &args) {
                break;
            }
            n += 1;
        }
        n
    }
}
