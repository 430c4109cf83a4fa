//! ZSCORE: <https://redis.io/docs/latest/commands/zscore/>

use resp::{Args, Reply};
use store::zset::View;
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZSCORE: DataCommand = DataCommand {
    row: Row {
        name: "zscore",
        group: Group::SortedSet,
        since: "1.2.0",
        arity: 3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1)",
        summary: "Returns the score of a member.",
        syntax: "ZSCORE key member",
        transcript: r#"
> ZADD z 1.5 a -inf b 1e300 c 100 d
(integer) 4
> ZSCORE z a
"1.5"
> ZSCORE z b
"-inf"
> ZSCORE z d
"100"
> ZSCORE z nobody
(nil)
> ZSCORE nothing a
(nil)
# reset
# only: redis>=7.2
> ZADD z 3.1 a 1e300 b
(integer) 2
> ZSCORE z a
"3.1"
> ZSCORE z b
"1e+300"
# reset
# resp: 3
> ZADD z 1.5 a inf b
(integer) 2
> ZSCORE z a
(double) 1.5
> ZSCORE z b
(double) inf
> ZSCORE z nobody
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let found = db.read_as(key, Kind::ZSet)?;
    match found.and_then(|e| View::of(&e).score(&args[2])) {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
    Ok(())
}
