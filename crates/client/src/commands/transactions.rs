//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group transactions.
pub trait TransactionsCommands: Target {
    /// Drops the queued commands of a transaction, and its watches.
    ///
    /// `DISCARD`
    fn discard(&self) -> Request<'_> {
        Request::of(self.target(), &table::DISCARD)
    }

    /// Runs the queued commands of a transaction, with no other client's in between.
    ///
    /// `EXEC`
    fn exec(&self) -> Request<'_> {
        Request::of(self.target(), &table::EXEC)
    }

    /// Starts a transaction: the commands that follow are queued until EXEC.
    ///
    /// `MULTI`
    fn multi(&self) -> Request<'_> {
        Request::of(self.target(), &table::MULTI)
    }

    /// Forgets all watched keys.
    ///
    /// `UNWATCH`
    fn unwatch(&self) -> Request<'_> {
        Request::of(self.target(), &table::UNWATCH)
    }

    /// Makes the next EXEC fail if one of the keys changes until then.
    ///
    /// `WATCH key [key ...]`
    fn watch(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::WATCH).with(keys)
    }
}

impl<T: Target + ?Sized> TransactionsCommands for T {}

pub(super) mod options {
    //! The commands of this group that have options.

    #[doc(hidden)]
    #[derive(Debug)]
    pub enum NoOptionsOfTransactions {}
}
