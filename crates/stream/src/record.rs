//! Records: how a unit of changes lies in memory, and in a segment of the journal.
//!
//! ```text
//!  0        4              11  12          20
//!  ├────────┼──────────────┼───┼───────────┼──────────────┐
//!  │ checksum│payload bytes│ k │ sequence  │ payload      │   integers are little-endian
//!  └────────┴──────────────┴───┴───────────┴──────────────┘
//! ```
//!
//! The checksum is the journal's (`persist::journal::record`); here it is zero.
//!
//! The payload of a [`UNIT`] is the time at which it ran (Unix milliseconds) and one command after the
//! other: database, number of arguments, and each argument's length and bytes, the numbers as LEB128.
//! At that time it is replayed: exactly the keys that had expired then have expired again.

use stdx::bytes::copy;

/// Bytes in front of the payload.
pub const HEADER: usize = 20;
/// Kind of a record with changes.
pub const UNIT: u8 = 1;
/// Kind of a record with messages: commands that replicas execute and no journal keeps (PUBLISH). 2 is a kind
/// of the journal's own.
pub const MESSAGES: u8 = 3;
const LEN_MASK: u64 = (1 << 56) - 1;

/// Writes the header of a record whose payload follows it in `frame`; the checksum is left out.
pub fn head(frame: &mut [u8], kind: u8, sequence: u64) {
    let len = (frame.len() - HEADER) as u64 & LEN_MASK;
    frame[..4].fill(0);
    frame[4..12].copy_from_slice(&(len | u64::from(kind) << 56).to_le_bytes());
    frame[12..20].copy_from_slice(&sequence.to_le_bytes());
}

/// Length of the record that `bytes` begin with, header included, and its sequence number, taken on
/// trust: for records that this process has written.
pub fn peek(bytes: &[u8]) -> Option<(usize, u64)> {
    let (head, _) = bytes.split_first_chunk::<HEADER>()?;
    let word = u64::from_le_bytes(*head[4..].first_chunk()?);
    let sequence = u64::from_le_bytes(*head[12..].first_chunk()?);
    Some((HEADER + usize::try_from(word & LEN_MASK).ok()?, sequence))
}

/// Most bytes of a number as LEB128.
const NUMBER_MAX: usize = 10;
/// Arguments of up to so many bytes are copied without a call.
const SHORT: usize = 32;

/// Appends a number as LEB128.
#[inline]
pub(crate) fn put_number(out: &mut Vec<u8>, n: u64) {
    if n < 0x80 {
        return out.push(n as u8);
    }
    let from = out.len();
    out.extend_from_slice(&[0; NUMBER_MAX]);
    let len = write_number(&mut out[from..], n);
    out.truncate(from + len);
}

/// Writes a number as LEB128, which has room. Returns its length.
#[inline]
fn write_number(to: &mut [u8], mut n: u64) -> usize {
    let mut len = 0;
    for byte in to {
        len += 1;
        if n < 0x80 {
            *byte = n as u8;
            break;
        }
        *byte = n as u8 | 0x80;
        n >>= 7;
    }
    len
}

/// Begins a record of time `now`: leaves room for its header, which [`head`] writes.
#[inline]
pub(crate) fn begin(out: &mut Vec<u8>, now: u64) {
    let from = out.len();
    out.extend_from_slice(&[0; HEADER + NUMBER_MAX]);
    let len = write_number(&mut out[from + HEADER..], now);
    out.truncate(from + HEADER + len);
}

#[inline]
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    if let Some((&b, rest)) = bytes.split_first().filter(|(b, _)| **b < 0x80) {
        *bytes = rest;
        return Some(u64::from(b));
    }
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let (b, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(b & 0x7f);
        if part << shift >> shift != part {
            return None;
        }
        n |= part << shift;
        if b & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

/// Writes the commands of a unit.
#[derive(Debug)]
pub struct Unit<'a> {
    pub(crate) out: &'a mut Vec<u8>,
}

impl<'a> Unit<'a> {
    /// Commands go to the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Appends a command: its name and `count` further arguments.
    #[inline]
    pub fn command<'b>(
        &mut self,
        db: usize,
        name: &[u8],
        count: usize,
        args: impl Iterator<Item = &'b [u8]>,
    ) {
        put_number(self.out, db as u64);
        put_number(self.out, count as u64 + 1);
        self.argument(name);
        args.for_each(|a| self.argument(a));
    }

    #[inline(always)]
    fn argument(&mut self, bytes: &[u8]) {
        let (from, len) = (self.out.len(), bytes.len());
        if len <= SHORT {
            // Room of a constant size costs one look at the capacity and few stores.
            self.out.extend_from_slice(&[0; 1 + SHORT]);
            self.out[from] = len as u8;
            copy(&mut self.out[from + 1..from + 1 + len], bytes);
            return self.out.truncate(from + 1 + len);
        }
        put_number(self.out, len as u64);
        self.out.extend_from_slice(bytes);
    }
}

/// One command of a unit: its database, and where its arguments lie in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The database.
    pub db: usize,
    /// Arguments, the name included; at least one.
    pub argc: usize,
}

/// Goes through the commands of a payload.
#[derive(Clone, Debug)]
pub struct Commands<'a> {
    payload: &'a [u8],
    rest: &'a [u8],
    /// When it ran, in Unix milliseconds.
    pub time: i64,
}

/// A payload with a right checksum that no writer can have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl<'a> Commands<'a> {
    /// The commands of the payload of a unit.
    ///
    /// # Errors
    /// The payload is malformed.
    pub fn new(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = payload;
        let time = take_number(&mut rest).and_then(|n| i64::try_from(n).ok());
        Ok(Self { payload, rest, time: time.ok_or(Malformed)? })
    }

    /// The next command: `each` gets start and length of every argument within the payload.
    ///
    /// # Errors
    /// The payload is malformed.
    #[inline]
    pub fn next(
        &mut self,
        mut each: impl FnMut(usize, usize),
    ) -> Result<Option<Command>, Malformed> {
        let Some(command) = self.begin()? else { return Ok(None) };
        for _ in 0..command.argc {
            let len = self.argument()?.len();
            each(self.payload.len() - self.rest.len() - len, len);
        }
        Ok(Some(command))
    }

    /// The next command, whose arguments are to be taken by [`argument`](Self::argument): that often.
    ///
    /// # Errors
    /// The payload is malformed.
    #[inline]
    pub fn begin(&mut self) -> Result<Option<Command>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut number = || take_number(&mut self.rest).and_then(|n| usize::try_from(n).ok());
        let (db, argc) = (number().ok_or(Malformed)?, number().ok_or(Malformed)?);
        // Each argument takes a byte at least, so that no loop over them is longer than the bytes present.
        if argc == 0 || argc > self.rest.len() {
            return Err(Malformed);
        }
        Ok(Some(Command { db, argc }))
    }

    /// The next argument of the command that has begun.
    ///
    /// # Errors
    /// The payload is malformed.
    #[inline]
    pub fn argument(&mut self) -> Result<&'a [u8], Malformed> {
        let len = take_number(&mut self.rest).and_then(|n| usize::try_from(n).ok());
        let (argument, rest) = len.and_then(|n| self.rest.split_at_checked(n)).ok_or(Malformed)?;
        self.rest = rest;
        Ok(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        put_number(&mut out, 1_700_000_000_000);
        let mut unit = Unit { out: &mut out };
        let long = vec![b'x'; 300];
        unit.command(0, b"SET", 2, [b"k".as_slice(), &long].into_iter());
        unit.command(300, b"DEL", 1, [b"".as_slice()].into_iter());
        let mut all = Vec::new();
        let mut commands = Commands::new(&out).expect("valid");
        assert_eq!(commands.time, 1_700_000_000_000);
        loop {
            let mut args = Vec::new();
            match commands.next(|at, len| args.push(out[at..at + len].to_vec())).expect("valid") {
                Some(c) => all.push((c.db, args)),
                None => break,
            }
        }
        assert_eq!(
            all,
            [
                (0, vec![b"SET".to_vec(), b"k".to_vec(), long]),
                (300, vec![b"DEL".to_vec(), Vec::new()])
            ]
        );
    }

    #[test]
    fn no_payload_makes_it_panic_or_run_on() {
        let mut rng = stdx::rng::Rng::from_seed(1);
        let mut valid = Vec::new();
        Unit { out: &mut valid }.command(3, b"SET", 2, [b"key".as_slice(), b"value"].into_iter());
        for _ in 0..20_000 {
            let mut bytes = valid.clone();
            for _ in 0..=rng.index(4) {
                let i = rng.index(bytes.len());
                bytes[i] = rng.next_u64() as u8;
            }
            bytes.truncate(rng.index(bytes.len() + 1));
            let Ok(mut commands) = Commands::new(&bytes) else { continue };
            let mut steps = 0;
            while let Ok(Some(_)) = commands.next(|at, len| assert!(at + len <= bytes.len())) {
                steps += 1;
                assert!(steps <= bytes.len());
            }
        }
    }
}
