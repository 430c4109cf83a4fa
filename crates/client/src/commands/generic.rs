//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group generic.
pub trait GenericCommands: Target {
    /// Copies a value with its deadline to another key.
    ///
    /// `COPY source destination [DB destination-db] [REPLACE]`
    fn copy(&self, source: impl Arg, destination: impl Arg) -> Request<'_, options::Copy> {
        Request::of(self.target(), &table::COPY).with(source).with(destination)
    }

    /// Deletes keys.
    ///
    /// `DEL key [key ...]`
    fn del(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::DEL).with(keys)
    }

    /// Returns a value in a form that RESTORE takes.
    ///
    /// `DUMP key`
    fn dump(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::DUMP).with(key)
    }

    /// Counts the keys that exist.
    ///
    /// `EXISTS key [key ...]`
    fn exists(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::EXISTS).with(keys)
    }

    /// Sets the time to live of a key in seconds.
    ///
    /// `EXPIRE key seconds [NX | XX | GT | LT]`
    fn expire(&self, key: impl Arg, seconds: impl Arg) -> Request<'_, options::Expire> {
        Request::of(self.target(), &table::EXPIRE).with(key).with(seconds)
    }

    /// Sets the deadline of a key as a Unix time in seconds.
    ///
    /// `EXPIREAT key unix-time-seconds [NX | XX | GT | LT]`
    fn expireat(&self, key: impl Arg, unix_time_seconds: impl Arg) -> Request<'_, options::Expireat> {
        Request::of(self.target(), &table::EXPIREAT).with(key).with(unix_time_seconds)
    }

    /// Returns the deadline of a key as a Unix time in seconds.
    ///
    /// `EXPIRETIME key`
    fn expiretime(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::EXPIRETIME).with(key)
    }

    /// Lists the keys that match a pattern.
    ///
    /// `KEYS pattern`
    fn keys(&self, pattern: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::KEYS).with(pattern)
    }

    /// Moves keys to another server.
    ///
    /// `MIGRATE host port <key | ""> destination-db timeout [COPY] [REPLACE] [AUTH password | AUTH2 username password] [KEYS key [key ...]]`
    fn migrate(&self, host: impl Arg, port: impl Arg, key_or_empty_string: impl Arg, destination_db: impl Arg, timeout: impl Arg) -> Request<'_, options::Migrate> {
        Request::of(self.target(), &table::MIGRATE).with(host).with(port).with(key_or_empty_string).with(destination_db).with(timeout)
    }

    /// Moves a key to another database.
    ///
    /// `MOVE key db`
    fn move_(&self, key: impl Arg, db: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::MOVE).with(key).with(db)
    }

    /// Names the encoding of a value.
    ///
    /// `OBJECT ENCODING key`
    fn object_encoding(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::OBJECT_ENCODING).with(key)
    }

    /// Returns how often a key is used, on a logarithmic scale.
    ///
    /// `OBJECT FREQ key`
    fn object_freq(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::OBJECT_FREQ).with(key)
    }

    /// Describes the subcommands.
    ///
    /// `OBJECT HELP`
    fn object_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::OBJECT_HELP)
    }

    /// Returns for how many seconds a key was not used.
    ///
    /// `OBJECT IDLETIME key`
    fn object_idletime(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::OBJECT_IDLETIME).with(key)
    }

    /// Returns the number of references to a value.
    ///
    /// `OBJECT REFCOUNT key`
    fn object_refcount(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::OBJECT_REFCOUNT).with(key)
    }

    /// Removes the deadline of a key.
    ///
    /// `PERSIST key`
    fn persist(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::PERSIST).with(key)
    }

    /// Sets the time to live of a key in milliseconds.
    ///
    /// `PEXPIRE key milliseconds [NX | XX | GT | LT]`
    fn pexpire(&self, key: impl Arg, milliseconds: impl Arg) -> Request<'_, options::Pexpire> {
        Request::of(self.target(), &table::PEXPIRE).with(key).with(milliseconds)
    }

    /// Sets the deadline of a key as a Unix time in milliseconds.
    ///
    /// `PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT]`
    fn pexpireat(&self, key: impl Arg, unix_time_milliseconds: impl Arg) -> Request<'_, options::Pexpireat> {
        Request::of(self.target(), &table::PEXPIREAT).with(key).with(unix_time_milliseconds)
    }

    /// Returns the deadline of a key as a Unix time in milliseconds.
    ///
    /// `PEXPIRETIME key`
    fn pexpiretime(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::PEXPIRETIME).with(key)
    }

    /// Returns the time to live of a key in milliseconds.
    ///
    /// `PTTL key`
    fn pttl(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::PTTL).with(key)
    }

    /// Returns a random key of the database.
    ///
    /// `RANDOMKEY`
    fn randomkey(&self) -> Request<'_> {
        Request::of(self.target(), &table::RANDOMKEY)
    }

    /// Gives a key another name, replacing what is there.
    ///
    /// `RENAME key newkey`
    fn rename(&self, key: impl Arg, newkey: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::RENAME).with(key).with(newkey)
    }

    /// Gives a key another name that is free.
    ///
    /// `RENAMENX key newkey`
    fn renamenx(&self, key: impl Arg, newkey: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::RENAMENX).with(key).with(newkey)
    }

    /// Adds a key with a value that DUMP returned.
    ///
    /// `RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]`
    fn restore(&self, key: impl Arg, ttl: impl Arg, serialized_value: impl Arg) -> Request<'_, options::Restore> {
        Request::of(self.target(), &table::RESTORE).with(key).with(ttl).with(serialized_value)
    }

    /// Lists keys step by step.
    ///
    /// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`
    fn scan(&self, cursor: impl Arg) -> Request<'_, options::Scan> {
        Request::of(self.target(), &table::SCAN).with(cursor)
    }

    /// Sorts the elements of a list, a set or a sorted set, and optionally stores them.
    ///
    /// `SORT key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]`
    fn sort(&self, key: impl Arg) -> Request<'_, options::Sort> {
        Request::of(self.target(), &table::SORT).with(key)
    }

    /// Sorts the elements of a list, a set or a sorted set.
    ///
    /// `SORT_RO key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] [ASC | DESC] [ALPHA]`
    fn sort_ro(&self, key: impl Arg) -> Request<'_, options::SortRo> {
        Request::of(self.target(), &table::SORT_RO).with(key)
    }

    /// Counts the keys that exist, as if they were read.
    ///
    /// `TOUCH key [key ...]`
    fn touch(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TOUCH).with(keys)
    }

    /// Returns the time to live of a key in seconds.
    ///
    /// `TTL key`
    fn ttl(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TTL).with(key)
    }

    /// Names the type of the value of a key.
    ///
    /// `TYPE key`
    fn type_(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TYPE).with(key)
    }

    /// Deletes keys, and frees big values in the background.
    ///
    /// `UNLINK key [key ...]`
    fn unlink(&self, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::UNLINK).with(keys)
    }

    /// Waits until as many replicas have all writes of the connection so far.
    ///
    /// `WAIT numreplicas timeout`
    fn wait(&self, numreplicas: impl Arg, timeout: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::WAIT).with(numreplicas).with(timeout)
    }

    /// Waits until the writes of the connection so far are in the append only files of this server, of as many replicas, or both.
    ///
    /// `WAITAOF numlocal numreplicas timeout`
    fn waitaof(&self, numlocal: impl Arg, numreplicas: impl Arg, timeout: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::WAITAOF).with(numlocal).with(numreplicas).with(timeout)
    }
}

impl<T: Target + ?Sized> GenericCommands for T {}

/// Options of COPY.
impl Request<'_, options::Copy> {
    /// `DB`.
    pub fn db(self, destination_db: impl Arg) -> Self {
        self.with("DB").with(destination_db)
    }

    /// `REPLACE`.
    pub fn replace(self) -> Self {
        self.with("REPLACE")
    }
}

/// Options of EXPIRE.
impl Request<'_, options::Expire> {
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

/// Options of EXPIREAT.
impl Request<'_, options::Expireat> {
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

/// Options of MIGRATE.
impl Request<'_, options::Migrate> {
    /// `COPY`.
    pub fn copy(self) -> Self {
        self.with("COPY")
    }

    /// `REPLACE`.
    pub fn replace(self) -> Self {
        self.with("REPLACE")
    }

    /// `AUTH`.
    pub fn auth(self, password: impl Arg) -> Self {
        self.with("AUTH").with(password)
    }

    /// `AUTH2`.
    pub fn auth2(self, username: impl Arg, password: impl Arg) -> Self {
        self.with("AUTH2").with(username).with(password)
    }

    /// `KEYS`.
    pub fn keys(self, keys: impl Arg) -> Self {
        self.with("KEYS").with(keys)
    }
}

/// Options of PEXPIRE.
impl Request<'_, options::Pexpire> {
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

/// Options of PEXPIREAT.
impl Request<'_, options::Pexpireat> {
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

/// Options of RESTORE.
impl Request<'_, options::Restore> {
    /// `REPLACE`.
    pub fn replace(self) -> Self {
        self.with("REPLACE")
    }

    /// `ABSTTL`.
    pub fn absttl(self) -> Self {
        self.with("ABSTTL")
    }

    /// `IDLETIME`.
    pub fn idletime(self, seconds: impl Arg) -> Self {
        self.with("IDLETIME").with(seconds)
    }

    /// `FREQ`.
    pub fn freq(self, frequency: impl Arg) -> Self {
        self.with("FREQ").with(frequency)
    }
}

/// Options of SCAN.
impl Request<'_, options::Scan> {
    /// `MATCH`.
    pub fn match_(self, pattern: impl Arg) -> Self {
        self.with("MATCH").with(pattern)
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }

    /// `TYPE`.
    pub fn type_(self, type_: impl Arg) -> Self {
        self.with("TYPE").with(type_)
    }
}

/// Options of SORT.
impl Request<'_, options::Sort> {
    /// `BY`.
    pub fn by(self, by_pattern: impl Arg) -> Self {
        self.with("BY").with(by_pattern)
    }

    /// `LIMIT`.
    pub fn limit(self, offset: impl Arg, count: impl Arg) -> Self {
        self.with("LIMIT").with(offset).with(count)
    }

    /// `GET`.
    pub fn get(self, get_patterns: impl Arg) -> Self {
        self.with(get_patterns)
    }

    /// `ASC`.
    pub fn asc(self) -> Self {
        self.with("ASC")
    }

    /// `DESC`.
    pub fn desc(self) -> Self {
        self.with("DESC")
    }

    /// `ALPHA`.
    pub fn alpha(self) -> Self {
        self.with("ALPHA")
    }

    /// `STORE`.
    pub fn store(self, destination: impl Arg) -> Self {
        self.with("STORE").with(destination)
    }
}

/// Options of SORT_RO.
impl Request<'_, options::SortRo> {
    /// `BY`.
    pub fn by(self, by_pattern: impl Arg) -> Self {
        self.with("BY").with(by_pattern)
    }

    /// `LIMIT`.
    pub fn limit(self, offset: impl Arg, count: impl Arg) -> Self {
        self.with("LIMIT").with(offset).with(count)
    }

    /// `GET`.
    pub fn get(self, get_patterns: impl Arg) -> Self {
        self.with(get_patterns)
    }

    /// `ASC`.
    pub fn asc(self) -> Self {
        self.with("ASC")
    }

    /// `DESC`.
    pub fn desc(self) -> Self {
        self.with("DESC")
    }

    /// `ALPHA`.
    pub fn alpha(self) -> Self {
        self.with("ALPHA")
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of COPY.
    #[derive(Debug)]
    pub enum Copy {}
    /// Of EXPIRE.
    #[derive(Debug)]
    pub enum Expire {}
    /// Of EXPIREAT.
    #[derive(Debug)]
    pub enum Expireat {}
    /// Of MIGRATE.
    #[derive(Debug)]
    pub enum Migrate {}
    /// Of PEXPIRE.
    #[derive(Debug)]
    pub enum Pexpire {}
    /// Of PEXPIREAT.
    #[derive(Debug)]
    pub enum Pexpireat {}
    /// Of RESTORE.
    #[derive(Debug)]
    pub enum Restore {}
    /// Of SCAN.
    #[derive(Debug)]
    pub enum Scan {}
    /// Of SORT.
    #[derive(Debug)]
    pub enum Sort {}
    /// Of SORT_RO.
    #[derive(Debug)]
    pub enum SortRo {}
}
