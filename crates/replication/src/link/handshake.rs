//! The words of the handshake: what the replica says, and what it makes of the answers.

use crate::OFFSET_MAX;
use crate::eof::{self, Scan};
use crate::history::ReplId;
use crate::render::push_command;
use crate::text::printable;

use super::{Channel, Event, Level, Link, Step};

/// The version of Valkey whose snapshots can be read. To a replica that does not name one Valkey sends the form of
/// Redis 7.2, which has no fields with deadlines: such a hash ends the copy.
const VALKEY: &[u8] = b"9.0.0";

impl Link {
    pub(super) fn pong(&mut self, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
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
        let authenticates = settings.password.is_some();
        if let Some(channel) = settings.channel {
            let mut words: Vec<&[u8]> =
                vec![b"REPLCONF", b"capa", b"eof", b"rdb-only", b"1", b"rdb-channel", b"1"];
            let number;
            if let Channel::Redis(main) = channel {
                number = main.to_string();
                words.extend([&b"main-ch-client-id"[..], number.as_bytes()]);
            }
            words.extend([&b"listening-port"[..], port.as_bytes()]);
            if channel == Channel::Valkey {
                words.extend([&b"version"[..], VALKEY]);
            }
            push_command(out, &words);
            self.step = if authenticates { Step::Auth } else { Step::Capa };
            return;
        }
        push_command(out, &[b"REPLCONF", b"listening-port", port.as_bytes()]);
        if let Some(ip) = &settings.announce_ip {
            push_command(out, &[b"REPLCONF", b"ip-address", ip]);
        }
        let mut capa: Vec<&[u8]> = vec![b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"];
        // A primary ignores a capability that it does not know.
        if settings.channels {
            capa.extend([&b"capa"[..], b"rdb-channel-repl", b"capa", b"dual-channel"]);
        }
        let id = settings.id.map(|id| [crate::serve::ID, id.as_bytes()].concat());
        if let Some(id) = &id {
            capa.extend([&b"capa"[..], id]);
        }
        // At the end: Redis does not know it, and says so when it has read the others.
        if settings.channels {
            capa.extend([&b"version"[..], VALKEY]);
        }
        push_command(out, &capa);
        self.step = if authenticates { Step::Auth } else { Step::Port };
    }

    pub(super) fn ask(&mut self, on: &mut impl FnMut(Event<'_>)) {
        match self.settings.channel {
            Some(Channel::Valkey) => {
                push_command(&mut self.output, &[b"SYNC"]);
                self.step = Step::EndOffset;
                return;
            }
            Some(Channel::Redis(_)) => {
                push_command(&mut self.output, &[b"PSYNC", b"?", b"-1"]);
                self.step = Step::Psync;
                return;
            }
            None => {}
        }
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

    pub(super) fn psync_answer(
        &mut self,
        line: &[u8],
        now_ms: u64,
        on: &mut impl FnMut(Event<'_>),
    ) {
        if self.beside.is_none()
            && let Some(rest) = line.strip_prefix(b"+FULLRESYNC")
        {
            let Some((id, offset)) = full_resync(rest) else {
                return self.fail("Master replied with wrong +FULLRESYNC syntax.".into(), on);
            };
            on(Event::Log(Level::Notice, format!("Full resync from master: {id}:{offset}")));
            // The first connection has said why there is a second one.
            if self.settings.channel.is_none() {
                on(Event::Log(Level::Notice, self.why_full()));
            }
            (self.offset, self.applied) = (offset, offset);
            self.step = Step::Header;
            return on(Event::FullResync { id, offset });
        }
        if self.beside.is_none()
            && self.settings.channel.is_none()
            && let Some(channel) = offered(line)
        {
            let text = "PSYNC is not possible, initialize RDB channel.";
            on(Event::Log(Level::Notice, text.into()));
            on(Event::Log(Level::Notice, self.why_full()));
            self.step = match channel {
                Channel::Redis(_) => Step::Beside,
                Channel::Valkey => Step::Idle,
            };
            self.beside = Some(0);
            return on(Event::Beside(channel));
        }
        if let Some(rest) = line.strip_prefix(b"+CONTINUE") {
            if self.beside.is_some() {
                self.step = Step::Beside;
                return;
            }
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

    fn why_full(&self) -> String {
        match self.settings.resume {
            Some((id, next)) => format!(
                "A full copy is needed: MASTER does not go on from {id}:{next}, its log says why"
            ),
            None => format!("A full copy is needed: {}", self.settings.why_full),
        }
    }

    pub(super) fn header(&mut self, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
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

    /// Valkey's `$ENDOFF:OFFSET ID DATABASE CLIENT` in front of the copy on a second connection.
    pub(super) fn end_offset(&mut self, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
        let Some((id, offset, number)) = end_offset(line) else {
            let text = format!("Bad protocol from MASTER, no $ENDOFF but '{}'", printable(line));
            return self.fail(text, on);
        };
        self.step = Step::Header;
        on(Event::FullResync { id, offset });
        on(Event::EndOffset { number });
    }

    /// The second connection begins to get the copy, as of `offset`: this one asks for the stream from there on.
    pub fn asks_beside(&mut self, id: ReplId, offset: i64, number: u64) {
        if !matches!(self.step, Step::Idle) {
            return;
        }
        let number = number.to_string();
        let words: [&[u8]; 3] = [b"REPLCONF", b"set-rdb-client-id", number.as_bytes()];
        push_command(&mut self.output, &words);
        self.settings.resume = Some((id, offset + 1));
        self.step = Step::Name;
    }

    /// The second connection is known. Valkey takes no PSYNC before its answer to the name is read.
    pub(super) fn named(&mut self) {
        if let Some((id, next)) = &self.settings.resume {
            let next = next.to_string();
            push_command(&mut self.output, &[b"PSYNC", id.as_bytes(), next.as_bytes()]);
        }
        self.step = Step::Psync;
    }

    /// The primary does not know the other connection.
    pub(super) fn unnamed(&mut self, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
        let text = format!("MASTER refuses the second connection for a copy: {}", printable(line));
        self.fail(text, on);
    }

    pub(super) fn unexpected(&mut self, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
        let text = format!(
            "Bad protocol from MASTER, nothing was to come before the copy: '{}'",
            printable(line)
        );
        self.fail(text, on);
    }
}

/// An error reply to REPLCONF is noted and no more: old primaries do not know all of its options.
pub(super) fn non_critical(option: &str, line: &[u8], on: &mut impl FnMut(Event<'_>)) {
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

/// What the answer to PSYNC says of a second connection.
fn offered(line: &[u8]) -> Option<Channel> {
    if line == b"+DUALCHANNELSYNC" {
        return Some(Channel::Valkey);
    }
    let number = line.strip_prefix(b"+RDBCHANNELSYNC ")?;
    stdx::num::parse_i64(number).map(Channel::Redis)
}

/// Reads `$ENDOFF:OFFSET ID DATABASE CLIENT`.
fn end_offset(line: &[u8]) -> Option<(ReplId, i64, u64)> {
    let mut words = line.strip_prefix(b"$ENDOFF:")?.split(|b| *b == b' ');
    let offset = stdx::num::parse_i64(words.next()?).filter(|n| (0..OFFSET_MAX).contains(n))?;
    let id = ReplId::parse(words.next()?)?;
    let _database = stdx::num::parse_i64(words.next()?)?;
    let number = stdx::num::parse_u64(words.next()?)?;
    words.next().is_none().then_some((id, offset, number))
}
