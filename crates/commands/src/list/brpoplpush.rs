//! BRPOPLPUSH: <https://redis.io/docs/latest/commands/brpoplpush/>

use data::list::End;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BRPOPLPUSH: DataCommand = DataCommand {
    row: Row {
        name: "brpoplpush",
        group: Group::List,
        since: "2.2.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::BLOCKING),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::RW.or(KeyFlags::INSERT)),
        ],
        history: &[("6.0.0", "`timeout` is interpreted as a double instead of an integer.")],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`BLMOVE` with the `RIGHT` and `LEFT` arguments",
        complexity: "O(1)",
        summary: "Takes the last element of a list and adds it in front of the first of another or the same. Waits until there is one.",
        syntax: "BRPOPLPUSH source destination timeout",
        transcript: r#"
> RPUSH a 1 2
(integer) 2
> BRPOPLPUSH a b 0
"2"
> BRPOPLPUSH a b 0
"1"
> LRANGE b 0 -1
1) "1"
2) "2"
> BRPOPLPUSH a b x
(error) ERR timeout is not a float or out of range
> SET s v
OK
> BRPOPLPUSH b s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::move_or_wait(db, args, End::Tail, End::Head, 3, reply)
}
