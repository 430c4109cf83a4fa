//! The functions of the server that a script uses.

use std::borrow::Cow;

use resp::{Args, Reply};

/// The outcome of a command that a script called.
#[derive(Debug, PartialEq, Eq)]
pub enum Called {
    /// It has written its reply, which may be an error.
    Replied,
    /// It was not run: the error's text. One that begins with `-` has a code of its own, others
    /// get `ERR`.
    Refused(Cow<'static, str>),
    /// The script must end at once; nothing it does can prevent that.
    Abort,
    /// The same, with an error: a client has killed the script.
    Kill,
    /// The same: the server does not wait for it.
    Shutdown,
}

/// Whether a script goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// It does.
    Continue,
    /// It ends with an error: a client has killed the script.
    Kill,
    /// It ends with an error: the server does not wait for it.
    Shutdown,
}

/// The bit of `redis.REPL_AOF`.
pub const REPL_AOF: u8 = 1;

/// The server, as a script sees it. No function of it may call the machine again.
pub trait Host {
    /// `redis.call` and `redis.pcall`: runs a command, which writes its reply in the protocol that
    /// `reply` has.
    fn call(&mut self, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Called;

    /// `redis.log`; levels 0 (debug) to 3 (warning).
    fn log(&mut self, level: u8, text: &[u8]);

    /// `redis.acl_check_cmd`: whether the caller may run a command; none if there is no such one.
    fn may_call(&mut self, args: &Args<'_>) -> Option<bool>;

    /// `redis.set_repl`: which of the journal ([`REPL_AOF`]) and the replicas (2) receive the later
    /// changes of this script.
    fn set_repl(&mut self, targets: u8);

    /// An error goes out to the client as a part of the reply, and was not counted before.
    fn count_error(&mut self, text: &[u8]);

    /// Called every hundred thousand instructions or so, or after as much work of C code.
    fn tick(&mut self) -> Tick;

    /// `redis.register_function` while a library is loaded; an error text refuses it.
    fn register(&mut self, function: Registered) -> Result<(), Cow<'static, str>>;
}

/// A function that a library registers.
#[derive(Debug)]
pub struct Registered {
    /// Its name.
    pub name: Vec<u8>,
    /// Its description, if the library gives one.
    pub description: Option<Vec<u8>>,
    /// Its flags.
    pub flags: Flags,
    /// How to call it.
    pub entry: Entry,
}

/// A function of a library, by its number within the machine.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Entry(pub(crate) u32);

/// The flags that a script or function declares, as in `#!lua flags=…`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// `no-writes`
    pub const NO_WRITES: Self = Self(1);
    /// `allow-oom`
    pub const ALLOW_OOM: Self = Self(2);
    /// `allow-stale`
    pub const ALLOW_STALE: Self = Self(4);
    /// `no-cluster`
    pub const NO_CLUSTER: Self = Self(8);
    /// `allow-cross-slot-keys`
    pub const CROSS_SLOT: Self = Self(16);

    /// Names, in the order in which FUNCTION LIST shows them.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("no-writes", Self::NO_WRITES),
        ("allow-oom", Self::ALLOW_OOM),
        ("allow-stale", Self::ALLOW_STALE),
        ("no-cluster", Self::NO_CLUSTER),
        ("allow-cross-slot-keys", Self::CROSS_SLOT),
    ];

    /// The flag of that name.
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::NAMES.iter().find(|(n, _)| n.as_bytes() == name).map(|(_, f)| *f)
    }

    /// Whether all of `other` are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
