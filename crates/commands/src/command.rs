//! A command: its row and its function.

use resp::{Args, Reply};
use store::Db;

use crate::fail::Fail;
use crate::keys::Argv;
use crate::row::Row;

/// The outcome of a command: it has written its reply, or it failed and has written nothing.
pub type Outcome = Result<(), Fail>;

/// The function of a data command: it sees the keys that its row names, which are locked, its
/// arguments (number 0 is its name) and the buffer for its reply; nothing else.
///
/// It checks everything before it changes anything: a command that fails has no effect.
pub type DataFn = fn(&mut Db<'_>, &mut Args<'_>, &mut Reply<'_>) -> Outcome;

/// A command as it is declared in its file. `F` tells data commands and session commands apart.
pub struct Command<F: 'static> {
    /// Its row.
    pub row: Row,
    /// Its function. A container (OBJECT, CONFIG …) has one too: it runs when no subcommand of
    /// that name exists, and refuses.
    pub run: F,
    /// Its subcommands, as in `row.subcommands`.
    pub subs: &'static [&'static Command<F>],
}

/// A command over data.
pub type DataCommand = Command<DataFn>;

impl Argv for Args<'_> {
    #[inline]
    fn len(&self) -> usize {
        Args::len(self)
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        &self[index]
    }
}
