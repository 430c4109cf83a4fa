//! What a primary knows of one replica: what it said by REPLCONF, how far it is, how INFO and ROLE
//! show it.
//!
//! A connection becomes a replica's by PSYNC or SYNC; REPLCONF before that says what kind of replica
//! it will be. Options are applied one after the other, so that those in front of a wrong one
//! hold, as in Redis.
//!
//! A replica is not believed when it acknowledges more than was sent: Redis takes the number, and
//! WAIT then counts a replica that has another history. Here the offset is ignored.

use std::net::IpAddr;

use stdx::num::parse_i64;

use crate::history::ReplId;
use crate::text::printable;

/// Bytes of an announced address, which has to be shorter, as in Redis.
const ADDRESS_MAX: usize = 256;

/// The first version of Valkey that has a form of its own for snapshots.
const VALKEY_OWN_FORM: u32 = 9;

/// In front of the id that an Apus gives as one of its capabilities.
pub const ID: &[u8] = b"apus-";

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

/// What REPLCONF is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `+OK`.
    Ok,
    /// Nothing: it was an acknowledgement. Whoever waits for acknowledgements is looked at again.
    Acknowledged {
        /// The replica has loaded what was sent to it without a length: its stream begins now.
        start_stream: bool,
    },
    /// Nothing, since the connection is no replica's or the offset is no number.
    Silent,
    /// `REPLCONF ACK` to this server's own primary, if there is one; no reply.
    GetAck,
    /// An error; begins with its code.
    Error(String),
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
    /// Takes REPLCONF's arguments (without its name). `sent` is the offset up to which the stream
    /// exists.
    pub fn replconf(&mut self, args: &[&[u8]], sent: i64, now_ms: u64) -> Answer {
        if !args.len().is_multiple_of(2) {
            return Answer::Error("ERR syntax error".into());
        }
        for (i, pair) in args.chunks_exact(2).enumerate() {
            let is = |word: &str| pair[0].eq_ignore_ascii_case(word.as_bytes());
            if is("ack") {
                return self.acknowledged(&args[i * 2 + 1..], sent, now_ms);
            }
            if is("getack") {
                return Answer::GetAck;
            }
            if let Err(text) = self.option(pair[0], pair[1]) {
                return Answer::Error(text);
            }
        }
        Answer::Ok
    }

    fn option(&mut self, name: &[u8], value: &[u8]) -> Result<(), String> {
        let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
        let number = || parse_i64(value).ok_or("ERR value is not an integer or out of range");
        if is("listening-port") {
            self.port = number()?;
        } else if is("ip-address") {
            if value.len() >= ADDRESS_MAX {
                return Err(format!(
                    "ERR REPLCONF ip-address provided by replica instance is too long: {} bytes",
                    value.len()
                ));
            }
            self.announced = Some(value.to_vec());
        } else if is("capa") {
            // Capabilities that this server does not know are for others.
            self.eof |= value.eq_ignore_ascii_case(b"eof");
            self.psync2 |= value.eq_ignore_ascii_case(b"psync2");
            self.takes_channel |= value.eq_ignore_ascii_case(b"rdb-channel-repl");
            if let Some(id) = value.strip_prefix(ID) {
                self.id = ReplId::parse(id);
            }
        } else if is("rdb-only") {
            self.rdb_only = switch(number()?)?;
        } else if is("rdb-channel") {
            self.is_channel = switch(number()?)?;
        } else if is("main-ch-client-id") {
            self.main = Some(number()?);
        } else if is("rdb-filter-only") {
            self.filter(value)?;
        } else if is("version") {
            // Valkey's replicas say their version; Redis does not know the option.
            let major = major_version(value)
                .ok_or_else(|| format!("ERR Unrecognized version format: {}", printable(value)))?;
            self.version = Some(major);
        } else {
            return Err(format!("ERR Unrecognized REPLCONF option: {}", printable(name)));
        }
        Ok(())
    }

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

    fn filter(&mut self, value: &[u8]) -> Result<(), String> {
        let words = stdx::split::split_args(value)
            .map_err(|_| "ERR Missing rdb-filter-only values".to_owned())?;
        (self.exclude_data, self.exclude_functions) = (true, true);
        for word in words {
            if !word.eq_ignore_ascii_case(b"functions") {
                let word = printable(&word);
                return Err(format!("ERR Unsupported rdb-filter-only option: {word}"));
            }
            self.exclude_functions = false;
        }
        Ok(())
    }

    /// Takes `offset [FACK offset]`.
    fn acknowledged(&mut self, args: &[&[u8]], sent: i64, now_ms: u64) -> Answer {
        let offset = |at: usize| args.get(at).and_then(|a| parse_i64(a));
        let Some(ack) = offset(0).filter(|_| self.state.is_some()) else { return Answer::Silent };
        if ack <= sent {
            self.ack = self.ack.max(ack);
        }
        if args.len() > 2 && args[1].eq_ignore_ascii_case(b"fack") {
            let Some(fack) = offset(2) else { return Answer::Silent };
            if fack <= sent {
                self.fack = self.fack.max(fack);
            }
        }
        self.ack_ms = now_ms;
        if self.state == Some(State::BulkAndStream) {
            // It has loaded what came on the other connection.
            self.state = Some(State::Online);
        }
        // Its acknowledgement may come before this server has noticed that the copy is sent: the stream follows that.
        let sent = matches!(self.state, Some(State::Online | State::SendBulk));
        let start_stream = self.stream_on_ack && sent;
        self.stream_on_ack &= !start_stream;
        Answer::Acknowledged { start_stream }
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

fn switch(value: i64) -> Result<bool, String> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err("ERR value is out of range, value must between 0 and 1".into()),
    }
}

/// The first of three numbers with dots.
fn major_version(text: &[u8]) -> Option<u32> {
    let parts: Vec<&[u8]> = text.split(|b| *b == b'.').collect();
    let is_number = |p: &&[u8]| (1..=3).contains(&p.len()) && p.iter().all(u8::is_ascii_digit);
    if parts.len() != 3 || !parts.iter().all(is_number) {
        return None;
    }
    std::str::from_utf8(parts[0]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use stdx::rng::Rng;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn say(r: &mut Replica, line: &str) -> Answer {
        let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        r.replconf(&args, 1000, 5000)
    }

    fn error(text: &str) -> Answer {
        Answer::Error(text.into())
    }

    #[test]
    fn a_handshake_fills_the_line_of_info() {
        let mut r = Replica::default();
        assert_eq!(r.name(PEER), "127.0.0.1:<unknown-replica-port>");
        assert_eq!(say(&mut r, "listening-port 7001"), Answer::Ok);
        assert_eq!(say(&mut r, "capa eof capa psync2 capa rdb-channel-repl"), Answer::Ok);
        assert!(r.eof && r.psync2);
        assert_eq!(say(&mut r, "version 8.1.2"), Answer::Ok);
        assert!(!r.wants_valkeys_form());
        assert_eq!(say(&mut r, "version 9.1.2"), Answer::Ok);
        assert!(r.wants_valkeys_form());
        // An Apus says what it can read, and reads both forms.
        let apus = format!("capa apus-{} version 9.0.0", "a".repeat(40));
        let mut other = Replica::default();
        assert_eq!(say(&mut other, &apus), Answer::Ok);
        assert!(!other.wants_valkeys_form() && !Replica::default().wants_valkeys_form());
        assert_eq!((r.info(PEER, 0), r.role(PEER)), (None, None));
        r.state = Some(State::WaitStart);
        assert_eq!(
            r.info(PEER, 9000).as_deref(),
            Some("ip=127.0.0.1,port=7001,state=wait_bgsave,offset=0,lag=0")
        );
        let line = r.put_online(2000, &r.name(PEER));
        assert_eq!(line.as_deref(), Some("Synchronization with replica 127.0.0.1:7001 succeeded"));
        assert_eq!(say(&mut r, "ack 268"), Answer::Acknowledged { start_stream: false });
        assert_eq!(
            r.info(PEER, 6999).as_deref(),
            Some("ip=127.0.0.1,port=7001,state=online,offset=268,lag=1")
        );
        assert_eq!(r.role(PEER), Some(["127.0.0.1", "7001", "268"].map(String::from)));
        say(&mut r, "ip-address fe80::1");
        assert_eq!(r.name(PEER), "[fe80::1]:7001");
        // What a connection announces must not make lines of INFO.
        r.replconf(&[b"ip-address", b"a\r\nrole:slave"], 0, 0);
        assert_eq!(r.address(PEER), "a??role:slave");
    }

    #[test]
    fn wrong_options_have_redis_errors_and_those_in_front_hold() {
        let mut r = Replica::default();
        let not_integer = "ERR value is not an integer or out of range";
        assert_eq!(say(&mut r, "listening-port"), error("ERR syntax error"));
        assert_eq!(say(&mut r, "listening-port x"), error(not_integer));
        assert_eq!(say(&mut r, "rdb-only x"), error(not_integer));
        let range = "ERR value is out of range, value must between 0 and 1";
        assert_eq!(say(&mut r, "rdb-only 2"), error(range));
        assert_eq!(
            say(&mut r, "listening-port 7 foo 1"),
            error("ERR Unrecognized REPLCONF option: foo")
        );
        assert_eq!(r.port, 7);
        let long = "a".repeat(256);
        assert_eq!(
            say(&mut r, &format!("ip-address {long}")),
            error("ERR REPLCONF ip-address provided by replica instance is too long: 256 bytes")
        );
        assert_eq!(say(&mut r, &format!("ip-address {}", &long[1..])), Answer::Ok);
        assert_eq!(say(&mut r, "version 9.1"), error("ERR Unrecognized version format: 9.1"));
        assert_eq!(
            say(&mut r, "rdb-filter-only keys"),
            error("ERR Unsupported rdb-filter-only option: keys")
        );
        assert_eq!(say(&mut r, "rdb-filter-only \"x"), error("ERR Missing rdb-filter-only values"));
        assert_eq!(r.replconf(&[], 0, 0), Answer::Ok);
    }

    #[test]
    fn redis_cli_asks_for_functions_only() {
        let mut r = Replica::default();
        assert_eq!(say(&mut r, "rdb-only 1 rdb-filter-only functions"), Answer::Ok);
        assert_eq!((r.exclude_data, r.exclude_functions), (true, false));
        let refused = Admission::Refuse("ERR Filtered replica requires EOF capability");
        assert_eq!(r.admit(Server::default(), false), refused);
        say(&mut r, "capa eof");
        assert_eq!(r.admit(Server::default(), false), Admission::Go);
        assert_eq!(r.put_online(0, "x"), None);
        assert_eq!((r.info(PEER, 0), r.is_online()), (None, false));
        r.replconf(&[b"rdb-filter-only", b""], 0, 0);
        assert!(r.exclude_data && r.exclude_functions);
    }

    #[test]
    fn acknowledgements_count_from_replicas_only_and_never_beyond_what_was_sent() {
        let mut r = Replica::default();
        assert_eq!(say(&mut r, "ack 5"), Answer::Silent);
        r.state = Some(State::WaitEnd);
        r.stream_on_ack = true;
        assert_eq!(say(&mut r, "ACK 5"), Answer::Acknowledged { start_stream: false });
        r.state = Some(State::Online);
        assert_eq!(say(&mut r, "ack 7 fack 6"), Answer::Acknowledged { start_stream: true });
        assert_eq!(say(&mut r, "ack 6 fack 5"), Answer::Acknowledged { start_stream: false });
        assert_eq!((r.ack(), r.fack()), (7, 6));
        say(&mut r, "ack 1001 fack 1001");
        assert_eq!((r.ack(), r.fack()), (7, 6));
        assert_eq!(say(&mut r, "ack x"), Answer::Silent);
        assert_eq!(say(&mut r, "ack 8 fack x"), Answer::Silent);
        assert_eq!(say(&mut r, "getack *"), Answer::GetAck);
    }

    #[test]
    fn a_silent_replica_times_out_when_it_is_online() {
        let mut r = Replica { state: Some(State::WaitEnd), ..Replica::default() };
        assert!(!r.is_timed_out(0, 1_000_000, 60_000));
        r.put_online(1000, "x");
        assert!(!r.is_timed_out(0, 61_000, 60_000));
        assert!(r.is_timed_out(0, 61_001, 60_000));
        // An empty line while it loads.
        assert!(!r.is_timed_out(1001, 61_001, 60_000));
        r.heard(61_001);
        assert!(!r.is_timed_out(0, 61_002, 60_000));
        r.pre_psync = true;
        assert!(!r.is_timed_out(0, u64::MAX, 60_000));
    }

    #[test]
    fn whether_a_connection_may_synchronize() {
        let r = Replica::default();
        let replica = Server { is_replica: true, ..Server::default() };
        let refused = "NOMASTERLINK Can't SYNC while not connected with my master";
        assert_eq!(r.admit(replica, true), Admission::Refuse(refused));
        let chained = Server { link_is_up: true, ..replica };
        assert_eq!(r.admit(chained, false), Admission::Go);
        assert_eq!(
            r.admit(chained, true),
            Admission::Refuse("ERR SYNC and PSYNC are invalid with pending output")
        );
        let failing = Server { fails_over: true, ..Server::default() };
        assert_eq!(
            r.admit(failing, false),
            Admission::Refuse("NOMASTERLINK Can't SYNC while failing over")
        );
        let online = Replica { state: Some(State::Online), ..Replica::default() };
        assert_eq!(online.admit(failing, true), Admission::Ignore);
        let own = ReplId::parse(&[b'a'; 40]).expect("an id");
        assert_eq!(failover_request(&[b'A'; 40], own, true), Ok(()));
        assert!(failover_request(&[b'A'; 40], own, false).is_err());
        assert!(failover_request(&[b'b'; 40], own, true).is_err());
    }

    #[test]
    fn no_words_make_it_panic() {
        let mut rng = Rng::from_seed(23);
        let words = [
            "ack",
            "fack",
            "getack",
            "capa",
            "listening-port",
            "ip-address",
            "rdb-only",
            "version",
            "rdb-filter-only",
            "functions",
            "*",
            "-1",
            "0",
            "1",
            "9223372036854775807",
            "1.2.3",
            "\"",
        ];
        for _ in 0..20_000 {
            let state = (rng.index(2) == 0).then_some(State::Online);
            let mut r = Replica { state, ..Replica::default() };
            let args: Vec<&[u8]> =
                (0..rng.index(7)).map(|_| words[rng.index(words.len())].as_bytes()).collect();
            r.replconf(&args, 1000, 0);
            assert!(r.ack() <= 1000 && r.fack() <= 1000);
        }
    }
}
