//! Requests of the server API, and how JSON becomes them.

use crate::code::Disconnect;
use crate::subscription::Override;
use std::borrow::Cow;

/// Most commands of a batch: more are refused, not left out.
pub const BATCH_MAX: usize = 10_000;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are those of the methods")]
pub enum Request {
    Publish(Publish),
    Broadcast(Broadcast),
    Subscribe(Subscribe),
    Unsubscribe(Unsubscribe),
    Disconnect(DisconnectUser),
    Refresh(Refresh),
    Presence { channel: String },
    PresenceStats { channel: String },
    History(History),
    HistoryRemove { channel: String },
    Channels { pattern: String },
    Info,
    Rpc { method: String, params: Vec<u8> },
}

/// A method by its name, as in a path or a command of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "their names are those of the methods")]
pub enum Method {
    Batch,
    Publish,
    Broadcast,
    Subscribe,
    Unsubscribe,
    Disconnect,
    Refresh,
    Presence,
    PresenceStats,
    History,
    HistoryRemove,
    Channels,
    Info,
    Rpc,
}

/// Every method and its name.
pub const METHODS: [(Method, &str); 14] = [
    (Method::Batch, "batch"),
    (Method::Publish, "publish"),
    (Method::Broadcast, "broadcast"),
    (Method::Subscribe, "subscribe"),
    (Method::Unsubscribe, "unsubscribe"),
    (Method::Disconnect, "disconnect"),
    (Method::Refresh, "refresh"),
    (Method::Presence, "presence"),
    (Method::PresenceStats, "presence_stats"),
    (Method::History, "history"),
    (Method::HistoryRemove, "history_remove"),
    (Method::Channels, "channels"),
    (Method::Info, "info"),
    (Method::Rpc, "rpc"),
];

/// What all publications have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Publication {
    /// The bytes: of `b64data`, or `data` as it was written.
    pub data: Vec<u8>,
    /// Names and values that clients may filter by.
    pub tags: Vec<(String, String)>,
    /// Publications with the same key within the time that results are kept are one; empty: no key.
    pub idempotency_key: String,
    /// The publication may go out as a delta.
    pub delta: bool,
    /// It is not part of the history.
    pub skip_history: bool,
    /// Its version; not above the last one, it is left out. 0: none.
    pub version: u64,
    /// What versions are compared within.
    pub version_epoch: String,
}

/// Publishes into a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Publish {
    /// The channel; not empty.
    pub channel: String,
    /// What is published.
    pub publication: Publication,
}

/// Publishes the same into channels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broadcast {
    /// The channels; at least one. An empty name is an error of its own, in its place.
    pub channels: Vec<String>,
    /// What is published.
    pub publication: Publication,
}

/// Which connections a request is about: all of a user, or one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The user; empty: connections without a user.
    pub user: String,
    /// The client; empty: all.
    pub client: String,
    /// The session; empty: all.
    pub session: String,
}

/// Subscribes connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscribe {
    /// The channel; not empty.
    pub channel: String,
    /// Which connections.
    pub target: Target,
    /// When the subscription expires, in seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    /// Bytes about the subscriber; empty: none.
    pub info: Vec<u8>,
    /// Bytes for the client; empty: none.
    pub data: Vec<u8>,
    /// The position to recover from.
    pub recover_since: Option<Position>,
    /// Options that differ from the namespace's.
    pub differs: Override,
}

/// A position in a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The offset.
    pub offset: u64,
    /// The life of the stream that the offset belongs to.
    pub epoch: String,
}

/// Ends subscriptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsubscribe {
    /// The channel; empty: all.
    pub channel: String,
    /// Which connections.
    pub target: Target,
}

/// Ends connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisconnectUser {
    /// Which connections.
    pub target: Target,
    /// What they are told.
    pub disconnect: Disconnect,
    /// Clients that stay.
    pub whitelist: Vec<String>,
}

impl DisconnectUser {
    /// Checks that a close frame of WebSocket can carry what is told (RFC 6455, 5.5 and 7.4).
    pub(super) fn check(&self) -> Result<(), ApiError> {
        if !(3000..5000).contains(&self.disconnect.code) {
            return Err(
                ApiError::BAD_REQUEST.because("the code of `disconnect` must be from 3000 to 4999")
            );
        }
        if self.disconnect.reason.len() > 123 {
            return Err(
                ApiError::BAD_REQUEST.because("the reason of `disconnect` has at most 123 bytes")
            );
        }
        Ok(())
    }
}

/// Changes when connections expire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refresh {
    /// Which connections.
    pub target: Target,
    /// They expired: they end.
    pub expired: bool,
    /// When they expire, in seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    /// Bytes about the connections; empty: as they are.
    pub info: Vec<u8>,
}

/// Reads the history of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The channel; not empty.
    pub channel: String,
    /// Most publications; 0: none, only the position; below 0: all.
    pub limit: i32,
    /// Where to begin.
    pub since: Option<Position>,
    /// From the end.
    pub reverse: bool,
}

/// What a body holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// One request.
    One(Request),
    /// A batch: a request, or what is wrong with it, in order.
    Batch {
        /// The requests.
        requests: Vec<Result<Request, ApiError>>,
        /// They may run at the same time.
        parallel: bool,
    },
}

/// An error of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// Which error.
    pub code: u32,
    /// A text for people.
    pub message: Cow<'static, str>,
}

impl ApiError {
    const fn known(code: u32, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message) }
    }

    /// The server failed.
    pub const INTERNAL: Self = Self::known(100, "internal server error");
    /// The channel's namespace does not exist.
    pub const UNKNOWN_CHANNEL: Self = Self::known(102, "unknown channel");
    /// There is no such method.
    pub const NOT_FOUND: Self = Self::known(104, "not found");
    /// The request makes no sense.
    pub const BAD_REQUEST: Self = Self::known(107, "bad request");
    /// The configuration does not offer this.
    pub const NOT_AVAILABLE: Self = Self::known(108, "not available");
    /// The history no longer has what lies behind the position.
    pub const UNRECOVERABLE_POSITION: Self = Self::known(112, "unrecoverable position");
    /// The state is another than the request says.
    pub const CONFLICT: Self = Self::known(113, "conflict");

    /// The same error with a text that says what is wrong.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { code: self.code, message: Cow::Owned(format!("{}: {}", self.message, why.into())) }
    }

    /// The status of HTTP that says the same, for requests that ask for errors of the transport.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self.code {
            102 | 104 => 404,
            107 | 108 => 400,
            112 => 416,
            113 => 409,
            _ => 500,
        }
    }
}
