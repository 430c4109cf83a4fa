//! What a primary knows of one replica: what it said by REPLCONF, how far it is, how INFO and ROLE
//! show it.
//!
//! A connection becomes a replica's by PSYNC or SYNC; REPLCONF before that says what kind of replica
//! it will be. Options are applied one after the other, so that those in front of a wrong one
//! hold, as in Redis.
//!
//! A replica is not believed when it acknowledges more than was sent: Redis takes the number, and
//! WAIT then counts a replica that has another history. Here the offset is ignored.

mod replconf;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::history::ReplId;
use crate::text::printable;

pub use replconf::{Answer, ID};

/// The first version of Valkey that has a form of its own for snapshots.
const VALKEY_OWN_FORM: u32 = 9;

/// How far a replica's synchronization is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for a snapshot to begin.
    WaitStart,
    /// Its snapshot is being made, or sent while it is being made.
    WaitEnd,
    /// A finished snapshot is being sent.
    SendBulk,
    /// It is to make another connection for the snapshot.
    WaitChannel,
    /// It gets the stream while the snapshot is sent on the other connection.
    BulkAndStream,
    /// It gets the stream.
    Online,
    /// It wanted a snapshot only, and has it.
    RdbTransmitted,
}

impl State {
    /// The word in INFO; `None` for a replica that INFO leaves out.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::WaitStart | Self::WaitEnd | Self::WaitChannel => Some("wait_bgsave"),
            Self::SendBulk => Some("send_bulk"),
            Self::BulkAndStream => Some("send_bulk_and_stream"),
            Self::Online => Some("online"),
            Self::RdbTransmitted => None,
        }
    }
}

/// What this server is at the moment of a PSYNC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    /// It is a replica itself.
    pub is_replica: bool,
    /// … and its link gets the stream.
    pub link_is_up: bool,
    /// A FAILOVER is under way.
    pub fails_over: bool,
}

/// Whether a connection may synchronize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Go,
    /// It is a replica already: no reply.
    Ignore,
    /// An error; begins with its code.
    Refuse(&'static str),
}

/// A connection that is a replica's, or may become one.
#[derive(Clone, Debug, Default)]
pub struct Replica {
    /// `REPLCONF listening-port`; 0 if it was not said.
    pub port: i64,
    /// `REPLCONF ip-address`.
    announced: Option<Vec<u8>>,
    /// It can read a snapshot that ends with a mark.
    pub eof: bool,
    /// It understands an id behind `+CONTINUE`.
    pub psync2: bool,
    /// Its name for itself, the same over all its links: an Apus.
    pub id: Option<ReplId>,
    /// The first number of its version: a Valkey, which names it, or an Apus, which says what it can read.
    version: Option<u32>,
    /// It can take the snapshot on a connection of its own, and meanwhile the stream on this one.
    pub takes_channel: bool,
    /// This is the connection for the snapshot …
    pub is_channel: bool,
    /// … beside the client with this number, which gets the stream.
    pub main: Option<i64>,
    /// It wants a snapshot and no stream.
    pub rdb_only: bool,
    /// It wants no keys in the snapshot …
    pub exclude_data: bool,
    /// … or no functions.
    pub exclude_functions: bool,
    /// It came by SYNC: it does not acknowledge.
    pub pre_psync: bool,
    /// The stream waits for the first acknowledgement.
    pub stream_on_ack: bool,
    /// `None` before PSYNC.
    pub state: Option<State>,
    ack: i64,
    fack: i64,
    ack_ms: u64,
}

impl Replica {
    /// Whether it is to get the snapshot in the form of Valkey 9: it would not read hashes whose fields have deadlines
    /// in Redis's. An Apus, which has told its id, reads both.
    pub fn wants_valkeys_form(&self) -> bool {
        self.id.is_none() && self.version.is_some_and(|v| v >= VALKEY_OWN_FORM)
    }

    /// Whether it gets the snapshot on another connection, if this server offers that.
    pub fn wants_channel(&self) -> bool {
        self.takes_channel && self.eof && !self.is_channel && !self.rdb_only && !self.pre_psync
    }

    /// Whether the stream may be sent to it.
    pub fn may_stream(&self) -> bool {
        self.state == Some(State::BulkAndStream) || self.is_online() && !self.stream_on_ack
    }

    /// Whether the other connection did not come in time.
    pub fn waits_too_long(&self, now_ms: u64, timeout_ms: u64) -> bool {
        self.state == Some(State::WaitChannel) && now_ms.saturating_sub(self.ack_ms) > timeout_ms
    }

    /// Whether the connection may synchronize now. `pending` says that replies are still to be
    /// sent to it, which would mix with the snapshot.
    pub fn admit(&self, server: Server, pending: bool) -> Admission {
        if self.state.is_some() {
            Admission::Ignore
        } else if server.fails_over {
            Admission::Refuse("NOMASTERLINK Can't SYNC while failing over")
        } else if server.is_replica && !server.link_is_up {
            Admission::Refuse("NOMASTERLINK Can't SYNC while not connected with my master")
        } else if pending {
            Admission::Refuse("ERR SYNC and PSYNC are invalid with pending output")
        } else if (self.exclude_data || self.exclude_functions) && !self.eof {
            Admission::Refuse("ERR Filtered replica requires EOF capability")
        } else {
            Admission::Go
        }
    }

    /// The replica has said something that counts as an acknowledgement in time.
    pub fn heard(&mut self, now_ms: u64) {
        self.ack_ms = now_ms;
    }

    /// The replica has its snapshot, or goes on without one. Returns the line for the log, or `None`
    /// for one that wanted nothing more and is to be disconnected.
    pub fn put_online(&mut self, now_ms: u64, name: &str) -> Option<String> {
        // Else it would time out at once, after a long snapshot.
        self.ack_ms = now_ms;
        self.state = Some(if self.rdb_only { State::RdbTransmitted } else { State::Online });
        (!self.rdb_only).then(|| format!("Synchronization with replica {name} succeeded"))
    }

    /// Offset up to which the replica has executed the stream.
    pub fn ack(&self) -> i64 {
        self.ack
    }

    /// Offset up to which the stream is on the replica's disk.
    pub fn fack(&self) -> i64 {
        self.fack
    }

    /// When it last acknowledged, in milliseconds.
    pub fn ack_ms(&self) -> u64 {
        self.ack_ms
    }

    /// Whether it gets the stream.
    pub fn is_online(&self) -> bool {
        self.state == Some(State::Online)
    }

    /// Seconds since it last acknowledged; 0 before it is online.
    pub fn lag_s(&self, now_ms: u64) -> u64 {
        if self.is_online() { (now_ms / 1000).saturating_sub(self.ack_ms / 1000) } else { 0 }
    }

    /// Whether it is to be disconnected for its silence. It was last heard at `heard_ms`: one that loads its copy sends
    /// empty lines, which acknowledge nothing.
    pub fn is_timed_out(&self, heard_ms: u64, now_ms: u64, timeout_ms: u64) -> bool {
        let heard_ms = heard_ms.max(self.ack_ms);
        self.is_online() && !self.pre_psync && now_ms.saturating_sub(heard_ms) > timeout_ms
    }

    /// The address that others reach it at: what it announced, or where it comes from.
    pub fn address(&self, peer: IpAddr) -> String {
        match &self.announced {
            Some(address) => printable(address),
            None => peer.to_canonical().to_string(),
        }
    }

    /// Its name in the log.
    pub fn name(&self, peer: IpAddr) -> String {
        let address = self.address(peer);
        match (self.port, address.contains(':')) {
            (0, _) => format!("{address}:<unknown-replica-port>"),
            (port, true) => format!("[{address}]:{port}"),
            (port, false) => format!("{address}:{port}"),
        }
    }

    /// The value of `slaveN` in INFO.
    pub fn info(&self, peer: IpAddr, now_ms: u64) -> Option<String> {
        let state = self.state.filter(|_| !self.is_channel)?.word()?;
        Some(format!(
            "ip={},port={},state={state},offset={},lag={}",
            self.address(peer),
            self.port,
            self.ack,
            self.lag_s(now_ms)
        ))
    }

    /// Its entry in ROLE: address, port and offset, all bulk strings.
    pub fn role(&self, peer: IpAddr) -> Option<[String; 3]> {
        self.is_online().then(|| [self.address(peer), self.port.to_string(), self.ack.to_string()])
    }
}

/// Decides about `PSYNC id offset FAILOVER`, by which a primary asks one of its replicas to take
/// over.
///
/// # Errors
/// The reply, with its code.
pub fn failover_request(id: &[u8], own: ReplId, is_replica: bool) -> Result<(), &'static str> {
    if !is_replica {
        return Err("ERR PSYNC FAILOVER can't be sent to a master.");
    }
    if !own.as_bytes().eq_ignore_ascii_case(id) {
        return Err("ERR PSYNC FAILOVER replid must match my replid.");
    }
    Ok(())
}
