//! The parts of a row of the table: kinds of value, flags, state, area.
//!
//! This is the vocabulary the rows are written in; it knows nothing of any
//! single option.

/// No flag: CONFIG SET may change it.
pub const RUNTIME: u16 = 0;
/// CONFIG SET refuses it; only the file and the command line set it.
pub const IMMUTABLE: u16 = 1;
/// Its value must stay out of logs, slow log and MONITOR.
pub const SENSITIVE: u16 = 2;
/// CONFIG GET shows it only when asked by its exact name.
pub const HIDDEN: u16 = 4;
/// Its value is several words.
pub const MULTI: u16 = 8;
/// Belongs into a crash report.
pub const DEBUG: u16 = 16;
/// CONFIG SET refuses it unless `enable-protected-configs` allows it.
pub const PROTECTED: u16 = 32;
/// Setting it again to the same value counts as a change: a file behind it may be new.
pub const VOLATILE: u16 = 64;
/// CONFIG SET refuses it while a data set is loaded.
pub const DENY_LOADING: u16 = 128;

/// A check of a text value; the error is the text CONFIG SET shows.
pub type Check = fn(&[u8]) -> Result<(), &'static str>;

/// Names of an enumeration and the value behind each; several names may share one.
pub type Names = &'static [(&'static str, i64)];

/// The kind of an option's values.
#[derive(Debug, Clone, Copy)]
pub enum OptionKind {
    /// `yes` or `no`.
    Bool,
    /// A switch that can only be `no`; the text says why.
    Off(&'static str),
    /// An integer between two bounds, both included.
    Int(i64, i64),
    /// An integer between two bounds, both included, or 0, which switches the option off.
    ZeroOr(i64, i64),
    /// An integer that is silently held between 1 and 500.
    Hz,
    /// An octal number from 0 to a bound.
    Octal(i64),
    /// Bytes, with an optional unit, between two bounds.
    Memory(u64, u64),
    /// Bytes, or a percentage up to 100 (kept as a negative number).
    MemoryOrPercent,
    /// One of some names.
    Choice(Names),
    /// Any of some names at once, as bits.
    Set(Names),
    /// A text; empty is a value like any other.
    Text(Check),
    /// A text; empty means that it is not set.
    Optional(Check),
    /// A directory that exists; kept as its absolute path.
    Dir,
    /// Pairs of seconds and changes.
    Save,
    /// `class hard soft seconds`, for each class of client.
    OutputLimits,
    /// Three out-of-memory scores.
    OomValues,
    /// Letters that choose keyspace events.
    Events,
    /// Listening addresses.
    Bind,
    /// Host and port, or `no one`.
    ReplicaOf,
    /// Numbers from 0 to 100.
    Percentiles,
}

impl OptionKind {
    /// Whether values live in a number, readable without a lock.
    pub(crate) fn is_number(&self) -> bool {
        use OptionKind::*;
        matches!(
            self,
            Bool | Off(_)
                | Int(..)
                | ZeroOr(..)
                | Hz
                | Octal(_)
                | Memory(..)
                | MemoryOrPercent
                | Choice(_)
                | Set(_)
                | Events
        )
    }
}

/// Whether an option does anything in Apus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does what its documentation says.
    Effective,
    /// It is read, kept and answered, but changes nothing; the text says why.
    Accepted(&'static str),
    /// Any value but the default keeps the server from starting, since going on without the option's
    /// effect would do harm; the text says what would happen.
    Refused(&'static str),
}

/// Where an option stands in help and documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// Options that only Apus has.
    Apus,
    /// Listening and connections.
    Network,
    /// The process itself.
    Process,
    /// The log.
    Logging,
    /// Passwords and guarded commands.
    Security,
    /// Memory, eviction and expiry.
    Memory,
    /// Slow log, latency, events.
    Observation,
    /// Encodings of the data types.
    Types,
    /// Scripts.
    Scripts,
    /// Snapshots and the append-only file.
    Persistence,
    /// Replication.
    Replication,
    /// Cluster mode.
    Cluster,
    /// TLS.
    Tls,
}

impl Area {
    /// All areas in the order in which they are shown, with their headings.
    pub const ALL: [(Area, &'static str); 13] = [
        (Area::Apus, "Apus's own"),
        (Area::Network, "Network"),
        (Area::Process, "Process"),
        (Area::Logging, "Logging"),
        (Area::Security, "Security"),
        (Area::Memory, "Memory and expiry"),
        (Area::Observation, "Observation"),
        (Area::Types, "Data types"),
        (Area::Scripts, "Scripts"),
        (Area::Persistence, "Persistence"),
        (Area::Replication, "Replication"),
        (Area::Cluster, "Cluster"),
        (Area::Tls, "TLS"),
    ];
}
