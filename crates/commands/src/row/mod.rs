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

mod sets;

pub use sets::{Acl, DocFlags, Flags, KeyFlags, Traits};

pub use crate::argv::{Argv, KeyError, KeyPos};

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
    /// Why the arity differs from the syntax line: Redis accepts arguments that
    /// it does not document (QUIT, PSYNC); empty if the two agree.
    pub loose_arity: &'static str,
    /// Behaviour flags, without those that are derived.
    pub flags: Flags,
    /// Further flags that Apus needs and no reply shows. Those of a container apply to its subcommands, too.
    pub traits: Traits,
    /// How the command uses the channels among its arguments.
    pub channels: Channels,
    /// ACL categories beyond those that flags and group imply.
    pub acl: Acl,
    /// Where the keys are.
    pub keys: &'static [KeySpec],
    /// Finds the keys where the specifications cannot (SORT … STORE) or cannot
    /// say how they are accessed (SET … GET).
    pub get_keys: Option<GetKeys>,
    /// Which of its arguments neither the slow log nor MONITOR may show; none if it has no secrets.
    pub secrets: Option<Secrets>,
    /// Hints for clients and proxies, in Redis's words (`request_policy:…`).
    pub tips: &'static [&'static str],
    /// The changes by version: `(version, change)`.
    pub history: &'static [(&'static str, &'static str)],
    /// Deprecated, or internal.
    pub doc_flags: DocFlags,
    /// The version that deprecated it; empty if none did.
    pub deprecated_since: &'static str,
    /// The replacement, in markdown; empty if there is none.
    pub replaced_by: &'static str,
    /// The rows of its subcommands; empty for a plain command.
    pub subcommands: &'static [&'static Row],
    /// The shards that are locked while it runs.
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

/// Whether the argument with this index is a secret, a password for instance. Called with an index
/// below the number of arguments, after the number has been checked; the arguments may make no sense.
pub type Secrets = fn(&dyn Argv, usize) -> bool;

impl Row {
    /// The value of every field that a row does not mention.
    pub const DEFAULT: Self = Self {
        name: "",
        group: Group::Generic,
        since: "1.0.0",
        arity: 1,
        loose_arity: "",
        flags: Flags::NONE,
        traits: Traits::NONE,
        channels: Channels::None,
        acl: Acl::NONE,
        keys: &[],
        get_keys: None,
        secrets: None,
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

    /// The text that is shown in place of a secret.
    pub const REDACTED: &'static str = "(redacted)";

    /// Whether argument `index` of this call is a secret, which may not be shown.
    #[must_use]
    pub fn is_secret(&self, argv: &dyn Argv, index: usize) -> bool {
        self.secrets.is_some_and(|is_secret| is_secret(argv, index))
    }

    /// Whether a call with `argc` arguments, the name included, has an
    /// acceptable number of them.
    #[inline]
    #[must_use]
    pub const fn arity_fits(&self, argc: usize) -> bool {
        let least = self.arity.unsigned_abs() as usize;
        if self.arity >= 0 { argc == least } else { argc >= least }
    }

    /// The shards that a call with these arguments locks: never [`Scope::Patterns`].
    #[inline]
    #[must_use]
    pub fn scope_of(&self, argv: &dyn Argv) -> Scope {
        if self.scope != Scope::Patterns {
            return self.scope;
        }
        let is = |i: usize, word: &str| argv.get(i).eq_ignore_ascii_case(word.as_bytes());
        // A key with such a name costs more locks and does no harm.
        let patterns = (2..argv.len()).any(|i| is(i, "by") || is(i, "get"));
        if patterns { Scope::All } else { Scope::Keys }
    }

    /// The name within its container: `get` of `config|get`.
    #[must_use]
    pub fn sub_name(&self) -> &'static str {
        self.name.rsplit_once('|').map_or(self.name, |(_, sub)| sub)
    }

    /// Whether a call may name keys at all (Redis: `doesCommandHaveKeys`).
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.get_keys.is_some() || self.keys.iter().any(|spec| !spec.flags.has(KeyFlags::NOT_KEY))
    }

    /// The flags of the row and those that follow from its key specifications.
    #[must_use]
    pub fn all_flags(&self) -> Flags {
        if self.legacy_range().1 { self.flags.or(Flags::MOVABLEKEYS) } else { self.flags }
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
                Some((first, if last < 0 { last } else { first + last }, i64::from(step)))
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
        // Scripting commands read and write through the commands that they call.
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

/// The documentation groups of Redis, and that of topics.
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
    Topic,
    Live,
    Module,
}

impl Group {
    /// The spelling in COMMAND DOCS.
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
            Self::Topic => "topic",
            Self::Live => "live",
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
            Self::Topic => Acl::TOPIC,
            // @pubsub follows from the flag: PUBSUB HELP is in the group and not in @pubsub.
            Self::PubSub => Acl::NONE,
            Self::Server | Self::Cluster | Self::Sentinel | Self::Live | Self::Module => Acl::NONE,
        }
    }
}

/// How a command uses the channels that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// It names none, or unsubscribes from them, which is always allowed.
    None,
    /// Subscribes to all its arguments.
    Subscribe,
    /// Subscribes to all its arguments, which are patterns.
    SubscribePatterns,
    /// Publishes to its first argument.
    Publish,
    /// Publishes to its first argument, which is a shard channel.
    PublishShard,
}

/// The shards that are locked while a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The shards of its keys, all at once.
    Keys,
    /// The shards of its keys; every shard when its arguments name others by patterns (SORT with BY or
    /// GET).
    Patterns,
    /// Every shard at once: it sees or changes the whole keyspace atomically.
    All,
    /// Every shard, one after the other.
    Each,
    /// None: it never looks at the keyspace.
    None,
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
        let find = FindKeys::Range { last, step, limit: 0 };
        Self { notes: "", flags, begin: BeginSearch::Index(first), find }
    }

    /// The number of keys is argument `index`, the keys follow it.
    #[must_use]
    pub const fn counted(index: u16, flags: KeyFlags) -> Self {
        let find = FindKeys::KeyNum { number: 0, first: 1, step: 1 };
        Self { notes: "", flags, begin: BeginSearch::Index(index), find }
    }

    /// Keys after a word; see [`BeginSearch::Keyword`] for `start`.
    #[must_use]
    pub const fn after(word: &'static str, start: i16, find: FindKeys, flags: KeyFlags) -> Self {
        Self { notes: "", flags, begin: BeginSearch::Keyword { word, start }, find }
    }

    /// Keys that only `get_keys` finds.
    #[must_use]
    pub const fn unknown(flags: KeyFlags) -> Self {
        Self { notes: "", flags, begin: BeginSearch::Unknown, find: FindKeys::Unknown }
    }

    /// The same with a remark.
    #[must_use]
    pub const fn notes(self, notes: &'static str) -> Self {
        Self { notes, ..self }
    }
}

#[cfg(test)]
mod tests;
