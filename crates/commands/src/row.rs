//! A command's row: everything the server knows about a command besides its
//! function, as one `'static` constant.
//!
//! Why data and not code: COMMAND INFO and DOCS, ACL categories, key locking,
//! cluster routing, the reference page and the laws of [`crate::laws`] all ask
//! the same questions, so they are answered once. The vocabulary (arity, flags,
//! key specifications, tips) is Redis's, described on its pages "COMMAND",
//! "Key specifications" and "Command tips", because clients read it.
//!
//! Invariants, checked by `laws::check_rows`: names are lower case; a key
//! specification points at arguments that the syntax line calls keys; flags
//! and keys agree. Flags that follow from others (`movablekeys`, `@read`,
//! `@slow` …) are never written in a row: [`Row::all_flags`] and [`Row::acl_categories`]
//! derive them as Redis does.

pub use crate::keys::{Argv, KeyError, KeyPos, keys, positions};

/// The row of a command or of a subcommand. Write it as
/// `Row { name: …, ..Row::DEFAULT }`.
pub struct Row {
    /// Lower case; a subcommand is written `container|sub`.
    pub name: &'static str,
    /// The documentation group; it also implies an ACL category.
    pub group: Group,
    /// The version of Redis that introduced it, `major.minor.patch`.
    pub since: &'static str,
    /// Number of arguments including the name (for a subcommand, both words);
    /// negative: at least that many.
    pub arity: i16,
    /// Behaviour flags, without those that are derived.
    pub flags: Flags,
    /// ACL categories beyond those that flags and group imply.
    pub acl: Acl,
    /// Where the keys are.
    pub keys: &'static [KeySpec],
    /// Finds the keys where the specifications cannot (SORT … STORE) or cannot
    /// say how they are accessed (SET … GET).
    pub get_keys: Option<GetKeys>,
    /// Hints for clients and proxies, in Redis's words (`request_policy:…`).
    pub tips: &'static [&'static str],
    /// What changed in which version: `(version, change)`.
    pub history: &'static [(&'static str, &'static str)],
    /// Deprecated, or internal.
    pub doc_flags: DocFlags,
    /// The version that deprecated it; empty if none did.
    pub deprecated_since: &'static str,
    /// What to use instead, in markdown; empty if nothing.
    pub replaced_by: &'static str,
    /// The rows of its subcommands; empty for a plain command.
    pub subcommands: &'static [&'static Row],
    /// Which shards are locked while it runs.
    pub scope: Scope,
    /// The syntax line of its page; [`crate::syntax`] derives the argument
    /// tree of COMMAND DOCS from it.
    pub syntax: &'static str,
    /// One line that ends with a full stop.
    pub summary: &'static str,
    /// Time complexity, as on the command's page.
    pub complexity: &'static str,
    /// An example session, which is also its test and its comparison with a
    /// real Redis.
    pub transcript: &'static str,
    /// Why there is no transcript (it ends the server, it blocks …); empty
    /// when there is one.
    pub untranscribed: &'static str,
}

/// Names the keys of one call to the sink; an error means that nothing was
/// passed to it.
pub type GetKeys = fn(&dyn Argv, &mut dyn FnMut(KeyPos)) -> Result<(), KeyError>;

impl Row {
    /// The value of every field that a row does not mention.
    pub const DEFAULT: Self = Self {
        name: "",
        group: Group::Generic,
        since: "1.0.0",
        arity: 1,
        flags: Flags::NONE,
        acl: Acl::NONE,
        keys: &[],
        get_keys: None,
        tips: &[],
        history: &[],
        doc_flags: DocFlags::NONE,
        deprecated_since: "",
        replaced_by: "",
        subcommands: &[],
        scope: Scope::Keys,
        syntax: "",
        summary: "",
        complexity: "",
        transcript: "",
        untranscribed: "",
    };

    /// Whether a call with `argc` arguments, the name included, has an
    /// acceptable number of them.
    #[inline]
    #[must_use]
    pub const fn arity_fits(&self, argc: usize) -> bool {
        let least = self.arity.unsigned_abs() as usize;
        if self.arity >= 0 {
            argc == least
        } else {
            argc >= least
        }
    }

    /// The name within its container: `get` of `config|get`.
    #[must_use]
    pub fn sub_name(&self) -> &'static str {
        self.name.rsplit_once('|').map_or(self.name, |(_, sub)| sub)
    }

    /// Whether a call may name keys at all (Redis: `doesCommandHaveKeys`).
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.get_keys.is_some()
            || self
                .keys
                .iter()
                .any(|spec| !spec.flags.has(KeyFlags::NOT_KEY))
    }

    /// The flags of the row and those that follow from its key specifications.
    #[must_use]
    pub fn all_flags(&self) -> Flags {
        if self.legacy_range().1 {
            self.flags.or(Flags::MOVABLEKEYS)
        } else {
            self.flags
        }
    }

    /// First key, last key and step as COMMAND INFO gives them since 2.8:
    /// `(0, 0, 0)` when there are no keys that a plain range describes. A
    /// negative last key counts from the end of the arguments.
    #[must_use]
    pub fn first_last_step(&self) -> (i64, i64, i64) {
        self.legacy_range().0.unwrap_or((0, 0, 0))
    }

    /// The range that covers the most keys, and whether it misses some
    /// (`movablekeys`). Follows Redis: a single range is taken as it is;
    /// of several, those with step 1 that follow one another are joined.
    fn legacy_range(&self) -> (Option<(i64, i64, i64)>, bool) {
        let plain = |spec: &KeySpec| match (spec.begin, spec.find) {
            (BeginSearch::Index(first), FindKeys::Range { last, step, .. }) => {
                let first = i64::from(first);
                let last = i64::from(last);
                Some((
                    first,
                    if last < 0 { last } else { first + last },
                    i64::from(step),
                ))
            }
            _ => None,
        };
        if let [only] = self.keys
            && let Some(range) = plain(only)
        {
            return (Some(range), only.flags.has(KeyFlags::INCOMPLETE));
        }
        let mut movable = false;
        let mut joined: Option<(i64, i64)> = None;
        for spec in self.keys {
            movable |= spec.flags.has(KeyFlags::INCOMPLETE);
            let Some((first, last, step)) = plain(spec) else {
                movable = true;
                continue;
            };
            joined = match joined {
                _ if step != 1 => {
                    movable = true;
                    joined
                }
                None => Some((first, last)),
                // A negative end reaches the last argument: nothing follows it.
                Some((from, to)) if to >= 0 && to == first - 1 => Some((from, last)),
                Some(_) => {
                    movable = true;
                    joined
                }
            };
        }
        (joined.map(|(first, last)| (first, last, 1)), movable)
    }

    /// All ACL categories: the row's own and those that flags and group imply.
    #[must_use]
    pub fn acl_categories(&self) -> Acl {
        let mut acl = self.acl;
        // A container does nothing itself; its subcommands carry the category.
        if !acl.has(Acl::NO_GROUP) && self.subcommands.is_empty() {
            acl = acl.or(self.group.acl());
        }
        if self.flags.has(Flags::WRITE) {
            acl = acl.or(Acl::WRITE);
        }
        // Scripting commands read and write through what they call.
        if self.flags.has(Flags::READONLY) && !acl.has(Acl::SCRIPTING) {
            acl = acl.or(Acl::READ);
        }
        if self.flags.has(Flags::ADMIN) {
            acl = acl.or(Acl::ADMIN).or(Acl::DANGEROUS);
        }
        if self.flags.has(Flags::PUBSUB) {
            acl = acl.or(Acl::PUBSUB);
        }
        if self.flags.has(Flags::BLOCKING) {
            acl = acl.or(Acl::BLOCKING);
        }
        if self.flags.has(Flags::FAST) {
            acl = acl.or(Acl::FAST);
        }
        if !acl.has(Acl::FAST) {
            acl = acl.or(Acl::SLOW);
        }
        acl
    }
}

/// The documentation groups of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are Redis's and say it")]
pub enum Group {
    Generic,
    String,
    List,
    Set,
    SortedSet,
    Hash,
    PubSub,
    Transactions,
    Connection,
    Server,
    Scripting,
    HyperLogLog,
    Cluster,
    Sentinel,
    Geo,
    Stream,
    Bitmap,
    Module,
}

impl Group {
    /// As COMMAND DOCS spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::String => "string",
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "sorted-set",
            Self::Hash => "hash",
            Self::PubSub => "pubsub",
            Self::Transactions => "transactions",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Scripting => "scripting",
            Self::HyperLogLog => "hyperloglog",
            Self::Cluster => "cluster",
            Self::Sentinel => "sentinel",
            Self::Geo => "geo",
            Self::Stream => "stream",
            Self::Bitmap => "bitmap",
            Self::Module => "module",
        }
    }

    /// The ACL category that nearly every command of the group is in; a row
    /// opts out with [`Acl::NO_GROUP`].
    const fn acl(self) -> Acl {
        match self {
            Self::Generic => Acl::KEYSPACE,
            Self::String => Acl::STRING,
            Self::List => Acl::LIST,
            Self::Set => Acl::SET,
            Self::SortedSet => Acl::SORTEDSET,
            Self::Hash => Acl::HASH,
            Self::Transactions => Acl::TRANSACTION,
            Self::Connection => Acl::CONNECTION,
            Self::Scripting => Acl::SCRIPTING,
            Self::HyperLogLog => Acl::HYPERLOGLOG,
            Self::Geo => Acl::GEO,
            Self::Stream => Acl::STREAM,
            Self::Bitmap => Acl::BITMAP,
            // @pubsub follows from the flag: PUBSUB HELP is in the group and not in @pubsub.
            Self::PubSub => Acl::NONE,
            Self::Server | Self::Cluster | Self::Sentinel | Self::Module => Acl::NONE,
        }
    }
}

/// Which shards a command holds while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of its keys, all at once.
    Keys,
    /// Every shard at once: it sees or changes the whole keyspace atomically.
    All,
    /// Every shard, one after the other.
    Each,
    /// None: it never looks at the keyspace.
    None,
}

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
    /// What a command may do and when it may run. Bits without a public name
    /// are, as in Redis, not shown by COMMAND INFO.
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
        /// Not shown to MONITOR.
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
    /// How a key is accessed: exactly one of RO, RW, OW, RM; then what is done
    /// with the data; then what the specification leaves open.
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

/// Where some of a command's keys are: where to begin, and how to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// A remark that COMMAND shows; empty if none.
    pub notes: &'static str,
    /// How these keys are accessed.
    pub flags: KeyFlags,
    /// Finds the argument at which to begin.
    pub begin: BeginSearch,
    /// Finds the keys from there.
    pub find: FindKeys,
}

/// The first step of a key specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginSearch {
    /// At this argument; 0 is the command's name.
    Index(u16),
    /// After the first argument that is this word, whatever its case.
    Keyword {
        /// The word, in upper case.
        word: &'static str,
        /// The argument at which the search starts; negative: counted from the
        /// end, and searched backwards.
        start: i16,
    },
    /// Only `get_keys` can tell.
    Unknown,
}

/// The second step of a key specification; `begin` is the result of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindKeys {
    /// Every `step`-th argument from `begin` on.
    Range {
        /// The last key, relative to `begin`; negative: counted from the last
        /// argument, -1 being it.
        last: i16,
        /// Distance between two keys.
        step: u16,
        /// With `last` = -1, the keys are only the first `1/limit` of the
        /// remaining arguments; 0 and 1: all of them.
        limit: u16,
    },
    /// An argument gives the number of keys.
    KeyNum {
        /// Where the number is, relative to `begin`.
        number: u16,
        /// Where the first key is, relative to `begin`.
        first: u16,
        /// Distance between two keys.
        step: u16,
    },
    /// Only `get_keys` can tell.
    Unknown,
}

impl KeySpec {
    /// One key, at argument `index`.
    #[must_use]
    pub const fn one(index: u16, flags: KeyFlags) -> Self {
        Self::range(index, 0, 1, flags)
    }

    /// Keys from argument `first` on; see [`FindKeys::Range`] for `last`.
    #[must_use]
    pub const fn range(first: u16, last: i16, step: u16, flags: KeyFlags) -> Self {
        let find = FindKeys::Range {
            last,
            step,
            limit: 0,
        };
        Self {
            notes: "",
            flags,
            begin: BeginSearch::Index(first),
            find,
        }
    }

    /// The number of keys is argument `index`, the keys follow it.
    #[must_use]
    pub const fn counted(index: u16, flags: KeyFlags) -> Self {
        let find = FindKeys::KeyNum {
            number: 0,
            first: 1,
            step: 1,
        };
        Self {
            notes: "",
            flags,
            begin: BeginSearch::Index(index),
            find,
        }
    }

    /// Keys after a word; see [`BeginSearch::Keyword`] for `start`.
    #[must_use]
    pub const fn after(word: &'static str, start: i16, find: FindKeys, flags: KeyFlags) -> Self {
        Self {
            notes: "",
            flags,
            begin: BeginSearch::Keyword { word, start },
            find,
        }
    }

    /// Keys that only `get_keys` finds.
    #[must_use]
    pub const fn unknown(flags: KeyFlags) -> Self {
        Self {
            notes: "",
            flags,
            begin: BeginSearch::Unknown,
            find: FindKeys::Unknown,
        }
    }

    /// The same with a remark.
    #[must_use]
    pub const fn notes(self, notes: &'static str) -> Self {
        Self { notes, ..self }
    }
}
