//! Why a command refused: Redis's error texts, in one place where several commands share them.

use std::borrow::Cow;

use stdx::carried::{carried, carry};

/// A refusal. The caller of the command turns it into an error reply. Bytes that the text quotes
/// from elsewhere are carried ([`stdx::carried`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fail(pub Cow<'static, str>);

impl Fail {
    /// An unknown option, a repeated one, or a combination that does not exist.
    pub const SYNTAX: Self = Self::text("ERR syntax error");
    /// An argument that must be an integer.
    pub const NOT_INTEGER: Self = Self::text("ERR value is not an integer or out of range");
    /// An argument that must be a number.
    pub const NOT_FLOAT: Self = Self::text("ERR value is not a valid float");
    /// An argument that must be 0 or more.
    pub const NOT_POSITIVE: Self = Self::text("ERR value is out of range, must be positive");
    /// The key holds something else.
    pub const WRONG_TYPE: Self =
        Self::text("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// The key must exist.
    pub const NO_SUCH_KEY: Self = Self::text("ERR no such key");
    /// An argument that must fit 32 bits.
    pub const INT32_RANGE: Self =
        Self::text("ERR value is out of range, value must between -2147483648 and 2147483647");
    /// Source and destination are one key.
    pub const SAME_OBJECT: Self = Self::text("ERR source and destination objects are the same");
    /// A database index that does not exist.
    pub const DB_RANGE: Self = Self::text("ERR DB index is out of range");
    /// A string would become longer than `proto-max-bulk-len`.
    pub const TOO_LONG: Self =
        Self::text("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    /// An increment went past 64 bits.
    pub const OVERFLOW: Self = Self::text("ERR increment or decrement would overflow");

    /// A refusal with a fixed text, code first.
    pub const fn text(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// A refusal with a text made for this call.
    #[cold]
    pub fn new(text: String) -> Self {
        Self(Cow::Owned(text))
    }

    /// The text as the client receives it.
    #[cold]
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        carried(&self.0)
    }

    /// `invalid expire time in 'set' command`.
    #[cold]
    pub fn expire_time(command: &str) -> Self {
        Self::new(format!("ERR invalid expire time in '{command}' command"))
    }

    /// `unknown subcommand 'x'. Try OBJECT HELP.`; `container` in upper case.
    #[cold]
    pub fn unknown_subcommand(container: &str, sub: &[u8]) -> Self {
        let sub = quoted(&sub[..sub.len().min(128)]);
        Self::new(format!("ERR unknown subcommand '{sub}'. Try {container} HELP."))
    }

    /// `wrong number of arguments for 'get' command`. For a subcommand: `config|get`.
    #[cold]
    pub fn arity(command: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{command}' command"))
    }
}

/// The part of a client's bytes that an error quotes: text up to the first zero byte, where C's
/// strings end.
#[cold]
pub fn quoted(bytes: &[u8]) -> Cow<'_, str> {
    carry(bytes.split(|b| *b == 0).next().unwrap_or_default())
}

impl From<store::WrongType> for Fail {
    #[cold]
    fn from(_: store::WrongType) -> Self {
        Self::WRONG_TYPE
    }
}
