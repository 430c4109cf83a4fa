//! The options of XREAD and XREADGROUP.

use resp::{Args, Reply};
use store::{Block, Empty, Kind};

use crate::fail::Fail;
use crate::keys::{Argv, KeyError};
use crate::parse::int;
use crate::row::{KeyFlags, KeyPos};

/// The meaning of an argument in front of the keys, with the arguments that belong to it.
enum Word {
    Block(usize),
    Count(usize),
    MaxCount(usize),
    MaxSize(usize),
    Claim(usize),
    /// Group and consumer.
    Group(usize),
    NoAck,
    /// The first key.
    Streams(usize),
    Other,
}

/// The meaning of argument `i`, and where the next one is.
fn word(argv: &dyn Argv, i: usize) -> (Word, usize) {
    let is = |word: &str, needs: usize| {
        argv.get(i).eq_ignore_ascii_case(word.as_bytes()) && argv.len() > i + needs
    };
    if is("block", 1) {
        (Word::Block(i + 1), i + 2)
    } else if is("count", 1) {
        (Word::Count(i + 1), i + 2)
    } else if is("maxcount", 1) {
        (Word::MaxCount(i + 1), i + 2)
    } else if is("maxsize", 1) {
        (Word::MaxSize(i + 1), i + 2)
    } else if is("claim", 1) {
        (Word::Claim(i + 1), i + 2)
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
#[derive(Default)]
pub(super) struct Request {
    /// When BLOCK was given, the Unix milliseconds at which it gives up.
    pub(super) block: Option<Option<i64>>,
    /// Entries of each stream at most; 0: all.
    count: u64,
    /// Entries of all streams together at most; 0: all.
    max_count: u64,
    /// Bytes of the reply after which no further entry is begun; 0: any number.
    max_size: usize,
    /// Entries that are pending for so many milliseconds are claimed.
    pub(super) claim: Option<i64>,
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
        let mut request = Self::default();
        let mut i = 1;
        while i < args.len() {
            let (word, next) = word(args, i);
            i = next;
            match word {
                Word::Block(at) => request.block = Some(timeout(args, at, now)?),
                Word::Count(at) => request.count = u64::try_from(int(args, at)?).unwrap_or(0),
                Word::MaxCount(at) => {
                    let n = u64::try_from(int(args, at)?).ok().filter(|n| *n > 0);
                    let bad = Fail::text("ERR MAXCOUNT must be a positive integer");
                    request.max_count = n.ok_or(bad)?;
                }
                Word::MaxSize(at) => {
                    let n = usize::try_from(int(args, at)?).ok().filter(|n| *n > 0);
                    let bad = Fail::text("ERR MAXSIZE must be a positive integer");
                    request.max_size = n.ok_or(bad)?;
                }
                Word::Claim(_) if !grouped => return Err(only_in_groups("CLAIM")),
                Word::Claim(at) => {
                    let bad = Fail::text("ERR min-idle-time is not an integer or out of range");
                    let ms = stdx::num::parse_i64(&args[at]).ok_or(bad)?;
                    if ms < 0 {
                        return Err(Fail::text("ERR min-idle-time must be a positive integer"));
                    }
                    request.claim = Some(ms);
                }
                Word::Group(_) if !grouped => return Err(only_in_groups("GROUP")),
                Word::Group(at) => request.group = at,
                Word::NoAck if !grouped => return Err(only_in_groups("NOACK")),
                Word::NoAck => request.no_ack = true,
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
        if request.max_count > 0 && request.max_count < request.count {
            return Err(Fail::text("ERR MAXCOUNT must be greater than or equal to COUNT"));
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

    /// The wait for the streams.
    pub(super) fn wait(
        &self,
        args: &Args<'_>,
        deadline: Option<i64>,
        errors: bool,
        new_args: Option<Vec<Vec<u8>>>,
    ) -> Block {
        let keys = (0..self.n).map(|i| args[self.key(i)].to_vec()).collect();
        let block = Block::new(keys, Kind::Stream, deadline, Empty::NullArray);
        Block { errors, args: new_args, ..block }
    }

    /// Begins to count the served entries.
    pub(super) fn budget(&self, reply: &mut Reply<'_>) -> Budget {
        let limit = |n: u64| match usize::try_from(n) {
            Ok(0) | Err(_) => usize::MAX,
            Ok(n) => n,
        };
        Budget {
            begin: reply.out().len(),
            max_size: limit(self.max_size as u64),
            left: limit(self.max_count),
            each: limit(self.count),
            of_stream: 0,
            any: false,
        }
    }
}

/// How much may still be served: COUNT of a stream, MAXCOUNT of all streams, and MAXSIZE of the reply, which
/// one entry may exceed, so that a large one is served at all.
pub(super) struct Budget {
    begin: usize,
    max_size: usize,
    left: usize,
    each: usize,
    of_stream: usize,
    any: bool,
}

impl Budget {
    /// Goes on to the next stream. Returns whether the limits leave any entries for it.
    pub(super) fn next_stream(&mut self, reply: &mut Reply<'_>) -> bool {
        self.of_stream = self.each.min(self.left);
        self.has_more(reply)
    }

    /// Whether another entry may be served.
    pub(super) fn has_more(&self, reply: &mut Reply<'_>) -> bool {
        self.of_stream > 0 && !(self.any && reply.out().len() - self.begin >= self.max_size)
    }

    /// Entries of this stream that may be served at most.
    pub(super) fn most(&self) -> usize {
        self.of_stream
    }

    /// Notes that an entry has been served.
    pub(super) fn served(&mut self) {
        self.any = true;
        self.of_stream = self.of_stream.saturating_sub(1);
        self.left = self.left.saturating_sub(1);
    }
}

/// An option of XREADGROUP was given to XREAD.
#[cold]
fn only_in_groups(option: &str) -> Fail {
    Fail::new(format!(
        "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
    ))
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
