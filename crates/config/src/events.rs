//! `notify-keyspace-events`: the letters and the bits behind them.
//!
//! Bits and letters are those of Redis, so that a value kept by either means
//! the same.

/// K: publish on `__keyspace@<db>__:<key>`.
pub const KEYSPACE: u32 = 1 << 0;
/// E: publish on `__keyevent@<db>__:<event>`.
pub const KEYEVENT: u32 = 1 << 1;
/// g: commands that know no type (DEL, EXPIRE, RENAME …).
pub const GENERIC: u32 = 1 << 2;
/// $: string commands.
pub const STRING: u32 = 1 << 3;
/// l: list commands.
pub const LIST: u32 = 1 << 4;
/// s: set commands.
pub const SET: u32 = 1 << 5;
/// h: hash commands.
pub const HASH: u32 = 1 << 6;
/// z: sorted set commands.
pub const ZSET: u32 = 1 << 7;
/// x: a key expired.
pub const EXPIRED: u32 = 1 << 8;
/// e: a key was evicted.
pub const EVICTED: u32 = 1 << 9;
/// t: stream commands.
pub const STREAM: u32 = 1 << 10;
/// m: a key was asked for that is not there; not part of `ALL`.
pub const KEY_MISS: u32 = 1 << 11;
/// d: events of module types.
pub const MODULE: u32 = 1 << 13;
/// n: a key was made; not part of `ALL`.
pub const NEW: u32 = 1 << 14;
/// A: every class but `KEY_MISS` and `NEW`.
pub const ALL: u32 =
    GENERIC | STRING | LIST | SET | HASH | ZSET | EXPIRED | EVICTED | STREAM | MODULE;

/// Letters in the order in which they are shown; `n` hides behind `A`, as in Redis.
const CLASSES: [(u8, u32); 11] = [
    (b'g', GENERIC),
    (b'$', STRING),
    (b'l', LIST),
    (b's', SET),
    (b'h', HASH),
    (b'z', ZSET),
    (b'x', EXPIRED),
    (b'e', EVICTED),
    (b't', STREAM),
    (b'd', MODULE),
    (b'n', NEW),
];
const OTHERS: [(u8, u32); 3] = [(b'K', KEYSPACE), (b'E', KEYEVENT), (b'm', KEY_MISS)];

/// The bits behind `letters`, or `None` if one is unknown.
pub fn parse(letters: &[u8]) -> Option<u32> {
    letters.iter().try_fold(0, |bits, letter| {
        let mut known = CLASSES.iter().chain(&OTHERS).chain(&[(b'A', ALL)]);
        known.find(|(l, _)| l == letter).map(|(_, bit)| bits | bit)
    })
}

/// The letters for `bits`, in the order CONFIG GET shows them.
pub fn show(bits: u32) -> String {
    let pick = |letters: &[(u8, u32)]| -> String {
        letters.iter().filter(|(_, bit)| bits & bit != 0).map(|(l, _)| *l as char).collect()
    };
    let classes = if bits & ALL == ALL { "A".to_owned() } else { pick(&CLASSES) };
    classes + &pick(&OTHERS)
}
