//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group hyperloglog.
pub trait HyperloglogCommands: Target {
    /// Adds elements to a HyperLogLog, which is created if it is missing.
    ///
    /// `PFADD key [element [element ...]]`
    fn pfadd(&self, key: impl Arg) -> Request<'_, options::Pfadd> {
        Request::of(self.target(), &table::PFADD).with(key)
    }

    /// Returns about how many different elements were added to one or several HyperLogLogs.
    ///
    /// `PFCOUNT key [key ...]`
    fn pfcount(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::PFCOUNT).with(keys)
    }

    /// Shows how a HyperLogLog is kept: GETREG, DECODE, ENCODING; TODENSE changes it.
    ///
    /// `PFDEBUG subcommand key`
    fn pfdebug(&self, subcommand: impl Arg, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::PFDEBUG).with(subcommand).with(key)
    }

    /// Merges HyperLogLogs into one.
    ///
    /// `PFMERGE destkey [sourcekey [sourcekey ...]]`
    fn pfmerge(&self, destkey: impl Arg) -> Request<'_, options::Pfmerge> {
        Request::of(self.target(), &table::PFMERGE).with(destkey)
    }

    /// Checks that HyperLogLogs count right.
    ///
    /// `PFSELFTEST`
    fn pfselftest(&self) -> Request<'_> {
        Request::of(self.target(), &table::PFSELFTEST)
    }
}

impl<T: Target + ?Sized> HyperloglogCommands for T {}

/// Options of PFADD.
impl Request<'_, options::Pfadd> {
    /// The argument `element`.
    pub fn elements(self, elements: impl Arg) -> Self {
        self.with(elements)
    }
}

/// Options of PFMERGE.
impl Request<'_, options::Pfmerge> {
    /// The argument `sourcekey`.
    pub fn sourcekeys(self, sourcekeys: impl Arg) -> Self {
        self.with(sourcekeys)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of PFADD.
    #[derive(Debug)]
    pub enum Pfadd {}
    /// Of PFMERGE.
    #[derive(Debug)]
    pub enum Pfmerge {}
}
