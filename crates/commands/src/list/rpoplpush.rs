//! RPOPLPUSH: <https://redis.io/docs/latest/commands/rpoplpush/>

use data::list::End;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static RPOPLPUSH: DataCommand = DataCommand {
    row: Row {
        name: "rpoplpush",
        group: Group::List,
        since: "1.2.0",
        arity: 3,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::RW.or(KeyFlags::INSERT)),
        ],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`LMOVE` with the `RIGHT` and `LEFT` arguments",
        complexity: "O(1)",
        summary: "Takes the last element of a list and adds it in front of the first of another or the same.",
        syntax: "RPOPLPUSH source destination",
        transcript: r#"
> RPUSH a 1 2
(integer) 2
> RPOPLPUSH a b
"2"
> RPOPLPUSH a b
"1"
> LRANGE b 0 -1
1) "1"
2) "2"
> RPOPLPUSH a b
(nil)
> RPOPLPUSH b b
"2"
> LRANGE b 0 -1
1) "2"
2) "1"
> SET s v
OK
> RPOPLPUSH b s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (source, destination) = (db.first_key(&args[1]), db.key(&args[2]));
    if !super::move_one(db, source, destination, End::Tail, End::Head, reply)? {
        reply.null();
    }
    Ok(())
}
