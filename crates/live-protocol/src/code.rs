//! Codes that clients are told: errors in replies, ends of subscriptions, ends of connections.
//!
//! Numbers and texts are those of Centrifugo's client protocol: SDKs act on the number. An application may add its
//! own through a proxy: errors from 400 to 1999, ends of connections from 4000 to 4999.

use std::borrow::Cow;

/// An error in a reply to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Which error.
    pub code: u32,
    /// A text for people.
    pub message: Cow<'static, str>,
    /// The same command may succeed later: SDKs try again.
    pub temporary: bool,
}

impl Error {
    const fn known(code: u32, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message), temporary: false }
    }

    const fn passing(code: u32, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message), temporary: true }
    }

    /// The server failed; the client is not to blame.
    pub const INTERNAL: Self = Self::passing(100, "internal server error");
    /// The request is not authorized.
    pub const UNAUTHORIZED: Self = Self::known(101, "unauthorized");
    /// The channel's namespace does not exist.
    pub const UNKNOWN_CHANNEL: Self = Self::known(102, "unknown channel");
    /// The client may not do this.
    pub const PERMISSION_DENIED: Self = Self::known(103, "permission denied");
    /// There is no such method.
    pub const METHOD_NOT_FOUND: Self = Self::known(104, "method not found");
    /// The client is subscribed to the channel.
    pub const ALREADY_SUBSCRIBED: Self = Self::known(105, "already subscribed");
    /// A limit that does not depend on time is reached.
    pub const LIMIT_EXCEEDED: Self = Self::known(106, "limit exceeded");
    /// The request makes no sense.
    pub const BAD_REQUEST: Self = Self::known(107, "bad request");
    /// The configuration does not offer this.
    pub const NOT_AVAILABLE: Self = Self::known(108, "not available");
    /// The token expired: SDKs fetch another.
    pub const TOKEN_EXPIRED: Self = Self::known(109, "token expired");
    /// The connection or subscription expired, without a token.
    pub const EXPIRED: Self = Self::known(110, "expired");
    /// A limit of rate is reached.
    pub const TOO_MANY_REQUESTS: Self = Self::passing(111, "too many requests");
    /// The history no longer has what lies behind the position.
    pub const UNRECOVERABLE_POSITION: Self = Self::known(112, "unrecoverable position");
}

/// The end of a connection, from the server.
///
/// A client connects again after 3000 to 3499 and 4000 to 4499, and does not after 3500 to 3999 and 4500 to 4999.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disconnect {
    /// Which end.
    pub code: u32,
    /// A text for people; at most 123 bytes fit into a WebSocket's close frame.
    pub reason: Cow<'static, str>,
}

impl Disconnect {
    const fn known(code: u32, reason: &'static str) -> Self {
        Self { code, reason: Cow::Borrowed(reason) }
    }

    /// Whether a client connects again.
    #[must_use]
    pub const fn reconnects(&self) -> bool {
        !matches!(self.code, 3500..=3999 | 4500..=4999)
    }

    /// The peer closed.
    pub const CONNECTION_CLOSED: Self = Self::known(3000, "connection closed");
    /// The server goes away.
    pub const SHUTDOWN: Self = Self::known(3001, "shutdown");
    /// The server failed.
    pub const SERVER_ERROR: Self = Self::known(3004, "internal server error");
    /// The connection was not refreshed in time.
    pub const EXPIRED: Self = Self::known(3005, "connection expired");
    /// A server-side subscription was not refreshed in time.
    pub const SUBSCRIPTION_EXPIRED: Self = Self::known(3006, "subscription expired");
    /// The client does not read fast enough.
    pub const SLOW: Self = Self::known(3008, "slow");
    /// Writing to the client failed.
    pub const WRITE_ERROR: Self = Self::known(3009, "write error");
    /// The client's position in a channel is wrong: it connects again, and recovers.
    pub const INSUFFICIENT_STATE: Self = Self::known(3010, "insufficient state");
    /// The API asked for it; the client connects again.
    pub const FORCE_RECONNECT: Self = Self::known(3011, "force reconnect");
    /// A ping had no answer.
    pub const NO_PONG: Self = Self::known(3012, "no pong");
    /// The client sends too many commands.
    pub const TOO_MANY_REQUESTS: Self = Self::known(3013, "too many requests");
    /// What the client has cached is no longer valid.
    pub const STATE_INVALIDATED: Self = Self::known(3014, "state invalidated");
    /// The token is not valid.
    pub const INVALID_TOKEN: Self = Self::known(3500, "invalid token");
    /// A frame or command is malformed.
    pub const BAD_REQUEST: Self = Self::known(3501, "bad request");
    /// The client did not connect in time after the transport was there.
    pub const STALE: Self = Self::known(3502, "stale");
    /// The API asked for it; the client does not connect again.
    pub const FORCE_NO_RECONNECT: Self = Self::known(3503, "force disconnect");
    /// Too many connections.
    pub const CONNECTION_LIMIT: Self = Self::known(3504, "connection limit");
    /// Too many channels.
    pub const CHANNEL_LIMIT: Self = Self::known(3505, "channel limit");
    /// Binary data for a client that speaks JSON.
    pub const INAPPROPRIATE_PROTOCOL: Self = Self::known(3506, "inappropriate protocol");
    /// The client may not use the server.
    pub const PERMISSION_DENIED: Self = Self::known(3507, "permission denied");
    /// The configuration does not offer this, and there is no reply that could say so.
    pub const NOT_AVAILABLE: Self = Self::known(3508, "not available");
    /// The client made too many errors.
    pub const TOO_MANY_ERRORS: Self = Self::known(3509, "too many errors");
}

/// The end of a subscription, from the server. A client subscribes again from 2500 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsubscribe {
    /// Which end.
    pub code: u32,
    /// A text for people.
    pub reason: Cow<'static, str>,
}

impl Unsubscribe {
    const fn known(code: u32, reason: &'static str) -> Self {
        Self { code, reason: Cow::Borrowed(reason) }
    }

    /// Whether a client subscribes again.
    #[must_use]
    pub const fn resubscribes(&self) -> bool {
        self.code >= 2500
    }

    /// The client asked for it; never sent.
    pub const CLIENT: Self = Self::known(0, "client unsubscribed");
    /// The connection ended; never sent.
    pub const DISCONNECT: Self = Self::known(1, "client disconnected");
    /// The API asked for it.
    pub const SERVER: Self = Self::known(2000, "server unsubscribe");
    /// The client's position is wrong: it subscribes again, and recovers.
    pub const INSUFFICIENT_STATE: Self = Self::known(2500, "insufficient state");
    /// The subscription was not refreshed in time.
    pub const EXPIRED: Self = Self::known(2501, "subscription expired");
    /// What the client has cached is no longer valid.
    pub const STATE_INVALIDATED: Self = Self::known(2502, "state invalidated");
}

/// Why a command or a connection is turned down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The reply is an error; the connection stays.
    Error(Error),
    /// The connection ends.
    Disconnect(Disconnect),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Disconnect> for Refusal {
    fn from(disconnect: Disconnect) -> Self {
        Self::Disconnect(disconnect)
    }
}

#[cfg(test)]
mod tests {
    use super::{Disconnect, Unsubscribe};

    #[test]
    fn codes_say_whether_clients_come_back() {
        assert!(Disconnect::SLOW.reconnects() && Disconnect::STATE_INVALIDATED.reconnects());
        assert!(
            !Disconnect::INVALID_TOKEN.reconnects() && !Disconnect::TOO_MANY_ERRORS.reconnects()
        );
        assert!(Unsubscribe::EXPIRED.resubscribes() && !Unsubscribe::SERVER.resubscribes());
    }
}
