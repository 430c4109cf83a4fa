//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group string.
pub trait StringCommands: Target {
    /// Appends to the string value of a key, which is created if it is missing.
    ///
    /// `APPEND key value`
    fn append(&self, key: impl Arg, value: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::APPEND).with(key).with(value)
    }

    /// Takes one from the integer value of a key, which counts as 0 if it is missing.
    ///
    /// `DECR key`
    fn decr(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::DECR).with(key)
    }

    /// Takes a number from the integer value of a key, which counts as 0 if it is missing.
    ///
    /// `DECRBY key decrement`
    fn decrby(&self, key: impl Arg, decrement: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::DECRBY).with(key).with(decrement)
    }

    /// Deletes a key, if its string value is, or is not, the given one.
    ///
    /// `DELEX key [IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest]`
    fn delex(&self, key: impl Arg) -> Request<'_, options::Delex> {
        Request::of(self.target(), &table::DELEX).with(key)
    }

    /// Returns a hash (XXH3) of the string value of a key.
    ///
    /// `DIGEST key`
    fn digest(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::DIGEST).with(key)
    }

    /// Returns the string value of a key.
    ///
    /// `GET key`
    fn get(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::GET).with(key)
    }

    /// Returns the string value of a key and deletes the key.
    ///
    /// `GETDEL key`
    fn getdel(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::GETDEL).with(key)
    }

    /// Returns the string value of a key, and sets or removes its deadline.
    ///
    /// `GETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]`
    fn getex(&self, key: impl Arg) -> Request<'_, options::Getex> {
        Request::of(self.target(), &table::GETEX).with(key)
    }

    /// Returns a part of the string value of a key.
    ///
    /// `GETRANGE key start end`
    fn getrange(&self, key: impl Arg, start: impl Arg, end: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::GETRANGE).with(key).with(start).with(end)
    }

    /// Sets the string value of a key and returns the one before.
    ///
    /// `GETSET key value`
    ///
    /// Redis has had better since 6.2.0.
    fn getset(&self, key: impl Arg, value: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::GETSET).with(key).with(value)
    }

    /// Adds one to the integer value of a key, which counts as 0 if it is missing.
    ///
    /// `INCR key`
    fn incr(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::INCR).with(key)
    }

    /// Adds a number to the integer value of a key, which counts as 0 if it is missing.
    ///
    /// `INCRBY key increment`
    fn incrby(&self, key: impl Arg, increment: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::INCRBY).with(key).with(increment)
    }

    /// Adds a number, integer or not, to the value of a key, which counts as 0 if it is missing.
    ///
    /// `INCRBYFLOAT key increment`
    fn incrbyfloat(&self, key: impl Arg, increment: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::INCRBYFLOAT).with(key).with(increment)
    }

    /// Adds to the number of a key within bounds, and sets its deadline: a rate limiter in one command.
    ///
    /// `INCREX key [BYFLOAT float | BYINT integer] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]`
    fn increx(&self, key: impl Arg) -> Request<'_, options::Increx> {
        Request::of(self.target(), &table::INCREX).with(key)
    }

    /// Finds the longest common subsequence of two string values.
    ///
    /// `LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]`
    fn lcs(&self, key1: impl Arg, key2: impl Arg) -> Request<'_, options::Lcs> {
        Request::of(self.target(), &table::LCS).with(key1).with(key2)
    }

    /// Returns the string values of several keys at once.
    ///
    /// `MGET key [key ...]`
    fn mget(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::MGET).with(keys)
    }

    /// Sets the string values of several keys at once.
    ///
    /// `MSET key value [key value ...]`
    fn mset(&self, key_values: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::MSET).with(key_values)
    }

    /// Sets the string values of several keys at once, with one deadline for all if wanted.
    ///
    /// `MSETEX numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]`
    fn msetex(&self, key_values: impl Arg) -> Request<'_, options::Msetex> {
        Request::of(self.target(), &table::MSETEX).with_counted(key_values)
    }

    /// Sets the string values of several keys at once, if none of the keys exists.
    ///
    /// `MSETNX key value [key value ...]`
    fn msetnx(&self, key_values: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::MSETNX).with(key_values)
    }

    /// Sets the string value of a key, with a time to live in milliseconds.
    ///
    /// `PSETEX key milliseconds value`
    ///
    /// Redis has had better since 2.6.12.
    fn psetex(&self, key: impl Arg, milliseconds: impl Arg, value: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::PSETEX).with(key).with(milliseconds).with(value)
    }

    /// Sets the string value of a key, whatever it held before.
    ///
    /// `SET key value [NX | XX | IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]`
    fn set(&self, key: impl Arg, value: impl Arg) -> Request<'_, options::Set> {
        Request::of(self.target(), &table::SET).with(key).with(value)
    }

    /// Sets the string value of a key, with a time to live in seconds.
    ///
    /// `SETEX key seconds value`
    ///
    /// Redis has had better since 2.6.12.
    fn setex(&self, key: impl Arg, seconds: impl Arg, value: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SETEX).with(key).with(seconds).with(value)
    }

    /// Sets the string value of a key, if the key does not exist.
    ///
    /// `SETNX key value`
    ///
    /// Redis has had better since 2.6.12.
    fn setnx(&self, key: impl Arg, value: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SETNX).with(key).with(value)
    }

    /// Overwrites a part of the string value of a key, which is created if it is missing.
    ///
    /// `SETRANGE key offset value`
    fn setrange(&self, key: impl Arg, offset: impl Arg, value: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SETRANGE).with(key).with(offset).with(value)
    }

    /// Returns the length of the string value of a key, in bytes.
    ///
    /// `STRLEN key`
    fn strlen(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::STRLEN).with(key)
    }

    /// Returns a part of the string value of a key.
    ///
    /// `SUBSTR key start end`
    ///
    /// Redis has had better since 2.0.0.
    fn substr(&self, key: impl Arg, start: impl Arg, end: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SUBSTR).with(key).with(start).with(end)
    }
}

impl<T: Target + ?Sized> StringCommands for T {}

/// Options of DELEX.
impl Request<'_, options::Delex> {
    /// `IFEQ`.
    pub fn ifeq(self, ifeq_value: impl Arg) -> Self {
        self.with("IFEQ").with(ifeq_value)
    }

    /// `IFNE`.
    pub fn ifne(self, ifne_value: impl Arg) -> Self {
        self.with("IFNE").with(ifne_value)
    }

    /// `IFDEQ`.
    pub fn ifdeq(self, ifdeq_digest: impl Arg) -> Self {
        self.with("IFDEQ").with(ifdeq_digest)
    }

    /// `IFDNE`.
    pub fn ifdne(self, ifdne_digest: impl Arg) -> Self {
        self.with("IFDNE").with(ifdne_digest)
    }
}

/// Options of GETEX.
impl Request<'_, options::Getex> {
    /// `EX`.
    pub fn ex(self, seconds: impl Arg) -> Self {
        self.with("EX").with(seconds)
    }

    /// `PX`.
    pub fn px(self, milliseconds: impl Arg) -> Self {
        self.with("PX").with(milliseconds)
    }

    /// `EXAT`.
    pub fn exat(self, unix_time_seconds: impl Arg) -> Self {
        self.with("EXAT").with(unix_time_seconds)
    }

    /// `PXAT`.
    pub fn pxat(self, unix_time_milliseconds: impl Arg) -> Self {
        self.with("PXAT").with(unix_time_milliseconds)
    }

    /// `PERSIST`.
    pub fn persist(self) -> Self {
        self.with("PERSIST")
    }
}

/// Options of INCREX.
impl Request<'_, options::Increx> {
    /// `BYFLOAT`.
    pub fn byfloat(self, float: impl Arg) -> Self {
        self.with("BYFLOAT").with(float)
    }

    /// `BYINT`.
    pub fn byint(self, integer: impl Arg) -> Self {
        self.with("BYINT").with(integer)
    }

    /// `LBOUND`.
    pub fn lbound(self, lowerbound: impl Arg) -> Self {
        self.with("LBOUND").with(lowerbound)
    }

    /// `UBOUND`.
    pub fn ubound(self, upperbound: impl Arg) -> Self {
        self.with("UBOUND").with(upperbound)
    }

    /// `SATURATE`.
    pub fn saturate(self) -> Self {
        self.with("SATURATE")
    }

    /// `EX`.
    pub fn ex(self, seconds: impl Arg) -> Self {
        self.with("EX").with(seconds)
    }

    /// `PX`.
    pub fn px(self, milliseconds: impl Arg) -> Self {
        self.with("PX").with(milliseconds)
    }

    /// `EXAT`.
    pub fn exat(self, unix_time_seconds: impl Arg) -> Self {
        self.with("EXAT").with(unix_time_seconds)
    }

    /// `PXAT`.
    pub fn pxat(self, unix_time_milliseconds: impl Arg) -> Self {
        self.with("PXAT").with(unix_time_milliseconds)
    }

    /// `PERSIST`.
    pub fn persist(self) -> Self {
        self.with("PERSIST")
    }

    /// `ENX`.
    pub fn enx(self) -> Self {
        self.with("ENX")
    }
}

/// Options of LCS.
impl Request<'_, options::Lcs> {
    /// `LEN`.
    pub fn len(self) -> Self {
        self.with("LEN")
    }

    /// `IDX`.
    pub fn idx(self) -> Self {
        self.with("IDX")
    }

    /// `MINMATCHLEN`.
    pub fn minmatchlen(self, min_match_len: impl Arg) -> Self {
        self.with("MINMATCHLEN").with(min_match_len)
    }

    /// `WITHMATCHLEN`.
    pub fn withmatchlen(self) -> Self {
        self.with("WITHMATCHLEN")
    }
}

/// Options of MSETEX.
impl Request<'_, options::Msetex> {
    /// `NX`.
    pub fn nx(self) -> Self {
        self.with("NX")
    }

    /// `XX`.
    pub fn xx(self) -> Self {
        self.with("XX")
    }

    /// `EX`.
    pub fn ex(self, seconds: impl Arg) -> Self {
        self.with("EX").with(seconds)
    }

    /// `PX`.
    pub fn px(self, milliseconds: impl Arg) -> Self {
        self.with("PX").with(milliseconds)
    }

    /// `EXAT`.
    pub fn exat(self, unix_time_seconds: impl Arg) -> Self {
        self.with("EXAT").with(unix_time_seconds)
    }

    /// `PXAT`.
    pub fn pxat(self, unix_time_milliseconds: impl Arg) -> Self {
        self.with("PXAT").with(unix_time_milliseconds)
    }

    /// `KEEPTTL`.
    pub fn keepttl(self) -> Self {
        self.with("KEEPTTL")
    }
}

/// Options of SET.
impl Request<'_, options::Set> {
    /// `NX`.
    pub fn nx(self) -> Self {
        self.with("NX")
    }

    /// `XX`.
    pub fn xx(self) -> Self {
        self.with("XX")
    }

    /// `IFEQ`.
    pub fn ifeq(self, ifeq_value: impl Arg) -> Self {
        self.with("IFEQ").with(ifeq_value)
    }

    /// `IFNE`.
    pub fn ifne(self, ifne_value: impl Arg) -> Self {
        self.with("IFNE").with(ifne_value)
    }

    /// `IFDEQ`.
    pub fn ifdeq(self, ifdeq_digest: impl Arg) -> Self {
        self.with("IFDEQ").with(ifdeq_digest)
    }

    /// `IFDNE`.
    pub fn ifdne(self, ifdne_digest: impl Arg) -> Self {
        self.with("IFDNE").with(ifdne_digest)
    }

    /// `GET`.
    pub fn get(self) -> Self {
        self.with("GET")
    }

    /// `EX`.
    pub fn ex(self, seconds: impl Arg) -> Self {
        self.with("EX").with(seconds)
    }

    /// `PX`.
    pub fn px(self, milliseconds: impl Arg) -> Self {
        self.with("PX").with(milliseconds)
    }

    /// `EXAT`.
    pub fn exat(self, unix_time_seconds: impl Arg) -> Self {
        self.with("EXAT").with(unix_time_seconds)
    }

    /// `PXAT`.
    pub fn pxat(self, unix_time_milliseconds: impl Arg) -> Self {
        self.with("PXAT").with(unix_time_milliseconds)
    }

    /// `KEEPTTL`.
    pub fn keepttl(self) -> Self {
        self.with("KEEPTTL")
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of DELEX.
    #[derive(Debug)]
    pub enum Delex {}
    /// Of GETEX.
    #[derive(Debug)]
    pub enum Getex {}
    /// Of INCREX.
    #[derive(Debug)]
    pub enum Increx {}
    /// Of LCS.
    #[derive(Debug)]
    pub enum Lcs {}
    /// Of MSETEX.
    #[derive(Debug)]
    pub enum Msetex {}
    /// Of SET.
    #[derive(Debug)]
    pub enum Set {}
}
