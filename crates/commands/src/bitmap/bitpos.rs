//! BITPOS: <https://redis.io/docs/latest/commands/bitpos/>

use data::bits::{Range, bitpos};
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BITPOS: DataCommand = DataCommand {
    row: Row {
        name: "bitpos",
        group: Group::Bitmap,
        since: "2.8.7",
        arity: -3,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("7.0.0", "Added the `BYTE|BIT` option.")],
        complexity: "O(N) where N is the length of the range.",
        summary: "Finds the first set or the first clear bit of a string.",
        syntax: "BITPOS key bit [start [end [BYTE | BIT]]]",
        transcript: r#"
> SET s "\xff\xf0\x00"
OK
> BITPOS s 0
(integer) 12
> BITPOS s 1
(integer) 0
> BITPOS s 1 2
(integer) -1
> BITPOS s 0 2
(integer) 16
> BITPOS s 0 0 0
(integer) -1
> BITPOS s 0 0 -1 BYTE
(integer) 12
> BITPOS s 0 13 -1 BIT
(integer) 13
> BITPOS s 1 7 15 bit
(integer) 7
> BITPOS s 1 -2 -1
(integer) 8
> BITPOS s 1 5 1
(integer) -1
> SET ones "\xff\xff\xff"
OK
> BITPOS ones 0
(integer) 24
> BITPOS ones 0 0
(integer) 24
> BITPOS ones 0 3
(integer) -1
> BITPOS ones 0 0 -1
(integer) -1
> SET n 0
OK
> BITPOS n 1
(integer) 2
> BITPOS nothing 0
(integer) 0
> BITPOS nothing 0 5 10
(integer) 0
> BITPOS nothing 1
(integer) -1
> SET empty ""
OK
> BITPOS empty 0
(integer) -1
> BITPOS s 2
(error) ERR The bit argument must be 1 or 0.
> BITPOS s x
(error) ERR value is not an integer or out of range
> BITPOS s 0 a
(error) ERR value is not an integer or out of range
> BITPOS s 0 0 a
(error) ERR value is not an integer or out of range
> BITPOS s 0 0 a WORD
(error) ERR syntax error
> BITPOS s 0 0 1 BIT x
(error) ERR syntax error
# reset
> RPUSH l a
(integer) 1
> BITPOS l 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> BITPOS l 2
(error) ERR The bit argument must be 1 or 0.
# only: redis>=7.2
> BITPOS l 0 a
(error) ERR value is not an integer or out of range
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let bit = match int(args, 2)? {
        0 => false,
        1 => true,
        _ => return Err(Fail::text("ERR The bit argument must be 1 or 0.")),
    };
    let range = match args.len() {
        3 => None,
        4..=6 => {
            let start = int(args, 3)?;
            // Redis reads the unit before the end.
            let unit = super::unit(args, 5)?;
            let end = if args.len() > 4 { Some(int(args, 4)?) } else { None };
            Some(Range { start, end, unit })
        }
        _ => return Err(Fail::SYNTAX),
    };
    let key = db.first_key(&args[1]);
    let at = match db.read_str(key)? {
        Some(e) => super::with_bytes(&e, |bytes| bitpos(Some(bytes), bit, range)),
        None => bitpos(None, bit, range),
    };
    reply.int(at);
    Ok(())
}
