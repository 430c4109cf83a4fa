//! A replica's connection to its primary: the handshake, the snapshot, the stream.
//!
//! ```text
//!  PING ─► AUTH, REPLCONF … ─► PSYNC ─┬─► +CONTINUE ───────────────────────► stream
//!                                     ├─► +FULLRESYNC ─► snapshot ─► loading ─┤
//!                                     └─► +RDBCHANNELSYNC, +DUALCHANNELSYNC ──┘
//! ```
//!
//! A primary that answers as in the last line sends the snapshot on a second connection, which is a link of its own
//! ([`Settings::channel`]) that ends with the snapshot. The stream comes on the first one meanwhile: the caller keeps
//! it until the snapshot is loaded ([`Link::copied`]).
//!
//! The link is handed what the socket received and gives out events; what it wants to say is in
//! [`Link::output`]. It reports at most one [`Event::Failed`] and is then dead: the caller closes the
//! connection and makes another link [later](RETRY_MS).
//!
//! Nothing that a primary sends makes it panic or keep more than [`LINE_MAX`] bytes: snapshot and
//! stream are handed on as they come. A primary that says nothing is given up after `repl-timeout`, in
//! every state but two: while the replica loads the snapshot, and while the snapshot comes on a second connection,
//! whose own link looks at the time. In both it says that it is alive once a second, by an empty line.
//!
//! Log lines are Redis's, since its tests and people's alerts look for them.

mod handshake;
mod report;

use crate::OFFSET_MAX;
use crate::eof::Scan;
use crate::render::push_command;
use crate::text::printable;

pub use report::{Channel, Event, Level, Settings, State};

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

/// The answer that is awaited, or what arrives.
#[derive(Debug)]
enum Step {
    Ping,
    Auth,
    Port,
    Ip,
    Capa,
    Psync,
    /// The answer to SYNC, with which Valkey begins a copy on a second connection.
    EndOffset,
    /// The copy begins to come on a second connection; nothing is awaited here before it does.
    Idle,
    /// The second connection has been named.
    Name,
    /// The copy comes on a second connection, and the stream here.
    Beside,
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
    /// Bytes of the stream that have arrived while the copy came on a second connection; none when it did not.
    beside: Option<i64>,
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
            beside: None,
        }
    }

    /// What is to be written to the connection; the caller removes what it has written.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Where the link is.
    pub fn state(&self) -> State {
        match self.step {
            Step::Name | Step::Psync if self.beside.is_some() => State::Beside,
            Step::Ping
            | Step::Auth
            | Step::Port
            | Step::Ip
            | Step::Capa
            | Step::Psync
            | Step::Name => State::Handshake,
            Step::Idle | Step::Beside => State::Beside,
            Step::EndOffset | Step::Header | Step::Sized(_) | Step::Marked(_) => State::Transfer,
            Step::Loading => State::Loading,
            Step::Stream => State::Stream,
            Step::Failed => State::Failed,
        }
    }

    /// The state in ROLE's answer; `connect` and `connecting` are before a link.
    pub fn role_state(&self) -> &'static str {
        match self.state() {
            State::Handshake => "handshake",
            State::Transfer | State::Beside | State::Loading => "sync",
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
                Step::Beside => {
                    self.beside = self.beside.map(|n| n + rest.len() as i64);
                    on(Event::Stream(rest));
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
                let short = self.settings.channel.is_some();
                self.step = if short { Step::Capa } else { Step::Port };
            }
            Step::Port => {
                handshake::non_critical("listening-port", line, on);
                let announced = self.settings.announce_ip.is_some();
                self.step = if announced { Step::Ip } else { Step::Capa };
            }
            Step::Ip => {
                handshake::non_critical("ip-address", line, on);
                self.step = Step::Capa;
            }
            Step::Capa if self.settings.channel.is_some() && line.starts_with(b"-") => {
                self.unnamed(line, on);
            }
            Step::Capa => {
                // Redis knows no versions.
                if !line.ends_with(b"option: version") {
                    handshake::non_critical("capa", line, on);
                }
                self.ask(on);
            }
            // Before it answers, the primary may send empty lines as signs of life.
            Step::Psync | Step::EndOffset | Step::Idle | Step::Header if line.is_empty() => {}
            Step::EndOffset => self.end_offset(line, on),
            Step::Name if line.starts_with(b"-") => self.unnamed(line, on),
            Step::Name => self.named(),
            Step::Idle => self.unexpected(line, on),
            Step::Psync => self.psync_answer(line, now_ms, on),
            Step::Header => self.header(line, on),
            Step::Sized(_)
            | Step::Marked(_)
            | Step::Beside
            | Step::Loading
            | Step::Stream
            | Step::Failed => {}
        }
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

    /// The copy of the second connection, of which the stream of this one is the continuation, has been loaded; it is
    /// as of `offset`. What has arrived here meanwhile is behind it.
    pub fn copied(&mut self, offset: i64, now_ms: u64) {
        if matches!(self.step, Step::Beside)
            && let Some(held) = self.beside.take()
        {
            self.step = Step::Stream;
            self.heard_ms = now_ms;
            (self.offset, self.applied) = (offset.saturating_add(held), offset);
            self.acknowledge(now_ms);
        }
    }

    /// Whether the stream beside the copy was asked for, and the answer has not come.
    pub fn asks(&self) -> bool {
        matches!(self.step, Step::Idle | Step::Name | Step::Psync)
    }

    /// `repl-timeout`, in milliseconds.
    pub fn timeout_ms(&self) -> u64 {
        self.settings.timeout_ms
    }

    /// `repl-timeout` is another from now on.
    pub fn set_timeout_ms(&mut self, timeout_ms: u64) {
        self.settings.timeout_ms = timeout_ms;
    }

    /// The replica was busy with what the primary has sent, and did not read.
    pub fn was_busy(&mut self, now_ms: u64) {
        self.heard_ms = now_ms;
    }

    /// The stream has been executed up to this offset and, if the replica has a journal, is on disk
    /// up to that one. The next acknowledgement says so.
    pub fn applied(&mut self, offset: i64, fsynced: Option<i64>) {
        (self.applied, self.fsynced) = (offset, fsynced);
    }

    /// The stream is on disk up to this offset. The next acknowledgement says so.
    pub fn synced(&mut self, fsynced: Option<i64>) {
        self.fsynced = fsynced;
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
            State::Loading | State::Beside => {
                // Valkey reads the answer to a command at this point.
                let may = !matches!(self.step, Step::Idle | Step::Name | Step::Psync);
                if may
                    && now_ms.saturating_sub(self.said_ms) >= ACK_MS
                    && self.output.len() <= OUTPUT_MAX
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
            State::Transfer | State::Beside | State::Loading => {
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

#[cfg(test)]
mod tests;
