//! Output of a connection that is no reply: a full sync, and the stream of changes, for a replica.
//!
//! The thread of the connection asks for it whenever the socket has taken everything so far. Replies of the
//! connection's commands come in between, as whole as ever.

/// Where the bytes come from.
pub trait Feed: std::any::Any + Send + Sync {
    /// Appends the bytes that come next to `out`: some hundred KiB at most.
    fn next(&self, out: &mut Vec<u8>) -> Fed;

    /// Bytes that wait for the connection.
    fn waiting(&self) -> u64;

    /// The connection has ended.
    fn ended(&self);
}

/// The result of [`Feed::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// There may be more.
    Some,
    /// No bytes are there at the moment; the thread is woken when there are.
    Nothing,
    /// The connection is to be closed.
    End,
}
