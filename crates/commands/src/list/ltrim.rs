//! LTRIM: <https://redis.io/docs/latest/commands/ltrim/>

use data::list::{self, View};
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static LTRIM: DataCommand = DataCommand {
    row: Row {
        name: "ltrim",
        group: Group::List,
        since: "1.0.0",
        arity: 4,
        flags: Flags::WRITE,
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(N) where N is the number of elements removed.",
        summary: "Removes the elements of a list that are outside of a range.",
        syntax: "LTRIM key start stop",
        transcript: r#"
> RPUSH k a b c d e
(integer) 5
> LTRIM k 1 -2
OK
> LRANGE k 0 -1
1) "b"
2) "c"
3) "d"
> LTRIM k 0 -1
OK
> LTRIM k -2 100
OK
> LRANGE k 0 -1
1) "c"
2) "d"
> LTRIM k 5 6
OK
> EXISTS k
(integer) 0
> LTRIM nothing 0 1
OK
> LTRIM k x 1
(error) ERR value is not an integer or out of range
> SET s v
OK
> LTRIM s 0 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (start, stop) = (int(args, 2)?, int(args, 3)?);
    let (key, limit) = (db.first_key(&args[1]), super::limit(db));
    let Some(mut slot) = db.write_as(key, Kind::List)? else {
        reply.ok();
        return Ok(());
    };
    let len = View::of(&slot).len();
    let (from, n) = super::range_in(len, start, stop);
    if n > 0 {
        list::remove(&mut slot, from + n, len, limit);
        list::remove(&mut slot, 0, from, limit);
    }
    reply.ok();
    super::taken(db, key, "ltrim", (len - n) as u64, n == 0);
    Ok(())
}
