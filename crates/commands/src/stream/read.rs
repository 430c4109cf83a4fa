//! The options of XREAD and XREADGROUP.

use resp::Args;
use store::{Block, Empty, Kind};

use crate::fail::Fail;
use crate::keys::{Argv, KeyError};
use crate::parse::int;
use crate::row::{KeyFlags, KeyPos};

/// What an argument in front of the keys says, with the arguments that belong to it.
enum Word {
    Block(usize),
    Count(usize),
    /// Group and consumer.
    Group(usize),
    NoAck,
    /// The first key.
    Streams(usize),
    Other,
}

/// What argument `i` says, and where the next one is.
fn word(argv: &dyn Argv, i: usize) -> (Word, usize) {
    let is = |word: &str, needs: usize| {
        argv.get(i).eq_ignore_ascii_case(word.as_bytes()) && argv.len() > i + needs
    };
    if is("block", 1) {
        (Word::Block(i + 1), i + 2)
    } else if is("count", 1) {
        (Word::Count(i + 1), i + 2)
    } else if is("streams", 1) {
        (Word::Streams(i + 1), argv.len())
    } else if is("group", 2) {
        (Word::Group(i + 1), i + 3)
    } else if is("noack", 0) {
        (Word::NoAck, i + 1)
    } else {
        (Word::Other, argv.len())
    }
}

/// The keys. The specification searches the word STREAMS, which may be the name of a group.
pub(super) fn keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    let mut i = 1;
    while i < argv.len() {
        let (word, next) = word(argv, i);
        if let Word::Streams(first) = word {
            let n = argv.len() - first;
            if !n.is_multiple_of(2) {
                return Err(KeyError);
            }
            let flags = KeyFlags::RO.or(KeyFlags::ACCESS);
            (first..first + n / 2).for_each(|index| out(KeyPos { index, flags }));
            return Ok(());
        }
        i = next;
    }
    Err(KeyError)
}

/// A call of XREAD or XREADGROUP.
pub(super) struct Request {
    /// When BLOCK was given, the Unix milliseconds at which it gives up.
    pub(super) block: Option<Option<i64>>,
    /// Entries of each stream at most; 0: all.
    pub(super) count: u64,
    pub(super) no_ack: bool,
    /// The argument that is the group's name; the consumer's follows.
    pub(super) group: usize,
    /// The first key.
    first: usize,
    /// Keys; the IDs follow them.
    pub(super) n: usize,
}

impl Request {
    pub(super) fn parse(args: &Args<'_>, now: i64, grouped: bool) -> Result<Self, Fail> {
        let mut request = Self { block: None, count: 0, no_ack: false, group: 0, first: 0, n: 0 };
        let mut i = 1;
        while i < args.len() {
            let (word, next) = word(args, i);
            i = next;
            match word {
                Word::Block(at) => request.block = Some(timeout(args, at, now)?),
                Word::Count(at) => request.count = u64::try_from(int(args, at)?).unwrap_or(0),
                Word::Group(at) if grouped => request.group = at,
                Word::Group(_) => {
                    return Err(Fail::text(
                        "ERR The GROUP option is only supported by XREADGROUP. \
                         You called XREAD instead.",
                    ));
                }
                Word::NoAck if grouped => request.no_ack = true,
                Word::NoAck => {
                    return Err(Fail::text(
                        "ERR The NOACK option is only supported by XREADGROUP. \
                         You called XREAD instead.",
                    ));
                }
                Word::Streams(first) => (request.first, request.n) = (first, args.len() - first),
                Word::Other => return Err(Fail::SYNTAX),
            }
        }
        if !request.n.is_multiple_of(2) {
            return Err(Fail::text(if grouped {
                "ERR Unbalanced 'xreadgroup' list of streams: \
                 for each stream key an ID or '>' must be specified."
            } else {
                "ERR Unbalanced 'xread' list of streams: \
                 for each stream key an ID, '+', or '$' must be specified."
            }));
        }
        if request.first == 0 {
            return Err(Fail::SYNTAX);
        }
        if grouped && request.group == 0 {
            return Err(Fail::text("ERR Missing GROUP option for XREADGROUP"));
        }
        request.n /= 2;
        Ok(request)
    }

    /// The argument that is key `i`.
    pub(super) fn key(&self, i: usize) -> usize {
        self.first + i
    }

    /// The argument that is the ID for key `i`.
    pub(super) fn id(&self, i: usize) -> usize {
        self.first + self.n + i
    }

    /// What to wait for.
    pub(super) fn wait(
        &self,
        args: &Args<'_>,
        deadline: Option<i64>,
        errors: bool,
        new_args: Option<Vec<Vec<u8>>>,
    ) -> Block {
        let keys = (0..self.n).map(|i| args[self.key(i)].to_vec()).collect();
        let (kind, empty) = (Kind::Stream, Empty::NullArray);
        Block { keys, kind, deadline, empty, errors, args: new_args }
    }
}

/// A timeout in whole milliseconds; 0 means forever. Returns when it is over.
fn timeout(args: &Args<'_>, i: usize, now: i64) -> Result<Option<i64>, Fail> {
    let ms = stdx::num::parse_i64(&args[i])
        .ok_or(Fail::text("ERR timeout is not an integer or out of range"))?;
    if ms < 0 {
        return Err(Fail::text("ERR timeout is negative"));
    }
    if ms == 0 {
        return Ok(None);
    }
    now.checked_add(ms).map(Some).ok_or(Fail::text("ERR timeout is out of range"))
}
