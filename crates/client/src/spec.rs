//! What is known of a command before it is sent: generated from the command table of a server.

/// One command of the table.
#[derive(Debug)]
pub(crate) struct Spec {
    /// In upper case, a subcommand after a space; empty for a command that the table does not have.
    pub(crate) name: &'static str,
    /// The name in RESP.
    pub(crate) encoded: &'static [u8],
    /// How many words the name has.
    pub(crate) words: u32,
    pub(crate) flags: Flags,
    pub(crate) first_key: FirstKey,
    /// Where a cluster executes it, if not where its key is.
    pub(crate) request: RequestPolicy,
    /// What becomes of several replies.
    pub(crate) response: ResponsePolicy,
}

/// Where the first key is; 0 is the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstKey {
    None,
    At(u8),
    /// The number of keys, and the first of them.
    Counted(u8, u8),
    After(&'static str),
}

/// See Redis's page "Command tips".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPolicy {
    Default,
    AllNodes,
    AllShards,
    /// Keys may be anywhere: it is split.
    MultiShard,
}

/// See Redis's page "Command tips".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponsePolicy {
    Default,
    OneSucceeded,
    AllSucceeded,
    Sum,
    Min,
    #[expect(dead_code, reason = "no command of the table has it now; the tips know it")]
    Max,
    And,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    /// It changes nothing, and may be executed twice.
    pub(crate) const READONLY: Self = Self(1);
    /// The server may keep it waiting.
    pub(crate) const BLOCKING: Self = Self(2);
    /// It changes what its connection is, or what comes on it: of no use on a shared one.
    pub(crate) const CONNECTION: Self = Self(4);

    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Spec {
    /// A row of the table.
    pub(crate) const fn new(
        name: &'static str,
        encoded: &'static [u8],
        words: u32,
        flags: Flags,
        first_key: FirstKey,
        request: RequestPolicy,
        response: ResponsePolicy,
    ) -> Self {
        Self { name, encoded, words, flags, first_key, request, response }
    }
}
