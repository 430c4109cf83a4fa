//! BITFIELD_RO: <https://redis.io/docs/latest/commands/bitfield_ro/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BITFIELD_RO: DataCommand = DataCommand {
    row: Row {
        name: "bitfield_ro",
        group: Group::Bitmap,
        since: "6.0.0",
        arity: -2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1) for each operation.",
        summary: "Reads integers of any width within a string.",
        syntax: "BITFIELD_RO key [GET encoding offset [GET encoding offset ...]]",
        transcript: r#"
> SET s "\xff\x0f"
OK
> BITFIELD_RO s GET u4 0 GET i8 0 GET u8 #1 GET u16 8
1) (integer) 15
2) (integer) -1
3) (integer) 15
4) (integer) 3840
> BITFIELD_RO s
(empty array)
> BITFIELD_RO nothing GET i64 0
1) (integer) 0
> BITFIELD_RO s OVERFLOW SAT GET u1 0
1) (integer) 1
> BITFIELD_RO s SET u8 0 1
(error) ERR BITFIELD_RO only supports the GET subcommand
> BITFIELD_RO s GET u8 0 INCRBY u8 0 1
(error) ERR BITFIELD_RO only supports the GET subcommand
> BITFIELD_RO s SET u8 0 x
(error) ERR value is not an integer or out of range
> BITFIELD_RO s GET u8
(error) ERR syntax error
# reset
> RPUSH l a
(integer) 1
> BITFIELD_RO l SET u8 0 1
(error) ERR BITFIELD_RO only supports the GET subcommand
> BITFIELD_RO l GET u8 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::bitfield::execute(db, args, reply, false)
}
