//! GETRANGE: <https://redis.io/docs/latest/commands/getrange/>

use std::ops::Range;

use resp::{Args, Reply};
use stdx::num::I64_LEN_MAX;
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static GETRANGE: DataCommand = DataCommand {
    row: Row {
        name: "getrange",
        group: Group::String,
        since: "2.4.0",
        arity: 4,
        traits: Traits::BY_REPLY,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N) where N is the length of the part returned.",
        summary: "Returns a part of the string value of a key.",
        syntax: "GETRANGE key start end",
        transcript: r#"
> SET phrase "Hello World"
OK
> GETRANGE phrase 0 3
"Hell"
> GETRANGE phrase -4 -1
"orld"
> GETRANGE phrase 0 -1
"Hello World"
> GETRANGE phrase 5 3
""
> GETRANGE phrase 5 5000
" World"
> GETRANGE phrase -5000 10000
"Hello World"
> GETRANGE phrase -1 -100
""
> GETRANGE phrase 20 30
""
> GETRANGE nothing 0 -1
""
> GETRANGE phrase a 1
(error) ERR value is not an integer or out of range
> SET n -1234
OK
> GETRANGE n 1 2
"12"
> GETRANGE n 0 9223372036854775807
"-1234"
# reset
# only: redis>=7.4
> SET phrase "Hello World"
OK
> GETRANGE phrase 0 -100
""
> GETRANGE phrase -100 -99
""
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

pub(super) fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (start, end) = (parse::int(args, 2)?, parse::int(args, 3)?);
    let key = db.first_key(&args[1]);
    let Some(e) = db.read_str(key)? else {
        reply.bulk(b"");
        return Ok(());
    };
    let mut buf = [0; I64_LEN_MAX];
    let bytes = super::bytes(&e, &mut buf);
    reply.bulk(&bytes[range(start, end, bytes.len())]);
    Ok(())
}

/// The offsets that `start` and `end` mean in a string of `len` bytes; negative ones count from
/// the end, and `end` is included. Nothing when the range lies outside, on either side.
fn range(start: i64, end: i64, len: usize) -> Range<usize> {
    let len = len as i64;
    let from_start = |at: i64| if at < 0 { at.saturating_add(len) } else { at };
    let (start, end) = (from_start(start).max(0), from_start(end).min(len - 1));
    if start > end { 0..0 } else { start as usize..end as usize + 1 }
}
