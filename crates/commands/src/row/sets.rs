//! The sets of bits in a row: behaviour flags, ACL categories, documentation
//! flags, key flags. Each is an integer with `const` constructors, so that a
//! row is a constant, and lists its public names once, in the order in which
//! Redis prints them.

/// Makes a set-of-bits newtype with const constructors, `or`, `has`, and the
/// names of its bits in the order in which Redis prints them.
macro_rules! bit_set {
    ($(#[$doc:meta])* $type:ident($int:ty) { $($(#[$bit_doc:meta])* $bit:ident = $shift:literal $(, $name:literal)?;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub struct $type($int);

        impl $type {
            /// The empty set.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self(1 << $shift);)*

            /// Each bit that has a public name, in Redis's order.
            pub const NAMED: &'static [(Self, &'static str)] = &[$($((Self::$bit, $name),)?)*];

            /// The union; `const`, for use in rows.
            #[must_use]
            pub const fn or(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// This set without `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Whether all of `other` is in this set.
            #[inline]
            #[must_use]
            pub const fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Whether any of `other` is in this set.
            #[inline]
            #[must_use]
            pub const fn has_any(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// The bits, for storing the set elsewhere.
            #[must_use]
            pub const fn bits(self) -> $int {
                self.0
            }

            /// The public names of the bits set, in Redis's order.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                Self::NAMED.iter().filter(move |(bit, _)| self.has(*bit)).map(|(_, name)| *name)
            }
        }
    };
}

bit_set! {
    /// Facts about a command that dispatch needs and Redis has no flag for, so that no code compares
    /// its name.
    Traits(u32) {
        /// Runs the commands of the session's transaction.
        EXEC = 0;
        /// Runs inside MULTI and is not queued.
        IMMEDIATE = 1;
        /// A client that has subscribed in RESP2 may run it.
        WHILE_SUBSCRIBED = 2;
        /// Refused like a write while the disk does not take writes.
        NEEDS_DISK = 3;
        /// May end a script, and so runs while one blocks all other commands.
        ENDS_SCRIPTS = 4;
        /// A snapshot follows it, if there are save points.
        SAVES_AFTER = 5;
        /// Looks at other connections or changes them, and may need any shard for that.
        CONNECTIONS = 6;
        /// Changes the libraries of functions.
        FUNCTIONS = 7;
        /// Takes constant time, though it is not among the commands that Redis calls fast.
        CONSTANT = 8;
        /// Takes time in proportion to its reply, except for finding where to begin.
        BY_REPLY = 9;
        /// Its first member comes behind the member's score.
        SCORE_FIRST = 10;
        /// Changes options.
        SETS_OPTIONS = 11;
        /// Runs the script that is argument 1.
        RUNS_TEXT = 12;
        /// Runs the script whose digest is argument 1.
        RUNS_DIGEST = 13;
        /// Runs the function that argument 1 names.
        RUNS_FUNCTION = 14;
        /// Looks at all keys, one shard after the other, and may let other commands run in between.
        WALKS_KEYSPACE = 15;
        /// Takes time in proportion to the values of its keys: it looks at all of them.
        COST_OF_VALUES = 16;
        /// Takes time in proportion to the smallest of the values that it reads: it looks at as many parts of the others.
        COST_OF_SMALLEST = 17;
        /// Takes time in proportion to its option COUNT, which says how many keys or members it looks at.
        COST_OF_COUNT = 18;
        /// Tells of the script that is running, and so does not wait for it.
        TELLS_OF_SCRIPTS = 19;
        /// Keeps the script that is argument 2.
        KEEPS_TEXT = 20;
        /// Forgets all scripts.
        FORGETS_SCRIPTS = 21;
        /// Redis sorted its reply for scripts, while it wrote scripts themselves to its files.
        SORTED_FOR_SCRIPTS = 22;
        /// Estimates its time itself, before it does anything ([`store::Budget`]).
        ESTIMATES_ITSELF = 23;
        /// Locks all shards itself, at least for a moment.
        LOCKS_ALL = 24;
    }
}

bit_set! {
    /// The rights of a command and the times at which it may run. COMMAND INFO
    /// shows no bits without a public name, as in Redis.
    Flags(u64) {
        /// May modify the keyspace.
        WRITE = 0, "write";
        /// Never modifies the keyspace.
        READONLY = 1, "readonly";
        /// Rejected while memory is over `maxmemory`.
        DENYOOM = 2, "denyoom";
        /// Comes from a module.
        MODULE = 3, "module";
        /// An administrative command.
        ADMIN = 4, "admin";
        /// Publishes or subscribes.
        PUBSUB = 5, "pubsub";
        /// Not allowed in scripts.
        NOSCRIPT = 6, "noscript";
        /// May block the client.
        BLOCKING = 7, "blocking";
        /// Allowed while the data set is loading.
        LOADING = 8, "loading";
        /// Allowed on a replica with stale data.
        STALE = 9, "stale";
        /// Not shown by MONITOR.
        SKIP_MONITOR = 10, "skip_monitor";
        /// Not recorded in the slow log.
        SKIP_SLOWLOG = 11, "skip_slowlog";
        /// Implies ASKING in a cluster.
        ASKING = 12, "asking";
        /// Runs in constant or logarithmic time.
        FAST = 13, "fast";
        /// Allowed before authentication.
        NO_AUTH = 14, "no_auth";
        /// May write to the journal without being a write (EVAL, PUBLISH).
        MAY_REPLICATE = 15;
        /// Exists in sentinel mode too.
        SENTINEL = 16;
        /// Exists in sentinel mode only.
        ONLY_SENTINEL = 17;
        /// Takes keys, but may be called without any.
        NO_MANDATORY_KEYS = 18, "no_mandatory_keys";
        /// Needs `enable-…-command` (DEBUG, MODULE).
        PROTECTED = 19;
        /// Not allowed while a replica loads in the background.
        NO_ASYNC_LOADING = 20, "no_async_loading";
        /// Not allowed in a transaction.
        NO_MULTI = 21, "no_multi";
        /// First, last and step do not name all keys; derived, not written.
        MOVABLEKEYS = 22, "movablekeys";
        /// Allowed while a script has run too long.
        ALLOW_BUSY = 23, "allow_busy";
        /// Touches keys it does not name (SCAN's expiry, RANDOMKEY).
        TOUCHES_ARBITRARY_KEYS = 24;
    }
}

bit_set! {
    /// ACL categories, in the order in which ACL CAT lists them.
    Acl(u32) {
        /// Works on keys of any type, or on the keyspace as a whole.
        KEYSPACE = 0, "keyspace";
        /// Reads; derived from READONLY.
        READ = 1, "read";
        /// Writes; derived from WRITE.
        WRITE = 2, "write";
        /// Sets.
        SET = 3, "set";
        /// Sorted sets.
        SORTEDSET = 4, "sortedset";
        /// Lists.
        LIST = 5, "list";
        /// Hashes.
        HASH = 6, "hash";
        /// Strings.
        STRING = 7, "string";
        /// Bitmaps.
        BITMAP = 8, "bitmap";
        /// HyperLogLogs.
        HYPERLOGLOG = 9, "hyperloglog";
        /// Geospatial indexes.
        GEO = 10, "geo";
        /// Streams.
        STREAM = 11, "stream";
        /// Publish and subscribe; derived from PUBSUB.
        PUBSUB = 12, "pubsub";
        /// Administration; derived from ADMIN.
        ADMIN = 13, "admin";
        /// Constant or logarithmic time; derived from FAST.
        FAST = 14, "fast";
        /// Everything that is not fast.
        SLOW = 15, "slow";
        /// May block; derived from BLOCKING.
        BLOCKING = 16, "blocking";
        /// To be kept from ordinary users.
        DANGEROUS = 17, "dangerous";
        /// The connection itself.
        CONNECTION = 18, "connection";
        /// Transactions.
        TRANSACTION = 19, "transaction";
        /// Scripts and functions.
        SCRIPTING = 20, "scripting";
        /// Topics, which Redis does not have.
        TOPIC = 21, "topic";
        /// Not a category: the group's category does not apply (SORT, WAIT).
        NO_GROUP = 31;
    }
}

bit_set! {
    /// Documentation flags.
    DocFlags(u8) {
        /// Replaced by something else.
        DEPRECATED = 0, "deprecated";
        /// For the server's own use.
        SYSCMD = 1, "syscmd";
    }
}

bit_set! {
    /// How a key is accessed: exactly one of RO, RW, OW, RM; then the use of the
    /// data; then the gaps that the specification leaves.
    KeyFlags(u16) {
        /// Reads the value.
        RO = 0, "RO";
        /// Reads and writes the value or its metadata.
        RW = 1, "RW";
        /// Overwrites the value.
        OW = 2, "OW";
        /// Removes the key.
        RM = 3, "RM";
        /// Returns, copies or uses the user's data.
        ACCESS = 4, "access";
        /// Changes the user's data.
        UPDATE = 5, "update";
        /// Adds data and changes none.
        INSERT = 6, "insert";
        /// Deletes data explicitly.
        DELETE = 7, "delete";
        /// Not a key, but routed like one (SPUBLISH's channel).
        NOT_KEY = 8, "not_key";
        /// There may be keys the specification does not find.
        INCOMPLETE = 9, "incomplete";
        /// The flags depend on the arguments; `get_keys` knows.
        VARIABLE_FLAGS = 10, "variable_flags";
    }
}
