//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group list.
pub trait ListCommands: Target {
    /// Takes an element from one end of a list and adds it at one end of another or the same. Waits until there is one.
    ///
    /// `BLMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout`
    fn blmove(&self, source: impl Arg, destination: impl Arg, where_: impl Arg, where_2: impl Arg, timeout: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::BLMOVE).with(source).with(destination).with(where_).with(where_2).with(timeout)
    }

    /// Takes elements from one end of a list and adds them at one end of another or the same. Waits until there are enough.
    ///
    /// `BLMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout [<COUNT count | EXACTLY exactly> <OBO | BULK>]`
    fn blmovem(&self, source: impl Arg, destination: impl Arg, where_: impl Arg, where_2: impl Arg, timeout: impl Arg) -> Request<'_, options::Blmovem> {
        Request::of(self.target(), &table::BLMOVEM).with(source).with(destination).with(where_).with(where_2).with(timeout)
    }

    /// Removes elements of the first list that has any and returns them. Waits until there are some.
    ///
    /// `BLMPOP timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]`
    fn blmpop(&self, timeout: impl Arg, keys: impl Arg, where_: impl Arg) -> Request<'_, options::Blmpop> {
        Request::of(self.target(), &table::BLMPOP).with(timeout).with_counted(keys).with(where_)
    }

    /// Removes the first element of the first list that has any and returns it. Waits until there is one.
    ///
    /// `BLPOP key [key ...] timeout`
    fn blpop(&self, keys: impl Arg, timeout: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::BLPOP).with(keys).with(timeout)
    }

    /// Removes the last element of the first list that has any and returns it. Waits until there is one.
    ///
    /// `BRPOP key [key ...] timeout`
    fn brpop(&self, keys: impl Arg, timeout: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::BRPOP).with(keys).with(timeout)
    }

    /// Takes the last element of a list and adds it in front of the first of another or the same. Waits until there is one.
    ///
    /// `BRPOPLPUSH source destination timeout`
    ///
    /// Redis has had better since 6.2.0.
    fn brpoplpush(&self, source: impl Arg, destination: impl Arg, timeout: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::BRPOPLPUSH).with(source).with(destination).with(timeout)
    }

    /// Returns an element of a list by its index.
    ///
    /// `LINDEX key index`
    fn lindex(&self, key: impl Arg, index: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LINDEX).with(key).with(index)
    }

    /// Adds an element next to another element of a list.
    ///
    /// `LINSERT key <BEFORE | AFTER> pivot element`
    fn linsert(&self, key: impl Arg, where_: impl Arg, pivot: impl Arg, element: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LINSERT).with(key).with(where_).with(pivot).with(element)
    }

    /// Returns the number of elements of a list.
    ///
    /// `LLEN key`
    fn llen(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LLEN).with(key)
    }

    /// Takes an element from one end of a list and adds it at one end of another or the same.
    ///
    /// `LMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT>`
    fn lmove(&self, source: impl Arg, destination: impl Arg, where_: impl Arg, where_2: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LMOVE).with(source).with(destination).with(where_).with(where_2)
    }

    /// Takes elements from one end of a list and adds them at one end of another or the same.
    ///
    /// `LMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> [<COUNT count | EXACTLY exactly> <OBO | BULK>]`
    fn lmovem(&self, source: impl Arg, destination: impl Arg, where_: impl Arg, where_2: impl Arg) -> Request<'_, options::Lmovem> {
        Request::of(self.target(), &table::LMOVEM).with(source).with(destination).with(where_).with(where_2)
    }

    /// Removes elements of the first list that has any and returns them.
    ///
    /// `LMPOP numkeys key [key ...] <LEFT | RIGHT> [COUNT count]`
    fn lmpop(&self, keys: impl Arg, where_: impl Arg) -> Request<'_, options::Lmpop> {
        Request::of(self.target(), &table::LMPOP).with_counted(keys).with(where_)
    }

    /// Removes the first elements of a list and returns them.
    ///
    /// `LPOP key [count]`
    fn lpop(&self, key: impl Arg) -> Request<'_, options::Lpop> {
        Request::of(self.target(), &table::LPOP).with(key)
    }

    /// Returns the indexes of elements of a list that have a value.
    ///
    /// `LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]`
    fn lpos(&self, key: impl Arg, element: impl Arg) -> Request<'_, options::Lpos> {
        Request::of(self.target(), &table::LPOS).with(key).with(element)
    }

    /// Adds elements before the first one of a list, one after the other.
    ///
    /// `LPUSH key element [element ...]`
    fn lpush(&self, key: impl Arg, elements: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LPUSH).with(key).with(elements)
    }

    /// Adds elements before the first one of a list, if there is one.
    ///
    /// `LPUSHX key element [element ...]`
    fn lpushx(&self, key: impl Arg, elements: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LPUSHX).with(key).with(elements)
    }

    /// Returns a range of elements of a list.
    ///
    /// `LRANGE key start stop`
    fn lrange(&self, key: impl Arg, start: impl Arg, stop: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LRANGE).with(key).with(start).with(stop)
    }

    /// Removes elements of a list by their value.
    ///
    /// `LREM key count element`
    fn lrem(&self, key: impl Arg, count: impl Arg, element: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LREM).with(key).with(count).with(element)
    }

    /// Replaces an element of a list by its index.
    ///
    /// `LSET key index element`
    fn lset(&self, key: impl Arg, index: impl Arg, element: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LSET).with(key).with(index).with(element)
    }

    /// Removes the elements of a list that are outside of a range.
    ///
    /// `LTRIM key start stop`
    fn ltrim(&self, key: impl Arg, start: impl Arg, stop: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LTRIM).with(key).with(start).with(stop)
    }

    /// Removes the last elements of a list and returns them.
    ///
    /// `RPOP key [count]`
    fn rpop(&self, key: impl Arg) -> Request<'_, options::Rpop> {
        Request::of(self.target(), &table::RPOP).with(key)
    }

    /// Takes the last element of a list and adds it in front of the first of another or the same.
    ///
    /// `RPOPLPUSH source destination`
    ///
    /// Redis has had better since 6.2.0.
    fn rpoplpush(&self, source: impl Arg, destination: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::RPOPLPUSH).with(source).with(destination)
    }

    /// Adds elements behind the last one of a list, one after the other.
    ///
    /// `RPUSH key element [element ...]`
    fn rpush(&self, key: impl Arg, elements: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::RPUSH).with(key).with(elements)
    }

    /// Adds elements behind the last one of a list, if there is one.
    ///
    /// `RPUSHX key element [element ...]`
    fn rpushx(&self, key: impl Arg, elements: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::RPUSHX).with(key).with(elements)
    }
}

impl<T: Target + ?Sized> ListCommands for T {}

/// Options of BLMOVEM.
impl Request<'_, options::Blmovem> {
    /// The argument `count-or-exactly_obo-or-bulk`.
    pub fn count_or_exactly_obo_or_bulk(self, count_or_exactly: impl Arg, obo_or_bulk: impl Arg) -> Self {
        self.with(count_or_exactly).with(obo_or_bulk)
    }
}

/// Options of BLMPOP.
impl Request<'_, options::Blmpop> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of LMOVEM.
impl Request<'_, options::Lmovem> {
    /// The argument `count-or-exactly_obo-or-bulk`.
    pub fn count_or_exactly_obo_or_bulk(self, count_or_exactly: impl Arg, obo_or_bulk: impl Arg) -> Self {
        self.with(count_or_exactly).with(obo_or_bulk)
    }
}

/// Options of LMPOP.
impl Request<'_, options::Lmpop> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of LPOP.
impl Request<'_, options::Lpop> {
    /// The argument `count`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with(count)
    }
}

/// Options of LPOS.
impl Request<'_, options::Lpos> {
    /// `RANK`.
    pub fn rank(self, rank: impl Arg) -> Self {
        self.with("RANK").with(rank)
    }

    /// `COUNT`.
    pub fn count(self, num_matches: impl Arg) -> Self {
        self.with("COUNT").with(num_matches)
    }

    /// `MAXLEN`.
    pub fn maxlen(self, len: impl Arg) -> Self {
        self.with("MAXLEN").with(len)
    }
}

/// Options of RPOP.
impl Request<'_, options::Rpop> {
    /// The argument `count`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with(count)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of BLMOVEM.
    #[derive(Debug)]
    pub enum Blmovem {}
    /// Of BLMPOP.
    #[derive(Debug)]
    pub enum Blmpop {}
    /// Of LMOVEM.
    #[derive(Debug)]
    pub enum Lmovem {}
    /// Of LMPOP.
    #[derive(Debug)]
    pub enum Lmpop {}
    /// Of LPOP.
    #[derive(Debug)]
    pub enum Lpop {}
    /// Of LPOS.
    #[derive(Debug)]
    pub enum Lpos {}
    /// Of RPOP.
    #[derive(Debug)]
    pub enum Rpop {}
}
