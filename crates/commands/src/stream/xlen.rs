//! XLEN: <https://redis.io/docs/latest/commands/xlen/>

use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XLEN: DataCommand = DataCommand {
    row: Row {
        name: "xlen",
        group: Group::Stream,
        since: "5.0.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Returns the number of entries of a stream.",
        syntax: "XLEN key",
        transcript: r#"
> XLEN s
(integer) 0
> XADD s 1 a b
"1-0"
> XLEN s
(integer) 1
> TYPE s
stream
> OBJECT ENCODING s
"stream"
> COPY s t
(integer) 1
> XADD t 2 c d
"2-0"
> XLEN s
(integer) 1
> RENAME t u
OK
> XLEN u
(integer) 2
> SET k v
OK
> XLEN k
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let n = match db.read_as(key, Kind::Stream)? {
        Some(e) => super::of(&e)?.log.len(),
        None => 0,
    };
    reply.int(n as i64);
    Ok(())
}
