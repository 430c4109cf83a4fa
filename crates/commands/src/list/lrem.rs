//! LREM: <https://redis.io/docs/latest/commands/lrem/>

use data::list::{self, End, View};
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static LREM: DataCommand = DataCommand {
    row: Row {
        name: "lrem",
        group: Group::List,
        since: "1.0.0",
        arity: 4,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE,
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(N) where N is the length of the list.",
        summary: "Removes elements of a list by their value.",
        syntax: "LREM key count element",
        transcript: r#"
> RPUSH k a b a c a 1
(integer) 6
> LREM k -2 a
(integer) 2
> LRANGE k 0 -1
1) "a"
2) "b"
3) "c"
4) "1"
> RPUSH k a a
(integer) 6
> LREM k 1 a
(integer) 1
> LREM k 0 1
(integer) 1
> LRANGE k 0 -1
1) "b"
2) "c"
3) "a"
4) "a"
> LREM k 0 z
(integer) 0
> LREM k 0 a
(integer) 2
> LREM k 5 b
(integer) 1
> LREM k 0 c
(integer) 1
> EXISTS k
(integer) 0
> LREM nothing 0 a
(integer) 0
> LREM k x a
(error) ERR value is not an integer or out of range
> SET s v
OK
> LREM s 0 a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.2
> RPUSH k a
(integer) 1
> LREM k -9223372036854775808 a
(error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let count = super::long(args, 2)?;
    let (key, limit, budget) = (db.first_key(&args[1]), super::limit(db), db.cx.budget);
    let Some(mut slot) = db.write_as(key, Kind::List)? else {
        reply.int(0);
        return Ok(());
    };
    let len = View::of(&slot).len();
    if budget.is_exceeded(&slot, len, len, super::CHEAPER) {
        db.hand_over(0);
        return Ok(());
    }
    let from = if count < 0 { End::Tail } else { End::Head };
    let most = match count {
        0 => usize::MAX,
        n => usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX),
    };
    let n = list::remove_equal(&mut slot, &args[3], most, from, limit);
    reply.int(n as i64);
    let empty = View::of(&slot).len() == 0;
    if n > 0 {
        super::taken(db, key, "lrem", n as u64, empty);
    }
    Ok(())
}
