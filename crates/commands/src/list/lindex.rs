//! LINDEX: <https://redis.io/docs/latest/commands/lindex/>

use data::list::View;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static LINDEX: DataCommand = DataCommand {
    row: Row {
        name: "lindex",
        group: Group::List,
        since: "1.0.0",
        arity: 3,
        traits: Traits::BY_REPLY,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1) at both ends; elsewhere O(N) where N is the number of elements, divided by tens of thousands.",
        summary: "Returns an element of a list by its index.",
        syntax: "LINDEX key index",
        transcript: r#"
> RPUSH k a 2 c
(integer) 3
> LINDEX k 0
"a"
> LINDEX k 1
"2"
> LINDEX k -1
"c"
> LINDEX k 3
(nil)
> LINDEX k -4
(nil)
> LINDEX nothing x
(nil)
> LINDEX k x
(error) ERR value is not an integer or out of range
> SET s v
OK
> LINDEX s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let Some(e) = db.read_as(key, Kind::List)? else {
        reply.null();
        return Ok(());
    };
    let index = int(args, 2)?;
    let view = View::of(&e);
    let found = super::index_in(view.len(), index)
        .and_then(|index| view.get(index, |elem| super::write(reply, elem)));
    if found.is_none() {
        reply.null();
    }
    Ok(())
}
