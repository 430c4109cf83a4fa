//! A replica's connection to its primary: the handshake, the snapshot, the stream.
//!
//! ```text
//!  PING ─► AUTH, REPLCONF … ─► PSYNC ─┬─► +CONTINUE ───────────────────────► stream
//!                                     └─► +FULLRESYNC ─► snapshot ─► loading ─┘
//! ```
//!
//! The link is handed what the socket received and gives out events; what it wants to say is in
//! [`Link::output`]. It reports at most one [`Event::Failed`] and is then dead: the caller closes the
//! connection and makes another link [later](RETRY_MS).
//!
//! Nothing that a primary sends makes it panic or keep more than [`LINE_MAX`] bytes: snapshot and
//! stream are handed on as they come. A primary that says nothing is given up after `repl-timeout`, in
//! every state but one: while the replica loads the snapshot it does not read, and says so to the
//! primary once a second by an empty line.
//!
//! Log lines are Redis's, since its tests and people's alerts look for them.

use crate::OFFSET_MAX;
use crate::eof::{self, Scan};
use crate::history::ReplId;
use crate::render::push_command;
use crate::text::printable;

/// The longest line that a primary may send outside of snapshot and stream, in bytes.
pub const LINE_MAX: usize = 1024;
/// From the end of one link to the next attempt, as Redis's once-a-second job has it. A link that was
/// in the state [`State::Stream`] is replaced at once, before its primary's backlog has moved on.
pub const RETRY_MS: u64 = 1000;
/// From one acknowledgement to the next.
const ACK_MS: u64 = 1000;
/// With more unsent output than this, further acknowledgements are left out: the primary does not
/// read them.
const OUTPUT_MAX: usize = 16 << 10;

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
    /// A name of this replica that stays the same over its links.
    pub id: Option<ReplId>,
    /// The primary is asked to become a replica's equal: this server is a primary that hands its
    /// role over (`PSYNC … FAILOVER`).
    pub failover: bool,
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
    /// The snapshot begins.
    RdbBegin {
        /// Its length, if the primary knows it.
        bytes: Option<u64>,
    },
    /// Bytes of the snapshot.
    Rdb(&'a [u8]),
    /// The snapshot is whole. The link takes nothing more before [`Link::loaded`].
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
    /// The snapshot is being loaded.
    Loading,
    /// The stream arrives.
    Stream,
    /// Ended.
    Failed,
}

/// The answer that is awaited, or what arrives.
#[derive(Debug)]
enum Step {
    Ping,
    Auth,
    Port,
    Ip,
    Capa,
    Psync,
    Header,
    Sized(u64),
    Marked(Scan),
    Loading,
    Stream,
    Failed,
}

/// A replica's side of a link.
#[derive(Debug)]
pub struct Link {
    settings: Settings,
    step: Step,
    line: Vec<u8>,
    output: Vec<u8>,
    /// When the primary last said something, in milliseconds.
    heard_ms: u64,
    /// When the replica last acknowledged or, while loading, sent its sign of life.
    said_ms: u64,
    offset: i64,
    applied: i64,
    fsynced: Option<i64>,
    rdb_total: Option<u64>,
    rdb_read: u64,
    acknowledged: Option<i64>,
}

impl Link {
    /// A link over a connection that has just been made.
    pub fn new(settings: Settings, now_ms: u64) -> Self {
        let mut output = Vec::new();
        push_command(&mut output, &[b"PING"]);
        Self {
            settings,
            step: Step::Ping,
            line: Vec::new(),
            output,
            heard_ms: now_ms,
            said_ms: now_ms,
            offset: -1,
            applied: -1,
            fsynced: None,
            rdb_total: None,
            rdb_read: 0,
            acknowledged: None,
        }
    }

    /// What is to be written to the connection; the caller removes what it has written.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Where the link is.
    pub fn state(&self) -> State {
        match self.step {
            Step::Ping | Step::Auth | Step::Port | Step::Ip | Step::Capa | Step::Psync => {
                State::Handshake
            }
            Step::Header | Step::Sized(_) | Step::Marked(_) => State::Transfer,
            Step::Loading => State::Loading,
            Step::Stream => State::Stream,
            Step::Failed => State::Failed,
        }
    }

    /// The state in ROLE's answer; `connect` and `connecting` are before a link.
    pub fn role_state(&self) -> &'static str {
        match self.state() {
            State::Handshake => "handshake",
            State::Transfer | State::Loading => "sync",
            State::Stream => "connected",
            State::Failed => "connect",
        }
    }

    /// Bytes of the stream that have arrived, the history's offset included: `slave_read_repl_offset`;
    /// -1 before the primary has answered PSYNC.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Length of the snapshot, 0 if it is not known, and how much of it has arrived:
    /// `master_sync_total_bytes` and `master_sync_read_bytes`.
    pub fn transfer(&self) -> (u64, u64) {
        (self.rdb_total.unwrap_or(0), self.rdb_read)
    }

    /// When the primary last said something: `master_last_io_seconds_ago`.
    pub fn heard_ms(&self) -> u64 {
        self.heard_ms
    }

    /// Takes bytes from the connection and reports what they say. Returns how many it has taken:
    /// all, unless the link waits for [`Link::loaded`] or has failed. The rest is handed in again
    /// when the snapshot has been loaded.
    pub fn receive(&mut self, input: &[u8], now_ms: u64, on: &mut impl FnMut(Event<'_>)) -> usize {
        let mut rest = input;
        if !rest.is_empty() && !matches!(self.step, Step::Loading | Step::Failed) {
            self.heard_ms = now_ms;
        }
        while !rest.is_empty() {
            let taken = match &mut self.step {
                Step::Loading | Step::Failed => break,
                Step::Stream => {
                    self.stream(rest, on);
                    rest.len()
                }
                Step::Sized(left) => {
                    let now = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= now as u64;
                    self.rdb_read += now as u64;
                    let done = *left == 0;
                    on(Event::Rdb(&rest[..now]));
                    if done {
                        self.rdb_end(on);
                    }
                    now
                }
                Step::Marked(scan) => {
                    let end = scan.feed(rest, |bytes| on(Event::Rdb(bytes)));
                    let taken = end.unwrap_or(rest.len());
                    self.rdb_read += taken as u64;
                    if end.is_some() {
                        self.rdb_end(on);
                    }
                    taken
                }
                _ => self.take_line(rest, now_ms, on),
            };
            rest = &rest[taken..];
        }
        input.len() - rest.len()
    }

    fn rdb_end(&mut self, on: &mut impl FnMut(Event<'_>)) {
        self.step = Step::Loading;
        on(Event::RdbEnd);
    }

    fn stream(&mut self, bytes: &[u8], on: &mut impl FnMut(Event<'_>)) {
        self.offset += bytes.len() as i64;
        if self.offset > OFFSET_MAX {
            let text = "The replication offset of MASTER is out of range".to_owned();
            return self.fail(text, on);
        }
        on(Event::Stream(bytes));
    }

    /// Takes bytes up to the end of a line, and answers the line.
    fn take_line(&mut self, bytes: &[u8], now_ms: u64, on: &mut impl FnMut(Event<'_>)) -> usize {
        let end = memchr::memchr(b'\n', bytes);
        let taken = end.map_or(bytes.len(), |at| at + 1);
        if self.line.len() + taken > LINE_MAX {
            let start = printable(if self.line.is_empty() { bytes } else { &self.line });
            let text =
                format!("Bad protocol from MASTER, a line is too long: it begins with '{start}'");
            self.fail(text, on);
            return taken;
        }
        self.line.extend_from_slice(&bytes[..taken]);
        if end.is_some() {
            let mut line = std::mem::take(&mut self.line);
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            self.answer(&line, now_ms, on);
            line.clear();
            self.line = line;
        }
        taken
    }

    fn answer(&mut self, line: &[u8], now_ms: u64, on: &mut impl FnMut(Event<'_>)) {
        match self.step {
            Step::Ping => self.pong(line, on),
            Step::Auth => {
                if line.starts_with(b"-") {
                    return self.fail(format!("Unable to AUTH to MASTER: {}", printable(line)), on);
                }
                self.step = Step::Port;
            }
            Step::Port => {
                non_critical("listening-port", line, on);
                let announced = self.settings.announce_ip.is_some();
                self.step = if announced { Step::Ip } else { Step::Capa };
            }
            Step::Ip => {
                non_critical("ip-address", line, on);
                self.step = Step::Capa;
            }
            Step::Capa => {
                non_critical("capa", line, on);
                self.ask(on);
            }
            // Before it answers, the primary may send empty lines as signs of life.
            Step::Psync | Step::Header if line.is_empty() => {}
            Step::Psync => self.psync_answer(line, now_ms, on),
            Step::Header => self.header(line, on),
            Step::Sized(_) | Step::Marked(_) | Step::Loading | Step::Stream | Step::Failed => {}
        }
    }

    fn pong(&mut self, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
        let wants_auth: [&[u8]; 3] = [b"-NOAUTH", b"-NOPERM", b"-ERR operation not permitted"];
        if !line.starts_with(b"+") && !wants_auth.iter().any(|w| line.starts_with(w)) {
            let text = format!("Error reply to PING from master: '{}'", printable(line));
            return self.fail(text, on);
        }
        let text = "Master replied to PING, replication can continue...";
        on(Event::Log(Level::Notice, text.into()));
        let (out, settings) = (&mut self.output, &self.settings);
        if let Some(password) = &settings.password {
            match &settings.user {
                Some(user) => push_command(out, &[b"AUTH", user, password]),
                None => push_command(out, &[b"AUTH", password]),
            }
        }
        let port = itoa::Buffer::new().format(settings.port).to_owned();
        push_command(out, &[b"REPLCONF", b"listening-port", port.as_bytes()]);
        if let Some(ip) = &settings.announce_ip {
            push_command(out, &[b"REPLCONF", b"ip-address", ip]);
        }
        let mut capa: Vec<&[u8]> = vec![b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"];
        // Whoever does not know a capability ignores it.
        let id = settings.id.map(|id| [crate::serve::ID, id.as_bytes()].concat());
        if let Some(id) = &id {
            capa.extend([&b"capa"[..], id]);
        }
        push_command(out, &capa);
        self.step = if settings.password.is_some() { Step::Auth } else { Step::Port };
    }

    fn ask(&mut self, on: &mut impl FnMut(Event<'_>)) {
        let mut digits = itoa::Buffer::new();
        let (id, offset): (&[u8], &str) = match &self.settings.resume {
            Some((id, next)) => {
                let text = format!("Trying a partial resynchronization (request {id}:{next}).");
                on(Event::Log(Level::Notice, text));
                (id.as_bytes(), digits.format(*next))
            }
            None => {
                let text = "Partial resynchronization not possible (no cached master)";
                on(Event::Log(Level::Notice, text.into()));
                (b"?", "-1")
            }
        };
        let args: [&[u8]; 4] = [b"PSYNC", id, offset.as_bytes(), b"FAILOVER"];
        push_command(&mut self.output, &args[..if self.settings.failover { 4 } else { 3 }]);
        self.step = Step::Psync;
    }

    fn psync_answer(&mut self, line: &[u8], now_ms: u64, on: &mut impl FnMut(Event<'_>)) {
        if let Some(rest) = line.strip_prefix(b"+FULLRESYNC") {
            let Some((id, offset)) = full_resync(rest) else {
                return self.fail("Master replied with wrong +FULLRESYNC syntax.".into(), on);
            };
            on(Event::Log(Level::Notice, format!("Full resync from master: {id}:{offset}")));
            let why = match self.settings.resume {
                Some((id, next)) => format!(
                    "A full copy is needed: MASTER does not go on from {id}:{next}, its log says why"
                ),
                None => format!("A full copy is needed: {}", self.settings.why_full),
            };
            on(Event::Log(Level::Notice, why));
            (self.offset, self.applied) = (offset, offset);
            self.step = Step::Header;
            return on(Event::FullResync { id, offset });
        }
        if let Some(rest) = line.strip_prefix(b"+CONTINUE") {
            let Some((asked, next)) = self.settings.resume else {
                let text = "Master replied +CONTINUE to a request for a full resynchronization";
                return self.fail(text.into(), on);
            };
            let id = rest.strip_prefix(b" ").and_then(ReplId::parse);
            let text = "Successful partial resynchronization with master.";
            on(Event::Log(Level::Notice, text.into()));
            if let Some(id) = id.filter(|id| *id != asked) {
                on(Event::Log(Level::Notice, format!("Master replication ID changed to {id}")));
            }
            (self.offset, self.applied) = (next - 1, next - 1);
            self.step = Step::Stream;
            on(Event::Continue { id });
            return self.acknowledge(now_ms);
        }
        let said = printable(line);
        let text = if line.starts_with(b"-NOMASTERLINK") || line.starts_with(b"-LOADING") {
            format!("Master is currently unable to PSYNC but should be in the future: {said}")
        } else if line.starts_with(b"-ERR") {
            format!("Master does not support PSYNC or is in error state (reply: {said})")
        } else {
            format!("Unexpected reply to PSYNC from master: {said}")
        };
        on(Event::Refused);
        self.fail(text, on);
    }

    fn header(&mut self, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
        if let Some(error) = line.strip_prefix(b"-") {
            let text = format!("MASTER aborted replication with an error: {}", printable(error));
            return self.fail(text, on);
        }
        if let Some(mark) =
            line.strip_prefix(b"$EOF:").and_then(|m| m.first_chunk::<{ eof::MARK }>())
        {
            self.step = Step::Marked(Scan::new(*mark));
            let text = "MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF";
            on(Event::Log(Level::Notice, text.into()));
            return on(Event::RdbBegin { bytes: None });
        }
        let len = line.strip_prefix(b"$").and_then(stdx::num::parse_u64);
        let Some(len) = len.filter(|n| (1..=OFFSET_MAX as u64).contains(n)) else {
            let text = format!(
                "Bad protocol from MASTER, the first byte is not '$' (we received '{}'), are you sure \
                 the host and port are right?",
                printable(line)
            );
            return self.fail(text, on);
        };
        self.step = Step::Sized(len);
        self.rdb_total = Some(len);
        let text = format!("MASTER <-> REPLICA sync: receiving {len} bytes from master");
        on(Event::Log(Level::Notice, text));
        on(Event::RdbBegin { bytes: Some(len) });
    }

    /// The snapshot has been loaded: the stream goes on. The primary is told at once, since one that
    /// sent without a length waits for it.
    pub fn loaded(&mut self, now_ms: u64) {
        if matches!(self.step, Step::Loading) {
            self.step = Step::Stream;
            self.heard_ms = now_ms;
            self.acknowledge(now_ms);
        }
    }

    /// The stream has been executed up to this offset and, if the replica has a journal, is on disk
    /// up to that one. The next acknowledgement says so.
    pub fn applied(&mut self, offset: i64, fsynced: Option<i64>) {
        (self.applied, self.fsynced) = (offset, fsynced);
    }

    /// Acknowledges now: the stream contains `REPLCONF GETACK *`. As with Redis, the offset is that
    /// before this command.
    pub fn acknowledge(&mut self, now_ms: u64) {
        if !matches!(self.step, Step::Stream) || self.output.len() > OUTPUT_MAX {
            return;
        }
        self.said_ms = now_ms;
        self.acknowledged = Some(self.applied);
        let (mut a, mut b) = (itoa::Buffer::new(), itoa::Buffer::new());
        let ack = a.format(self.applied).as_bytes();
        match self.fsynced {
            Some(fsynced) => {
                let fack = b.format(fsynced).as_bytes();
                push_command(&mut self.output, &[b"REPLCONF", b"ACK", ack, b"FACK", fack]);
            }
            None => push_command(&mut self.output, &[b"REPLCONF", b"ACK", ack]),
        }
    }

    /// The offset of the acknowledgement that was made since the last call, if one was. Of several it is the last.
    pub fn take_acknowledged(&mut self) -> Option<i64> {
        self.acknowledged.take()
    }

    /// Looks at the time; called about ten times a second.
    pub fn tick(&mut self, now_ms: u64, on: &mut impl FnMut(Event<'_>)) {
        let silent = now_ms.saturating_sub(self.heard_ms) > self.settings.timeout_ms;
        let text = match self.state() {
            State::Failed => return,
            State::Loading => {
                if now_ms.saturating_sub(self.said_ms) >= ACK_MS && self.output.len() <= OUTPUT_MAX
                {
                    self.said_ms = now_ms;
                    self.output.push(b'\n');
                }
                return;
            }
            State::Handshake => "Timeout connecting to the MASTER...",
            State::Transfer => {
                "Timeout receiving bulk data from MASTER... If the problem persists try to set the \
                 'repl-timeout' parameter in redis.conf to a larger value."
            }
            State::Stream => "MASTER timeout: no data nor PING received...",
        };
        if silent {
            return self.fail(text.into(), on);
        }
        if now_ms.saturating_sub(self.said_ms) >= ACK_MS {
            self.acknowledge(now_ms);
        }
    }

    /// The connection has ended; `why` is the system's text, or `connection lost`.
    pub fn lost(&mut self, why: &str, on: &mut impl FnMut(Event<'_>)) {
        let text = match self.state() {
            State::Failed => return,
            State::Handshake => "Master did not respond to command during SYNC handshake".into(),
            State::Transfer | State::Loading => {
                format!("I/O error trying to sync with MASTER: {why}")
            }
            State::Stream => "Connection with master lost.".into(),
        };
        self.fail(text, on);
    }

    /// Ends the link for a reason of the replica's own: the snapshot cannot be read, the stream is
    /// malformed.
    pub fn fail(&mut self, text: String, on: &mut impl FnMut(Event<'_>)) {
        if !matches!(self.step, Step::Failed) {
            self.step = Step::Failed;
            self.output = Vec::new();
            self.line = Vec::new();
            on(Event::Failed(text));
        }
    }
}

/// An error reply to REPLCONF is noted and no more: old primaries do not know all of its options.
fn non_critical(option: &str, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
    if line.starts_with(b"-") {
        let said = printable(line);
        let text = format!("(Non critical) Master does not understand REPLCONF {option}: {said}");
        on(Event::Log(Level::Notice, text));
    }
}

/// Reads ` id offset`.
fn full_resync(rest: &[u8]) -> Option<(ReplId, i64)> {
    let (id, rest) = rest.strip_prefix(b" ")?.split_at_checked(ReplId::LEN)?;
    let offset = stdx::num::parse_i64(rest.strip_prefix(b" ")?)?;
    (0..=OFFSET_MAX).contains(&offset).then_some(())?;
    Some((ReplId::parse(id)?, offset))
}

#[cfg(test)]
mod tests;
