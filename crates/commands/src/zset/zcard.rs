//! ZCARD: <https://redis.io/docs/latest/commands/zcard/>

use resp::{Args, Reply};
use store::zset::View;
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZCARD: DataCommand = DataCommand {
    row: Row {
        name: "zcard",
        group: Group::SortedSet,
        since: "1.2.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Counts the members of a sorted set.",
        syntax: "ZCARD key",
        transcript: r#"
> ZADD z 1 a 2 b
(integer) 2
> ZCARD z
(integer) 2
> ZCARD nothing
(integer) 0
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    reply.int(db.read_as(key, Kind::ZSet)?.map_or(0, |e| View::of(&e).len()) as i64);
    Ok(())
}
