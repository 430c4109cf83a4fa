//! Errors, in the words of the replies to clients.

use std::fmt;
use std::io;

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something was not done. Cheap to clone, since one failed write is answered to all producers
/// whose records were in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no topic of this name, and none may be created by using it.
    NoTopic(String),
    /// There is one already.
    TopicExists(String),
    /// The request makes no sense; the text says why.
    Bad(String),
    /// More bytes or records than a batch may have.
    TooLarge(String),
    /// No record has this offset (any more, or yet).
    OutOfBounds {
        /// The offset that was asked for.
        offset: u64,
        /// Offset of the oldest record that is kept.
        first: u64,
        /// Offset that the next record will get.
        next: u64,
    },
    /// A producer's batch is not the one that must come next.
    Sequence {
        /// The producer.
        producer: u64,
        /// The sequence number it must send next.
        expected: u64,
        /// The one it sent.
        got: u64,
    },
    /// Stored bytes differ from the written ones.
    Damaged(Damage),
    /// Too much is waiting to be stored, or to be taken by readers; try again after so many milliseconds.
    Busy {
        /// When it may have gone down.
        retry_ms: u64,
    },
    /// A batch has more bytes than the reader has memory for.
    Larger {
        /// Bytes that it has.
        bytes: usize,
    },
    /// The log is not open yet; the text says what it waits for.
    NotYet(String),
    /// A group has committed nothing, and the reader has asked for an error in this case.
    NoGroup(String),
    /// The log is shutting down.
    Closed,
    /// Nothing may be written here.
    ReadOnly,
    /// The storage failed.
    Storage(String),
}

/// Where stored bytes differ from the written ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The topic.
    pub topic: String,
    /// The file or object.
    pub object: String,
    /// Byte in it at which the damaged batch begins.
    pub position: u64,
    /// First offset that cannot be read.
    pub offset: u64,
    /// First offset after it that can be read again, if there is one.
    pub resumes: Option<u64>,
    /// The error.
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, object, position, offset, resumes, why } = self;
        write!(
            f,
            "topic '{topic}' is damaged at offset {offset}: {why}, in {object} at byte {position}"
        )?;
        match resumes {
            Some(at) => write!(f, "; readable again from offset {at}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTopic(_) => f.write_str("topic not found"),
            Self::TopicExists(name) => write!(f, "topic '{name}' exists already"),
            Self::Bad(why) | Self::TooLarge(why) | Self::Storage(why) | Self::NotYet(why) => {
                f.write_str(why)
            }
            Self::NoGroup(group) => write!(f, "group '{group}' has committed no offset"),
            Self::OutOfBounds { .. } => f.write_str("offset out of bounds"),
            Self::Sequence { producer, expected, got } => {
                write!(f, "producer {producer} must send sequence {expected} next and not {got}")
            }
            Self::Damaged(damage) => damage.fmt(f),
            Self::Busy { .. } => f.write_str("too much is waiting to be stored or read, try again"),
            Self::Larger { bytes } => write!(f, "the batch has {bytes} bytes"),
            Self::Closed => f.write_str("the log is shutting down"),
            Self::ReadOnly => f.write_str("instance in read-only mode"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// An I/O error with the path that it is about.
    pub(crate) fn io(what: impl fmt::Display, e: &io::Error) -> Self {
        Self::Storage(format!("{what}: {e}"))
    }
}
