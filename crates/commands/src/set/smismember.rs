//! SMISMEMBER: <https://redis.io/docs/latest/commands/smismember/>

use data::packed::Item;
use data::set::Set;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SMISMEMBER: DataCommand = DataCommand {
    row: Row {
        name: "smismember",
        group: Group::Set,
        since: "6.2.0",
        arity: -3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N) where N is the number of members asked for.",
        summary: "Tells which of several members belong to a set.",
        syntax: "SMISMEMBER key member [member ...]",
        transcript: r#"
> SADD s one 2
(integer) 2
> SMISMEMBER s one two 2 one
1) (integer) 1
2) (integer) 0
3) (integer) 1
4) (integer) 1
> SMISMEMBER nothing one two
1) (integer) 0
2) (integer) 0
> SET t text
OK
> SMISMEMBER t one
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let e = db.read_as(key, Kind::Set)?;
    let set = e.as_ref().map(|e| Set::of(e));
    reply.array(args.len() - 2);
    for member in args.iter_from(2) {
        reply.int(set.is_some_and(|s| s.contains(Item::of(member))).into());
    }
    Ok(())
}
