//! XRANGE: <https://redis.io/docs/latest/commands/xrange/>

use data::stream::Id;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static XRANGE: DataCommand = DataCommand {
    row: Row {
        name: "xrange",
        group: Group::Stream,
        since: "5.0.0",
        arity: -4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("6.2.0", "Added exclusive ranges.")],
        complexity: "O(log M + N) where M is the number of nodes and N the number of entries \
                     returned.",
        summary: "Returns the entries of a stream within a range of IDs.",
        syntax: "XRANGE key start:string end:string [COUNT count]",
        transcript: r#"
> XADD s 1-1 n 1
"1-1"
> XADD s 1-2 n 2
"1-2"
> XADD s 2-1 other text
"2-1"
> XRANGE s - + COUNT 1
1) 1) "1-1"
   2) 1) "n"
      2) "1"
> XRANGE s (1-1 (2-1
1) 1) "1-2"
   2) 1) "n"
      2) "2"
> XRANGE s 1 1
1) 1) "1-1"
   2) 1) "n"
      2) "1"
2) 1) "1-2"
   2) 1) "n"
      2) "2"
> XRANGE s 2 +
1) 1) "2-1"
   2) 1) "other"
      2) "text"
> XRANGE s 3 1
(empty array)
> XRANGE s - + COUNT 0
(nil)
> XRANGE nothing - +
(empty array)
> XRANGE s (- +
(error) ERR Invalid stream ID specified as stream command argument
> XRANGE s - (0-0
(error) ERR invalid end ID for the interval
> XRANGE s (18446744073709551615-18446744073709551615 +
(error) ERR invalid start ID for the interval
> XRANGE s - + LIMIT 3
(error) ERR syntax error
> XRANGE s - + COUNT x
(error) ERR value is not an integer or out of range
> SET k v
OK
> XRANGE k - +
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run: |db, args, reply| {
        let (start, end) = (super::interval_start(&args[2])?, super::interval_end(&args[3])?);
        range(db, args, reply, start, end, false)
    },
    subs: &[],
};

/// XRANGE and XREVRANGE, once their interval is known.
pub(super) fn range(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    start: Id,
    end: Id,
    reverse: bool,
) -> Outcome {
    let mut count = None;
    let mut i = 4;
    while i < args.len() {
        if !args.is(i, "count") || i + 1 == args.len() {
            return Err(Fail::SYNTAX);
        }
        count = Some(u64::try_from(int(args, i + 1)?).unwrap_or(0));
        i += 2;
    }
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    let Some(e) = db.read_as(key, Kind::Stream)? else {
        reply.array(0);
        return Ok(());
    };
    let log = &super::of(&e)?.log;
    let len = usize::try_from(log.len()).unwrap_or(usize::MAX);
    let most = usize::try_from(count.unwrap_or(u64::MAX)).map_or(len, |count| count.min(len));
    if budget.is_exceeded(&e, most, len, 1) {
        let about = usize::try_from(log.about(start, end)).unwrap_or(usize::MAX);
        if budget.is_exceeded(&e, most.min(about), len, 1) {
            db.hand_over(1);
            return Ok(());
        }
    }
    match count {
        Some(0) => reply.null_array(),
        _ if reverse => super::reply::entries(reply, log.range_rev(start, end), count.unwrap_or(0)),
        _ => super::reply::entries(reply, log.range(start, end), count.unwrap_or(0)),
    }
    Ok(())
}
