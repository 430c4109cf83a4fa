//! GETBIT: <https://redis.io/docs/latest/commands/getbit/>

use data::bits::get_bit;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static GETBIT: DataCommand = DataCommand {
    row: Row {
        name: "getbit",
        group: Group::Bitmap,
        since: "2.2.0",
        arity: 3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1)",
        summary: "Returns one bit of a string.",
        syntax: "GETBIT key offset",
        transcript: r#"
> SET s "`"
OK
> GETBIT s 0
(integer) 0
> GETBIT s 1
(integer) 1
> GETBIT s 2
(integer) 1
> GETBIT s 8
(integer) 0
> GETBIT s 4294967295
(integer) 0
> GETBIT nothing 7
(integer) 0
> SET n 1
OK
> GETBIT n 3
(integer) 1
> GETBIT n 6
(integer) 0
> GETBIT n 8
(integer) 0
> GETBIT s -1
(error) ERR bit offset is not an integer or out of range
> GETBIT s #1
(error) ERR bit offset is not an integer or out of range
> GETBIT s 4294967296
(error) ERR bit offset is not an integer or out of range
> GETBIT s
(error) ERR wrong number of arguments for 'getbit' command
# reset
> RPUSH l a
(integer) 1
> GETBIT l 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> GETBIT l x
(error) ERR bit offset is not an integer or out of range
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let at = super::offset(&args[2], db.cx.string_max)?;
    let key = db.first_key(&args[1]);
    let bit = match db.read_str(key)? {
        Some(e) => super::with_bytes(&e, |bytes| get_bit(bytes, at)),
        None => false,
    };
    reply.int(i64::from(bit));
    Ok(())
}
