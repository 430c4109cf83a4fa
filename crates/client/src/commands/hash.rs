//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group hash.
pub trait HashCommands: Target {
    /// Removes fields of a hash; with the last of them goes the key.
    ///
    /// `HDEL key field [field ...]`
    fn hdel(&self, key: impl Arg, fields: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HDEL).with(key).with(fields)
    }

    /// Tells whether a field of a hash is there.
    ///
    /// `HEXISTS key field`
    fn hexists(&self, key: impl Arg, field: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HEXISTS).with(key).with(field)
    }

    /// Sets the time to live of fields of a hash in seconds.
    ///
    /// `HEXPIRE key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]`
    fn hexpire(&self, key: impl Arg, seconds: impl Arg, fields: impl Arg) -> Request<'_, options::Hexpire> {
        Request::of(self.target(), &table::HEXPIRE).with(key).with(seconds).with_last("FIELDS").with_last_counted(fields)
    }

    /// Sets the deadlines of fields of a hash to a Unix time in seconds.
    ///
    /// `HEXPIREAT key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]`
    fn hexpireat(&self, key: impl Arg, unix_time_seconds: impl Arg, fields: impl Arg) -> Request<'_, options::Hexpireat> {
        Request::of(self.target(), &table::HEXPIREAT).with(key).with(unix_time_seconds).with_last("FIELDS").with_last_counted(fields)
    }

    /// Returns the deadlines of fields of a hash as Unix times in seconds.
    ///
    /// `HEXPIRETIME key FIELDS numfields field [field ...]`
    fn hexpiretime(&self, key: impl Arg, fields: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HEXPIRETIME).with(key).with("FIELDS").with_counted(fields)
    }

    /// Returns the value of a field of a hash.
    ///
    /// `HGET key field`
    fn hget(&self, key: impl Arg, field: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HGET).with(key).with(field)
    }

    /// Returns all fields of a hash and their values.
    ///
    /// `HGETALL key`
    fn hgetall(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HGETALL).with(key)
    }

    /// Returns the values of fields of a hash and removes the fields.
    ///
    /// `HGETDEL key FIELDS numfields field [field ...]`
    fn hgetdel(&self, key: impl Arg, fields: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HGETDEL).with(key).with("FIELDS").with_counted(fields)
    }

    /// Returns the values of fields of a hash, and sets or removes their deadlines.
    ///
    /// `HGETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] FIELDS numfields field [field ...]`
    fn hgetex(&self, key: impl Arg, fields: impl Arg) -> Request<'_, options::Hgetex> {
        Request::of(self.target(), &table::HGETEX).with(key).with_last("FIELDS").with_last_counted(fields)
    }

    /// Adds a number to the integer value of a field, which counts as 0 if it is missing.
    ///
    /// `HINCRBY key field increment`
    fn hincrby(&self, key: impl Arg, field: impl Arg, increment: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HINCRBY).with(key).with(field).with(increment)
    }

    /// Adds a number, integer or not, to the value of a field, which counts as 0 if it is missing.
    ///
    /// `HINCRBYFLOAT key field increment`
    fn hincrbyfloat(&self, key: impl Arg, field: impl Arg, increment: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HINCRBYFLOAT).with(key).with(field).with(increment)
    }

    /// Returns all fields of a hash.
    ///
    /// `HKEYS key`
    fn hkeys(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HKEYS).with(key)
    }

    /// Returns the number of fields of a hash.
    ///
    /// `HLEN key`
    fn hlen(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HLEN).with(key)
    }

    /// Returns the values of fields of a hash.
    ///
    /// `HMGET key field [field ...]`
    fn hmget(&self, key: impl Arg, fields: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HMGET).with(key).with(fields)
    }

    /// Sets fields of a hash to values.
    ///
    /// `HMSET key field value [field value ...]`
    ///
    /// Redis has had better since 4.0.0.
    fn hmset(&self, key: impl Arg, field_values: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HMSET).with(key).with(field_values)
    }

    /// Removes the deadlines of fields of a hash.
    ///
    /// `HPERSIST key FIELDS numfields field [field ...]`
    fn hpersist(&self, key: impl Arg, fields: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HPERSIST).with(key).with("FIELDS").with_counted(fields)
    }

    /// Sets the time to live of fields of a hash in milliseconds.
    ///
    /// `HPEXPIRE key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]`
    fn hpexpire(&self, key: impl Arg, milliseconds: impl Arg, fields: impl Arg) -> Request<'_, options::Hpexpire> {
        Request::of(self.target(), &table::HPEXPIRE).with(key).with(milliseconds).with_last("FIELDS").with_last_counted(fields)
    }

    /// Sets the deadlines of fields of a hash to a Unix time in milliseconds.
    ///
    /// `HPEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]`
    fn hpexpireat(&self, key: impl Arg, unix_time_milliseconds: impl Arg, fields: impl Arg) -> Request<'_, options::Hpexpireat> {
        Request::of(self.target(), &table::HPEXPIREAT).with(key).with(unix_time_milliseconds).with_last("FIELDS").with_last_counted(fields)
    }

    /// Returns the deadlines of fields of a hash as Unix times in milliseconds.
    ///
    /// `HPEXPIRETIME key FIELDS numfields field [field ...]`
    fn hpexpiretime(&self, key: impl Arg, fields: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HPEXPIRETIME).with(key).with("FIELDS").with_counted(fields)
    }

    /// Returns how many milliseconds fields of a hash have to live.
    ///
    /// `HPTTL key FIELDS numfields field [field ...]`
    fn hpttl(&self, key: impl Arg, fields: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HPTTL).with(key).with("FIELDS").with_counted(fields)
    }

    /// Returns random fields of a hash.
    ///
    /// `HRANDFIELD key [count [WITHVALUES]]`
    fn hrandfield(&self, key: impl Arg) -> Request<'_, options::Hrandfield> {
        Request::of(self.target(), &table::HRANDFIELD).with(key)
    }

    /// Lists fields of a hash step by step.
    ///
    /// `HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]`
    fn hscan(&self, key: impl Arg, cursor: impl Arg) -> Request<'_, options::Hscan> {
        Request::of(self.target(), &table::HSCAN).with(key).with(cursor)
    }

    /// Sets fields of a hash to values, and returns how many of them were new.
    ///
    /// `HSET key field value [field value ...]`
    fn hset(&self, key: impl Arg, field_values: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HSET).with(key).with(field_values)
    }

    /// Sets fields of a hash to values, with a deadline if wanted.
    ///
    /// `HSETEX key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] FIELDS numfields field value [field value ...]`
    fn hsetex(&self, key: impl Arg, field_values: impl Arg) -> Request<'_, options::Hsetex> {
        Request::of(self.target(), &table::HSETEX).with(key).with_last("FIELDS").with_last_counted(field_values)
    }

    /// Sets a field of a hash to a value unless it is there.
    ///
    /// `HSETNX key field value`
    fn hsetnx(&self, key: impl Arg, field: impl Arg, value: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HSETNX).with(key).with(field).with(value)
    }

    /// Returns the length of the value of a field in bytes.
    ///
    /// `HSTRLEN key field`
    fn hstrlen(&self, key: impl Arg, field: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HSTRLEN).with(key).with(field)
    }

    /// Returns how many seconds fields of a hash have to live.
    ///
    /// `HTTL key FIELDS numfields field [field ...]`
    fn httl(&self, key: impl Arg, fields: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HTTL).with(key).with("FIELDS").with_counted(fields)
    }

    /// Returns all values of a hash.
    ///
    /// `HVALS key`
    fn hvals(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::HVALS).with(key)
    }
}

impl<T: Target + ?Sized> HashCommands for T {}

/// Options of HEXPIRE.
impl Request<'_, options::Hexpire> {
    /// `NX`.
    pub fn nx(self) -> Self {
        self.with("NX")
    }

    /// `XX`.
    pub fn xx(self) -> Self {
        self.with("XX")
    }

    /// `GT`.
    pub fn gt(self) -> Self {
        self.with("GT")
    }

    /// `LT`.
    pub fn lt(self) -> Self {
        self.with("LT")
    }
}

/// Options of HEXPIREAT.
impl Request<'_, options::Hexpireat> {
    /// `NX`.
    pub fn nx(self) -> Self {
        self.with("NX")
    }

    /// `XX`.
    pub fn xx(self) -> Self {
        self.with("XX")
    }

    /// `GT`.
    pub fn gt(self) -> Self {
        self.with("GT")
    }

    /// `LT`.
    pub fn lt(self) -> Self {
        self.with("LT")
    }
}

/// Options of HGETEX.
impl Request<'_, options::Hgetex> {
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

/// Options of HPEXPIRE.
impl Request<'_, options::Hpexpire> {
    /// `NX`.
    pub fn nx(self) -> Self {
        self.with("NX")
    }

    /// `XX`.
    pub fn xx(self) -> Self {
        self.with("XX")
    }

    /// `GT`.
    pub fn gt(self) -> Self {
        self.with("GT")
    }

    /// `LT`.
    pub fn lt(self) -> Self {
        self.with("LT")
    }
}

/// Options of HPEXPIREAT.
impl Request<'_, options::Hpexpireat> {
    /// `NX`.
    pub fn nx(self) -> Self {
        self.with("NX")
    }

    /// `XX`.
    pub fn xx(self) -> Self {
        self.with("XX")
    }

    /// `GT`.
    pub fn gt(self) -> Self {
        self.with("GT")
    }

    /// `LT`.
    pub fn lt(self) -> Self {
        self.with("LT")
    }
}

/// Options of HRANDFIELD.
impl Request<'_, options::Hrandfield> {
    /// The argument `count-block`.
    pub fn count_block(self, count: impl Arg, withvalues: bool) -> Self {
        self.with(count).with(withvalues.then_some("WITHVALUES"))
    }
}

/// Options of HSCAN.
impl Request<'_, options::Hscan> {
    /// `MATCH`.
    pub fn match_(self, pattern: impl Arg) -> Self {
        self.with("MATCH").with(pattern)
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }

    /// `NOVALUES`.
    pub fn novalues(self) -> Self {
        self.with("NOVALUES")
    }
}

/// Options of HSETEX.
impl Request<'_, options::Hsetex> {
    /// `FNX`.
    pub fn fnx(self) -> Self {
        self.with("FNX")
    }

    /// `FXX`.
    pub fn fxx(self) -> Self {
        self.with("FXX")
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

    /// Of HEXPIRE.
    #[derive(Debug)]
    pub enum Hexpire {}
    /// Of HEXPIREAT.
    #[derive(Debug)]
    pub enum Hexpireat {}
    /// Of HGETEX.
    #[derive(Debug)]
    pub enum Hgetex {}
    /// Of HPEXPIRE.
    #[derive(Debug)]
    pub enum Hpexpire {}
    /// Of HPEXPIREAT.
    #[derive(Debug)]
    pub enum Hpexpireat {}
    /// Of HRANDFIELD.
    #[derive(Debug)]
    pub enum Hrandfield {}
    /// Of HSCAN.
    #[derive(Debug)]
    pub enum Hscan {}
    /// Of HSETEX.
    #[derive(Debug)]
    pub enum Hsetex {}
}
