//! What goes wrong, and whether the command may have been executed all the same.

use crate::value::{ServerError, Value};
use std::fmt;
use std::sync::Arc;

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// An error; a clone costs nothing, since one broken connection fails all commands on it.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    server: Option<ServerError>,
    maybe_executed: bool,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server answered an error: [`Error::server`] has it. It has executed the command or refused it.
    Server,
    /// The connection could not be made, or broke.
    Connection,
    /// There was no reply in time.
    Timeout,
    /// The server sent what is not RESP, or more than the limits allow.
    Protocol,
    /// The reply is not of the type that was asked for.
    Type,
    /// An option or a URL is wrong, or a command cannot be sent this way.
    Usage,
    /// The client was closed.
    Closed,
    /// A watched key changed: the transaction was not executed.
    Aborted,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let inner = Inner { kind, message: message.into(), server: None, maybe_executed: false };
        Self(Arc::new(inner))
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    pub(crate) fn connection(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Connection, message)
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Protocol, message)
    }

    /// The reply is `value` and not `expected`.
    #[must_use]
    pub fn unexpected(expected: &str, value: &Value) -> Self {
        Self::new(ErrorKind::Type, format!("the reply is {} and not {expected}", value.kind()))
    }

    /// The same, for a command of which the server may have read every byte.
    pub(crate) fn maybe_executed(&self, maybe_executed: bool) -> Self {
        if self.0.maybe_executed == maybe_executed {
            return self.clone();
        }
        Self(Arc::new(Inner {
            kind: self.0.kind,
            message: self.0.message.clone(),
            server: self.0.server.clone(),
            maybe_executed,
        }))
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the server answered.
    #[must_use]
    pub fn server(&self) -> Option<&ServerError> {
        self.0.server.as_ref()
    }

    /// The code of what the server answered (`WRONGTYPE`), or nothing.
    #[must_use]
    pub fn code(&self) -> &str {
        self.server().map_or("", ServerError::code)
    }

    /// Whether the server may have executed the command although there is this error in the place of its reply:
    /// the command was written, at least in part, and no reply came. A program that repeats such a command may
    /// do its work twice.
    #[must_use]
    pub fn is_maybe_executed(&self) -> bool {
        self.0.maybe_executed
    }
}

impl From<ServerError> for Error {
    fn from(error: ServerError) -> Self {
        Self(Arc::new(Inner {
            kind: ErrorKind::Server,
            message: String::new(),
            server: Some(error),
            maybe_executed: false,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.server {
            Some(error) => f.write_str(error.text())?,
            None => f.write_str(&self.0.message)?,
        }
        if self.0.maybe_executed {
            f.write_str(" (the command may have been executed)")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}
