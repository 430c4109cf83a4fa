//! BITCOUNT: <https://redis.io/docs/latest/commands/bitcount/>

use data::bits::{Range, Unit, bitcount};
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static BITCOUNT: DataCommand = DataCommand {
    row: Row {
        name: "bitcount",
        group: Group::Bitmap,
        since: "2.6.0",
        arity: -2,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("7.0.0", "Added the `BYTE|BIT` option.")],
        complexity: "O(N) where N is the length of the range.",
        summary: "Counts the set bits of a string, or of a range of it.",
        syntax: "BITCOUNT key [start end [BYTE | BIT]]",
        transcript: r#"
> SET s foobar
OK
> BITCOUNT s
(integer) 26
> BITCOUNT s 0 0
(integer) 4
> BITCOUNT s 1 1
(integer) 6
> BITCOUNT s -2 -1
(integer) 7
> BITCOUNT s -2 1000
(integer) 7
> BITCOUNT s 1000 2000
(integer) 0
> BITCOUNT s -4 -10
(integer) 0
> BITCOUNT s 1 1 byte
(integer) 6
> BITCOUNT s 5 30 BIT
(integer) 17
> BITCOUNT s 10 14 BIT
(integer) 4
> BITCOUNT s -24 -1 bit
(integer) 10
> BITCOUNT s 0 1000 BIT
(integer) 26
> SET n 123
OK
> BITCOUNT n
(integer) 10
> BITCOUNT nothing
(integer) 0
> BITCOUNT nothing 0 1000 BIT
(integer) 0
> BITCOUNT s 0
(error) ERR syntax error
> BITCOUNT s 0 1 WORD
(error) ERR syntax error
> BITCOUNT s 0 1 BIT x
(error) ERR syntax error
> BITCOUNT s a b
(error) ERR value is not an integer or out of range
# only: redis>=7.2
> BITCOUNT nothing a 1
(error) ERR value is not an integer or out of range
> BITCOUNT nothing 0 1 WORD
(error) ERR syntax error
# reset
> RPUSH l a
(integer) 1
> BITCOUNT l
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> BITCOUNT l 0 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// Bytes of a string are so much faster to count than a set's members: [`store::Budget`].
const CHEAPER: usize = 32;

/// Most bytes of a string of `len` bytes in the range.
fn span(range: Option<Range>, len: usize) -> usize {
    let Some(Range { start, end: Some(end), unit }) = range else { return len };
    if (start < 0) != (end < 0) {
        return len;
    }
    let units = usize::try_from(end.saturating_sub(start)).map_or(0, |n| n.saturating_add(1));
    if unit == Unit::Bit { units.div_ceil(8) + 1 } else { units }.min(len)
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let range = match args.len() {
        2 => None,
        4 | 5 => Some(Range {
            start: int(args, 2)?,
            end: Some(int(args, 3)?),
            unit: super::unit(args, 4)?,
        }),
        _ => return Err(Fail::SYNTAX),
    };
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    let count = match db.read_str(key)? {
        Some(e) if budget.is_exceeded_by(span(range, e.bytes()) / CHEAPER) => {
            db.hand_over(1);
            return Ok(());
        }
        Some(e) => super::with_bytes(&e, |bytes| bitcount(bytes, range)),
        None => 0,
    };
    reply.int(count as i64);
    Ok(())
}
