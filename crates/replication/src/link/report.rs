//! What a link has to know, and what it reports.

use crate::history::ReplId;

/// What a link has to know.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `masteruser`.
    pub user: Option<Vec<u8>>,
    /// `masterauth`.
    pub password: Option<Vec<u8>>,
    /// The port that the primary shows for this replica: `replica-announce-port` or `port`.
    pub port: u16,
    /// `replica-announce-ip`.
    pub announce_ip: Option<Vec<u8>>,
    /// `repl-timeout`, in milliseconds.
    pub timeout_ms: u64,
    /// History and next byte to go on from; `None` asks for a full copy.
    pub resume: Option<(ReplId, i64)>,
    /// Why there is nothing to go on from, for the log.
    pub why_full: &'static str,
    /// The copy may come on a second connection, and the stream on this one meanwhile.
    pub channels: bool,
    /// This is that second connection.
    pub channel: Option<Channel>,
    /// A name of this replica that stays the same over its links.
    pub id: Option<ReplId>,
    /// The primary is asked to become a replica's equal: this server is a primary that hands its
    /// role over (`PSYNC … FAILOVER`).
    pub failover: bool,
}

/// How a primary sends a copy on a second connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Redis's `rdb-channel`: the copy's connection names the first one by this number, and the stream then comes there
    /// by itself.
    Redis(i64),
    /// Valkey's `dual-channel`: the copy's connection is told the position and a number, and the first one asks with
    /// them for the stream.
    Valkey,
}

/// How loud a line of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `*` in Redis's log.
    Notice,
    /// `#` in Redis's log.
    Warning,
}

/// What a link reports.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A line for the log.
    Log(Level, String),
    /// The primary sends a full copy, as of `offset` of history `id`.
    FullResync {
        /// The primary's history.
        id: ReplId,
        /// Where the stream goes on behind the copy.
        offset: i64,
    },
    /// The primary sends the copy on a second connection. The link gives out the stream, which is to wait for the
    /// copy, and then for [`Link::copied`](super::Link::copied).
    Beside(Channel),
    /// Where the stream goes on behind the copy of this second connection. The first one is to ask for it by
    /// [`Link::asks_beside`](super::Link::asks_beside). [`Event::FullResync`] came in front of this.
    EndOffset {
        /// What the second connection is called.
        number: u64,
    },
    /// The snapshot begins.
    RdbBegin {
        /// Its length, if the primary knows it.
        bytes: Option<u64>,
    },
    /// Bytes of the snapshot.
    Rdb(&'a [u8]),
    /// The snapshot is whole. The link takes nothing more before [`Link::loaded`](super::Link::loaded).
    RdbEnd,
    /// The primary goes on from where the replica asked, under this id if it is named.
    Continue {
        /// The primary's history.
        id: Option<ReplId>,
    },
    /// The primary has refused PSYNC; the end of the link follows.
    Refused,
    /// Bytes of the stream, as they came; cut anywhere.
    Stream(&'a [u8]),
    /// The link has ended; the line for the log.
    Failed(String),
}

/// Where a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Up to the answer to PSYNC.
    Handshake,
    /// The snapshot is awaited or arrives.
    Transfer,
    /// The snapshot comes on a second connection, and is loaded from there.
    Beside,
    /// The snapshot is being loaded.
    Loading,
    /// The stream arrives.
    Stream,
    /// Ended.
    Failed,
}
