//! LINSERT: <https://redis.io/docs/latest/commands/linsert/>

use data::list::{self, Needle, View};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static LINSERT: DataCommand = DataCommand {
    row: Row {
        name: "linsert",
        group: Group::List,
        since: "2.2.0",
        arity: 5,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))],
        complexity: "O(N) where N is the number of elements up to the pivot.",
        summary: "Adds an element next to another element of a list.",
        syntax: "LINSERT key <BEFORE | AFTER> pivot element",
        transcript: r#"
> RPUSH k a c 5
(integer) 3
> LINSERT k BEFORE c b
(integer) 4
> LINSERT k after 5 6
(integer) 5
> LRANGE k 0 -1
1) "a"
2) "b"
3) "c"
4) "5"
5) "6"
> LINSERT k BEFORE z y
(integer) -1
> LINSERT nothing BEFORE z y
(integer) 0
> LINSERT k NEAR a b
(error) ERR syntax error
> SET s v
OK
> LINSERT s BEFORE a b
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let behind = match () {
        () if args.is(2, "after") => 1,
        () if args.is(2, "before") => 0,
        () => return Err(Fail::SYNTAX),
    };
    let (key, limit, budget) = (db.first_key(&args[1]), super::limit(db), db.cx.budget);
    let Some(mut slot) = db.write_as(key, Kind::List)? else {
        reply.int(0);
        return Ok(());
    };
    let (pivot, mut index, mut found) = (Needle::new(&args[3]), 0, false);
    let view = View::of(&slot);
    let tried = budget.parts(&slot, view.len(), super::CHEAPER) / super::TRIES;
    view.each(0, |elem| {
        found = pivot.is(elem);
        index += usize::from(!found);
        !found && index < tried
    });
    if !found && index < view.len() {
        db.hand_over(0);
        return Ok(());
    }
    if !found {
        reply.int(-1);
        return Ok(());
    }
    list::insert(&mut slot, index + behind, &args[4], limit);
    reply.int(View::of(&slot).len() as i64);
    db.changed(key.bytes, Class::List, "linsert");
    Ok(())
}
