//! APPEND: <https://redis.io/docs/latest/commands/append/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static APPEND: DataCommand = DataCommand {
    row: Row {
        name: "append",
        group: Group::String,
        since: "2.0.0",
        arity: 3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))],
        complexity: "O(1) on average: the room behind a long string grows in proportion to it.",
        summary: "Appends to the string value of a key, which is created if it is missing.",
        syntax: "APPEND key value",
        transcript: r#"
> APPEND log one
(integer) 3
> APPEND log ",two"
(integer) 7
> GET log
"one,two"
> SET n 10
OK
> APPEND n 5
(integer) 3
> INCR n
(integer) 106
> APPEND empty ""
(integer) 0
> GET empty
""
> APPEND empty ""
(integer) 0
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, max) = (db.first_key(&args[1]), db.cx.string_max);
    let length = match db.write_str(key)? {
        Some(mut e) => {
            let length = super::length(&e);
            super::check_length(max, length, args[2].len())?;
            e.replace_with(|e| e.append(&args[2]));
            length + args[2].len()
        }
        None => {
            db.add(key, super::content(&args[2]), None);
            args[2].len()
        }
    };
    db.changed(key.bytes, Class::String, "append");
    reply.int(length as i64);
    Ok(())
}
