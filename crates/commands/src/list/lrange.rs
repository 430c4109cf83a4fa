//! LRANGE: <https://redis.io/docs/latest/commands/lrange/>

use data::list::View;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static LRANGE: DataCommand = DataCommand {
    row: Row {
        name: "lrange",
        group: Group::List,
        since: "1.0.0",
        arity: 4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(S+N) where S is the distance of the first element from the nearer end, divided by tens of thousands, and N is the number of elements returned.",
        summary: "Returns a range of elements of a list.",
        syntax: "LRANGE key start stop",
        transcript: r#"
> RPUSH k a b 3 d
(integer) 4
> LRANGE k 0 -1
1) "a"
2) "b"
3) "3"
4) "d"
> LRANGE k -3 2
1) "b"
2) "3"
> LRANGE k -100 0
1) "a"
> LRANGE k 2 100
1) "3"
2) "d"
> LRANGE k 2 1
(empty array)
> LRANGE k 4 5
(empty array)
> LRANGE k 0 -5
(empty array)
> LRANGE nothing 0 -1
(empty array)
> LRANGE k a 1
(error) ERR value is not an integer or out of range
> LRANGE nothing 0 z
(error) ERR value is not an integer or out of range
> SET s v
OK
> LRANGE s 0 -1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (start, stop) = (int(args, 2)?, int(args, 3)?);
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    let Some(e) = db.read_as(key, Kind::List)? else {
        reply.array(0);
        return Ok(());
    };
    let view = View::of(&e);
    let (from, mut n) = super::range_in(view.len(), start, stop);
    if budget.is_exceeded(&e, n, view.len(), super::CHEAPER) {
        db.hand_over(1);
        return Ok(());
    }
    reply.array(n);
    if n > 0 {
        view.each(from, |elem| {
            super::write(reply, elem);
            n -= 1;
            n > 0
        });
    }
    Ok(())
}
