//! LSET: <https://redis.io/docs/latest/commands/lset/>

use data::list::{self, View};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static LSET: DataCommand = DataCommand {
    row: Row {
        name: "lset",
        group: Group::List,
        since: "1.0.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(1) at both ends of a list; elsewhere O(N) where N is its length, divided by tens of thousands.",
        summary: "Replaces an element of a list by its index.",
        syntax: "LSET key index element",
        transcript: r#"
> RPUSH k a b c
(integer) 3
> LSET k 0 x
OK
> LSET k -1 12
OK
> LRANGE k 0 -1
1) "x"
2) "b"
3) "12"
> LSET k 3 y
(error) ERR index out of range
> LSET k -4 y
(error) ERR index out of range
> LSET nothing x y
(error) ERR no such key
> LSET k x y
(error) ERR value is not an integer or out of range
> SET s v
OK
> LSET s 0 x
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, limit) = (db.first_key(&args[1]), super::limit(db));
    let mut slot = db.write_as(key, Kind::List)?.ok_or(Fail::NO_SUCH_KEY)?;
    let index = super::index_in(View::of(&slot).len(), int(args, 2)?);
    if !list::set(&mut slot, index.unwrap_or(usize::MAX), &args[3], limit) {
        return Err(Fail::text("ERR index out of range"));
    }
    reply.ok();
    db.changed(key.bytes, Class::List, "lset");
    Ok(())
}
