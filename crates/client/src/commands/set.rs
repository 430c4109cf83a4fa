//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group set.
pub trait SetCommands: Target {
    /// Adds members to a set, which is created if it is missing.
    ///
    /// `SADD key member [member ...]`
    fn sadd(&self, key: impl Arg, members: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SADD).with(key).with(members)
    }

    /// Returns the number of members of a set.
    ///
    /// `SCARD key`
    fn scard(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SCARD).with(key)
    }

    /// Returns the members of a set that several others do not have.
    ///
    /// `SDIFF key [key ...]`
    fn sdiff(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SDIFF).with(keys)
    }

    /// Returns the number of members of a set that none of others has.
    ///
    /// `SDIFFCARD numkeys key [key ...] [LIMIT limit]`
    fn sdiffcard(&self, keys: impl Arg) -> Request<'_, options::Sdiffcard> {
        Request::of(self.target(), &table::SDIFFCARD).with_counted(keys)
    }

    /// Stores the members of a set that several others do not have.
    ///
    /// `SDIFFSTORE destination key [key ...]`
    fn sdiffstore(&self, destination: impl Arg, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SDIFFSTORE).with(destination).with(keys)
    }

    /// Returns the members that all of several sets have.
    ///
    /// `SINTER key [key ...]`
    fn sinter(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SINTER).with(keys)
    }

    /// Returns the number of members that all of several sets have.
    ///
    /// `SINTERCARD numkeys key [key ...] [LIMIT limit]`
    fn sintercard(&self, keys: impl Arg) -> Request<'_, options::Sintercard> {
        Request::of(self.target(), &table::SINTERCARD).with_counted(keys)
    }

    /// Stores the members that all of several sets have.
    ///
    /// `SINTERSTORE destination key [key ...]`
    fn sinterstore(&self, destination: impl Arg, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SINTERSTORE).with(destination).with(keys)
    }

    /// Tells whether a member belongs to a set.
    ///
    /// `SISMEMBER key member`
    fn sismember(&self, key: impl Arg, member: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SISMEMBER).with(key).with(member)
    }

    /// Returns all members of a set.
    ///
    /// `SMEMBERS key`
    fn smembers(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SMEMBERS).with(key)
    }

    /// Tells which of several members belong to a set.
    ///
    /// `SMISMEMBER key member [member ...]`
    fn smismember(&self, key: impl Arg, members: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SMISMEMBER).with(key).with(members)
    }

    /// Moves a member from one set to another.
    ///
    /// `SMOVE source destination member`
    fn smove(&self, source: impl Arg, destination: impl Arg, member: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SMOVE).with(source).with(destination).with(member)
    }

    /// Takes random members out of a set, which is deleted when it becomes empty.
    ///
    /// `SPOP key [count]`
    fn spop(&self, key: impl Arg) -> Request<'_, options::Spop> {
        Request::of(self.target(), &table::SPOP).with(key)
    }

    /// Returns random members of a set; with a negative count, one may come repeatedly.
    ///
    /// `SRANDMEMBER key [count]`
    fn srandmember(&self, key: impl Arg) -> Request<'_, options::Srandmember> {
        Request::of(self.target(), &table::SRANDMEMBER).with(key)
    }

    /// Removes members from a set, which is deleted when it becomes empty.
    ///
    /// `SREM key member [member ...]`
    fn srem(&self, key: impl Arg, members: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SREM).with(key).with(members)
    }

    /// Lists the members of a set step by step.
    ///
    /// `SSCAN key cursor [MATCH pattern] [COUNT count]`
    fn sscan(&self, key: impl Arg, cursor: impl Arg) -> Request<'_, options::Sscan> {
        Request::of(self.target(), &table::SSCAN).with(key).with(cursor)
    }

    /// Returns the members of several sets.
    ///
    /// `SUNION key [key ...]`
    fn sunion(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SUNION).with(keys)
    }

    /// Returns the number of members that at least one of several sets has.
    ///
    /// `SUNIONCARD numkeys key [key ...] [APPROX] [LIMIT limit]`
    fn sunioncard(&self, keys: impl Arg) -> Request<'_, options::Sunioncard> {
        Request::of(self.target(), &table::SUNIONCARD).with_counted(keys)
    }

    /// Stores the members of several sets.
    ///
    /// `SUNIONSTORE destination key [key ...]`
    fn sunionstore(&self, destination: impl Arg, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SUNIONSTORE).with(destination).with(keys)
    }
}

impl<T: Target + ?Sized> SetCommands for T {}

/// Options of SDIFFCARD.
impl Request<'_, options::Sdiffcard> {
    /// `LIMIT`.
    pub fn limit(self, limit: impl Arg) -> Self {
        self.with("LIMIT").with(limit)
    }
}

/// Options of SINTERCARD.
impl Request<'_, options::Sintercard> {
    /// `LIMIT`.
    pub fn limit(self, limit: impl Arg) -> Self {
        self.with("LIMIT").with(limit)
    }
}

/// Options of SPOP.
impl Request<'_, options::Spop> {
    /// The argument `count`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with(count)
    }
}

/// Options of SRANDMEMBER.
impl Request<'_, options::Srandmember> {
    /// The argument `count`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with(count)
    }
}

/// Options of SSCAN.
impl Request<'_, options::Sscan> {
    /// `MATCH`.
    pub fn match_(self, pattern: impl Arg) -> Self {
        self.with("MATCH").with(pattern)
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of SUNIONCARD.
impl Request<'_, options::Sunioncard> {
    /// `APPROX`.
    pub fn approx(self) -> Self {
        self.with("APPROX")
    }

    /// `LIMIT`.
    pub fn limit(self, limit: impl Arg) -> Self {
        self.with("LIMIT").with(limit)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of SDIFFCARD.
    #[derive(Debug)]
    pub enum Sdiffcard {}
    /// Of SINTERCARD.
    #[derive(Debug)]
    pub enum Sintercard {}
    /// Of SPOP.
    #[derive(Debug)]
    pub enum Spop {}
    /// Of SRANDMEMBER.
    #[derive(Debug)]
    pub enum Srandmember {}
    /// Of SSCAN.
    #[derive(Debug)]
    pub enum Sscan {}
    /// Of SUNIONCARD.
    #[derive(Debug)]
    pub enum Sunioncard {}
}
