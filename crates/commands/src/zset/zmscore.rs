//! ZMSCORE: <https://redis.io/docs/latest/commands/zmscore/>

use resp::{Args, Reply};
use store::zset::View;
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZMSCORE: DataCommand = DataCommand {
    row: Row {
        name: "zmscore",
        group: Group::SortedSet,
        since: "6.2.0",
        arity: -3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N) where N is the number of members asked for.",
        summary: "Returns the scores of several members.",
        syntax: "ZMSCORE key member [member ...]",
        transcript: r#"
> ZADD z 1.5 a 2 b
(integer) 2
> ZMSCORE z a nobody b
1) "1.5"
2) (nil)
3) "2"
> ZMSCORE nothing a b
1) (nil)
2) (nil)
# reset
# resp: 3
> ZADD z 1.5 a 2 b
(integer) 2
> ZMSCORE z a nobody b
1) (double) 1.5
2) (nil)
3) (double) 2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let found = db.read_as(key, Kind::ZSet)?;
    let view = found.as_ref().map(|e| View::of(e));
    reply.array(args.len() - 2);
    for member in args.iter_from(2) {
        match view.and_then(|view| view.score(member)) {
            Some(score) => reply.double(score),
            None => reply.null(),
        }
    }
    Ok(())
}
