//! Committed units as bytes of the replication stream.
//!
//! A unit is what a command, a transaction or a script changed, as the journal has it. More than one
//! command of a unit stand between MULTI and EXEC, so that a replica shows all or none of them; SELECT
//! stands where the database changes, within the transaction as Redis 8 puts it (Redis 7.0 puts it in
//! front; replicas of both read either).
//!
//! The bytes go to a buffer that the caller keeps, so that nothing is allocated per command.

use stdx::bytes::copy;

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";
/// A sign of life for the replicas, which counts as part of the stream.
pub const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
/// Asks the replicas to acknowledge now; a part of the stream as well.
pub const GETACK: &[u8] = b"*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n";

/// Renders units; knows which database the stream has selected.
#[derive(Debug, Default)]
pub struct Renderer {
    db: Option<usize>,
    /// Where the unit began in the caller's buffer.
    start: usize,
    commands: usize,
}

impl Renderer {
    /// A renderer for a stream in which no database is selected.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next command is preceded by a SELECT: a replica starts to read here with a fresh
    /// copy, or this server has just become a primary.
    pub fn forget_db(&mut self) {
        self.db = None;
    }

    /// The database that the stream has selected: `repl-stream-db` of a snapshot.
    pub fn db(&self) -> Option<usize> {
        self.db
    }

    /// The stream has selected `db`, as a saved snapshot or the stream of a former primary says.
    pub fn set_db(&mut self, db: Option<usize>) {
        self.db = db;
    }

    /// A unit begins; its bytes are appended to `out`.
    #[inline]
    pub fn begin_unit(&mut self, out: &[u8]) {
        self.start = out.len();
        self.commands = 0;
    }

    /// Appends a command of the unit: `argc` arguments, its name included.
    #[inline]
    pub fn command<'a>(
        &mut self,
        out: &mut Vec<u8>,
        db: usize,
        argc: usize,
        args: impl IntoIterator<Item = &'a [u8]>,
    ) {
        self.commands += 1;
        if self.commands == 2 {
            // That the unit is a transaction shows at its second command only. What moves is the
            // first, once per transaction.
            out.splice(self.start..self.start, MULTI.iter().copied());
        }
        if self.db != Some(db) {
            self.db = Some(db);
            select(out, db);
        }
        number(out, b'*', argc);
        let mut left = argc;
        for arg in args {
            argument(out, arg);
            left = left.wrapping_sub(1);
        }
        debug_assert_eq!(left, 0, "argc is the number of arguments");
    }

    /// The unit ends. Returns the number of bytes that it has.
    #[inline]
    pub fn end_unit(&mut self, out: &mut Vec<u8>) -> usize {
        if self.commands > 1 {
            out.extend_from_slice(EXEC);
        }
        out.len() - self.start
    }
}

#[cold]
fn select(out: &mut Vec<u8>, db: usize) {
    out.extend_from_slice(b"*2\r\n$6\r\nSELECT\r\n");
    let mut digits = itoa::Buffer::new();
    let db = digits.format(db);
    number(out, b'$', db.len());
    out.extend_from_slice(db.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends the head of an array or a bulk string.
#[inline]
fn number(out: &mut Vec<u8>, kind: u8, n: usize) {
    if n < 10 {
        out.extend_from_slice(&[kind, b'0' + n as u8, b'\r', b'\n']);
    } else {
        out.push(kind);
        out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

/// Arguments of up to so many bytes are copied without a call.
const SHORT: usize = 32;
/// Bytes around a short argument, as many as its head is written with.
const AROUND: usize = 8;

/// Appends a bulk string.
#[inline]
fn argument(out: &mut Vec<u8>, arg: &[u8]) {
    if arg.len() > SHORT {
        number(out, b'$', arg.len());
        out.extend_from_slice(arg);
        return out.extend_from_slice(b"\r\n");
    }
    let from = out.len();
    // Room of a constant size costs one look at the capacity and few stores.
    out.extend_from_slice(&[0; SHORT + AROUND]);
    if let Some(room) = out.last_chunk_mut::<{ SHORT + AROUND }>() {
        let (head, at) = short_head(arg.len() as u64);
        // One store: what is put together of bytes in memory is read back slowly.
        room[..AROUND].copy_from_slice(&head.to_le_bytes());
        let end = at + arg.len();
        copy(&mut room[at..end], arg);
        room[end..end + 2].copy_from_slice(b"\r\n");
        out.truncate(from + end + 2);
    }
}

/// The head of a bulk string of less than 100 bytes as a word in memory, and its length.
#[inline]
fn short_head(len: u64) -> (u64, usize) {
    let ones = u64::from(b'0') + len % 10;
    let end = u64::from(u16::from_le_bytes(*b"\r\n"));
    if len < 10 {
        (u64::from(b'$') | ones << 8 | end << 16, 4)
    } else {
        (u64::from(b'$') | (u64::from(b'0') + len / 10) << 8 | ones << 16 | end << 24, 5)
    }
}

/// Appends a command outside of any unit: what a replica says to its primary.
pub fn push_command(out: &mut Vec<u8>, args: &[&[u8]]) {
    number(out, b'*', args.len());
    args.iter().for_each(|arg| argument(out, arg));
}

#[cfg(test)]
mod tests {
    use resp::{Limits, Parsed, Parser};
    use stdx::rng::Rng;

    use super::*;

    fn unit(r: &mut Renderer, out: &mut Vec<u8>, commands: &[(usize, &[&str])]) -> usize {
        r.begin_unit(out);
        for (db, args) in commands {
            r.command(out, *db, args.len(), args.iter().map(|a| a.as_bytes()));
        }
        r.end_unit(out)
    }

    #[test]
    fn the_stream_is_what_redis_8_sends() {
        // Recorded from redis-server 8.0.6, but for the time in PXAT.
        let recorded = b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\n1\r\n\
            *1\r\n$5\r\nMULTI\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*3\r\n$3\r\nSET\r\n$1\r\ny\r\n$1\r\n2\r\n\
            *2\r\n$4\r\nINCR\r\n$1\r\nz\r\n*1\r\n$4\r\nEXEC\r\n*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n\
            *5\r\n$3\r\nSET\r\n$1\r\ne\r\n$1\r\n1\r\n$4\r\nPXAT\r\n$13\r\n1795395133099\r\n\
            *3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n";
        let (mut r, mut out) = (Renderer::new(), Vec::new());
        unit(&mut r, &mut out, &[(0, &["SET", "x", "1"])]);
        unit(&mut r, &mut out, &[(3, &["SET", "y", "2"]), (3, &["INCR", "z"])]);
        unit(&mut r, &mut out, &[(12, &["SET", "e", "1", "PXAT", "1795395133099"])]);
        out.extend_from_slice(GETACK);
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(recorded));
        assert_eq!(out.len(), 268);
    }

    #[test]
    fn an_empty_unit_has_no_bytes_and_a_forgotten_database_is_named_again() {
        let (mut r, mut out) = (Renderer::new(), Vec::new());
        assert_eq!(unit(&mut r, &mut out, &[]), 0);
        let first = unit(&mut r, &mut out, &[(0, &["DEL", "x"])]);
        let second = unit(&mut r, &mut out, &[(0, &["DEL", "x"])]);
        assert_eq!(first - second, 23);
        r.forget_db();
        assert_eq!(unit(&mut r, &mut out, &[(0, &["DEL", "x"])]), first);
        assert_eq!(r.db(), Some(0));
    }

    /// Reads a stream back into units, as a replica does.
    fn read(mut stream: &[u8]) -> Vec<Vec<(usize, Vec<Vec<u8>>)>> {
        let (mut db, mut open, mut units) = (usize::MAX, None::<Vec<_>>, Vec::new());
        let limits = Limits { bulk_max: 512 << 20, unauthenticated: false };
        let mut parser = Parser::default();
        while !stream.is_empty() {
            let (mut spans, mut owned) = (Vec::new(), Vec::new());
            let Parsed::Command(end) = parser.parse(stream, 0, &limits, &mut spans, &mut owned)
            else {
                panic!("not a command")
            };
            let args: Vec<Vec<u8>> =
                spans.iter().map(|s| s.bytes(stream).expect("in the buffer").to_vec()).collect();
            stream = &stream[end..];
            match args[0].as_slice() {
                b"SELECT" => db = String::from_utf8_lossy(&args[1]).parse().expect("a number"),
                b"MULTI" => open = Some(Vec::new()),
                b"EXEC" => units.push(open.take().expect("within MULTI")),
                _ => match &mut open {
                    Some(unit) => unit.push((db, args)),
                    None => units.push(vec![(db, args)]),
                },
            }
        }
        units
    }

    #[test]
    fn what_is_rendered_is_read() {
        let mut rng = Rng::from_seed(3);
        let (mut r, mut out, mut all) = (Renderer::new(), Vec::new(), Vec::new());
        for _ in 0..500 {
            let unit: Vec<(usize, Vec<Vec<u8>>)> = (0..1 + rng.index(4))
                .map(|_| {
                    let db = rng.index(20);
                    let args = (0..1 + rng.index(12)).map(|i| {
                        let mut arg = vec![0; if i == 0 { 9 } else { rng.index(130) }];
                        rng.fill(&mut arg);
                        arg
                    });
                    (db, args.collect())
                })
                .collect();
            r.begin_unit(&out);
            for (db, args) in &unit {
                r.command(&mut out, *db, args.len(), args.iter().map(Vec::as_slice));
            }
            r.end_unit(&mut out);
            all.push(unit);
        }
        assert!(read(&out) == all);
    }
}
