//! REPLCONF: what a replica says about itself, and what it acknowledges.

use stdx::num::parse_i64;

use crate::history::ReplId;
use crate::text::printable;

use super::{Replica, State};

/// Bytes of an announced address, which has to be shorter, as in Redis.
const ADDRESS_MAX: usize = 256;

/// In front of the id that an Apus gives as one of its capabilities.
pub const ID: &[u8] = b"apus-";

/// What REPLCONF is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `+OK`.
    Ok,
    /// Nothing: it was an acknowledgement. Clients that wait for acknowledgements are looked at again.
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
