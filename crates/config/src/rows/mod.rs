//! The table of options: one row each, written once.
//!
//! The rows stand in one file per area. Since `Id` must be one enum over all of
//! them, each file is a macro that adds its rows to those before it and calls
//! the next; the last, `table!`, makes `Id` and `ROWS` from the whole. A row is
//!
//! ```text
//! Id: "name", ["aliases"], OptionKind, "default", flags, state, "documentation";
//! ```
//!
//! Names, ranges, defaults and flags are those of Redis 7.4. Invariants (tests
//! in `laws.rs`): names are unique and lower-case, every default parses to
//! itself, every row is documented.

use crate::check::{
    any, appenddirname, appendfilename, dbfilename, hostname, networks, nodename, secrets,
    title_template,
};
use crate::choices::{
    AccessLogFormat, AclPubsubDefault, Appendfsync, Choice as _, ClusterEndpointType,
    ForwardedHeader, LogFormat, Loglevel, MaxmemoryPolicy, OomScoreAdj, PropagationErrorBehavior,
    ProtectedAction, ReplDisklessLoad, SHUTDOWN, SanitizeDumpPayload, Supervised, SyslogFacility,
    TlsAuthClients, TlsAuthClientsUser, WebCompression,
};
use crate::kind::OptionKind::*;
use crate::kind::State::*;
use crate::kind::{
    Area, DEBUG, DENY_LOADING, HIDDEN, IMMUTABLE, MULTI, OptionKind, PROTECTED, RUNTIME, SENSITIVE,
    State, VOLATILE,
};

#[macro_use]
mod network;
#[macro_use]
mod memory;
#[macro_use]
mod types;
#[macro_use]
mod security;
#[macro_use]
mod persistence;
#[macro_use]
mod replication;
#[macro_use]
mod cluster;
#[macro_use]
mod tls;
#[macro_use]
mod general;

const INT_MIN: i64 = i32::MIN as i64;
const INT_MAX: i64 = i32::MAX as i64;
const UINT_MAX: i64 = u32::MAX as i64;
const LONG_MAX: i64 = i64::MAX;
// Redis keeps these in a signed 64-bit number.
const BYTES_MAX: u64 = i64::MAX as u64;
const MB: u64 = 1 << 20;

// Why an accepted option has no effect.
const ACCEPT_BATCH: &str = "each thread accepts what is waiting, within a bound of its own";
const AFFINITY: &str = "leave placement to taskset, cgroups or the service manager";
const ALLOCATOR: &str = "Apus uses mimalloc, which is neither tuned nor defragmented this way";
const ALL_THREADS: &str = "commands run on every worker thread; see `threads`";
const ALWAYS_CHECKED: &str = "such values are always verified";
const BYTE_ORDER: &str = "strings are compared byte by byte";
const CORE_DUMP: &str = "a crash is left to the system's core dumps";
const COSMETIC: &str = "Apus shows neither a banner nor a title of its own";
const EVICTION_COUNTS: &str = "evicted values are freed at once unless that takes long, since eviction ends when enough memory is free";
const LOADING_THREADS: &str = "loading does not stand in the event loop's way";
const NOT_ROUTED: &str = "sockets are not marked";
const COPY_IS_A_FILE: &str = "a copy always arrives whole and is proved, in a file, before it replaces the data; until then the old data is served, and while the copy is loaded clients get -LOADING";
const NO_CLUSTER: &str = "there is no cluster mode";
const NO_FORK: &str = "Apus snapshots without fork";
const NO_MODULES: &str = "Apus loads no modules";
const SNAPSHOT_BASE: &str = "the base of the journal is always a snapshot";
const TIMED_RECORDS: &str = "every record of the journal has its time";
const NO_HISTORY: &str = "files that a rewrite makes superfluous are always removed";
const NO_NODE: &str = "Apus has no cluster mode, and would take keys that belong to other nodes; start it without this option to have a server of its own";
const NO_REPLICATION: &str = "replication does without it";
const NO_DH: &str = "Diffie-Hellman over finite fields is not offered; elliptic curves are";
const NO_USER_DATA: &str = "the log never carries keys or values";
const NO_WARNINGS: &str = "no start-up warning stops the server";
const OWN_PACE: &str = "background work adapts by itself";
const SUPERVISOR: &str = "left to the service manager that runs Apus";
const TABLE_GROWS: &str = "tables grow step by step with the requests";
const TESTING: &str = "a switch of Redis's own test builds";

/// One option.
#[derive(Debug)]
pub struct Row {
    /// The option.
    pub id: Id,
    /// Primary name, lower-case.
    pub name: &'static str,
    /// Further names that mean the same option.
    pub aliases: &'static [&'static str],
    /// The kind of its values.
    pub kind: OptionKind,
    /// Value of a fresh server, as it would be written in a file.
    pub default: &'static str,
    /// Any of the flags below.
    pub flags: u16,
    /// Whether the option has an effect in Apus.
    pub state: State,
    /// Its meaning, with its unit.
    pub doc: &'static str,
    /// Where it stands in help and documentation.
    pub area: Area,
}

impl Row {
    /// Whether the row has all of `flags`.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// The primary name and then the aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

macro_rules! table {
    (; $($area:ident { $(
        $id:ident: $name:literal, $aliases:expr, $kind:expr, $default:literal, $flags:expr,
        $state:expr, $doc:literal;
    )* })*) => {
        /// Every option, for typed and direct access.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Id { $($( #[doc = $doc] $id, )*)* }

        /// The rows, in the order of [`Id`].
        pub static ROWS: [Row; COUNT] = [ $($( Row {
            id: Id::$id, name: $name, aliases: &$aliases, kind: $kind, default: $default,
            flags: $flags, state: $state, doc: $doc, area: Area::$area,
        }, )*)* ];

        /// Number of options.
        pub const COUNT: usize = [ $($( Id::$id, )*)* ].len();
    };
}

network_rows! { memory_rows types_rows security_rows persistence_rows replication_rows
cluster_rows tls_rows general_rows table; }

impl Id {
    /// The row of this option.
    #[inline]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The option's primary name.
    pub fn name(self) -> &'static str {
        self.row().name
    }
}
