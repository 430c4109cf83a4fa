//! ZREM: <https://redis.io/docs/latest/commands/zrem/>

use resp::{Args, Reply};
use store::zset::{self, View};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZREM: DataCommand = DataCommand {
    row: Row {
        name: "zrem",
        group: Group::SortedSet,
        since: "1.2.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        history: &[("2.4.0", "Accepts multiple elements.")],
        complexity: "O(M*log(N)) where N is the size of the set and M the number of members removed.",
        summary: "Removes members from a sorted set.",
        syntax: "ZREM key member [member ...]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c
(integer) 3
> ZREM z a nobody
(integer) 1
> ZREM z a
(integer) 0
> ZRANGE z 0 -1
1) "b"
2) "c"
> ZREM z c b
(integer) 2
> EXISTS z
(integer) 0
> ZREM z a
(integer) 0
> SET s v
OK
> ZREM s a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let Some(mut e) = db.write_as(key, Kind::ZSet)? else {
        reply.int(0);
        return Ok(());
    };
    let (mut removed, mut empty) = (0, false);
    for member in args.iter_from(2) {
        removed += u64::from(zset::remove(&mut e, member).is_some());
        empty = View::of(&e).is_empty();
        if empty {
            break;
        }
    }
    if removed > 0 {
        db.event(Class::ZSet, "zrem", key.bytes);
        db.dirty(removed);
    }
    if empty {
        db.remove_empty(key);
    }
    reply.int(removed as i64);
    Ok(())
}
