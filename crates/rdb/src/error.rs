//! What can be wrong with bytes that are read.

use std::borrow::Cow;
use std::fmt;

/// Why reading ended.
#[derive(Debug)]
pub enum Error {
    /// The source failed.
    Io(std::io::Error),
    /// The bytes end too early; at this offset there should have been more.
    Short {
        /// Bytes from the beginning of the file or payload.
        offset: u64,
    },
    /// The bytes are not what they should be. The text is Redis's where Redis has one.
    Bad {
        /// Bytes from the beginning of the file or payload, where the damaged item begins or ends.
        offset: u64,
        /// What is wrong.
        what: Cow<'static, str>,
    },
}

/// What reading comes to.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => write!(f, "{e}"),
            Self::Short { offset } => {
                write!(f, "Unexpected EOF reading RDB file, at offset {offset}")
            }
            Self::Bad { offset, what } => write!(f, "{what}, at offset {offset}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        Self::Io(e)
    }
}
