//! SETNX: <https://redis.io/docs/latest/commands/setnx/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SETNX: DataCommand = DataCommand {
    row: Row {
        name: "setnx",
        group: Group::String,
        arity: 3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::OW.or(KeyFlags::INSERT))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "2.6.12",
        replaced_by: "`SET` with the `NX` option",
        complexity: "O(1)",
        summary: "Sets the string value of a key, if the key does not exist.",
        syntax: "SETNX key value",
        transcript: r#"
> SETNX lock me
(integer) 1
> SETNX lock you
(integer) 0
> GET lock
"me"
> SET lock 10 PXAT 1
OK
> SETNX lock you
(integer) 1
> GET lock
"you"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let taken = super::take_large(db, args, 2);
    let key = db.first_key(&args[1]);
    if db.write(key).is_some() {
        reply.int(0);
        return Ok(());
    }
    db.add(key, super::stored(taken, &args[2]), None);
    db.changed(key.bytes, Class::String, "set");
    reply.int(1);
    Ok(())
}
